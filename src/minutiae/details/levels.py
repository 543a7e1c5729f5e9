"""The kinds of level that a detail can take: checking, text in and out. No detail is named here.

A level is what a user writes: `None` is off (text: `off`), flags are `True` or `None`, choices are words,
numbers are plain numbers, layer sizes are tuples.
"""

from __future__ import annotations

import math
import numbers
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from minutiae.errors import ConfigError, unknown

MOST_DIGITS = 40
"""Of a value that is quoted in a message."""

LARGEST = 2**63 - 1
"""The largest whole number: what tables and counters of 64 bits hold."""


@dataclass(frozen=True, kw_only=True)
class Levels(ABC):
    """The levels of one detail: `off` says whether `None` is among them, `off_word` how it is written."""

    off: bool = False
    off_word: str = "off"

    def check(self, name: str, value: Any) -> Any:
        """The level that `value` stands for, in its one form; `ConfigError` if it stands for none."""
        if value is None or (isinstance(value, str) and value == self.off_word and self.off):
            if self.off:
                return None
            raise ConfigError(f"{name} cannot be off; allowed: {self.describe()}")
        return self._check(name, value)

    def parse(self, name: str, text: str) -> Any:
        """The level that `text` spells; `ConfigError` if it spells none."""
        text = text.strip()
        if self.off and text == self.off_word:
            return None
        return self.check(name, self._read(text))

    def format(self, level: Any) -> str:
        """The text of a checked level, the inverse of `parse`."""
        return self.off_word if level is None else self._write(level)

    def describe(self) -> str:
        """What is allowed, for help and error texts."""
        return f"{self.off_word} or {self._describe()}" if self.off else self._describe()

    def _refuse(self, name: str, value: Any, why: str) -> ConfigError:
        return ConfigError(f"{name} = {_quoted(value)} {why}; allowed: {self.describe()}")

    @abstractmethod
    def _check(self, name: str, value: Any) -> Any: ...

    def _read(self, text: str) -> Any:
        return text

    def _write(self, level: Any) -> str:
        return str(level)

    @abstractmethod
    def _describe(self) -> str: ...


def _quoted(value: Any) -> str:
    """`value` as Python spells it; a long whole number by its size, since Python refuses to spell the longest."""
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        return f"a number of about {math.floor(value.bit_length() * math.log10(2)) + 1} digits"
    return repr(value)


@dataclass(frozen=True, kw_only=True)
class Choice(Levels):
    """One of several named levels. `order` fixes the number of each: off, where allowed, comes first."""

    names: tuple[str, ...]

    @property
    def order(self) -> tuple[str | None, ...]:
        return (None, *self.names) if self.off else self.names

    def describe(self) -> str:
        return ", ".join(self.format(level) for level in self.order)

    def _check(self, name: str, value: Any) -> str:
        if isinstance(value, str) and value in self.names:
            return str(value)
        given = value if isinstance(value, str) else _quoted(value)
        raise ConfigError(unknown(f"level of {name}", given, [self.format(level) for level in self.order]))

    def _describe(self) -> str:
        return ", ".join(self.names)


@dataclass(frozen=True, kw_only=True)
class Flag(Levels):
    """On (`True`) or off (`None`)."""

    off: bool = True

    def check(self, name: str, value: Any) -> bool | None:
        if value is True or (isinstance(value, str) and value in ("on", "true")):
            return True
        if value is False or value is None or (isinstance(value, str) and value in ("off", "false")):
            return None
        given = value if isinstance(value, str) else _quoted(value)
        raise ConfigError(unknown(f"level of {name}", given, ["on", "off"]))

    def _check(self, name: str, value: Any) -> bool | None:
        return self.check(name, value)

    def describe(self) -> str:
        return "on, off"

    def _write(self, level: Any) -> str:
        return "on"

    def _describe(self) -> str:
        return "on"


