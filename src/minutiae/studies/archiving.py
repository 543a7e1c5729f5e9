"""What goes from a study's folder into an archive, and back into another study. Nothing is trained here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from minutiae.errors import RunError
from minutiae.runs.directory import RunDirectory
from minutiae.studies.archive import METRICS, OUTCOMES, Archive, ArchivedRun
from minutiae.studies.outcomes import measured
from minutiae.studies.results import planned_runs, study_curves, trained_seconds
from minutiae.studies.store import Store
from minutiae.studies.study import PlannedRun, Study


def archive_study(folder: str | Path, archive: str | Path, study: Study | None = None) -> int:
    """Keep the ended runs of a study in an archive, and say how many it did not have.

    A run that the study itself has from an archive is kept too.

    Args:
        folder: of the study.
        archive: a folder, which need not exist yet.
        study: whose runs are meant; `None` is the study that the folder holds now.

    Raises:
        RunError: there is no study, a file cannot be read or written, or the archive would lie among the runs.
    """
    store = Store.open(folder) if study is None else Store(Path(folder), study)
    runs_folder = (store.path / "runs").resolve()
    if runs_folder in (Path(archive).resolve(), *Path(archive).resolve().parents):
        raise RunError(f"{archive} lies among the runs of the study; choose a folder outside of {store.path / 'runs'}")
    if store.study.command is not None:
        raise RunError(f"{folder} is a study of a command; only runs of our own trainer can be archived")
    names = list(dict.fromkeys([*OUTCOMES, *store.study.outcomes]))
    target = Archive(archive)
    ended = [run.id for run in planned_runs(store) if store.ended(run.id) and run.id not in target.runs]
    runs = {run: store.elsewhere(run) or _archived(store, run, names) for run in ended}
    return target.add(runs, study_curves(store, ended, METRICS))


def _archived(store: Store, run: str, names: list[str]) -> ArchivedRun:
    found = RunDirectory.open(store.run_path(run))
    result, log = found.result, found.metrics()
    assert result is not None
    return ArchivedRun(
        key=run,
        config=found.config_text,
        seed=found.seed,
        status=result.status,
        reason="; ".join(result.reasons) or None,
        iterations=log.last or 0,
        steps=int(log.column("steps")[-1] or 0) if len(log) else 0,
        seconds=trained_seconds(found),
        outcomes=measured(found, names),
        about=found.about,
    )


def adopt(store: Store, archive: Archive, runs: Iterable[PlannedRun]) -> dict[str, ArchivedRun]:
    """Let those of `runs` that `archive` has count in the study, and return those that were none of its own.

    A run without an outcome that the study asks for is trained instead.

    Raises:
        RunError: a file cannot be read or written.
    """
    found = {
        run.id: archive.runs[run.id]
        for run in runs
        if run.id in archive.runs and not store.ended(run.id) and _serves(archive.runs[run.id], store.study)
    }
    store.archive.add(found, archive.curves(found))
    return found


def _serves(run: ArchivedRun, study: Study) -> bool:
    return all(name in run.outcomes or name in METRICS for name in study.outcomes)
