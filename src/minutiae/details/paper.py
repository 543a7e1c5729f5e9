"""Engstrom et al. 2020 as data: the released code's levels for each row, and where the article differs.

Presets are made of them elsewhere; nothing here builds a config.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from minutiae.details.paper_rows import ITERATIONS, SAMPLES_PER_ITERATION, Row
from minutiae.details.sources import DRAFT, ENGSTROM, MADRYLAB

Levels = Mapping[str, Any]

COMMON: Levels = MappingProxyType(
    {
        "steps": ITERATIONS * SAMPLES_PER_ITERATION,
        "environments": 1,
        "rollout_length": SAMPLES_PER_ITERATION,
        "environment_reset_each_iteration": True,
        "final_state_bootstrap": "self",
        "truncation_bootstrap": "terminal",
        "discount": 0.99,
        "action_bound": None,
        "observation_normalization": True,
        "observation_normalization_update": "per_step",
        "observation_normalization_estimator": "sample",
        "policy_hidden_sizes": (64, 64),
        "value_hidden_sizes": (64, 64),
        "activation": "tanh",
        "initial_log_standard_deviation": 0.0,
        "value_target": "gae",
        "advantage_normalization_ddof": 1,
        "value_target_terminal_mask": True,
        "value_epochs": 10,
        "update_order": "value_first",
        "optimizer": "adam",
        "adam_epsilon": 1e-5,
        "adam_epsilon_style": "after_correction",
        "minibatches": 32,
    }
)
"""What all agents of MadryLab/implementation-matters share: in full, so that no default of ours moves it."""

INITIALIZATIONS: Mapping[str, Levels] = MappingProxyType(
    {
        "orthogonal": {
            "initialization": "orthogonal",
            "initialization_hidden_gain": math.sqrt(2),
            "initialization_policy_head_gain": 0.01,
            "initialization_value_head_gain": 1.0,
        },
        # The released xavier ignores gains: the study's switch turns off the small policy head as well.
        "xavier_uniform": {
            "initialization": "xavier_uniform",
            "initialization_hidden_gain": 1.0,
            "initialization_policy_head_gain": 1.0,
            "initialization_value_head_gain": 1.0,
        },
    }
)
"""The two levels of the study's switch "initialization": scheme and gains together."""


def artifact_levels(row: Row) -> dict[str, Any]:
    """The levels of the released code for one row, as changes to the defaults."""
    levels: dict[str, Any] = {
        **COMMON,
        **INITIALIZATIONS[row.initialization],
        "value_learning_rate": row.value_learning_rate,
        "gae_lambda": row.gae_lambda,
        "reward_scaling": row.reward_scaling,
        "reward_clipping": row.reward_clipping,
        "observation_clipping": row.observation_clipping,
        "learning_rate_annealing": row.annealing,
        "value_clipping": row.value_clipping,
        "gradient_clipping": None,
    }
    if row.reward_scaling is not None:
        levels["reward_scaling_estimator"] = "sample"
    if row.reward_scaling == "returns":
        levels["reward_scaling_reset"] = "on_reset"
    if row.value_clipping is not None:
        levels["value_clipping_range"] = 0.2
    return levels | (_trpo_levels(row) if row.is_trpo else _ppo_levels(row))


def _ppo_levels(row: Row) -> dict[str, Any]:
    levels: dict[str, Any] = {
        "algorithm": "ppo",
        "epochs": 10,
        "ratio_clipping": None if row.preset == "ppo-noclip" else 0.2,
        "dual_clipping": None,
        "kl_penalty": None,
        "target_kl_stop": None,
        "entropy_coefficient": row.entropy_coefficient,
        "advantage_normalization": "minibatch",
        "separate_optimizers": True,
        "learning_rate": row.learning_rate,
    }
    if row.preset != "ppo-noclip":
        levels["ratio_clipping_annealing"] = None
    if row.annealing is not None:
        levels["learning_rate_annealing_networks"] = "both"
    if row.gradient_clipping is not None:
        levels |= {"gradient_clipping": row.gradient_clipping, "gradient_clipping_scope": "policy_only"}
    return levels


def _trpo_levels(row: Row) -> dict[str, Any]:
    return {
        "algorithm": "trpo",
        "advantage_normalization": "batch",
        "max_kl": row.max_kl,
        "max_kl_final": None,
        "fisher_fraction": 0.1,
        "fisher_subset": "random",
        "conjugate_gradient_iterations": 10,
        "conjugate_gradient_damping": 0.1,
        "line_search": "improvement_ratio",
        "line_search_accept_ratio": 0.1,
        "line_search_backtracks": 10,
    }


