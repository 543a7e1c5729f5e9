"""`Config`: fields and defaults, one form for each level, numbers that must fit together, error texts."""

from __future__ import annotations

import copy
import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutiae.details import CATALOGUE, Config, check_actions, differences, levels_of
from minutiae.errors import ConfigError

DEFAULTS = {
    "algorithm": "ppo",
    "steps": 1_000_000,
    "segment_iterations": None,
    "held_out_diagnostics": None,
    "environments": 16,
    "rollout_length": 128,
    "environment_reset_each_iteration": None,
    "final_state_bootstrap": "next",
    "truncation_bootstrap": "bootstrap",
    "discount": 0.99,
    "action_bound": "clip_at_environment",
    "observation_normalization": True,
    "observation_normalization_update": "per_step",
    "observation_normalization_estimator": "population",
    "observation_clipping": 10.0,
    "reward_scaling": "returns",
    "reward_scaling_reset": "on_done",
    "reward_scaling_estimator": "population",
    "reward_clipping": 10.0,
    "policy_hidden_sizes": (64, 64),
    "value_hidden_sizes": (64, 64),
    "activation": "tanh",
    "initialization": "orthogonal",
    "initialization_hidden_gain": math.sqrt(2),
    "initialization_policy_head_gain": 0.01,
    "initialization_value_head_gain": 1.0,
    "initial_log_standard_deviation": 0.0,
    "gae_lambda": 0.95,
    "value_target": "gae",
    "advantage_normalization": "minibatch",
    "advantage_normalization_ddof": 0,
    "value_target_terminal_mask": None,
    "ratio_clipping": 0.2,
    "ratio_clipping_annealing": None,
    "dual_clipping": None,
    "kl_penalty": None,
    "kl_penalty_coefficient": 1.0,
    "kl_penalty_target": 0.01,
    "target_kl_stop": None,
    "target_kl_stop_estimator": "k3",
    "target_kl_stop_check": "per_minibatch",
    "target_kl_stop_networks": "both",
    "entropy_coefficient": None,
    "max_kl": 0.01,
    "max_kl_final": None,
    "fisher_fraction": 1.0,
    "fisher_subset": "random",
    "conjugate_gradient_iterations": 10,
    "conjugate_gradient_damping": 0.1,
    "line_search": "improvement_ratio",
    "line_search_accept_ratio": 0.1,
    "line_search_backtracks": 10,
    "value_clipping": None,
    "value_clipping_range": 0.2,
    "value_loss_coefficient": 0.5,
    "value_epochs": 10,
    "optimizer": "adam",
    "separate_optimizers": None,
    "update_order": "value_first",
    "learning_rate": 3e-4,
    "value_learning_rate": 3e-4,
    "learning_rate_annealing": "linear",
    "learning_rate_annealing_networks": "both",
    "adam_epsilon": 1e-5,
    "adam_epsilon_style": "after_correction",
    "gradient_clipping": 0.5,
    "gradient_clipping_scope": "joint",
    "epochs": 10,
    "minibatches": 32,
}

TRPO_OF_THREE = {
    "environment": "H",
    "algorithm": "trpo",
    "environments": 1,
    "rollout_length": 3,
    "minibatches": 1,
    "steps": 100,
}


def test_defaults():
    config = Config(environment="Hopper-v5")
    assert levels_of(config) == {"environment": "Hopper-v5", **DEFAULTS}
    fields = [field.name for field in dataclasses.fields(config)]
    assert list(levels_of(config)) == fields[:-1] == list(CATALOGUE)
    assert (fields[-1], config.custom) == ("custom", ())
    assert {name: CATALOGUE[name].default for name in DEFAULTS} == DEFAULTS


def test_levels_take_one_form():
    config = Config(
        environment="Hopper-v5",
        observation_clipping=5,
        environment_reset_each_iteration=False,
        value_hidden_sizes=[8],
    )
    assert config.observation_clipping == 5.0 and isinstance(config.observation_clipping, float)
    assert config.environment_reset_each_iteration is None
    assert config.value_hidden_sizes == (8,)
    same = Config(environment="Hopper-v5", observation_clipping=5.0, value_hidden_sizes=(8,))
    assert config == same
    assert hash(config) == hash(same)


def test_derived_counts():
    config = Config(environment="Hopper-v5")
    assert config.samples_per_iteration == 16 * 128 == 2048
    assert config.iterations == 488  # 1_000_000 / 2048 = 488.28
    assert config.minibatch_size == 64


