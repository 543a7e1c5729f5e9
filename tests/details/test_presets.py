"""Presets: the plain ones by value, overrides, and the words for names and tasks that do not exist."""

from __future__ import annotations

import pytest

from minutiae.details import FLAVOURS, Config, differences, flavoured_names, preset, preset_names, preset_table
from minutiae.errors import ConfigError

NINE = {
    "value_clipping",
    "reward_scaling",
    "initialization",
    "learning_rate_annealing",
    "reward_clipping",
    "observation_normalization",
    "observation_clipping",
    "activation",
    "gradient_clipping",
}


def test_names():
    assert flavoured_names() == ("ppo", "ppo-m", "ppo-noclip", "trpo", "trpo+")
    assert preset_names() == (*flavoured_names(), "sb3", "cleanrl", "baselines")


def test_ppo_is_the_default_config():
    assert preset("ppo", "Hopper-v5") == Config(environment="Hopper-v5")


def test_ppo_m_has_none_of_the_nine_but_tanh():
    config = preset("ppo-m", "Hopper-v5")
    assert differences(config) == {
        "reward_scaling": None,
        "initialization": "xavier_uniform",
        "initialization_hidden_gain": 1.0,
        "initialization_policy_head_gain": 1.0,
        "learning_rate_annealing": None,
        "reward_clipping": None,
        "observation_normalization": None,
        "observation_clipping": None,
        "gradient_clipping": None,
    }
    assert config.initialization_value_head_gain == 1.0
    off = {name for name in NINE if getattr(config, name) is None}
    assert off == NINE - {"initialization", "activation"}
    (description,) = (row.description for row in preset_table() if (row.name, row.flavour) == ("ppo-m", None))
    assert "Tanh stays" in description


def test_ppo_noclip_differs_in_one_detail():
    assert differences(preset("ppo-noclip", "Hopper-v5")) == {"ratio_clipping": None}


def test_trpo():
    assert differences(preset("trpo", "Hopper-v5")) == {
        "algorithm": "trpo",
        "max_kl": 0.02,
        "advantage_normalization": "batch",
        "gradient_clipping": None,
        "fisher_fraction": 0.2,
        "fisher_subset": "strided",
    }


def test_trpo_plus_has_all_nine():
    config = preset("trpo+", "Hopper-v5")
    assert differences(config, preset("trpo", "Hopper-v5")) == {
        "value_clipping": "max",
        "gradient_clipping": 0.5,
    }
    assert all(getattr(config, name) is not None for name in NINE)
    assert (config.initialization, config.activation) == ("orthogonal", "tanh")


def test_overrides():
    config = preset("ppo", "Hopper-v5", epochs=4, ratio_clipping=None)
    assert differences(config) == {"epochs": 4, "ratio_clipping": None}
    # Of the preset's own levels, those that lose their effect give way to an override.
    joint = preset("ppo", "Hopper-v4", "paper-artifact", separate_optimizers=False)
    assert joint.value_learning_rate == 3e-4
    assert not joint.applies("value_learning_rate")
    with pytest.raises(ConfigError, match=r"^value_learning_rate = 0\.001 would have no effect: "):
        preset("ppo", "Hopper-v5", value_learning_rate=1e-3)


def test_the_table_holds_every_preset_once():
    rows = [(row.name, row.flavour, row.task) for row in preset_table()]
    tasks = ("Hopper", "Walker2d", "Humanoid")
    assert len(rows) == len(set(rows)) == 8 + 2 * 3 * 5
    assert set(rows) == {(name, None, None) for name in preset_names()} | {
        (name, flavour, task) for name in flavoured_names() for flavour in FLAVOURS for task in tasks
    }
    for row in preset_table():
        config = preset(row.name, f"{row.task or 'Ant'}-v4", row.flavour)
        assert {name: getattr(config, name) for name in row.levels} == dict(row.levels)
        assert row.description.endswith(".")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("PPO_M", "Hopper-v5"),
            "unknown preset 'PPO_M'; did you mean 'ppo-m'? allowed: ppo, ppo-m, ppo-noclip, trpo, trpo+, "
            "sb3, cleanrl, baselines",
        ),
        (
            ("ppo", "Hopper-v5", "paper"),
            "unknown flavour 'paper'; did you mean 'paper-text'? allowed: paper-artifact, paper-text; "
            "leave it out for the plain preset",
        ),
        (
            ("ppo-m", "Ant-v5", "paper-text"),
            "flavour 'paper-text' has no values for 'Ant-v5'; it has them for Hopper, Walker2d, Humanoid "
            "(versions v2 to v5); leave the flavour out for the plain preset 'ppo-m'",
        ),
    ],
)
def test_unknown_presets_teach(arguments, message):
    with pytest.raises(ConfigError) as raised:
        preset(*arguments)
    assert str(raised.value) == message
