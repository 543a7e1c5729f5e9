"""What a study measured, as tables: one tidy row per run, one per iteration. Reads only; judges nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minutiae.errors import RunError
from minutiae.runs.directory import RunDirectory, is_run
from minutiae.runs.metrics import read_table
from minutiae.runs.origin import origin
from minutiae.studies.outcomes import choose_settings, store_outcomes
from minutiae.studies.store import Store, Task
from minutiae.studies.study import PlannedRun, Study

if TYPE_CHECKING:
    import polars

CURVES = ("iteration", "steps", "episodes", "return_mean", "kl_exact_batch", "ratio_max_batch")
"""What `curves` has of every iteration, beside outcomes that are metrics."""


@dataclass(frozen=True)
class StudyData:
    """All that a report is made from.

    Attributes:
        study, folder: the design, and where its store lies.
        frame: one row per run: `run_id`, `environment`, `seed`, `stage` (`tuning` or `report`), `cell` (in words), one
            text column per factor and per tuned detail, `status` (`finished`, `diverged`, `failed`, `unfinished`),
            `reason`, `iterations`, `steps`, and one number per outcome.
        curves: one row per run and iteration: `run_id` and `CURVES`.
        about: versions, machine, and the command that made it.
    """

    study: Study
    folder: Path
    frame: polars.DataFrame
    curves: polars.DataFrame
    about: dict[str, str]


class StudyResults:
    """A study on disk as its user sees it: the design, and tables of what was measured so far.

    Attributes:
        path: the folder of the store.
        study: its design.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.path, self.study = store.path, store.study

    def frame(self) -> polars.DataFrame:
        """One row per run of the study, trained or not; see `StudyData.frame`."""
        return study_frame(self._store)

    def curves(self, *metrics: str) -> polars.DataFrame:
        """One row per run and iteration; see `StudyData.curves`.

        Args:
            metrics: further columns of `metrics.parquet`.
        """
        return study_curves(self._store, [run.id for run in planned_runs(self._store)], metrics)

    def seconds(self) -> dict[str, float]:
        """What the trainer took for each run that has ended, its share where several agents trained together.

        One worker trains on one core, so the sum is about the core-seconds of the study.
        """
        store = self._store
        found = {}
        for run in planned_runs(store):
            archived = store.elsewhere(run.id)
            if archived is not None:
                found[run.id] = archived.seconds
            elif store.ended(run.id):
                found[run.id] = trained_seconds(RunDirectory.open(store.run_path(run.id)))
        return found

    def data(self) -> StudyData:
        """Both, with the design: all that a report is made from."""
        about = {"command": f"minutiae study run {self.path}", **self._made_by()}
        return StudyData(self.study, self.path, self.frame(), self.curves(), about)

    def _made_by(self) -> dict[str, str]:
        """Versions and machine: this one's where runs were trained here, and those of runs that an archive gave."""
        ended = [run.id for run in planned_runs(self._store) if self._store.ended(run.id)]
        found = [archived for run in ended if (archived := self._store.elsewhere(run))]
        if not found:
            return origin()
        made = Counter(", ".join(f"{name} {text}" for name, text in sorted(run.about.items())) for run in found)
        told = "; ".join(f"{count:,} by {words or 'unknown versions'}" for words, count in made.most_common())
        here = origin() if len(found) < len(ended) else {}
        return {**here, "taken_from_an_archive": f"{len(found):,} of {len(ended):,} runs: {told}"}

    def __repr__(self) -> str:
        return f"StudyResults({str(self.path)!r})"


def open_study(folder: str | Path) -> StudyResults:
    """The study whose store lies at `folder`, running or done.

    Raises:
        RunError: there is none.
        ConfigError: its `study.toml` is damaged.
    """
    return StudyResults(Store.open(folder))


