"""Shapley values sampled by orderings, for when all cells between start and end are too many to run.

The exact ones, and what both share, live in `attribution`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutiae.errors import StatisticsError
from minutiae.statistics.attribution import Attribution, ends_of, gather_coalitions
from minutiae.statistics.cells import CellUnits
from minutiae.statistics.checks import require_count, require_share
from minutiae.statistics.design import Design, as_design
from minutiae.statistics.resampling import chunks, draw_counts, percentile_bounds
from minutiae.statistics.results import Interval, Vector


def attribute_orderings(
    orderings: Any,
    levels: Any,
    outcome: Any,
    names: Sequence[str],
    *,
    seed_of_run: Any = None,
    environment_of_run: Any = None,
    start: Sequence[int] | None = None,
    end: Sequence[int] | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Attribution:
    """Shapley values sampled by random orderings: each factor's mean step on the way from start to end.

    Unbiased when orderings are drawn uniformly (Castro, Gomez and Tejada 2009); the values sum to the gain in every
    sample. The intervals draw orderings and runs at once, percentile (the two-way bootstrap of Owen 2007, which errs on
    the wide side), so they hold the error of having tried a few orderings only.

    Args:
        orderings: `[P, m]`, P at least 2; each row has the m differing factors, by name or position in `names`, in the
            order in which they go to their end levels.
        levels: `[R, k]`; all cells on the way of every ordering need runs.
        outcome: as in `attribute`.
        names: k factors.
        seed_of_run: as in `attribute`.
        environment_of_run: as in `attribute`.
        start: as in `attribute`.
        end: as in `attribute`.
        level: in (0, 1).
        resamples: at least 100.
        seed: makes the bootstrap repeatable.

    Raises:
        StatisticsError: a row that is no ordering of the factors that differ, or a cell with too few runs.
    """
    require_share(level, "level")
    require_count(resamples, "resamples", 100)
    design = as_design(levels, names)
    ends = ends_of(design, start, end)
    moving = np.flatnonzero(ends[0] != ends[1])
    orders = _as_orderings(orderings, design, moving)
    k = len(moving)
    prefixes = np.concatenate([np.zeros((len(orders), 1), dtype=np.intp), np.cumsum(1 << orders, axis=1)], axis=1)
    visited = np.unique(prefixes)
    # Cells of single factors and of all but one are of use when somebody ran them, but none is needed.
    steps = np.searchsorted(visited, prefixes)
    units = gather_coalitions(design, outcome, ends, moving, visited, seed_of_run, environment_of_run)
    rank = np.argsort(orders, axis=1)
    before, after = np.take_along_axis(steps, rank, 1), np.take_along_axis(steps, rank + 1, 1)
    estimates = np.append(
        (units.means[after] - units.means[before]).mean(axis=0), _single_cells(units.means, visited, k)
    )
    bounds = percentile_bounds(_resampled(units, visited, before, after, resamples, seed), level)
    words = f"percentile bootstrap, orderings and {units.words}, {resamples:,} resamples, seed {seed}"
    intervals = [
        Interval(float(e), float(low), float(high), level, words, units.n)
        for e, (low, high) in zip(estimates, bounds, strict=True)
    ]
    known = [None if np.isnan(interval.estimate) else interval for interval in intervals[k : 3 * k]]
    gain, first, last = intervals[3 * k :]
    return Attribution(
        tuple(design.names[f] for f in moving),
        tuple(intervals[:k]),
        tuple(known[:k]),
        tuple(known[k:]),
        gain,
        first,
        last,
        level,
        f"Shapley values from {len(orders)} orderings; {words}",
        units.n,
    )


def _single_cells(means: Vector, visited: NDArray[np.intp], k: int) -> Vector:
    """Leave-one-out, add-one-in, gain, start and end from means `[..., C]`: `[..., 2k + 3]`, NaN for missing cells."""
    singles = 1 << np.arange(k)
    start, end = means[..., :1], means[..., -1:]

    def at(coalitions: NDArray[np.intp]) -> Vector:
        place = np.minimum(np.searchsorted(visited, coalitions), len(visited) - 1)
        return np.where(visited[place] == coalitions, means[..., place], np.nan)

    without, alone = at(2**k - 1 - singles), at(singles)
    return np.concatenate([end - without, alone - start, end - start, start, end], axis=-1)


def _resampled(
    units: CellUnits,
    visited: NDArray[np.intp],
    before: NDArray[np.intp],
    after: NDArray[np.intp],
    resamples: int,
    seed: int,
) -> Vector:
    """Draws of all figures, `[3k + 3, resamples]`: runs and orderings both drawn anew."""
    generator = np.random.default_rng(seed)
    orders, k = before.shape
    parts = []
    for part in chunks(resamples, 2 * orders * k):
        means = units.resampled_means(part, generator)
        share = draw_counts(generator, orders, part) / orders
        values = np.einsum("rp,rpf->rf", share, means[:, after] - means[:, before])
        parts.append(np.concatenate([values, _single_cells(means, visited, k)], axis=1))
    return np.concatenate(parts).T


def _as_orderings(orderings: Any, design: Design, moving: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows of positions among the moving factors."""
    rows = [[design.index(f) if isinstance(f, str) else int(f) for f in row] for row in orderings]
    wanted = moving.tolist()
    for row in rows:
        if sorted(row) != wanted:
            names = ", ".join(design.names[f] for f in wanted)
            raise StatisticsError(f"ordering {row} must hold each of {names} once; use their positions or names")
    if len(rows) < 2:
        raise StatisticsError(
            f"{len(rows)} ordering given; at least 2 are needed to see how much they differ; add some"
        )
    return np.searchsorted(moving, np.array(rows, dtype=np.intp))
