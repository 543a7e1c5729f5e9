"""Runs sorted into cells, and into the units that are drawn together. What is computed from cells lives elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutiae.errors import StatisticsError
from minutiae.statistics.checks import as_codes
from minutiae.statistics.contrasts import Contrasts
from minutiae.statistics.resampling import draw_counts
from minutiae.statistics.results import Vector


@dataclass(frozen=True)
class Stratum:
    """Units that are drawn among each other.

    Attributes:
        cells: which cells a unit has an outcome in, `[c]`.
        values: `[units, c]`.
    """

    cells: NDArray[np.intp]
    values: Vector


@dataclass(frozen=True)
class CellUnits:
    """All runs of C cells.

    Attributes:
        strata: environments when seeds are shared by all cells, else cells of environments.
        count: C.
        environments: their number; cell means are averaged over them equally.
        n: number of runs used.
        words: what is drawn.
    """

    strata: tuple[Stratum, ...]
    count: int
    environments: int
    n: int
    words: str

    @property
    def means(self) -> Vector:
        """Mean of each cell, over environments equally: `[C]`."""
        total = np.zeros(self.count)
        for stratum in self.strata:
            total[stratum.cells] += stratum.values.mean(axis=0)
        return total / self.environments

    def contrasts(self, weights: Vector) -> Contrasts:
        """`weights @ means`, for weights `[M, C]`, with what each unit contributes."""
        parts = [s.values @ weights[:, s.cells].T / self.environments for s in self.strata]
        return Contrasts(tuple(parts), self.n, self.words)

    def resampled_means(self, resamples: int, generator: np.random.Generator) -> Vector:
        """Cell means of each resample, `[resamples, C]`."""
        total = np.zeros((resamples, self.count))
        for stratum in self.strata:
            units = len(stratum.values)
            total[:, stratum.cells] += draw_counts(generator, units, resamples) @ stratum.values / units
        return total / self.environments


def gather(
    cell_of_run: NDArray[np.intp],
    outcome: Vector,
    count: int,
    seed_of_run: Any,
    environment_of_run: Any,
    describe: Callable[[int], str],
) -> CellUnits:
    """Sort runs.

    Args:
        cell_of_run: `[R]`, 0 .. C - 1, or -1 for runs to leave out.
        outcome: `[R]`.
        count: C.
        seed_of_run: `[R]` labels when cells share seeds, else `None`.
        environment_of_run: `[R]` labels, or `None` for one environment.
        describe: a cell's name, for messages.

    Raises:
        StatisticsError: a cell without enough runs, or seeds that not all cells have.
    """
    total = len(outcome)
    environments, kinds = (
        (np.zeros(total, dtype=np.intp), 1)
        if environment_of_run is None
        else as_codes(environment_of_run, "environment_of_run", total)
    )
    seeds = None if seed_of_run is None else as_codes(seed_of_run, "seed_of_run", total)[0]
    strata: list[Stratum] = []
    for environment in range(kinds):
        used = np.flatnonzero((environments == environment) & (cell_of_run >= 0))
        if not len(used):
            continue
        if seeds is None:
            strata += _independent(cell_of_run[used], outcome[used], count, describe)
        else:
            strata.append(_paired(cell_of_run[used], outcome[used], seeds[used], count, describe))
    present = len(strata) if seeds is not None else len(strata) // count
    if not present:
        raise StatisticsError("no run is in a cell that is needed; check the level codes against start and end")
    over = f" within {present} environments" if present > 1 else ""
    what = "seeds" if seeds is not None else "runs within cells"
    return CellUnits(tuple(strata), count, present, sum(s.values.size for s in strata), what + over)


def _independent(cells: NDArray[np.intp], outcome: Vector, count: int, describe: Callable[[int], str]) -> list[Stratum]:
    strata = []
    for cell in range(count):
        values = outcome[cells == cell]
        if len(values) < 2:
            raise StatisticsError(
                f"cell {describe(cell)} has {len(values)} run{'s' * (len(values) != 1)}; every cell needs at least 2 "
                f"in every environment; run the missing seeds"
            )
        strata.append(Stratum(np.array([cell], dtype=np.intp), values[:, None]))
    return strata


def _paired(
    cells: NDArray[np.intp], outcome: Vector, seeds: NDArray[np.intp], count: int, describe: Callable[[int], str]
) -> Stratum:
    kinds, rows = np.unique(seeds, return_inverse=True)
    filled = np.zeros((len(kinds), count), dtype=np.intp)
    np.add.at(filled, (rows, cells), 1)
    wrong = np.argwhere(filled != 1)
    if len(wrong):
        row, cell = wrong[0]
        raise StatisticsError(
            f"cell {describe(int(cell))} has {filled[row, cell]} runs of one of the {len(kinds)} seeds of its "
            f"environment; shared seeds need exactly 1 run per cell and seed; drop that seed, run what is missing, or "
            f"pass seed_of_run=None"
        )
    if len(kinds) < 2:
        raise StatisticsError("the cells share a single seed; at least 2 are needed in every environment; add seeds")
    values = np.empty((len(kinds), count))
    values[rows, cells] = outcome
    return Stratum(np.arange(count, dtype=np.intp), values)
