"""Running a study: planning, tuning before reporting, populations in worker processes, and going on after anything.

What is done is told by files alone, so running again after a kill or on a second machine is the same as running once.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TypeAlias

from minutiae.control.progress import Listener, Progress, Status, ignore
from minutiae.control.workers import RETRIES, Workers, worker_count
from minutiae.errors import ConfigError, MinutiaeError, RunError
from minutiae.runs.directory import RunDirectory
from minutiae.studies.archive import Archive
from minutiae.studies.archiving import adopt
from minutiae.studies.claims import Claims
from minutiae.studies.external import External, OutcomeMissing, run_command
from minutiae.studies.outcomes import choose_settings
from minutiae.studies.results import StudyResults, planned_runs
from minutiae.studies.revisions import changed_source_words, uncounted_words
from minutiae.studies.store import Store, Task
from minutiae.studies.study import PlannedRun, Study
from minutiae.studies.study_file import FILE, load_study

WAIT_SECONDS = 5.0
"""How often to look whether other machines have ended what they claimed."""

Executor: TypeAlias = Callable[[Store, Sequence[Task], Claims, Listener], None]
"""Trains tasks that nobody else has claimed; notes failures in the store and raises for none."""


def run_study(
    study: Study | str | Path,
    folder: str | Path | None = None,
    *,
    workers: int | None = None,
    listener: Listener = ignore,
    executor: Executor | None = None,
    archive: str | Path | None = None,
    on: str = "local",
    say: Callable[[str], None] = lambda text: None,
) -> StudyResults:
    """Train whatever of a study is not trained yet.

    Args:
        study: a `Study`, the path of a `study.toml`, or the folder of a study.
        folder: of the store; one that holds an earlier form of the study is gone on with, and runs there that the study
            does not count any more are told by a warning, as are those of another source of a custom detail. `None` is
            `studies/NAME` for the file `NAME.toml`, and the folder itself for a folder.
        workers: processes at a time, each for one population; `None` is one for each core.
        listener: told of every iteration of every run.
        executor: trains tasks; `None` trains them where `on` says.
        archive: a folder of runs that were trained elsewhere (`archive_study`); those that the study plans count in it.
        on: `local`, in processes of this machine; `ray`, on a Ray cluster that is found or else started; or the address
            of one, as in `ray:HOST:PORT` and `ray://HOST:PORT` (see `on_ray`).
        say: told in words which cluster it is.

    Returns:
        The results; every run of the study has ended or failed for good.

    Raises:
        ConfigError: the study, the number of workers, the place to train, or no folder for a `Study`.
        RunError: the folder holds something else, or cannot be written.
        MinutiaeError: Ray is not installed, or its cluster does not answer.
    """
    worker_count(workers)
    study, folder = _opened(study, folder)
    left = uncounted_words(study, folder)
    if left is not None:
        warnings.warn(left, stacklevel=2)
    with contextlib.ExitStack() as stack:
        execute = executor or stack.enter_context(_place(on, study, workers, say))
        store = Store.create(folder, study)
        store.forget_failures()
        claims = stack.enter_context(store.claims())
        first = _adopted(store, study.first_runs(), archive, listener)
        changed = changed_source_words(store)
        if changed is not None:
            warnings.warn(changed, stacklevel=2)
        _finish(store, first, execute, claims, listener)
        if study.tuning is not None:
            final = _adopted(store, study.final_runs(choose_settings(store)), archive, listener)
            _finish(store, final, execute, claims, listener)
        claims.sweep()
    return StudyResults(store)


def _adopted(store: Store, runs: list[PlannedRun], archive: str | Path | None, listener: Listener) -> list[PlannedRun]:
    """The same runs, after those that are archived have been let in; who watches is told of each as if it ended now."""
    found = {} if archive is None else adopt(store, Archive.open(archive), runs)
    for run in found.values():
        # An archive's runs have ended, one way or the other.
        status: Status = "diverged" if run.status == "diverged" else "finished"
        mean = run.outcomes.get("final_return")
        listener(Progress(
            run.key, store.run_path(run.key), run.iterations, run.iterations, run.steps, run.steps, mean, status,
            run.reason,
        ))  # fmt: skip
    return runs


@contextlib.contextmanager
def _place(on: str, study: Study, workers: int | None, say: Callable[[str], None]) -> Iterator[Executor]:
    """Where a study is trained."""
    if on == "local":
        count = worker_count(workers)
        yield local_processes(count) if study.command is None else local_commands(study, count)
        return
    from minutiae.studies.on_ray import address_of, on_ray

    address = address_of(on)
    if study.command is not None:
        raise ConfigError(
            "a study over a command is trained on this machine, where its files are: leave out --on; several machines "
            "that share the study's folder share its work when each runs the same command"
        )
    with on_ray(address, workers) as cluster:
        say(cluster.where)
        yield cluster.execute


def _opened(study: Study | str | Path, folder: str | Path | None) -> tuple[Study, Path]:
    """The study, and where it is trained."""
    if isinstance(study, Study):
        if folder is None:
            raise ConfigError("a Study has no name of its own; say where to train it: run_study(study, 'studies/NAME')")
        # What was opened for reading is checked before it is trained.
        return replace(study, stored=False) if study.stored else study, Path(folder)
    path = Path(study)
    if path.is_dir():
        return load_study(path / FILE), path if folder is None else Path(folder)
    return load_study(path), Path("studies") / path.stem if folder is None else Path(folder)


def _finish(store: Store, runs: Sequence[PlannedRun], execute: Executor, claims: Claims, listener: Listener) -> None:
    """Train `runs` until each has ended or failed, here or elsewhere."""
    wanted = {run.id for run in runs}
    while True:
        if not store.plan(runs, claims):
            time.sleep(WAIT_SECONDS)
            continue
        left = [task for task in store.tasks() if wanted & set(task.runs) and _open(store, task)]
        if not left:
            return
        before = [task.id for task in left]
        execute(store, left, claims, listener)
        left = [task for task in store.tasks() if wanted & set(task.runs) and _open(store, task)]
        if [task.id for task in left] == before:
            time.sleep(WAIT_SECONDS)  # all of them are others' now


def _open(store: Store, task: Task) -> bool:
    return not store.finished(task) and store.failure(task) is None


def take(store: Store, claims: Claims, task: Task) -> bool:
    """Claim a task that is to be trained; false when somebody else has it, or had it to its end."""
    if not claims.take(task.id):
        return False
    # Another machine may have ended it since the list was made.
    if _open(store, task):
        return True
    claims.release(task.id)
    return False


def local_processes(count: int) -> Executor:
    """An executor that trains up to `count` tasks at a time in processes of this machine."""

    def execute(store: Store, tasks: Sequence[Task], claims: Claims, listener: Listener) -> None:
        runs = [[RunDirectory.open(store.run_path(run)) for run in task.runs] for task in tasks]

        def claim(number: int) -> bool:
            return take(store, claims, tasks[number])

        def ended(number: int, reason: str | None) -> None:
            if reason is not None:
                store.fail(tasks[number], reason)
            claims.release(tasks[number].id)

        Workers(runs, count, [], listener, claim=claim, ended=ended).train()

    return execute


def local_commands(study: Study, count: int) -> Executor:
    """An executor for a study over somebody else's trainer: up to `count` of its commands at a time."""

    def execute(store: Store, tasks: Sequence[Task], claims: Claims, listener: Listener) -> None:
        planned = {run.id: run for run in planned_runs(store)}
        stop = Event()

        def train(task: Task) -> None:
            if not claims.take(task.id):
                return
            try:
                if _open(store, task):
                    _command(store, planned[task.runs[0]], study.outcomes, listener, stop)
            except MinutiaeError as error:
                if not stop.is_set():  # a command that Ctrl-C ended has not failed
                    store.fail(task, str(error))
            finally:
                claims.release(task.id)

        with ThreadPoolExecutor(count) as threads:
            try:
                for done in [threads.submit(train, task) for task in tasks]:
                    done.result()
            except BaseException:
                # Ctrl-C, above all: what runs has heard it too, and nothing more may start.
                stop.set()
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    return execute


