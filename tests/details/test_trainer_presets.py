"""Presets of other trainers, detail by detail against what each of them publishes as its defaults."""

from __future__ import annotations

import math

import pytest

from minutiae.details import CATALOGUE, Config, differences, preset, preset_table
from minutiae.details.trainers import COLUMNS, DESCRIPTIONS, MISMATCHES, trainer_levels
from minutiae.errors import ConfigError

# detail | Stable-Baselines3 2.9: PPO(...), ActorCriticPolicy(...) | CleanRL: Args, make_env, Agent
#        | Baselines: ppo2/defaults.py mujoco(), ppo2/model.py, common/models.py, run.py with VecNormalize
# "-": the detail has no effect there.
TABLE = """
algorithm                           | ppo                 | ppo                 | ppo
environments                        | 1                   | 1                   | 1
rollout_length                      | 2048                | 2048                | 2048
environment_reset_each_iteration    | off                 | off                 | off
final_state_bootstrap               | next                | next                | next
truncation_bootstrap                | bootstrap           | terminal            | terminal
discount                            | 0.99                | 0.99                | 0.99
action_bound                        | clip_at_environment | clip_at_environment | clip_at_environment
observation_normalization           | off                 | on                  | on
observation_normalization_update    | -                   | per_step            | per_step
observation_normalization_estimator | -                   | population          | population
observation_clipping                | off                 | 10                  | 10
reward_scaling                      | off                 | returns             | returns
reward_scaling_reset                | -                   | gymnasium           | on_done
reward_scaling_estimator            | -                   | population          | population
reward_clipping                     | off                 | 10                  | 10
policy_hidden_sizes                 | 64,64               | 64,64               | 64,64
value_hidden_sizes                  | 64,64               | 64,64               | 64,64
activation                          | tanh                | tanh                | tanh
initialization                      | orthogonal          | orthogonal          | orthogonal
initialization_hidden_gain          | 1.4142135623730951  | 1.4142135623730951  | 1.4142135623730951
initialization_policy_head_gain     | 0.01                | 0.01                | 0.01
initialization_value_head_gain      | 1                   | 1                   | 1
initial_log_standard_deviation      | 0                   | 0                   | 0
gae_lambda                          | 0.95                | 0.95                | 0.95
value_target                        | gae                 | gae                 | gae
advantage_normalization             | minibatch           | minibatch           | minibatch
advantage_normalization_ddof        | 1                   | 1                   | 0
value_target_terminal_mask          | off                 | off                 | off
ratio_clipping                      | 0.2                 | 0.2                 | 0.2
ratio_clipping_annealing            | off                 | off                 | off
dual_clipping                       | off                 | off                 | off
kl_penalty                          | off                 | off                 | off
target_kl_stop                      | off                 | off                 | off
entropy_coefficient                 | off                 | off                 | off
value_clipping                      | off                 | max                 | max
value_clipping_range                | -                   | 0.2                 | 0.2
value_loss_coefficient              | 0.5                 | 0.25                | 0.25
optimizer                           | adam                | adam                | adam
separate_optimizers                 | off                 | off                 | off
learning_rate                       | 3e-4                | 3e-4                | 3e-4
learning_rate_annealing             | off                 | linear              | linear
adam_epsilon                        | 1e-5                | 1e-5                | 1e-5
adam_epsilon_style                  | after_correction    | after_correction    | before_correction
gradient_clipping                   | 0.5                 | 0.5                 | 0.5
gradient_clipping_scope             | joint               | joint               | joint
epochs                              | 10                  | 10                  | 10
minibatches                         | 32                  | 32                  | 32
"""
NAMES = ("sb3", "cleanrl", "baselines")
ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
OWN_CHOICES = {"environment", "steps", "segment_iterations", "held_out_diagnostics"}
"""Of the budget: no trainer has a default of its own for them."""


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_detail_is_at_the_published_default(row):
    detail, *published = row
    for name, text in zip(NAMES, published, strict=True):
        config = preset(name, "Hopper-v5")
        if text == "-":
            assert not config.applies(detail), name
        else:
            assert getattr(config, detail) == CATALOGUE[detail].parse(text), name


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_every_detail_that_applies(name):
    config = preset(name, "Hopper-v5")
    published = {detail for detail, *texts in ROWS if texts[NAMES.index(name)] != "-"}
    assert published | OWN_CHOICES == {detail for detail in CATALOGUE if config.applies(detail)}
    # All of them are written down, so that no default of ours can move a preset.
    assert set(trainer_levels(name)) == published
    assert config.steps == 1_000_000


def test_what_each_has_away_from_our_defaults():
    assert differences(preset("sb3", "Hopper-v5")) == {
        "environments": 1,
        "rollout_length": 2048,
        "observation_normalization": None,
        "observation_clipping": None,
        "reward_scaling": None,
        "reward_clipping": None,
        "advantage_normalization_ddof": 1,
        "learning_rate_annealing": None,
    }
    cleanrl, baselines = preset("cleanrl", "Hopper-v5"), preset("baselines", "Hopper-v5")
    # The two are often said to be the same.
    assert differences(cleanrl, baselines) == {
        "reward_scaling_reset": "gymnasium",
        "advantage_normalization_ddof": 1,
        "adam_epsilon_style": "after_correction",
    }
    assert baselines.initialization_hidden_gain == math.sqrt(2)


def test_presets_take_overrides_and_carry_what_cannot_be_matched():
    config = preset("sb3", "CartPole-v1", value_clipping="clipped_only", value_clipping_range=0.1)
    assert isinstance(config, Config)
    assert (config.value_clipping, config.value_clipping_range) == ("clipped_only", 0.1)
    assert set(MISMATCHES) == set(DESCRIPTIONS) == set(COLUMNS) == set(NAMES)
    rows = {row.name: row for row in preset_table() if row.mismatches}
    assert set(rows) == set(NAMES)
    for name, row in rows.items():
        topics = [gap.topic for gap in row.mismatches]
        assert len(topics) == len(set(topics))
        assert {"renewed environments", "random numbers"} <= set(topics)
        for gap in row.mismatches:
            assert all((gap.topic, gap.theirs, gap.ours, gap.remedy)), name


def test_presets_of_other_trainers_have_no_flavours():
    with pytest.raises(ConfigError) as raised:
        preset("sb3", "Hopper-v5", "paper-text")
    assert str(raised.value) == (
        "preset 'sb3' has no flavours; leave 'paper-text' out, or take one of ppo, ppo-m, ppo-noclip, trpo, trpo+"
    )
