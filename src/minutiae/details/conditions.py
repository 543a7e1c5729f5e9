"""When a detail does anything at all: conditions on other details. No detail is defined here.

A detail applies when all its conditions are met. A condition on a detail that does not apply is not met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from minutiae.details.detail import Detail

Catalogue = Mapping[str, "Detail"]
LevelsByName = Mapping[str, Any]


class Condition(Protocol):
    """Something that must be so for a detail to have an effect."""

    def met(self, levels: LevelsByName, catalogue: Catalogue) -> bool:
        """Whether it is so in a config with these checked levels."""

    def root(self, levels: LevelsByName, catalogue: Catalogue) -> Condition:
        """Why it is not met: itself, or what another detail lacks that it builds on."""

    def text(self) -> str:
        """What must be so, as in `algorithm = ppo`."""

    def state(self, levels: LevelsByName, catalogue: Catalogue) -> str:
        """What is so, as in `algorithm = trpo`."""


@dataclass(frozen=True)
class Requirement:
    """The level of one other detail must pass a test."""

    detail: str
    wanted: str
    test: Callable[[Any], bool]

    def met(self, levels: LevelsByName, catalogue: Catalogue) -> bool:
        return applies(self.detail, levels, catalogue) and self.test(levels[self.detail])

    def root(self, levels: LevelsByName, catalogue: Catalogue) -> Condition:
        return first_unmet(self.detail, levels, catalogue) or self

    def text(self) -> str:
        return f"{self.detail} {self.wanted}"

    def state(self, levels: LevelsByName, catalogue: Catalogue) -> str:
        return f"{self.detail} = {catalogue[self.detail].format(levels[self.detail])}"


@dataclass(frozen=True)
class Either:
    """At least one of several requirements must be met."""

    requirements: tuple[Requirement, ...]

    def met(self, levels: LevelsByName, catalogue: Catalogue) -> bool:
        return any(requirement.met(levels, catalogue) for requirement in self.requirements)

    def root(self, levels: LevelsByName, catalogue: Catalogue) -> Condition:
        return self

    def text(self) -> str:
        return " or ".join(requirement.text() for requirement in self.requirements)

    def state(self, levels: LevelsByName, catalogue: Catalogue) -> str:
        return " and ".join(requirement.state(levels, catalogue) for requirement in self.requirements)


def only(detail: str, *levels: str) -> Requirement:
    """`detail` has one of these named levels."""
    return Requirement(detail, f"= {' or '.join(levels)}", lambda level: level in levels)


def on(detail: str) -> Requirement:
    """The flag `detail` is on."""
    return Requirement(detail, "= on", lambda level: level is not None)


def off(detail: str) -> Requirement:
    """`detail` is off."""
    return Requirement(detail, "= off", lambda level: level is None)


def some(detail: str) -> Requirement:
    """`detail` has any level but off."""
    return Requirement(detail, "other than off", lambda level: level is not None)


def smaller(detail: str, bound: float) -> Requirement:
    """`detail` is a number below `bound`."""
    return Requirement(detail, f"below {bound:g}", lambda level: level < bound)


def either(*requirements: Requirement) -> Either:
    """One of `requirements` is enough."""
    return Either(requirements)


def first_unmet(detail: str, levels: LevelsByName, catalogue: Catalogue) -> Condition | None:
    """The first condition of `detail` that is not met, traced to its root; `None` when it applies."""
    for condition in catalogue[detail].applies:
        if not condition.met(levels, catalogue):
            return condition.root(levels, catalogue)
    return None


def applies(detail: str, levels: LevelsByName, catalogue: Catalogue) -> bool:
    """Whether `detail` has any effect in a config with these checked levels."""
    return first_unmet(detail, levels, catalogue) is None
