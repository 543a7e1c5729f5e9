"""What a reproduction has measured, as arrays that claims are judged by. Nothing is trained or judged here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from minutiae.details.paper_rows import paper_task
from minutiae.reports.study.counted import Runs, count_runs, counted_rows, report_rows
from minutiae.statistics.results import Vector
from minutiae.studies.study import PRESET

if TYPE_CHECKING:
    from minutiae.studies.results import StudyData

DIAGNOSTICS = ("kl_exact_batch", "kl_exact_held_out", "ratio_max_batch", "ratio_max_held_out")


@dataclass(frozen=True)
class Evidence:
    """The runs of one item.

    Attributes:
        data: the study; its curves hold `DIAGNOSTICS`.
        outcome: by which returns are judged.
    """

    data: StudyData
    outcome: str = "final_return"

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Runs that have the outcome."""
        return counted_rows(report_rows(self.data), self.outcome)

    @property
    def tasks(self) -> dict[str, str]:
        """Task -> environment, of those with runs, in the study's order."""
        present = set(self.rows["environment"])
        return {
            paper_task(name) or name.rpartition("-v")[0]: name
            for name in self.data.study.environments
            if name in present
        }

    def returns(self, task: str, preset: str) -> Vector:
        """`[S]`: outcomes of a preset's runs, by seed; empty without any."""
        rows = self.rows.filter((pl.col("environment") == self.tasks.get(task)) & (pl.col(PRESET) == preset))
        return rows.sort("seed")[self.outcome].to_numpy()

    def config(self, task: str, preset: str) -> Any:
        """The config of a cell."""
        return self.data.study.config(self.tasks[task], (preset,))

    def thirds(self, task: str, preset: str, metric: str) -> Vector:
        """`[S, 3]`: the metric's mean over each third of training, of every run that has it."""
        found = self._metric(task, preset, metric)
        last = pl.col("iteration").max().over("run_id")
        # Iterations count from 1.
        third = ((pl.col("iteration") - 1) * 3 // last).clip(0, 2).alias("third")
        means = found.with_columns(third).group_by("run_id", "third").agg(pl.col(metric).mean()).sort("run_id", "third")
        whole = means.filter(pl.len().over("run_id") == 3)
        return whole[metric].to_numpy().reshape(-1, 3)

    def means(self, task: str, preset: str, metric: str, like: str | None = None) -> Vector:
        """`[S]`: the metric's mean over training of every run, over iterations that also have `like`."""
        found = self._metric(task, preset, metric, *([like] if like else []))
        return found.group_by("run_id").agg(pl.col(metric).mean()).sort("run_id")[metric].to_numpy()

    def _metric(self, task: str, preset: str, *metrics: str) -> pl.DataFrame:
        if any(metric not in self.data.curves.columns for metric in metrics):
            return pl.DataFrame(
                schema={"run_id": pl.String, "iteration": pl.Int64, **dict.fromkeys(metrics, pl.Float64)}
            )
        rows = self.rows.filter((pl.col("environment") == self.tasks.get(task)) & (pl.col(PRESET) == preset))
        found = self.data.curves.filter(pl.col("run_id").is_in(rows["run_id"].to_list()))
        return found.select("run_id", "iteration", *metrics).filter(
            *(pl.col(name).is_not_null() & pl.col(name).is_not_nan() for name in metrics)
        )

    def runs(self, task: str, presets: tuple[str, ...] | None = None) -> Runs:
        """The runs in one task, of some presets or all, as figures and effects take them.

        Raises:
            RunError: there are none.
        """
        chosen = pl.col("environment") == self.tasks.get(task)
        if presets is not None:
            chosen &= pl.col(PRESET).is_in(presets)
        return count_runs(self.data.study, self.rows.filter(chosen), self.outcome)
