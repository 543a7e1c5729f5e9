"""What the catalogue knows of one detail, and the helper that makes it a field. No detail is named here."""

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
"""Kind of a detail that shapes the program or its loop: all agents of one population share its level."""

ROOMS = ("learner", "host")
"""Where a detail acts: inside the compiled update, or around the simulator."""

IMPLEMENTATIONS = ("ppo2", "implementation-matters", "sb3", "cleanrl")
"""OpenAI Baselines ppo2 (commit ea25b9e), MadryLab/implementation-matters, Stable-Baselines3 PPO, CleanRL's
`ppo_continuous_action.py`: each with its defaults for MuJoCo."""


@dataclass(frozen=True, kw_only=True)
class Detail:
    """One implementation choice.

    Attributes:
        levels: what it may be.
        kind: `NUMBER` or `STRUCTURE`.
        room: one of `ROOMS`.
        default: the level of a plain config (`None` for the environment, which has none).
        title: two to eight words.
        rule: what each level does, as plain-text equations.
        equation: the same as LaTeX, where it is an equation; named levels stand in it as text, and
            `\\qquad` parts what may stand on lines of their own.
        source: papers and repositories that introduced it.
        finding: what was measured about it, and by whom.
        where: what implements it, `module:function` or `module:class.method`.
        who: the level each of `IMPLEMENTATIONS` uses, as text; left out where it has no such choice.
        off_value: the number that stands for off inside a program.
        applies: conditions without which the detail has no effect.
        name: of the field in `Config`.
        theme: of the group in the config file.
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
    who: Mapping[str, str]
    off_value: float
    applies: tuple[Condition, ...]
    equation: str = ""
    name: str = ""
    theme: str = ""

    def check(self, value: Any) -> Any:
        """The level that a Python value stands for.

        Raises:
            ConfigError: it stands for none; the text says what is allowed.
        """
        return self.levels.check(self.name, value)

    def parse(self, text: str) -> Any:
        """The level that `text` spells.

        Raises:
            ConfigError: it spells none; the text says what is allowed.
        """
        return self.levels.parse(self.name, text)

    def format(self, level: Any) -> str:
        """The text of a level, the inverse of `parse`."""
        return self.levels.format(level)

    def encode(self, level: Any) -> float:
        """The number that stands for a level inside a program.

        Numbers as they are, off as `off_value` (infinity for ranges, 0 for coefficients), flags as 1 and 0,
        named levels as their index in `levels.order`.

        Raises:
            TypeError: text and layer sizes have no number.
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
    title: str,
    rule: str,
    source: str,
    finding: str,
    where: str,
    equation: str = "",
    who: Mapping[str, str] | None = None,
    off_value: float = math.inf,
    applies: Condition | tuple[Condition, ...] = (),
) -> Any:
    """A dataclass field that carries its entry; see `Detail`. Without `default` it must be given."""
    required = default is dataclasses.MISSING
    entry = Detail(
        levels=levels,
        kind=kind,
        room=room,
        default=None if required else default,
        title=title,
        rule=rule,
        source=source,
        finding=finding,
        where=where,
        who=MappingProxyType(dict(who or {})),
        off_value=off_value,
        applies=applies if isinstance(applies, tuple) else (applies,),
        equation=equation,
    )
    # A required field gets "" so that leaving it out meets an error of ours that teaches, and not Python's.
    return field(default="" if required else default, metadata={"detail": entry})
