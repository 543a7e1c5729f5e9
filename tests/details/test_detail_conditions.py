"""Details without effect: which they are, how a level is refused, and what `replace` takes along."""

from __future__ import annotations

import pytest
from config_strategies import configs
from hypothesis import given

from minutiae.details import CATALOGUE, Config
from minutiae.errors import ConfigError

# For each: a config in which it has an effect, one in which it has none, and a level that is not its default.
NEEDS = {
    "observation_normalization_update": (
        {},
        {"observation_normalization": None},
        "per_iteration_after_update",
    ),
    "observation_normalization_estimator": ({}, {"observation_normalization": None}, "sample"),
    "reward_scaling_reset": ({}, {"reward_scaling": "rewards"}, "never"),
    "reward_scaling_estimator": ({"reward_scaling": "rewards"}, {"reward_scaling": None}, "sample"),
    "advantage_normalization_ddof": ({}, {"advantage_normalization": None}, 1),
    "ratio_clipping": ({}, {"algorithm": "trpo"}, 0.3),
    "ratio_clipping_annealing": ({}, {"ratio_clipping": None}, "linear"),
    "dual_clipping": ({}, {"algorithm": "trpo"}, 3.0),
    "kl_penalty": ({}, {"algorithm": "trpo"}, "fixed"),
    "kl_penalty_coefficient": ({"kl_penalty": "fixed"}, {}, 3.0),
    "kl_penalty_target": ({"kl_penalty": "adaptive"}, {"kl_penalty": "fixed"}, 0.03),
    "target_kl_stop": ({}, {"algorithm": "trpo"}, 0.015),
    "target_kl_stop_estimator": ({"target_kl_stop": 0.01}, {}, "k1"),
    "target_kl_stop_check": ({"target_kl_stop": 0.01}, {}, "per_epoch"),
    "target_kl_stop_networks": (
        {"target_kl_stop": 0.01},
        {"target_kl_stop": 0.01, "separate_optimizers": True},
        "policy",
    ),
    "entropy_coefficient": ({}, {"algorithm": "trpo"}, -0.01),
    "max_kl": ({"algorithm": "trpo"}, {}, 0.05),
    "max_kl_final": ({"algorithm": "trpo"}, {}, 0.05),
    "fisher_fraction": ({"algorithm": "trpo"}, {}, 0.1),
    "fisher_subset": ({"algorithm": "trpo", "fisher_fraction": 0.2}, {"algorithm": "trpo"}, "strided"),
    "conjugate_gradient_iterations": ({"algorithm": "trpo"}, {}, 15),
    "conjugate_gradient_damping": ({"algorithm": "trpo"}, {}, 0.0),
    "line_search": ({"algorithm": "trpo"}, {}, "strict"),
    "line_search_accept_ratio": ({"algorithm": "trpo"}, {"algorithm": "trpo", "line_search": "strict"}, 0.5),
    "line_search_backtracks": ({"algorithm": "trpo"}, {}, 15),
    "value_clipping_range": ({"value_clipping": "max"}, {}, 10.0),
    "value_loss_coefficient": ({}, {"separate_optimizers": True}, 1.0),
    "value_epochs": ({"separate_optimizers": True}, {}, 80),
    "separate_optimizers": ({}, {"algorithm": "trpo"}, True),
    "update_order": ({"algorithm": "trpo"}, {}, "policy_first"),
    "learning_rate": ({}, {"algorithm": "trpo"}, 1e-3),
    "value_learning_rate": ({"algorithm": "trpo"}, {}, 1e-3),
    "learning_rate_annealing_networks": (
        {"separate_optimizers": True},
        {"separate_optimizers": True, "learning_rate_annealing": None},
        "policy",
    ),
    "adam_epsilon": ({}, {"optimizer": "sgd"}, 1e-8),
    "adam_epsilon_style": ({}, {"optimizer": "rmsprop"}, "before_correction"),
    "gradient_clipping_scope": ({}, {"gradient_clipping": None}, "per_network"),
    "epochs": ({}, {"algorithm": "trpo"}, 4),
}