@dataclass(frozen=True)
class Difference:
    """One thing that the article says and the code does not do; `levels` gives the article's for a row."""

    topic: str
    article: str
    artifact: str
    source: str
    levels: Callable[[Row], dict[str, Any]] = field(repr=False)


def _minimal(row: Row) -> bool:
    return row.preset in ("ppo-m", "trpo")


def _text_minimal(row: Row) -> dict[str, Any]:
    if not _minimal(row):
        return {}
    # Without normalization there is no deviation to estimate: the estimator goes back to its default.
    return {"observation_normalization": None, "observation_normalization_estimator": "population"}


def _text_gradient_clipping(row: Row) -> dict[str, Any]:
    if _minimal(row):
        return {}
    levels: dict[str, Any] = {"gradient_clipping": row.gradient_clipping or 0.5}
    return levels if row.is_trpo else levels | {"gradient_clipping_scope": "joint"}


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "value clipping",
        "the smaller of the two squared errors, within the policy's range",
        "the larger, within a range of its own (0.2 as well)",
        f"{ENGSTROM}, section 3, optimization 1; {MADRYLAB}, value_step",
        lambda row: {"value_clipping": "min", "value_clipping_range": 0.2} if row.value_clipping else {},
    ),
    Difference(
        "samples of the value loss",
        "all of them",
        "those that end an episode are left out",
        f"{ENGSTROM}, section 3 (names no exception); {MADRYLAB}, value_step",
        lambda row: {"value_target_terminal_mask": None},
    ),
    Difference(
        "trust-region schedule",
        "linear from a first to a last radius, both tuned",
        "configured, but the step reads the radius that the schedule leaves alone",
        f"{ENGSTROM}, appendix A.1; {MADRYLAB}, Trainer and trpo_step",
        lambda row: {"max_kl_final": row.max_kl_final} if row.max_kl_final != row.max_kl else {},
    ),
    Difference(
        "gradient clipping",
        "of the global norm, at 0.5 unless tuned, in all agents that have the nine optimizations",
        "off in the tuned PPO, never applied in the trust-region step nor to the value network",
        f"{ENGSTROM}, section 3, optimization 9; {MADRYLAB}, configuration files and trpo_step",
        _text_gradient_clipping,
    ),
    Difference(
        "minimal agents (PPO-M, TRPO)",
        "none of the nine optimizations; tanh stays here, as no other activation is named",
        "observation normalization and tanh stay on",
        f"{ENGSTROM}, Table 1; {MADRYLAB}, configuration files",
        _text_minimal,
    ),
    Difference(
        "reward scaling by rewards",
        "not described: rewards are divided by the deviation of the running return (Algorithm 1)",
        "(r - mean) / deviation + mean in PPO-NoClip on Hopper and Walker2d",
        f"{ENGSTROM}, Algorithm 1; {MADRYLAB}, ZFilter and configuration files",
        lambda row: {"reward_scaling": "returns"} if row.reward_scaling == "rewards" else {},
    ),
    Difference(
        "running return of reward scaling",
        "never starts again",
        "starts again at every reset, so at each iteration too",
        f"{ENGSTROM}, Algorithm 1 (and {DRAFT}); {MADRYLAB}, RewardFilter",
        lambda row: {"reward_scaling_reset": "never"} if row.reward_scaling else {},
    ),
    Difference(
        "environments between iterations",
        "go on",
        "are reset at the start of each iteration",
        f"{ENGSTROM} (names no reset); {MADRYLAB}, run_trajectories",
        lambda row: {"environment_reset_each_iteration": None},
    ),
    Difference(
        "bootstrap at the end of a rollout",
        "the next state's value",
        "the last state's own value, as the next state is thrown away",
        f"{ENGSTROM} (names no exception from GAE); {MADRYLAB}, advantage_and_return",
        lambda row: {"final_state_bootstrap": "next"},
    ),
)
"""The article against the released code. Where the article is silent (optimizers, update order, time limits,
action bounds, estimators) the code speaks for it."""


def text_levels(row: Row) -> dict[str, Any]:
    """The levels of the article for one row: the released code's, and every difference on top."""
    levels = artifact_levels(row)
    for difference in DIFFERENCES:
        levels |= difference.levels(row)
    return levels
