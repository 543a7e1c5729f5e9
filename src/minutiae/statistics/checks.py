"""What an argument must be before anything is computed from it, and the sentence it gets otherwise. No statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutiae.errors import StatisticsError, unknown
from minutiae.statistics.results import Vector


def as_sample(values: Any, name: str, least: int = 2) -> Vector:
    """`values` as a finite `[n]` array of at least `least` numbers.

    Raises:
        StatisticsError: another shape, too few numbers, or a number that is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise StatisticsError(f"{name} has shape {array.shape}; it must be one number per run, shape [n]; flatten it")
    if len(array) < least:
        raise StatisticsError(
            f"{name} has {len(array)} run{'s' * (len(array) != 1)}; at least {least} are needed; add seeds"
        )
    broken = np.flatnonzero(~np.isfinite(array))
    if len(broken):
        raise StatisticsError(
            f"{name} has {len(broken)} of {len(array)} values that are not finite (the first is {array[broken[0]]} at "
            f"{broken[0]}); only finite outcomes are allowed; give a diverged run its last valid return"
        )
    return array


def as_strata(values: Any, name: str, least: int = 2) -> tuple[Vector, ...]:
    """One `[S]` array, or a sequence of E arrays `[S_e]` (rows of a matrix `[E, S]`), as a tuple of arrays.

    Raises:
        StatisticsError: as `as_sample`, for every environment; or none at all.
    """
    if isinstance(values, np.ndarray):
        several = values.ndim > 1
    else:
        # Environments may differ in their runs, so numpy cannot be asked for dimensions.
        values = list(values) if isinstance(values, Iterable) else values
        several = isinstance(values, list) and any(np.ndim(row) > 0 for row in values)
    if not several:
        return (as_sample(values, name, least),)
    return tuple(as_sample(row, f"{name}[{index}]", least) for index, row in enumerate(values))


def require_equal_sizes(first: Sequence[Vector], second: Sequence[Vector], names: tuple[str, str]) -> None:
    """Refuse arms that cannot be paired seed by seed.

    Raises:
        StatisticsError: another number of environments, or of runs in one of them.
    """
    sizes = [tuple(len(stratum) for stratum in arm) for arm in (first, second)]
    if sizes[0] != sizes[1]:
        raise StatisticsError(
            f"{names[0]} has {sizes[0]} runs per environment and {names[1]} {sizes[1]}; paired arms need the same "
            f"seeds in the same order; drop the seeds that only one arm has, or use paired=False"
        )


def require_equal_environments(first: Sequence[Vector], second: Sequence[Vector], names: tuple[str, str]) -> None:
    """Refuse arms with different numbers of environments.

    Raises:
        StatisticsError: the numbers differ.
    """
    if len(first) != len(second):
        raise StatisticsError(
            f"{names[0]} has {len(first)} environments and {names[1]} {len(second)}; both arms need the same ones in "
            f"the same order; leave out the others"
        )


def require_share(value: float, name: str) -> None:
    """Refuse what is no probability strictly between 0 and 1.

    Raises:
        StatisticsError: `value` is outside (0, 1).
    """
    if not 0 < value < 1:
        raise StatisticsError(f"{name} is {value}; it must lie strictly between 0 and 1; 0.95 is usual for a level")


def require_positive(value: float, name: str) -> None:
    """Refuse what is not a finite number above zero.

    Raises:
        StatisticsError: `value` is not in (0, infinity).
    """
    if not 0 < value < np.inf:
        raise StatisticsError(f"{name} is {value}; it must be a finite number above 0; check its unit and sign")


def require_count(value: int, name: str, least: int) -> None:
    """Refuse a count below `least`.

    Raises:
        StatisticsError: `value` is smaller, or no whole number.
    """
    if int(value) != value or value < least:
        raise StatisticsError(f"{name} is {value}; it must be a whole number of at least {least}; raise it")


def require_name(kind: str, given: str, allowed: Iterable[str]) -> None:
    """Refuse a name that is none of `allowed`.

    Raises:
        StatisticsError: with the nearest name and all that are allowed.
    """
    names = list(allowed)
    if given not in names:
        raise StatisticsError(unknown(kind, given, names))


def as_codes(values: Any, name: str, length: int) -> tuple[NDArray[np.intp], int]:
    """Labels of any kind (`[length]`) as codes 0 .. G - 1, and G.

    Raises:
        StatisticsError: another length.
    """
    array = np.asarray(values)
    if array.shape != (length,):
        raise StatisticsError(f"{name} has shape {array.shape}; it must be one label per run, shape [{length}]")
    kinds, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.intp), len(kinds)
