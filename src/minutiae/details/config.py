"""`Config`, one training run without its seed, and `CATALOGUE`, its entries. No detail is defined here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any, Self

from minutiae.details.advantages import Advantages
from minutiae.details.budget import Budget
from minutiae.details.checks import check_numbers
from minutiae.details.collection import Collection
from minutiae.details.conditions import applies, first_unmet
from minutiae.details.custom import CustomLevels, check_form, checked_levels, find, is_custom, level_of
from minutiae.details.detail import Detail
from minutiae.details.networks import Networks
from minutiae.details.optimization import Optimization
from minutiae.details.policy_update import PolicyUpdate
from minutiae.details.preprocessing import Preprocessing
from minutiae.details.trust_region import TrustRegion
from minutiae.details.value_update import ValueUpdate
from minutiae.errors import ConfigError, unknown

THEMES: Mapping[str, type] = MappingProxyType(
    {
        "budget": Budget,
        "collection": Collection,
        "preprocessing": Preprocessing,
        "networks": Networks,
        "advantages": Advantages,
        "policy update": PolicyUpdate,
        "trust region": TrustRegion,
        "value update": ValueUpdate,
        "optimization": Optimization,
    }
)
"""The groups of the catalogue, in the order of the config file."""

CATALOGUE: Mapping[str, Detail] = MappingProxyType(
    {
        field.name: dataclasses.replace(field.metadata["detail"], name=field.name, theme=theme)
        for theme, fields in THEMES.items()
        for field in dataclasses.fields(fields)
    }
)
"""The entry of every field of `Config` by name, in the order of the config file."""


# Dataclasses collect fields from the last base to the first, hence the reverse of the file's order.
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

    Each field is one detail; `CATALOGUE[name]` says what it does and what it may be. Off is `None` or
    "off", flags are `True` or `None` (`False` becomes `None`), an int where a float is meant becomes one.

    `custom` holds the details from outside the package that are on, as pairs `("module:detail", level)` in the order
    of their names; it may be given as a mapping.

    Raises:
        ConfigError: an unknown detail or level; a level other than the default where the detail has no
            effect; numbers that do not fit together. The text names the remedy.
    """

    custom: CustomLevels = ()

    def __new__(cls, **given: Any) -> Self:
        check_names(name for name in given if name != "custom")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        levels = checked(levels_of(self))
        for name, level in levels.items():
            object.__setattr__(self, name, level)
        for name in CATALOGUE:
            refuse_without_effect(name, levels)
        check_numbers(self)
        object.__setattr__(self, "custom", checked_levels(self.custom))
        for name, level in self.custom:
            refuse_without_effect(name, levels | {name: level_of(name, level)})

    def __repr__(self) -> str:
        shown = {"environment": self.environment} | differences(self)
        return f"Config({', '.join(f'{name}={level!r}' for name, level in shown.items())})"

    @property
    def samples_per_iteration(self) -> int:
        """Transitions in one rollout of one agent: B = `environments` * `rollout_length`."""
        return self.environments * self.rollout_length

    @property
    def iterations(self) -> int:
        """Whole rollouts that fit into `steps`, at least 1."""
        return self.steps // self.samples_per_iteration

    @property
    def remainder(self) -> str | None:
        """What rounding to whole iterations does to `steps`, in one sentence; `None` when they are whole."""
        trained = self.iterations * self.samples_per_iteration
        if trained == self.steps:
            return None
        number = f"{self.iterations:,} iteration{'' if self.iterations == 1 else 's'}"
        return f"steps = {self.steps:,} are {number} of {self.samples_per_iteration:,}: {trained:,}"

    @property
    def minibatch_size(self) -> int:
        """Samples in one gradient step."""
        return self.samples_per_iteration // self.minibatches

    @property
    def fisher_samples(self) -> int:
        """Samples in `fisher_fraction` of a rollout, rounded down."""
        # 0.29 * 100 is 28.999999999999996 in binary; the user means 29.
        return min(self.samples_per_iteration, int(self.samples_per_iteration * self.fisher_fraction * (1 + 1e-12)))

    def applies(self, detail: str) -> bool:
        """Whether `detail` has any effect in this config.

        Raises:
            ConfigError: no detail has this name.
        """
        check_names([detail])
        if is_custom(detail):
            return detail in dict(self.custom)
        return applies(detail, levels_of(self), CATALOGUE)

    def replace(self, **changes: Any) -> Self:
        """This config with `changes`.

        Details that lose their effect by the changes, and are not among them, go back to their default:
        turning `value_clipping` off takes `value_clipping_range` with it.

        Raises:
            ConfigError: as `Config`.
        """
        check_names(changes)
        custom = dict(self.custom) | {name: level for name, level in changes.items() if is_custom(name)}
        changes = {name: level for name, level in changes.items() if name not in custom}
        levels = checked(levels_of(self) | changes)
        for name, entry in CATALOGUE.items():
            if name not in changes and not applies(name, levels, CATALOGUE):
                levels[name] = entry.default
        return type(self)(**levels, custom=tuple(custom.items()))


def check_names(names: Iterable[str]) -> None:
    """Refuse the first of `names` that no detail has. Custom names are looked at, not up: nothing is imported.

    Raises:
        ConfigError: with the nearest spellings.
    """
    for name in names:
        if is_custom(name):
            check_form(name)
        elif name not in CATALOGUE:
            nearest_first = sorted(CATALOGUE, key=lambda known: -SequenceMatcher(None, known, name).ratio())
            raise ConfigError(unknown("detail", name, nearest_first, most=5))


def entry_of(name: str) -> Detail:
    """The entry of a detail of the catalogue, or of a custom one, whose module is then imported.

    Raises:
        ConfigError: there is none.
    """
    check_names([name])
    return dataclasses.replace(find(name).entry, name=name) if is_custom(name) else CATALOGUE[name]


def levels_of(config: Config) -> dict[str, Any]:
    """The level of every detail of the catalogue, in its order."""
    return {name: getattr(config, name) for name in CATALOGUE}


def checked(levels: Mapping[str, Any]) -> dict[str, Any]:
    """The same levels, each valid by itself and in the one form that it has.

    Raises:
        ConfigError: a level that its detail does not have, or no environment.
    """
    if levels["environment"] in ("", None):
        raise ConfigError("environment is missing; name one, as in environment='Hopper-v5'")
    return {name: CATALOGUE[name].check(level) for name, level in levels.items()}


def refuse_without_effect(name: str, levels: Mapping[str, Any]) -> None:
    """Refuse a level away from the default of a detail that has no effect beside the other `levels`.

    Raises:
        ConfigError: with the condition that is not met.
    """
    entry = entry_of(name)
    if levels[name] == entry.default:
        return
    unmet = first_unmet(name, levels, {**CATALOGUE, name: entry})
    if unmet is not None:
        raise ConfigError(
            f"{name} = {entry.format(levels[name])} would have no effect: it needs {unmet.text()}, and here "
            f"{unmet.state(levels, CATALOGUE)}; leave it out (its default is {entry.format(entry.default)}) "
            f"or set {unmet.text()}"
        )


def differences(config: Config, reference: Config | None = None) -> dict[str, Any]:
    """The levels of `config` that `reference` (left out: the defaults) lacks; never the environment."""
    ours, theirs = dict(config.custom), {} if reference is None else dict(reference.custom)
    custom = {name: ours.get(name) for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)}
    own = {
        name: getattr(config, name)
        for name, entry in CATALOGUE.items()
        if name != "environment"
        and getattr(config, name) != (entry.default if reference is None else getattr(reference, name))
    }
    return own | custom
