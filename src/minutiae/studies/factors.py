"""Factors: what a study varies, and how their levels are told apart and written. Which cells combine them is a design.

Levels are what a config takes: `None` is off, flags are `True` or `None`, layer sizes are tuples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minutiae.details import is_custom_name
from minutiae.errors import ConfigError, unknown

Cell = tuple[Any, ...]
"""One level per factor, in the factors' order."""

FORBIDDEN = ":=,"
"""Characters that separate names from levels and factors from each other in aliases and labels."""


@dataclass(frozen=True)
class Factor:
    """Something a study varies.

    Attributes:
        name: a detail, a hyperparameter, or a field of an external command.
        levels: at least two, all different in value and in text; lists become tuples. The first is the start (off), the
            last the end (on).

    Raises:
        ConfigError: a name that cannot be written in a label, too few levels, or one twice.
    """

    name: str
    levels: tuple[Any, ...]

    def __post_init__(self) -> None:
        name = self.name
        plain = isinstance(name, str) and name and not any(c in FORBIDDEN or c.isspace() for c in name)
        if not plain and not is_custom_name(name):
            raise ConfigError(f"factor name {name!r} must be text without blanks, colons, commas or equals signs")
        if not isinstance(self.levels, (list, tuple)):
            raise ConfigError(f"factor {name!r} needs a list of levels, not {self.levels!r}")
        levels = tuple(_frozen(level) for level in self.levels)
        object.__setattr__(self, "levels", levels)
        if len(levels) < 2:
            raise ConfigError(
                f"factor {name!r} has {len(levels)} level{'' if len(levels) == 1 else 's'} and needs at least two; "
                f"a level that all cells share belongs into the base"
            )
        for place, level in enumerate(levels):
            for other in levels[:place]:
                if _same(level, other) or level_text(level) == level_text(other):
                    raise ConfigError(f"factor {name!r} has the level {level_text(level)} twice; list it once")

    @property
    def texts(self) -> tuple[str, ...]:
        """The levels as text, all different."""
        return tuple(map(level_text, self.levels))

    def code(self, level: Any) -> int:
        """Position of a level, given as itself or as its text.

        Raises:
            ConfigError: it has no such level.
        """
        return self.find(level)

    def find(self, level: Any, where: str = "") -> int:
        """As `code`; `where` says in errors where the level stands, as in ` in cell 3`."""
        wanted = _frozen(level)
        for test in (_same, lambda a, b: level_text(a) == level_text(b)):
            for place, known in enumerate(self.levels):
                if test(known, wanted):
                    return place
        raise ConfigError(unknown(f"level of {self.name}{where}", level_text(wanted), self.texts))


def level_text(level: Any) -> str:
    """A level as the config file writes it: `off`, `on`, `0.2`, `64,64`, a word."""
    if level is None or level is False:
        return "off"
    if level is True:
        return "on"
    if isinstance(level, tuple):
        return ",".join(map(level_text, level))
    return str(level)


def is_number(level: Any) -> bool:
    """Whether a level is a number: a flag, which Python takes for one, is not."""
    return isinstance(level, int | float) and not isinstance(level, bool)


def _frozen(level: Any) -> Any:
    if isinstance(level, (list, tuple)):
        return tuple(map(_frozen, level))
    return level.item() if hasattr(level, "item") else level  # NumPy's numbers, as of a geomspace


def _same(a: Any, b: Any) -> bool:
    # To Python True is 1; to a config it is not.
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
