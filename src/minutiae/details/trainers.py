"""Other trainers as presets: their defaults, from the catalogue's column, and what no level of ours can match.

No level is written here: each stands once, in the entry of its detail (`Detail.who`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from minutiae.details.conditions import applies
from minutiae.details.config import CATALOGUE
from minutiae.details.sources import CLEANRL, PPO2, SB3

COLUMNS: Mapping[str, str] = MappingProxyType({"sb3": "sb3", "cleanrl": "cleanrl", "baselines": "ppo2"})
"""Preset -> its name in `detail.IMPLEMENTATIONS`."""

DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "sb3": f"PPO with the defaults of {SB3} 2.9 (PPO, MlpPolicy): without VecNormalize.",
        "cleanrl": f"PPO with the defaults of {CLEANRL}'s ppo_continuous_action.py, its wrappers included.",
        "baselines": f"PPO with the defaults of {PPO2} for MuJoCo, VecNormalize of its run.py included.",
    }
)


@dataclass(frozen=True)
class Mismatch:
    """Something another trainer does by default that its preset does not, and how near one comes."""

    topic: str
    theirs: str
    ours: str
    remedy: str


_RENEWAL = Mismatch(
    "renewed environments",
    "environments run from the first step to the last",
    "they are renewed about every twenty time limits, so that a resume is exact",
    "set segment_iterations to the number of iterations: then nothing is renewed, and only the end is saved",
)
_RANDOM_NUMBERS = Mismatch(
    "random numbers",
    "those of PyTorch, NumPy and the environments in their own order",
    "streams of their own for weights, noise, minibatches and environments",
    "none: compare distributions over seeds, not seeds",
)

MISMATCHES: Mapping[str, tuple[Mismatch, ...]] = MappingProxyType(
    {
        "sb3": (
            Mismatch(
                "last rollout",
                "total_timesteps is rounded up to whole rollouts",
                "steps is rounded down",
                "set steps to the next multiple of environments * rollout_length (489 * 2048 for a million)",
            ),
            Mismatch(
                "last minibatch",
                "where batch_size does not divide the rollout, a smaller one is left",
                "minibatches are equal parts",
                "choose a batch that divides",
            ),
            Mismatch(
                "gSDE",
                "use_sde draws noise that depends on the state (off by default)",
                "noise is drawn anew at every step",
                "none",
            ),
            _RENEWAL,
            _RANDOM_NUMBERS,
        ),
        "cleanrl": (
            Mismatch(
                "statistics of observations",
                "an episode's last observation is counted too; each of several environments has its own statistics",
                "last observations are never counted; an agent has one set of statistics",
                "none; with one environment (the default) only the last observations differ",
            ),
            _RENEWAL,
            _RANDOM_NUMBERS,
        ),
        "baselines": (
            Mismatch(
                "gradient clipping",
                "g <- g min(1, c / |g|)",
                "g <- g min(1, c / (|g| + 1e-6))",
                "none; the step is smaller by 2 parts in a million at c = 0.5",
            ),
            Mismatch(
                "advantages over MPI",
                "under MPI each worker normalizes its own advantages and averages gradients",
                "one agent is trained in one place",
                "none",
            ),
            _RENEWAL,
            _RANDOM_NUMBERS,
        ),
    }
)
"""What cannot be matched, by preset."""


def trainer_levels(preset: str) -> dict[str, Any]:
    """The levels of another trainer: its column of the catalogue, but for details without effect there.

    Levels that are also our default stand there too, so that no default of ours can move a preset.
    """
    column = COLUMNS[preset]
    written = {name: entry.parse(entry.who[column]) for name, entry in CATALOGUE.items() if column in entry.who}
    levels = {name: entry.default for name, entry in CATALOGUE.items()} | written
    return {name: level for name, level in written.items() if applies(name, levels, CATALOGUE)}
