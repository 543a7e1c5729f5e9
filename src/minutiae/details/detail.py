"""What the catalogue knows about one detail, and the helper that makes a config field of it. No detail is named here."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from minutiae.details.conditions import Condition
from minutiae.details.levels import Choice, Flag, Levels, Number

NUMBER = "number"
"""Kind of a detail that may differ between the agents of one compiled program."""

STRUCTURE = "structure"
"""Kind of a detail that shapes the program: agents with different levels are trained by different programs."""

KINDS = (NUMBER, STRUCTURE)
ROOMS = ("learner", "host")
IMPLEMENTATIONS = ("ppo2", "implementation-matters", "sb3", "cleanrl")
"""OpenAI Baselines ppo2 (commit ea25b9e), MadryLab/implementation-matters, Stable-Baselines3 PPO, CleanRL
`ppo_continuous_action.py`: each with its MuJoCo defaults."""


@dataclass(frozen=True, kw_only=True)
class Detail:
    """One implementation choice.

    `rule` is the exact rule as a plain-text equation, `finding` what studies measured, `where` the function that
    implements it (`module:function`), `who` the level that each of `IMPLEMENTATIONS` uses (as text; absent where it
    has no such choice), `applies` the conditions without which the detail has no effect.
    """

    levels: Levels
    kind: str
    room: str
    default: Any
    title: str
    rule: str
    source: str
    finding: str
    where: str
    who: Mapping[str, str] = field(default_factory=dict)
    off_value: float = math.inf
    applies: tuple[Condition, ...] = ()
    name: str = ""
    theme: str = ""

    def check(self, value: Any) -> Any:
        """The level that a Python value stands for; `ConfigError` says what is allowed."""
        return self.levels.check(self.name, value)

    def parse(self, text: str) -> Any:
        """The level that `text` spells; `ConfigError` says what is allowed."""
        return self.levels.parse(self.name, text)

    def format(self, level: Any) -> str:
        """The text of a level, the inverse of `parse`."""
        return self.levels.format(level)

    def encode(self, level: Any) -> float:
        """The number that stands for a level inside a program.

        Numbers as they are, off as `off_value` (infinity for ranges, zero for coefficients), flags as 1 and 0, named
        levels as their index in `levels.order`.
        """
        if isinstance(self.levels, Choice):
            return float(self.levels.order.index(level))
        if isinstance(self.levels, Flag):
            return 0.0 if level is None else 1.0
        if isinstance(self.levels, Number):
            return self.off_value if level is None else float(level)
        raise TypeError(f"{self.name} has no number: it is part of the structure")


def detail(
    *,
    default: Any = dataclasses.MISSING,
    levels: Levels,
    kind: str,
    room: str,
    title: str = "",
    rule: str = "",
    source: str = "",
    finding: str = "",
    where: str = "",
    who: Mapping[str, str] | None = None,
    off_value: float = math.inf,
    applies: Condition | tuple[Condition, ...] = (),
) -> Any:
    """A dataclass field that carries its own catalogue entry; see `Detail`. Without `default` the user must name it."""
    entry = Detail(
        levels=levels,
        kind=kind,
        room=room,
        default=None if default is dataclasses.MISSING else default,
        title=title,
        rule=rule,
        source=source,
        finding=finding,
        where=where,
        who=MappingProxyType(dict(who or {})),
        off_value=off_value,
        applies=applies if isinstance(applies, tuple) else (applies,),
    )
    # A required field gets "" so that leaving it out meets our own error, which teaches, and not Python's.
    return field(
        default="" if default is dataclasses.MISSING else default,
        metadata=MappingProxyType({"detail": entry}),
    )
