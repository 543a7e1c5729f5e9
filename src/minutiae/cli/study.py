"""`minutiae study plan | run | report | archive`: a grid of runs from one file. Nothing is trained or drawn here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from minutiae.cli.main import INTERRUPTED
from minutiae.cli.parsing import WholeOrNone, make_app

if TYPE_CHECKING:
    from minutiae.control.progress import Listener
    from minutiae.studies.planning import Plan
    from minutiae.studies.results import StudyResults

app = make_app(
    "study",
    "Cross details, train the grid, say what mattered: minutiae study plan | run | report | archive. A study is a TOML "
    "file with environments, seeds and a table [factors]; it is trained into a folder that 'run' goes on with after "
    "anything.",
)

_Switch = Annotated[bool, Parameter(negative="")]

FAILED = 1
"""Exit code when some run of the study failed or diverged."""


@app.command
def plan(
    study: Path,
    /,
    *,
    workers: WholeOrNone = None,
    deviation: float | None = None,
    quick: _Switch = False,
) -> int:
    """Show what a study will train, what that costs here, and how small an effect it can find.

    Parameters
    ----------
    study
        A study.toml, or the folder of a study.
    workers
        Worker processes; left out: one for each core.
    deviation
        Of the outcome over seeds, in its own unit; left out: from runs of this study that ended, if any.
    quick
        Measure nothing.
    """
    from minutiae.studies.planning import plan_study
    from minutiae.studies.study_file import FILE, load_study

    file = study / FILE if study.is_dir() else study
    planned = plan_study(load_study(file), workers, measure=not quick)
    sys.stdout.write(_plan_text(planned, deviation if deviation is not None else _pilot_deviation(study)))
    return 0


@app.command
def run(
    study: Path,
    /,
    *,
    out: Path = Path("studies"),
    name: str | None = None,
    workers: WholeOrNone = None,
    archive: Path | None = None,
    on: str = "local",
) -> int:
    """Train whatever of a study is not trained yet. Interrupting is safe: the same command goes on.

    Parameters
    ----------
    study
        A study.toml, or the folder of a study.
    out
        The folder of studies.
    name
        Of the study's folder; left out: the file's name without its ending.
    workers
        Worker processes; left out: one for each core.
    archive
        A folder that 'minutiae study archive' made; runs in it that the study needs are taken, not trained.
    on
        local: this machine; ray: the Ray cluster of RAY_ADDRESS or of this machine, else a new one; ray:HOST:PORT or
        ray://HOST:PORT: that cluster.
    """
    from minutiae.cli.study_display import show_study
    from minutiae.studies.execution import run_study
    from minutiae.studies.study_file import FILE, load_study

    folder = study if study.is_dir() else out / (name or study.stem)
    loaded = load_study(study / FILE if study.is_dir() else study)

    def train(listener: Listener) -> StudyResults:
        return run_study(loaded, folder, workers=workers, listener=listener, archive=archive, on=on, say=_say)

    try:
        results = show_study(loaded, folder, train)
    except KeyboardInterrupt:
        sys.stderr.write(f"minutiae: interrupted; go on with: minutiae study run {folder}\n")
        return INTERRUPTED
    frame = results.frame()
    counts = dict(frame.group_by("status").len().rows())
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    kept = len({path.name for path in (folder / "runs").glob("*")} - set(frame["run_id"]))
    if kept:
        told += f" ({kept} runs of an earlier form of the study are kept in its folder and not counted)"
    sys.stdout.write(f"{folder}: {told}\nnext: minutiae study report {folder}\n")
    return FAILED if counts.keys() & {"failed", "diverged"} else 0


@app.command
def report(folder: Path, /, *, output: Path | None = None) -> int:
    """Write the report: a page that opens from disk, its figures and its tables.

    Parameters
    ----------
    folder
        Of the study.
    output
        The folder of the report; left out: report in the study's folder.
    """
    from minutiae.reports.study import write_report
    from minutiae.studies.results import open_study

    sys.stdout.write(f"{write_report(open_study(folder).data(), output)}\n")
    return 0


@app.command
def archive(folder: Path, target: Path, /) -> int:
    """Keep the finished runs of a study in two small tables: config, seed, outcomes, and the main metrics.

    Parameters
    ----------
    folder
        Of the study.
    target
        The folder of the archive; runs that it has already stay as they are.
    """
    from minutiae.studies.archiving import archive_study

    sys.stdout.write(f"{target}: {archive_study(folder, target):,} runs added\n")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _plan_text(planned: Plan, deviation: float | None) -> str:
    study = planned.study
    lines = [study.question] if study.question else []
    lines.append(study.layout.describe())
    lines.append(f"environments: {', '.join(study.environments)}; outcomes: {', '.join(study.outcomes)}")
    if study.tuning is not None:
        lines.append(
            f"tuned in every cell: {len(study.tuning.settings)} settings, {study.tuning.seeds} seeds each; "
            f"reported: {'the same seeds' if study.tuning.protocol == 'engstrom' else f'{study.seeds} fresh seeds'}"
        )
    sizes = sorted({len(task.runs) for task in planned.tasks}, reverse=True)
    agents = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[-1]} to {sizes[0]}"
    lines.append(
        f"{len(planned.runs)} runs, {planned.steps:,} environment steps, in {len(planned.tasks)} populations of "
        f"{agents} agents, {planned.workers} at a time"
        if study.command is None
        else f"{len(planned.runs)} runs of a command, {planned.workers} at a time"
    )
    if planned.seconds is not None and planned.memory is not None:
        from minutiae.cli.display import duration

        lines.append(
            f"about {duration(planned.seconds)} (hours:minutes:seconds) and {planned.memory / 2**30:.1f} GiB of memory "
            "on this machine, as busy as it is now"
        )
    if deviation is not None:
        effects = len(study.factors)
        lines.append(
            f"with a deviation of {deviation:,.4g} over seeds, 80 % of such studies find a main effect of "
            f"{planned.detectable(deviation):,.4g}, or of {planned.detectable(deviation, effects):,.4g} when all "
            f"{effects} are looked at together (two-level factors that half of the cells have each)"
        )
    else:
        lines.append("how small an effect it can find: give --deviation, that of the outcome over seeds")
    return "\n".join(lines) + "\n"


def _pilot_deviation(folder: Path) -> float | None:
    """The deviation of the first outcome within cells, pooled, of runs that ended; `None` without two in a cell."""
    from minutiae.studies.results import open_study
    from minutiae.studies.study_file import FILE

    if not (folder / FILE).is_file():
        return None
    import polars

    results = open_study(folder)
    name = results.study.outcomes[0]
    ended = results.frame().filter(polars.col(name).is_not_null()).unique("run_id", maintain_order=True)
    tuned = [] if results.study.tuning is None else [factor.name for factor in results.study.tuning.grid]
    spread = ended.group_by("environment", "cell", "stage", *tuned).agg(
        polars.col(name).var().alias("v"), polars.len().alias("n")
    )
    spread = spread.filter(polars.col("n") > 1)
    if not len(spread):
        return None
    variances, weights = spread["v"].to_numpy(), spread["n"].to_numpy() - 1
    return float((variances * weights).sum() / weights.sum()) ** 0.5
