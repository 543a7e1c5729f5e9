"""Curves of cells over training, thinned to bins by Polars, with bands over seeds. Nothing is drawn here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import stats

from minutiae.reports.learning_curves import POINTS
from minutiae.reports.study.analysis import LEVEL

if TYPE_CHECKING:
    from minutiae.reports.study.counted import Runs


@dataclass(frozen=True)
class CellCurve:
    """A metric of one cell over training.

    Attributes:
        codes: the level of each varying factor.
        values: `[n, K]`, of every run; NaN before its first measurement.
        mean: `[K]`, over runs; NaN where no run has measured.
        half: `[K]`, half of the interval of the mean; NaN where fewer than two runs have measured.
    """

    codes: tuple[int, ...]
    values: np.ndarray
    mean: np.ndarray
    half: np.ndarray

    @property
    def n(self) -> int:
        """Runs."""
        return len(self.values)

    def band(self, logarithmic: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the interval of the mean, `[K]` each.

        Args:
            logarithmic: the interval of the mean's logarithm (by its derivative), which stays above 0 as the mean does.
        """
        if not logarithmic:
            return self.mean - self.half, self.mean + self.half
        positive = self.mean > 0
        # One run far above all others makes an interval that no number holds; the figure ends long before.
        reach = np.minimum(self.half / np.where(positive, self.mean, np.nan), 50.0)
        return self.mean * np.exp(-reach), self.mean * np.exp(reach)


@dataclass(frozen=True)
class EnvironmentCurves:
    """All cells of one environment: `steps` `[K]` are the means of those at which the iterations of a bin ended."""

    environment: str
    metric: str
    steps: np.ndarray
    cells: tuple[CellCurve, ...]


def cell_curves(curves: pl.DataFrame, runs: Runs, metric: str) -> tuple[EnvironmentCurves, ...]:
    """The metric of every cell, binned over environment steps; nothing where it was never measured.

    A run that stopped early, since it diverged, keeps its last value to the end: else the mean of its cell would rise
    when it leaves.

    Args:
        curves: of `StudyData`.
        runs: that count.
        metric: a column of `curves`.
    """
    if metric not in curves.columns or not len(curves):
        return ()
    binned = _binned(curves, runs, metric)
    found = []
    for name in runs.environment_names:
        part = binned.filter(pl.col("environment") == name)
        if len(part):
            found.append(_environment(name, part, runs.where(runs.environments == name), metric))
    return tuple(found)


def _binned(curves: pl.DataFrame, runs: Runs, metric: str) -> pl.DataFrame:
    """The mean of each run in each bin: `environment`, `run_id`, `bin`, `bins`, `last`, `most`, and the metric."""
    counted = pl.DataFrame({"run_id": runs.ids, "environment": runs.environments})
    last, most = pl.col("steps").max().over("environment"), pl.col("iteration").max().over("environment")
    return (
        curves.lazy()
        .select("run_id", "iteration", "steps", pl.col(metric).cast(pl.Float64))
        .join(counted.lazy(), on="run_id")
        .with_columns(last=last.cast(pl.Float64), bins=most.clip(1, POINTS).cast(pl.Int64), most=most)
        .filter(pl.col(metric).is_finite())
        # The last step of a bin belongs to it: iteration i of K ends at i / K of all steps, give or take a last bit.
        .with_columns(bin=((pl.col("steps") / pl.col("last") * pl.col("bins") - 1e-6).ceil() - 1).cast(pl.Int64))
        .with_columns(bin=pl.col("bin").clip(0, pl.col("bins") - 1))
        .group_by("environment", "run_id", "bin", "bins", "last", "most")
        .agg(pl.col(metric).mean())
        .collect()
    )


def _environment(name: str, part: pl.DataFrame, runs: Runs, metric: str) -> EnvironmentCurves:
    bins = int(part["bins"][0])
    place = {run: row for row, run in enumerate(runs.ids.tolist())}
    table = np.full((len(runs.ids), bins), np.nan)
    table[part["run_id"].replace_strict(place, return_dtype=pl.Int64).to_numpy(), part["bin"].to_numpy()] = part[
        metric
    ].to_numpy()
    table = _carried_forward(table)
    cells, of_run = np.unique(runs.codes, axis=0, return_inverse=True)
    found = [
        _cell(tuple(codes), table[of_run.reshape(-1) == index]) for index, codes in enumerate(cells.tolist())
    ]  # fmt: skip
    last, iterations = float(part["last"][0]), int(part["most"][0])
    # Iterations end half an iteration after their middle; a bin of one has its own end.
    steps = (np.arange(bins) + 0.5) * last / bins + 0.5 * last / iterations
    return EnvironmentCurves(name, metric, steps, tuple(found))


def _carried_forward(table: np.ndarray) -> np.ndarray:
    """Every gap of `[runs, K]` takes the value before it; gaps at the beginning stay."""
    measured = np.where(np.isfinite(table), np.arange(table.shape[1]), -1)
    source = np.maximum.accumulate(measured, axis=1)
    filled = np.take_along_axis(table, np.maximum(source, 0), axis=1)
    return np.where(source >= 0, filled, np.nan)


def _cell(codes: tuple[int, ...], values: np.ndarray) -> CellCurve:
    count = np.isfinite(values).sum(axis=0)
    total = np.where(np.isfinite(values), values, 0.0).sum(axis=0)
    mean = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    squares = np.where(np.isfinite(values), (values - mean) ** 2, 0.0).sum(axis=0)
    freedom = np.maximum(count - 1, 1)
    half = stats.t.ppf((1 + LEVEL) / 2, freedom) * np.sqrt(squares / freedom / np.maximum(count, 1))
    return CellCurve(codes, values, mean, np.where(count > 1, half, np.nan))