def test_every_conditional_detail_is_in_the_table_above():
    assert set(NEEDS) == {name for name, entry in CATALOGUE.items() if entry.applies}


@pytest.mark.parametrize("name", NEEDS)
def test_levels_are_accepted_where_they_have_an_effect_and_refused_where_not(name):
    enough, too_little, level = NEEDS[name]
    config = Config(environment="Hopper-v5", **enough, **{name: level})
    assert config.applies(name)
    assert getattr(config, name) == level

    without = Config(environment="Hopper-v5", **too_little)
    assert not without.applies(name)
    assert getattr(without, name) == CATALOGUE[name].default
    with pytest.raises(
        ConfigError, match=rf"^{name} = .* would have no effect: it needs .*, and here .*; leave it out"
    ):
        without.replace(**{name: level})


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (
            {"algorithm": "trpo", "ratio_clipping": 0.3},
            "ratio_clipping = 0.3 would have no effect: it needs algorithm = ppo, and here algorithm = trpo; "
            "leave it out (its default is 0.2) or set algorithm = ppo",
        ),
        (
            {"algorithm": "trpo", "ratio_clipping": None},
            "ratio_clipping = off would have no effect: it needs algorithm = ppo, and here algorithm = trpo; "
            "leave it out (its default is 0.2) or set algorithm = ppo",
        ),
        (
            {"value_clipping_range": 10},
            "value_clipping_range = 10.0 would have no effect: it needs value_clipping other than off, "
            "and here "
            "value_clipping = off; leave it out (its default is 0.2) or set value_clipping other than off",
        ),
        (
            {"value_epochs": 80},
            "value_epochs = 80 would have no effect: it needs algorithm = trpo or separate_optimizers = "
            "on, and here "
            "algorithm = ppo and separate_optimizers = off; leave it out (its default is 10) or set "
            "algorithm = trpo or separate_optimizers = on",
        ),
        # The root of it is named, not the detail in between, which would be refused next.
        (
            {"algorithm": "trpo", "kl_penalty_target": 0.02},
            "kl_penalty_target = 0.02 would have no effect: it needs algorithm = ppo, and here algorithm "
            "= trpo; "
            "leave it out (its default is 0.01) or set algorithm = ppo",
        ),
        (
            {"algorithm": "trpo", "fisher_subset": "strided"},
            "fisher_subset = strided would have no effect: it needs fisher_fraction below 1, and here "
            "fisher_fraction = 1.0; leave it out (its default is random) or set fisher_fraction below 1",
        ),
        (
            {"separate_optimizers": True, "value_loss_coefficient": 1},
            "value_loss_coefficient = 1.0 would have no effect: it needs separate_optimizers = off, and here "
            "separate_optimizers = on; leave it out (its default is 0.5) or set separate_optimizers = off",
        ),
    ],
)
def test_the_refusal_names_cause_and_remedy(levels, message):
    with pytest.raises(ConfigError) as raised:
        Config(environment="Hopper-v5", **levels)
    assert str(raised.value) == message


def test_replace_takes_along_what_loses_its_effect():
    clipped = Config(environment="Hopper-v5", value_clipping="max", value_clipping_range=10.0)
    assert clipped.replace(value_clipping=None) == Config(environment="Hopper-v5")
    assert clipped.replace(value_clipping="min").value_clipping_range == 10.0

    trpo = Config(environment="Hopper-v5", ratio_clipping=None, epochs=4, entropy_coefficient=0.01, learning_rate=1e-3)
    assert trpo.replace(algorithm="trpo") == Config(environment="Hopper-v5", algorithm="trpo")


@given(config=configs())
def test_any_config_changes_algorithm_and_back(config):
    other = "trpo" if config.algorithm == "ppo" else "ppo"
    changed = config.replace(algorithm=other)
    assert changed.algorithm == other
    again = changed.replace(algorithm=config.algorithm)
    # What had an effect all the way is as it was (TRPO has no joint optimizer to go back from).
    shared = [name for name in CATALOGUE if all(c.applies(name) for c in (config, changed, again))]
    assert [getattr(again, name) for name in shared] == [getattr(config, name) for name in shared]
