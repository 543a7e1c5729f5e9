"""Who gets credit for a gain: Shapley values, and what leaving one out or adding one in says instead.

Effects of a design, which average over all other settings, live in `effects`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutiae.errors import StatisticsError
from minutiae.statistics.cells import CellUnits, gather
from minutiae.statistics.checks import as_sample
from minutiae.statistics.design import Design, as_design
from minutiae.statistics.results import Interval, Vector

Ends: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Level codes of the start and the end cell."""


@dataclass(frozen=True)
class Attribution:
    """The gain from one cell to another, shared out among the factors that differ between them.

    Attributes:
        names: the k factors that differ.
        shapley: one interval per factor; the estimates sum to the gain.
        leave_one_out: end minus (end without the factor); `None` where that cell has no runs.
        add_one_in: (start with the factor) minus start; `None` where that cell has no runs.
        gain: mean of the end cell minus mean of the start cell.
        start: mean of the start cell.
        end: mean of the end cell.
        level: of each interval.
        method: how the intervals were made, in words.
        n: number of runs used.
    """

    names: tuple[str, ...]
    shapley: tuple[Interval, ...]
    leave_one_out: tuple[Interval | None, ...]
    add_one_in: tuple[Interval | None, ...]
    gain: Interval
    start: Interval
    end: Interval
    level: float
    method: str
    n: int


def shapley_weights(k: int) -> Vector:
    """Weights `[k, 2^k]` of the values of all coalitions in each player's Shapley value (Shapley 1953).

    phi_f = sum over S without f of |S|! (k - |S| - 1)! / k! x (v(S + f) - v(S)). Coalition c holds player f when bit f
    of c is set.

    Args:
        k: number of players, 1 to 16.
    """
    coalitions = np.arange(2**k)
    members = (coalitions[:, None] >> np.arange(k)) & 1
    size = members.sum(axis=1)
    # |S|! (k - |S| - 1)! / k! is 1 / (k binom(k - 1, |S|)).
    share = np.array([1 / (k * comb(k - 1, s)) for s in range(k)])
    with_player = share[np.maximum(size - 1, 0)]
    without_player = share[np.minimum(size, k - 1)]
    return np.where(members.T == 1, with_player, -without_player)


def attribute(
    levels: Any,
    outcome: Any,
    names: Sequence[str],
    *,
    seed_of_run: Any = None,
    environment_of_run: Any = None,
    start: Sequence[int] | None = None,
    end: Sequence[int] | None = None,
    method: str = "studentized",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Attribution:
    """Exact Shapley values of the gain from one cell to another, from all cells between them.

    Intervals are of each figure alone, stratified over environments; where cells share seeds, seeds are drawn and all
    their cells go along. Measured cover of a Shapley value's nominal 95 % interval (2^3 cells, 5 shared seeds, normal
    and log-normal): studentized 0.95 and 0.95, Student 0.95 and 0.96, BCa 0.84 and 0.81, percentile 0.83 and 0.83.

    Args:
        levels: `[R, k]` level codes of each run; runs at levels of neither `start` nor `end` are left out.
        outcome: `[R]`, finite.
        names: k factors.
        seed_of_run: `[R]` labels when all cells share seeds; `None` when every run has a seed of its own.
        environment_of_run: `[R]` labels; cell means are averaged over environments equally. `None` for one.
        start: k level codes; all 0 by default.
        end: k level codes; the last level of each factor by default.
        method: `student`, `percentile`, `basic`, `bca` or `studentized`.
        level: in (0, 1).
        resamples: at least 100.
        seed: makes the bootstrap repeatable.

    Raises:
        StatisticsError: a cell between start and end has too few runs; nothing differs; more than 16 factors differ.
    """
    design = as_design(levels, names)
    ends = ends_of(design, start, end)
    moving = np.flatnonzero(ends[0] != ends[1])
    if len(moving) > 16:
        raise StatisticsError(
            f"{len(moving)} factors differ and exact Shapley values need all 2^{len(moving)} cells; at most 16 are "
            f"allowed; sample orderings instead (attribute_orderings)"
        )
    units = gather_coalitions(
        design, outcome, ends, moving, np.arange(2 ** len(moving)), seed_of_run, environment_of_run
    )
    k = len(moving)
    full = 2**k - 1
    singles = 1 << np.arange(k)
    steps = np.zeros((2 * k + 3, 2**k))
    steps[np.arange(k), full - singles] = -1
    steps[:k, full] += 1
    steps[np.arange(k, 2 * k), singles] = 1
    steps[k : 2 * k, 0] -= 1
    steps[2 * k :, [0, full]] = [[-1, 1], [1, 0], [0, 1]]
    weights = np.concatenate([shapley_weights(k), steps])
    intervals = units.contrasts(weights).intervals(method, level, resamples, seed)
    gain, first, last = intervals[3 * k :]
    return Attribution(
        tuple(design.names[f] for f in moving),
        intervals[:k],
        intervals[k : 2 * k],
        intervals[2 * k : 3 * k],
        gain,
        first,
        last,
        level,
        f"exact Shapley values; {intervals[0].method}",
        units.n,
    )


def ends_of(design: Design, start: Sequence[int] | None, end: Sequence[int] | None) -> Ends:
    """Codes of the start and the end cell: given, or all first and all last levels.

    Raises:
        StatisticsError: codes that no run has, or two equal cells.
    """
    first = np.zeros(len(design.names), dtype=np.intp) if start is None else np.asarray(start)
    last = np.array(design.sizes) - 1 if end is None else np.asarray(end)
    for name, point in (("start", first), ("end", last)):
        if point.shape != (len(design.names),) or ((point < 0) | (point >= design.sizes)).any():
            raise StatisticsError(
                f"{name} is {point.tolist()}; it must have one level code for each of {', '.join(design.names)}, from "
                f"0 to {', '.join(str(size - 1) for size in design.sizes)}; check their order"
            )
    if np.array_equal(first, last):
        raise StatisticsError(f"start and end are both {first.tolist()}; some factor must differ; choose another end")
    return first, last


def gather_coalitions(
    design: Design,
    outcome: Any,
    ends: Ends,
    moving: NDArray[np.intp],
    coalitions: NDArray[np.intp],
    seed_of_run: Any,
    environment_of_run: Any,
) -> CellUnits:
    """Sort runs into coalitions: which of the moving factors are at their end level."""
    y = as_sample(outcome, "outcome")
    if len(y) != len(design.levels):
        raise StatisticsError(f"outcome has {len(y)} runs and levels {len(design.levels)}; give one row for each run")
    first, last = ends
    at_end = design.levels[:, moving] == last[moving]
    usable = ((design.levels == first) | (design.levels == last)).all(axis=1)
    coalition = at_end @ (1 << np.arange(len(moving)))
    place = np.minimum(np.searchsorted(coalitions, coalition), len(coalitions) - 1)
    cell = np.where(usable & (coalitions[place] == coalition), place, -1)

    def describe(index: int) -> str:
        point = first.copy()
        point[moving] = np.where((coalitions[index] >> np.arange(len(moving))) & 1, last[moving], first[moving])
        return f"({', '.join(f'{name}={code}' for name, code in zip(design.names, point, strict=True))})"

    return gather(cell, y, len(coalitions), seed_of_run, environment_of_run, describe)