def study_frame(store: Store) -> polars.DataFrame:
    """One row per run of the study, trained or not; see `StudyData.frame`."""
    import polars

    reasons = {task.runs[0]: store.failure(task) for task in store.tasks() if len(task.runs) == 1}
    rows = [_row(store, planned, reasons.get(planned.id)) for planned in planned_runs(store)]
    texts = ("run_id", "environment", "stage", "cell", *_level_names(store.study), "status", "reason")
    kinds: dict[str, Any] = dict.fromkeys(texts, polars.String)
    kinds |= dict.fromkeys(("seed", "iterations", "steps"), polars.Int64)
    kinds |= dict.fromkeys(store.study.outcomes, polars.Float64)
    order = ["run_id", "environment", "seed", *texts[2:], "iterations", "steps", *store.study.outcomes]
    return polars.DataFrame(rows, schema={name: kinds[name] for name in order})


def study_curves(store: Store, runs: Sequence[str], extra: Sequence[str] = ()) -> polars.DataFrame:
    """One row per iteration of `runs`; see `StudyData.curves`.

    Args:
        extra: further metrics.
    """
    import polars

    wanted = list(dict.fromkeys([*CURVES, *store.study.outcomes, *extra]))
    elsewhere = {run for run in runs if store.elsewhere(run) is not None}
    archived = store.archive.curves(elsewhere)
    tables = [archived.select("run_id", *(name for name in wanted if name in archived.columns))] if elsewhere else []
    for run in dict.fromkeys(runs):
        file = store.run_path(run) / "metrics.parquet"
        if run in elsewhere or not file.exists():
            continue
        table = read_table(file)
        columns = [polars.col(name) for name in wanted if name in table.columns]
        tables.append(table.select(polars.lit(run).alias("run_id"), *columns))
    if not tables:
        return polars.DataFrame(schema={"run_id": polars.String, **dict.fromkeys(CURVES, polars.Float64)})
    return polars.concat(tables, how="diagonal_relaxed")


def trained_seconds(run: RunDirectory) -> float:
    """The sum of a run's `timing.parquet`."""
    log = run.timing()
    columns = [log.column(name) for name in log.columns if name.endswith("_seconds")]
    return float(sum(value for column in columns for value in column if isinstance(value, float)))


def planned_runs(store: Store) -> list[PlannedRun]:
    """The runs of the study: those that tune, and, once tuning is over, those that are reported."""
    study = store.study
    first = study.first_runs()
    if study.tuning is None:
        return first
    if not all(_ended(store, run) for run in first):
        return first
    try:
        return [*first, *study.final_runs(choose_settings(store))]
    except RunError:  # every setting of a cell failed: there is nothing to report of it
        return first


def _ended(store: Store, run: PlannedRun) -> bool:
    return store.ended(run.id) or store.failure(Task((run.id,))) is not None


def _row(store: Store, planned: PlannedRun, failure: str | None) -> dict[str, Any]:
    study = store.study
    row: dict[str, Any] = {
        "run_id": planned.id,
        "environment": planned.environment,
        "seed": planned.seed,
        "stage": planned.stage,
        "cell": study.label(planned.cell),
        **_levels(study, planned),
        "status": "failed" if failure else "unfinished",
        "reason": failure,
        "iterations": 0,
        "steps": 0,
    }
    path = store.run_path(planned.id)
    if store.ended(planned.id):
        row |= store_outcomes(store, planned.id, study.outcomes)
    archived = store.elsewhere(planned.id)
    if archived is not None:
        return row | {name: getattr(archived, name) for name in ("status", "reason", "iterations", "steps")}
    if not is_run(path):
        return row
    run = RunDirectory.open(path)
    result = run.result
    if result is not None:
        row |= {"status": result.status, "reason": "; ".join(result.reasons) or None}
    log = run.metrics()
    if len(log):
        row |= {"iterations": log.last, "steps": log.column("steps")[-1]}
    return row


def _level_names(study: Study) -> list[str]:
    tuned = () if study.tuning is None else study.tuning.grid
    return [factor.name for factor in (*study.factors, *tuned)]


def _levels(study: Study, planned: PlannedRun) -> dict[str, str]:
    levels = (*planned.cell, *planned.setting)
    return {name: study.written(name, level) for name, level in zip(_level_names(study), levels, strict=True)}