@dataclass(frozen=True, kw_only=True)
class Number(Levels):
    """A finite number between bounds: open ends are `above`, `below`; closed ones `at_least`, `at_most`."""

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None

    def _check(self, name: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise self._refuse(name, value, f"is not {self._noun()}")
        number = self._convert(name, value)
        if not math.isfinite(number):
            raise self._refuse(name, value, "is not finite")
        if not self._inside(number):
            raise self._refuse(name, value, "is out of range")
        return number

    def _convert(self, name: str, value: Any) -> Any:
        try:
            return float(value)
        except OverflowError:  # whole numbers and fractions know no bound
            raise self._refuse(name, value, f"is beyond {sys.float_info.max:.4g}") from None

    def _inside(self, number: float) -> bool:
        return (
            (self.above is None or number > self.above)
            and (self.at_least is None or number >= self.at_least)
            and (self.below is None or number < self.below)
            and (self.at_most is None or number <= self.at_most)
        )

    def _read(self, text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text

    def _write(self, level: Any) -> str:
        return repr(level)

    def _noun(self) -> str:
        return "a number"

    def _describe(self) -> str:
        bounds = [
            f"{word} {bound:g}"
            for word, bound in (
                ("above", self.above),
                ("at least", self.at_least),
                ("below", self.below),
                ("at most", self.at_most),
            )
            if bound is not None
        ]
        return f"{self._noun()} {' and '.join(bounds)}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Integer(Number):
    """A whole number between bounds; a float without a fraction (`1e6`) counts as one."""

    def _convert(self, name: str, value: Any) -> int:
        if not isinstance(value, numbers.Integral):
            real = super()._convert(name, value)
            if not real.is_integer():
                raise self._refuse(name, value, "is not a whole number")
        if abs(int(value)) > LARGEST:
            raise self._refuse(name, value, f"is beyond {LARGEST}")
        return int(value)

    def _read(self, text: str) -> Any:
        try:
            return int(text)
        except ValueError:
            return super()._read(text)

    def _noun(self) -> str:
        return "a whole number"


@dataclass(frozen=True, kw_only=True)
class Sizes(Levels):
    """The widths of a network's hidden layers, first to last: at least one, each at least 1."""

    def _check(self, name: str, value: Any) -> tuple[int, ...]:
        if not isinstance(value, (tuple, list)) or not value:
            raise self._refuse(name, value, "is not a list of layer sizes")
        width = Integer(at_least=1)
        return tuple(width.check(f"{name}[{layer}]", size) for layer, size in enumerate(value))

    def _read(self, text: str) -> Any:
        try:
            return [int(part) for part in text.split(",")]
        except ValueError:
            return text

    def _write(self, level: Any) -> str:
        return ",".join(str(size) for size in level)

    def _describe(self) -> str:
        return "whole numbers of at least 1, as in 64,64"


@dataclass(frozen=True, kw_only=True)
class Text(Levels):
    """Free text: printable, not empty, no blanks at its ends."""

    def _check(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not value or not value.isprintable() or value != value.strip():
            raise self._refuse(name, value, "is not a name")
        return str(value)

    def _describe(self) -> str:
        return "printable text without blanks at its ends"


def choice(*names: str, off: bool = False) -> Choice:
    """One of `names`, or off where `off` is true."""
    return Choice(names=names, off=off)


def flag() -> Flag:
    """On or off."""
    return Flag()


def number(
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    off: bool = False,
) -> Number:
    """A finite number inside the bounds, or off where `off` is true."""
    return Number(above=above, at_least=at_least, below=below, at_most=at_most, off=off)


def integer(
    *, at_least: int | None = None, at_most: int | None = None, off: bool = False, off_word: str = "off"
) -> Integer:
    """A whole number inside the bounds, or `off_word` (`None`) where `off` is true."""
    return Integer(at_least=at_least, at_most=at_most, off=off, off_word=off_word)


def sizes() -> Sizes:
    """Hidden layer widths."""
    return Sizes()


def text() -> Text:
    """Free text."""
    return Text()
