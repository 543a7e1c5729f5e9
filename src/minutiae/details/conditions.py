"""When a detail does anything at all: conditions on other details. Nothing is accepted and then ignored.

A detail applies when all its conditions are met. A condition on a detail that does not apply itself is not met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from minutiae.details.detail import Detail

Catalogue = Mapping[str, "Detail"]


class Condition(Protocol):
    """Something that must be so for a detail to have an effect."""

    def met(self, levels: Mapping[str, Any], catalogue: Catalogue) -> bool:
        """Whether it is so in a config with these checked levels."""

    def text(self) -> str:
        """What must be so, as in `algorithm = ppo`."""

    def state(self, levels: Mapping[str, Any], catalogue: Catalogue) -> str:
        """What is so instead, as in `algorithm = trpo`."""


@dataclass(frozen=True)
class Requirement:
    """The level of one other detail must pass a test."""

    detail: str
    wanted: str
    test: Callable[[Any], bool]

    def met(self, levels: Mapping[str, Any], catalogue: Catalogue) -> bool:
        return applies(self.detail, levels, catalogue) and self.test(levels[self.detail])

    def text(self) -> str:
        return f"{self.detail} {self.wanted}"

    def state(self, levels: Mapping[str, Any], catalogue: Catalogue) -> str:
        if self.test(levels[self.detail]):
            unmet = first_unmet(self.detail, levels, catalogue)
            assert unmet is not None, "state() is asked only of conditions that are not met"
            return unmet.state(levels, catalogue)
        return f"{self.detail} = {catalogue[self.detail].format(levels[self.detail])}"


@dataclass(frozen=True)
class Either:
    """At least one of several conditions must be met."""

    conditions: tuple[Condition, ...]

    def met(self, levels: Mapping[str, Any], catalogue: Catalogue) -> bool:
        return any(condition.met(levels, catalogue) for condition in self.conditions)

    def text(self) -> str:
        return " or ".join(condition.text() for condition in self.conditions)

    def state(self, levels: Mapping[str, Any], catalogue: Catalogue) -> str:
        return " and ".join(condition.state(levels, catalogue) for condition in self.conditions)


def only(detail: str, *levels: str) -> Requirement:
    """`detail` has one of these named levels."""
    return Requirement(detail, f"= {' or '.join(levels)}", lambda level: level in levels)


def needs(detail: str) -> Requirement:
    """`detail` is not off."""
    return Requirement(detail, "that is not off", lambda level: level is not None)


def lacks(detail: str) -> Requirement:
    """`detail` is off."""
    return Requirement(detail, "= off", lambda level: level is None)


def smaller(detail: str, bound: float) -> Requirement:
    """`detail` is a number below `bound`."""
    return Requirement(detail, f"below {bound:g}", lambda level: level < bound)


def either(*conditions: Condition) -> Either:
    """One of `conditions` is enough."""
    return Either(conditions)


def first_unmet(detail: str, levels: Mapping[str, Any], catalogue: Catalogue) -> Condition | None:
    """The first condition of `detail` that is not met, or `None` when the detail applies."""
    for condition in catalogue[detail].applies:
        if not condition.met(levels, catalogue):
            return condition
    return None


def applies(detail: str, levels: Mapping[str, Any], catalogue: Catalogue) -> bool:
    """Whether `detail` has any effect in a config with these checked levels."""
    return first_unmet(detail, levels, catalogue) is None
