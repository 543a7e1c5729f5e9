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
    from minutiae.studies.study import Study

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
    out: Path = Path("studies"),
    name: str | None = None,
    workers: WholeOrNone = None,
    deviation: float | None = None,
    quick: _Switch = False,
) -> int:
    """Show what a study has trained and will train, what that costs here, and how small an effect it can find.

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
    deviation
        Of the outcome over seeds, in its own unit; left out: from runs of this study that ended, if any.
    quick
        Measure nothing.
    """
    from minutiae.studies.planning import pilot_deviation, plan_study

    loaded, folder = _opened(study, out, name)
    planned = plan_study(loaded, workers, measure=not quick, folder=folder)
    known = deviation if deviation is not None else pilot_deviation(loaded, folder)
    sys.stdout.write(_plan_text(planned, folder, known))
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
    from minutiae.control.workers import worker_count
    from minutiae.studies.execution import run_study

    worker_count(workers)
    loaded, folder = _opened(study, out, name)

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


def _opened(study: Path, out: Path, name: str | None) -> tuple[Study, Path]:
    """The study in a file or folder, and the folder where it is trained."""
    from minutiae.studies.study_file import FILE, load_study

    if study.is_dir():
        return load_study(study / FILE), study
    return load_study(study), out / (name or study.stem)


def _plan_text(planned: Plan, folder: Path, deviation: float | None) -> str:
    study = planned.study
    lines = [study.question] if study.question else []
    lines.append(study.layout.describe())
    lines.append(f"environments: {', '.join(study.environments)}; outcomes: {', '.join(study.outcomes)}")
    if study.tuning is not None:
        lines.append(
            f"tuned in every cell: {len(study.tuning.settings)} settings, {study.tuning.seeds} seeds each; "
            f"reported: {'the same seeds' if study.tuning.protocol == 'engstrom' else f'{study.seeds} fresh seeds'}"
        )
    lines += planned.remainders
    lines += _cost(planned, folder)
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


def _cost(planned: Plan, folder: Path) -> list[str]:
    """What is done, and what the rest takes."""
    from minutiae.studies.designs import count

    runs, left = len(planned.runs), len(planned.left)
    done = f"{runs - left} of {runs} runs are done in {folder}"
    if not left:
        return [f"{done}; next: minutiae study report {folder}"]
    lines = [done] if left < runs else []
    what = f"{'left: ' if left < runs else ''}{count(left, 'run')}"
    if planned.study.command is None:
        sizes = sorted({len(task.runs) for task in planned.tasks}, reverse=True)
        agents = count(sizes[0], "agent") if len(sizes) == 1 else f"{sizes[-1]} to {sizes[0]} agents"
        populations = count(len(planned.tasks), "population")
        what += f", {planned.steps:,} environment steps, in {populations} of {agents}"
    else:
        what += " of a command"
    lines.append(f"{what}, {planned.workers} at a time")
    if planned.seconds is not None and planned.memory is not None:
        from minutiae.cli.display import duration

        lines.append(
            f"about {duration(planned.seconds)} (hours:minutes:seconds) and {planned.memory / 2**30:.1f} GiB of memory "
            "on this machine, as busy as it is now"
        )
    return lines
