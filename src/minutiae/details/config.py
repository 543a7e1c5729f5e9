"""`Config`, one training run without its seed, and `CATALOGUE`, the entry of every field. No training code lives here."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from minutiae.details.checks import check_numbers
from minutiae.details.conditions import applies, first_unmet
from minutiae.details.detail import Detail
from minutiae.details.themes import (
    Advantages,
    Budget,
    Collection,
    Networks,
    Optimization,
    PolicyUpdate,
    Preprocessing,
    TrustRegion,
    ValueUpdate,
)
from minutiae.errors import ConfigError, unknown

THEMES = (
    Budget,
    Collection,
    Preprocessing,
    Networks,
    Advantages,
    PolicyUpdate,
    TrustRegion,
    ValueUpdate,
    Optimization,
)


def _entries() -> dict[str, Detail]:
    entries = {}
    for theme in THEMES:
        title = re.sub(r"(?<!^)(?=[A-Z])", " ", theme.__name__).lower()
        for field in dataclasses.fields(theme):
            entries[field.name] = dataclasses.replace(field.metadata["detail"], name=field.name, theme=title)
    return entries


CATALOGUE: Mapping[str, Detail] = MappingProxyType(_entries())
"""Every field of `Config` by name, in the order of the config file."""


# Dataclasses collect fields from the last base to the first: read this list upwards for the order of the file.
@dataclass(frozen=True, kw_only=True, repr=False)
class Config(
    Optimization,
    ValueUpdate,
    TrustRegion,
    PolicyUpdate,
    Advantages,
    Networks,
    Preprocessing,
    Collection,
    Budget,
):
    """Everything that defines one training run except its seed.

    Each field is one detail; `CATALOGUE[name]` says what it does and what it may be. Levels are checked and normalized
    here: `None` is off, flags are `True` or `None`, an int where a float is meant becomes one. A level other than the
    default is refused where the detail has no effect, and so are numbers that do not fit together; both raise
    `ConfigError` with the remedy.
    """

    def __new__(cls, **given: Any) -> Self:
        check_names(given)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        levels = normalized(levels_of(self))
        for name, level in levels.items():
            object.__setattr__(self, name, level)
        for name in CATALOGUE:
            refuse_without_effect(name, levels)
        check_numbers(self)

    def __repr__(self) -> str:
        changed = {"environment": self.environment} | differences(self)
        return f"Config({', '.join(f'{name}={level!r}' for name, level in changed.items())})"

    @property
    def samples_per_iteration(self) -> int:
        """Transitions in one rollout of one agent: `environments * rollout_length`."""
        return self.environments * self.rollout_length

    @property
    def iterations(self) -> int:
        """Whole rollouts that fit into `steps`."""
        return self.steps // self.samples_per_iteration

    @property
    def minibatch_size(self) -> int:
        """Samples in one gradient step."""
        return self.samples_per_iteration // self.minibatches

    def applies(self, detail: str) -> bool:
        """Whether `detail` has any effect in this config."""
        check_names([detail])
        return applies(detail, levels_of(self), CATALOGUE)

    def replace(self, **changes: Any) -> Self:
        """A config with `changes`. Details that lose their effect by them, and are not named in them, go back to default."""
        check_names(changes)
        levels = normalized(levels_of(self) | changes)
        for name, entry in CATALOGUE.items():
            if name not in changes and not applies(name, levels, CATALOGUE):
                levels[name] = entry.default
        return type(self)(**levels)


def check_names(names: Any) -> None:
    """`ConfigError` for the first of `names` that is no detail."""
    for name in names:
        if name not in CATALOGUE:
            raise ConfigError(unknown("detail", str(name), CATALOGUE))


def levels_of(config: Config) -> dict[str, Any]:
    """The level of every detail, in the order of the catalogue."""
    return {name: getattr(config, name) for name in CATALOGUE}


def normalized(levels: Mapping[str, Any]) -> dict[str, Any]:
    """The same levels, checked and in the one form that each of them has."""
    if levels["environment"] == "":
        raise ConfigError("environment is missing: name one, as in environment='Hopper-v5'")
    return {name: CATALOGUE[name].check(level) for name, level in levels.items()}


def differences(config: Config, reference: Config | None = None) -> dict[str, Any]:
    """The levels of `config` that are not those of `reference` (default: the defaults), the environment left out."""
    return {
        name: getattr(config, name)
        for name, entry in CATALOGUE.items()
        if name != "environment"
        and getattr(config, name) != (entry.default if reference is None else getattr(reference, name))
    }


def refuse_without_effect(name: str, levels: Mapping[str, Any]) -> None:
    """`ConfigError` when `name` is set away from its default although nothing would come of it."""
    entry = CATALOGUE[name]
    if levels[name] == entry.default:
        return
    unmet = first_unmet(name, levels, CATALOGUE)
    if unmet is not None:
        raise ConfigError(
            f"{name} = {entry.format(levels[name])} would have no effect: it needs {unmet.text()}, and here "
            f"{unmet.state(levels, CATALOGUE)}; leave {name} at its default {entry.format(entry.default)} "
            f"or set {unmet.text()}"
        )


def numbers(config: Config) -> dict[str, float]:
    """What may differ between the agents of one program: every learner's number, encoded (see `Detail.encode`).

    `max_kl_final` off is encoded as `max_kl`: a schedule from a number to itself is constant.
    """
    encoded = {
        name: entry.encode(getattr(config, name))
        for name, entry in CATALOGUE.items()
        if entry.kind == "number" and entry.room == "learner"
    }
    if config.max_kl_final is None:
        encoded["max_kl_final"] = encoded["max_kl"]
    return encoded


def structure(config: Config) -> tuple[tuple[str, Any], ...]:
    """A hashable key of everything that shapes the program: agents with equal keys can be trained together."""
    return tuple(
        (name, getattr(config, name)) for name, entry in CATALOGUE.items() if entry.kind == "structure"
    )
