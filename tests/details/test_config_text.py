"""Configs as TOML and mappings, and back; the hash that names a run; what a program sees of a config."""

from __future__ import annotations

import math
import tomllib

import pytest
from config_strategies import configs
from hypothesis import given

from minutiae.details import (
    CATALOGUE,
    Config,
    config_hash,
    from_mapping,
    from_toml,
    numbers,
    structure,
    to_mapping,
    to_toml,
)
from minutiae.errors import ConfigError


@given(config=configs())
def test_text_and_mapping_round_trip(config):
    assert from_toml(to_toml(config)) == config
    assert from_mapping(to_mapping(config)) == config
    assert from_mapping({name: CATALOGUE[name].format(getattr(config, name)) for name in CATALOGUE}) == config
    assert tomllib.loads(to_toml(config)) == to_mapping(config)


@given(config=configs())
def test_equal_numbers_and_structure_come_from_levels_alone(config):
    encoded, key = numbers(config), structure(config)
    assert all(isinstance(value, float) and not math.isnan(value) for value in encoded.values())
    assert hash(key) == hash(structure(from_toml(to_toml(config))))
    shaping = {name for name, _ in key}
    assert shaping.isdisjoint(encoded)
    hosts = {name for name, entry in CATALOGUE.items() if entry.kind == "number" and entry.room == "host"}
    assert shaping | set(encoded) | hosts == set(CATALOGUE)


def test_the_file_is_complete_flat_and_grouped():
    text = to_toml(Config(environment='odd "id"\\é-v0', value_clipping="max"))
    assert text.startswith('# budget\nenvironment = "odd \\"id\\"\\\\é-v0"\nalgorithm = "ppo"\nsteps = 1000000\n')
    assert list(tomllib.loads(text)) == list(CATALOGUE)
    for line in (
        'segment_iterations = "automatic"',
        'environment_reset_each_iteration = "off"',
        'observation_normalization = "on"',
        "observation_clipping = 10.0",
        "policy_hidden_sizes = [64, 64]",
        'entropy_coefficient = "off"',
        "max_kl = 0.01  # no effect: needs algorithm = trpo",
        'value_clipping = "max"',
        "value_clipping_range = 0.2",
        "adam_epsilon = 1e-05",
        "value_epochs = 10  # no effect: needs algorithm = trpo or separate_optimizers = on",
    ):
        assert line in text.splitlines()
    headings = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    assert headings == [
        "budget",
        "collection",
        "preprocessing",
        "networks",
        "advantages",
        "policy update",
        "trust region",
        "value update",
        "optimization",
    ]


def test_a_short_file_takes_defaults():
    text = 'environment = "Hopper-v5"\nratio_clipping = "off"\nseparate_optimizers = true\nsteps = 4_096\n'
    assert from_toml(text) == Config(environment="Hopper-v5", ratio_clipping=None, separate_optimizers=True, steps=4096)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('environment = "H"\nclip = 1', "unknown detail 'clip'; allowed: "),
        ('environment = "H"\n[details]\nepochs = 1', "unknown detail 'details'; allowed: "),
        (
            'environment = "H"\nepochs = 1.5',
            "epochs = 1.5 is not a whole number; allowed: a whole number at least 1",
        ),
        ('environment = "H"\nepochs = "many"', "epochs = 'many' is not a whole number; allowed: "),
        (
            'environment = "H"\nratio_clipping = false',
            "ratio_clipping = False is not a number; allowed: off or",
        ),
        ("epochs = 1", "environment is missing; name one, as in environment='Hopper-v5'"),
        ("environment = Hopper", "this config is not valid TOML: "),
    ],
)
def test_files_are_read_strictly(text, message):
    with pytest.raises(ConfigError) as raised:
        from_toml(text)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_hash_depends_on_levels_and_seed_only():
    config = Config(environment="Hopper-v5")
    digits = config_hash(config, 0)
    assert len(digits) == 16 and set(digits) <= set("0123456789abcdef")
    assert config_hash(Config(environment="Hopper-v5", discount=0.99, separate_optimizers=False), 0) == digits
    others = [
        config_hash(config, 1),
        config_hash(config.replace(epochs=9), 0),
        config_hash(config.replace(steps=2048), 0),
    ]
    assert len({digits, *others}) == 4


def test_hash_is_stable():
    # Run directories are named by it: a change here orphans every study on disk, so it must be meant.
    assert config_hash(Config(environment="Hopper-v5"), 0) == "c9ff3c3b7132c6aa"


def test_numbers_by_hand():
    config = Config(
        environment="Hopper-v5",
        ratio_clipping=None,
        entropy_coefficient=None,
        gradient_clipping=None,
        value_clipping="min",
        value_target_terminal_mask=True,
        truncation_bootstrap="mask_delta",
        advantage_normalization=None,
        learning_rate=1e-3,
    )
    encoded = numbers(config)
    assert encoded["ratio_clipping"] == math.inf
    assert encoded["dual_clipping"] == math.inf
    assert encoded["target_kl_stop"] == math.inf
    assert encoded["gradient_clipping"] == math.inf
    assert encoded["entropy_coefficient"] == 0.0
    assert encoded["value_clipping"] == 2.0  # off, max, min, ...
    assert encoded["value_target_terminal_mask"] == 1.0
    assert encoded["truncation_bootstrap"] == 3.0  # terminal, bootstrap, bootstrap_self, mask_delta
    assert encoded["advantage_normalization"] == 0.0
    assert encoded["advantage_normalization_ddof"] == 0.0
    assert encoded["discount"] == 0.99
    # A joint optimizer has one rate, and a radius without a final one stays.
    assert encoded["learning_rate"] == encoded["value_learning_rate"] == 1e-3
    assert encoded["max_kl_final"] == encoded["max_kl"] == 0.01
    trpo = Config(environment="Hopper-v5", algorithm="trpo", max_kl=0.04, max_kl_final=0.07, value_learning_rate=1e-4)
    assert numbers(trpo)["max_kl_final"] == 0.07
    assert numbers(trpo)["value_learning_rate"] == 1e-4


def test_structure_groups_what_one_program_can_train():
    config = Config(environment="Hopper-v5")
    for change in (
        {"learning_rate": 1e-3},
        {"ratio_clipping": None},
        {"observation_normalization": None},
    ):
        assert structure(config.replace(**change)) == structure(config)
    for change in (
        {"environment": "Ant-v5"},
        {"algorithm": "trpo"},
        {"policy_hidden_sizes": (32,)},
        {"epochs": 9},
        {"separate_optimizers": True},
        {"segment_iterations": 5},
        {"steps": 4096},
    ):
        assert structure(config.replace(**change)) != structure(config)