def _command(store: Store, planned: PlannedRun, outcomes: Sequence[str], listener: Listener, stop: Event) -> None:
    """Run the command of one run, as often as a failure may be tried again, and keep what it gave."""
    assert isinstance(planned.config, External)
    run = RunDirectory.open(store.run_path(planned.id))
    for tried in range(1, RETRIES + 2):
        listener(Progress(run.name, run.path, 0, 1, 0, 0, None, "starting"))
        try:
            attempt, found = run_command(planned.config, planned.seed, run.path, outcomes)
        except RunError as error:
            if isinstance(error, OutcomeMissing):
                raise
            if tried > RETRIES or stop.is_set():
                raise RunError(f"{error} ({tried} times)") from error
            listener(Progress(run.name, run.path, 0, 1, 0, 0, None, "retrying", str(error)))
        else:
            results = f"{attempt}/{planned.config.results}"
            run.finish(summary={"outcomes": found, "results": results, "final_return": found[outcomes[0]]})
            listener(Progress(run.name, run.path, 1, 1, 0, 0, found[outcomes[0]], "finished"))
            return


def in_this_process(store: Store, tasks: Sequence[Task], claims: Claims, listener: Listener) -> None:
    """An executor that trains one task after another here, as for debugging."""
    from minutiae.control.trainer import Trainer

    for task in tasks:
        if not claims.take(task.id):
            continue
        try:
            if _open(store, task):
                Trainer([RunDirectory.open(store.run_path(run)) for run in task.runs], listener=listener).train()
        except MinutiaeError as error:
            store.fail(task, str(error))
        finally:
            claims.release(task.id)
