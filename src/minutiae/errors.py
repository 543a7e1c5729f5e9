"""Every error that a user can cause, and the one sentence each of them gets. No room-specific logic lives here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MinutiaeError(Exception):
    """Something the user can mend. The command line prints its text as one line and exits with code 2."""


class ConfigError(MinutiaeError, ValueError):
    """A configuration that names an unknown detail or level, or whose numbers do not fit together."""


class UnsupportedEnvironment(MinutiaeError):
    """An environment that is unknown, cannot be built, or has spaces that no policy here can handle."""


class RunError(MinutiaeError):
    """A run directory that is missing, foreign, truncated or cannot be written."""


class StatisticsError(MinutiaeError, ValueError):
    """Data or settings from which the asked statistic cannot be computed honestly."""


def nearest(given: str, allowed: Iterable[str]) -> str | None:
    """The member of `allowed` whose spelling is closest to `given`, or `None` when nothing is close."""
    by_folded = {name.lower().replace("_", "-"): name for name in allowed}
    matches = difflib.get_close_matches(given.lower().replace("_", "-"), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


MOST_NAMES, MOST_NAMES_WITHOUT_GUESS = 12, 80
"""How many allowed names an error lists. Where nothing is spelled like what was given, only the list can help."""


def unknown(kind: str, given: str, allowed: Iterable[str], remedy: str | None = None, most: int | None = None) -> str:
    """One sentence for a name that does not exist: what was given, the nearest name, what is allowed, the remedy.

    Args:
        kind: what it would be, as in `metric`.
        given: the name.
        allowed: all that there are.
        remedy: what to do about it.
        most: how many of `allowed` are listed; `None` is `MOST_NAMES`, or all up to 80 when nothing is near.
    """
    names = list(allowed)
    guess = nearest(str(given), names)
    if most is None:
        most = MOST_NAMES_WITHOUT_GUESS if guess is None else MOST_NAMES
    shown = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    parts = [f"unknown {kind} {given!r}"]
    if guess is not None:
        parts.append(f"did you mean {guess!r}?")
    parts.append(f"allowed: {shown}")
    if remedy is not None:
        parts.append(remedy)
    return "; ".join(parts).replace("?;", "?")