def test_repr_shows_what_differs_and_is_python():
    config = Config(environment="Hopper-v5", ratio_clipping=None, epochs=4)
    assert repr(config) == "Config(environment='Hopper-v5', ratio_clipping=None, epochs=4)"
    assert eval(repr(config)) == config


def test_differences_from_defaults_and_from_another():
    config = Config(environment="Hopper-v5", ratio_clipping=None, epochs=4)
    assert differences(config) == {"ratio_clipping": None, "epochs": 4}
    assert differences(config, config.replace(epochs=3, environment="Ant-v5")) == {"epochs": 4}


def test_configs_are_frozen_and_copy():
    config = Config(environment="Hopper-v5", epochs=4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.epochs = 5  # type: ignore[misc]
    assert copy.deepcopy(config) == config
    assert dataclasses.replace(config, epochs=5) == config.replace(epochs=5)


@pytest.mark.parametrize("make", [lambda **given: Config(environment="H", **given), Config(environment="H").replace])
def test_unknown_names_meet_the_nearest_spelling(make):
    with pytest.raises(ConfigError) as raised:
        make(value_cliping="max")
    assert str(raised.value) == (
        "unknown detail 'value_cliping'; did you mean 'value_clipping'? allowed: value_clipping, "
        "value_clipping_range, dual_clipping, ratio_clipping, gradient_clipping and 65 more"
    )


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({}, "environment is missing; name one, as in environment='Hopper-v5'"),
        ({"environment": None}, "environment is missing; name one, as in environment='Hopper-v5'"),
        (
            {"environment": 3},
            "environment = 3 is not a name; allowed: printable text without blanks at its ends",
        ),
        (
            {"environment": "H", "discount": 1.5},
            "discount = 1.5 is out of range; allowed: a number at least 0 and at most 1",
        ),
        (
            {"environment": "H", "dual_clipping": 1},
            "dual_clipping = 1 is out of range; allowed: off or a number above 1",
        ),
        (
            {"environment": "H", "minibatches": 30},
            "16 environments x 128 rollout_length = 2048 samples, and 2048 / 30 minibatches = 68.27 is "
            "not a whole "
            "number; set minibatches to 16 or 32, or change rollout_length",
        ),
        (
            {"environment": "H", "environments": 1, "rollout_length": 8, "minibatches": 9},
            "1 environments x 8 rollout_length = 8 samples, and 8 / 9 minibatches = 0.8889 is not a "
            "whole number; "
            "set minibatches to 8, or change rollout_length",
        ),
        (
            {"environment": "H", "environments": 2, "rollout_length": 16},
            "advantage_normalization = minibatch cannot normalize over one sample: 2 environments x 16 "
            "rollout_length "
            "= 32 samples, / 32 minibatches = 1 sample each; set fewer minibatches, or "
            "advantage_normalization = off",
        ),
        (
            {
                "environment": "H",
                "environments": 1,
                "rollout_length": 1,
                "minibatches": 1,
                "advantage_normalization": "batch",
            },
            "advantage_normalization = batch cannot normalize over one sample: 1 environments x 1 "
            "rollout_length "
            "= 1 samples; set a longer rollout_length, or advantage_normalization = off",
        ),
        (
            {"environment": "H", "steps": 2047},
            "steps = 2047 is less than one iteration: 16 environments x 128 rollout_length = 2048 samples; "
            "set steps to at least 2048, or a shorter rollout_length",
        ),
        (
            {
                "environment": "H",
                "algorithm": "trpo",
                "environments": 1,
                "rollout_length": 64,
                "fisher_fraction": 0.01,
            },
            "fisher_fraction = 0.01 of 64 samples is 0.64, less than one; set fisher_fraction to at least 0.0157",
        ),
        (
            # Not 0.333, which is what was given, nor "1, less than one".
            {**TRPO_OF_THREE, "fisher_fraction": 0.3333},
            "fisher_fraction = 0.3333 of 3 samples is 0.999, less than one; set fisher_fraction to at least 0.334",
        ),
        (
            {"environment": "H", "rollout_length": 100_000_007, "steps": 10**12},
            "16 environments x 100000007 rollout_length = 1600000112 samples, and 1600000112 / 32 minibatches = "
            "5e+07 is not a whole number; set minibatches to 16 or 100000007, or change rollout_length",
        ),
        (
            {"environment": "H", "environments": 1, "rollout_length": 2**62 + 1, "steps": 2**63 - 1},
            "1 environments x 4611686018427387905 rollout_length = 4611686018427387905 samples, and "
            "4611686018427387905 / 32 minibatches = 1.441e+17 is not a whole number; set minibatches to 5 or 5581, "
            "or change rollout_length",
        ),
    ],
)
def test_refusals_do_the_arithmetic(levels, message):
    with pytest.raises(ConfigError) as raised:
        Config(**levels)
    assert str(raised.value) == message


