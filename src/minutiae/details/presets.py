"""Named configs: plain ones to use, other trainers' defaults, and the study's own per task. No training code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from minutiae.details.config import Config
from minutiae.details.paper import INITIALIZATIONS, artifact_levels, text_levels
from minutiae.details.paper_rows import ROWS, TASKS, paper_task
from minutiae.details.sources import ENGSTROM, MADRYLAB
from minutiae.details.trainers import DESCRIPTIONS, MISMATCHES, Mismatch, trainer_levels
from minutiae.errors import ConfigError, unknown

FLAVOURS = ("paper-artifact", "paper-text")
"""The study as its released code ran it, and as its article describes it."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A named set of `levels`, as changes to the defaults. Plain presets have no `flavour` and no `task`.

    `mismatches` say where the preset of another trainer cannot be what that trainer is.
    """

    name: str
    flavour: str | None
    task: str | None
    description: str
    levels: Mapping[str, Any]
    mismatches: tuple[Mismatch, ...] = ()


_WITHOUT_THE_NINE: dict[str, Any] = {
    "value_clipping": None,
    "reward_scaling": None,
    **INITIALIZATIONS["xavier_uniform"],
    "learning_rate_annealing": None,
    "reward_clipping": None,
    "observation_normalization": None,
    "observation_clipping": None,
    "gradient_clipping": None,
}
_TRPO: dict[str, Any] = {
    "algorithm": "trpo",
    "max_kl": 0.02,
    # Every fifth state, as Baselines trpo_mpi: the Fisher products would be most of an update otherwise.
    "fisher_fraction": 0.2,
    "fisher_subset": "strided",
    "advantage_normalization": "batch",
    "gradient_clipping": None,
}
_TRPO_WITH_THE_NINE: dict[str, Any] = {**_TRPO, "value_clipping": "max", "gradient_clipping": 0.5}

_PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "ppo": (
        "PPO as we recommend it: 16 environments of 128 steps, one optimizer, time limits bootstrapped.",
        {},
    ),
    "ppo-m": (
        f"PPO without any of the nine optimizations of {ENGSTROM}, section 3. Tanh stays: to leave it out "
        "another activation must be chosen, and the article names none.",
        _WITHOUT_THE_NINE,
    ),
    "ppo-noclip": ("PPO whose ratio is not clipped; every other detail as in ppo.", {"ratio_clipping": None}),
    "trpo": (
        "TRPO as we recommend it: the data, preprocessing and networks of ppo, a natural-gradient step for "
        "the policy, and an optimizer of its own, without gradient clipping, for the value network.",
        _TRPO,
    ),
    "trpo+": (
        f"TRPO with all nine optimizations of {ENGSTROM}, section 3: trpo with value clipping, and with "
        "gradient clipping of the value network.",
        _TRPO_WITH_THE_NINE,
    ),
}


def _paper_presets() -> list[Preset]:
    return [
        Preset(
            name=row.preset,
            flavour=flavour,
            task=row.task,
            description=f"{row.preset} on {row.task}, {described}.",
            levels=MappingProxyType(levels(row)),
        )
        for flavour, described, levels in (
            ("paper-artifact", f"as {MADRYLAB} ran it", artifact_levels),
            ("paper-text", f"as {ENGSTROM} describes it", text_levels),
        )
        for row in ROWS
    ]


_TABLE: tuple[Preset, ...] = (
    *(
        Preset(name=name, flavour=None, task=None, description=description, levels=MappingProxyType(levels))
        for name, (description, levels) in _PLAIN.items()
    ),
    *(
        Preset(
            name=name,
            flavour=None,
            task=None,
            description=description,
            levels=MappingProxyType(trainer_levels(name)),
            mismatches=MISMATCHES[name],
        )
        for name, description in DESCRIPTIONS.items()
    ),
    *_paper_presets(),
)


def preset_names() -> tuple[str, ...]:
    """The names of all presets, those of other trainers last."""
    return (*_PLAIN, *DESCRIPTIONS)


def flavoured_names() -> tuple[str, ...]:
    """The names of our own presets: every flavour has each of them."""
    return tuple(_PLAIN)


def preset_table() -> tuple[Preset, ...]:
    """Every preset of every flavour and task, the plain ones first."""
    return _TABLE


def preset(name: str, environment: str, flavour: str | None = None, **overrides: Any) -> Config:
    """The config that `name` stands for on `environment`.

    Args:
        name: one of `preset_names()`.
        environment: an environment id; the flavours know Hopper, Walker2d and Humanoid (v2 to v5) only.
        flavour: `None` for the plain preset, or one of `FLAVOURS`; the presets of other trainers have none.
        overrides: levels that replace the preset's. Details of the preset that lose their effect by them go
            back to their default.

    Raises:
        ConfigError: an unknown name or flavour, a task that the flavour has no values for, or as `Config`.
    """
    if name not in preset_names():
        raise ConfigError(unknown("preset", name, preset_names()))
    if flavour is not None and flavour not in FLAVOURS:
        raise ConfigError(unknown("flavour", flavour, FLAVOURS, "leave it out for the plain preset"))
    if flavour is not None and name not in _PLAIN:
        raise ConfigError(f"preset {name!r} has no flavours; leave {flavour!r} out, or take one of {', '.join(_PLAIN)}")
    task = None if flavour is None else paper_task(environment)
    if flavour is not None and task is None:
        raise ConfigError(
            f"flavour {flavour!r} has no values for {environment!r}; it has them for {', '.join(TASKS)} "
            f"(versions v2 to v5); leave the flavour out for the plain preset {name!r}"
        )
    (found,) = (row for row in _TABLE if (row.name, row.flavour, row.task) == (name, flavour, task))
    return Config(environment=environment, **found.levels).replace(**overrides)