@given(st.integers(1, 3000), st.integers(1, 4000))
def test_the_advised_minibatches_are_the_nearest_that_divide(batch: int, parts: int) -> None:
    levels = {"environment": "H", "environments": 1, "rollout_length": batch, "advantage_normalization": None}
    below = max((part for part in range(1, parts) if batch % part == 0), default=None)
    above = min((part for part in range(parts + 1, batch + 1) if batch % part == 0), default=None)
    if batch % parts == 0:
        assert Config(**levels, minibatches=parts).minibatches == parts
        return
    advised = " or ".join(str(part) for part in (below, above) if part is not None)
    with pytest.raises(ConfigError, match=f"; set minibatches to {advised}, or change rollout_length$"):
        Config(**levels, minibatches=parts)


@given(st.integers(1, 10**7))
def test_the_advised_fraction_of_samples_is_enough(batch: int) -> None:
    levels = {**TRPO_OF_THREE, "rollout_length": batch, "steps": batch, "advantage_normalization": None}
    with pytest.raises(ConfigError, match="set fisher_fraction to at least") as refused:
        Config(**levels, fisher_fraction=0.999 / batch)
    advised = float(str(refused.value).rpartition(" ")[2])
    assert Config(**levels, fisher_fraction=advised).fisher_samples >= 1
    assert advised <= 1.01 / batch


@pytest.mark.parametrize(
    ("batch", "fraction", "samples"),
    [(100, 0.29, 29), (100, 0.57, 57), (100, 0.299, 29), (3, 1 / 3, 1), (64, 1.0, 64), (10**15, 1.0, 10**15)],
)
def test_a_fraction_of_the_samples_is_what_it_says_in_decimals(batch: int, fraction: float, samples: int) -> None:
    levels = {**TRPO_OF_THREE, "rollout_length": batch, "steps": batch, "fisher_fraction": fraction}
    assert Config(**levels).fisher_samples == samples


def test_smallest_batches_that_can_be_normalized():
    two = Config(environment="H", environments=2, rollout_length=32)
    assert two.minibatch_size == 2
    single = Config(environment="H", environments=2, rollout_length=16, advantage_normalization=None)
    assert single.minibatch_size == 1
    # The one step of TRPO's policy sees the whole batch, whatever the value network's minibatches are.
    trpo = Config(environment="H", algorithm="trpo", environments=2, rollout_length=16)
    assert trpo.minibatch_size == 1
    assert Config(environment="H", steps=2048).iterations == 1


def test_applies_knows_no_unknown_detail():
    with pytest.raises(ConfigError, match=r"^unknown detail 'clip'; "):
        Config(environment="H").applies("clip")


def test_details_of_continuous_actions_are_refused_for_discrete_ones():
    config = Config(environment="CartPole-v1", initial_log_standard_deviation=-1)
    check_actions(config, discrete=False)
    with pytest.raises(ConfigError) as raised:
        check_actions(config, discrete=True)
    assert str(raised.value) == (
        "initial_log_standard_deviation = -1.0 would have no effect: CartPole-v1 has discrete actions; "
        "leave it out (its default is 0.0)"
    )
    check_actions(Config(environment="CartPole-v1"), discrete=True)
    with pytest.raises(ConfigError, match=r"^action_bound = tanh would have no effect: CartPole-v1 has discrete"):
        check_actions(Config(environment="CartPole-v1", action_bound="tanh"), discrete=True)


def test_steps_that_are_not_trained_are_told() -> None:
    assert Config(environment="Hopper-v5", environments=1, rollout_length=2048).remainder == (
        "steps = 1,000,000 are 488 iterations of 2,048: 999,424"
    )
    short = Config(environment="Hopper-v5", environments=1, rollout_length=2048, steps=2049)
    assert short.remainder == "steps = 2,049 are 1 iteration of 2,048: 2,048"
    assert short.replace(steps=2048).remainder is None
