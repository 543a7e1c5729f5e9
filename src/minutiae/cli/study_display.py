"""A study as it is watched: how many runs are done, running and failed, time left, and the means per cell so far."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from minutiae.cli.display import SHARE_OF_TIME, duration
from minutiae.control.progress import Listener, Progress
from minutiae.studies.study import PlannedRun, Study

if TYPE_CHECKING:
    from rich.console import RenderableType

FEWEST_SECONDS = 15.0
"""Plain lines are at least this far apart."""

MOST_CELLS = 24
"""Cells that the live table shows."""

T = TypeVar("T")


class StudyBoard:
    """What is known of a study's runs from their reports; `clock` gives seconds and never goes back.

    Args:
        study: the design.
        ended: ids of runs that had ended before, with their outcome where it is known.
    """

    def __init__(
        self, study: Study, ended: dict[str, float | None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.study = study
        self.planned: dict[str, PlannedRun] = {run.id: run for run in study.first_runs()}
        self.done: dict[str, float | None] = dict(ended)
        self.running: dict[str, Progress] = {}
        self.failed: set[str] = set()
        self._clock = clock
        self._started: float | None = None
        self._trained: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._lock = threading.Lock()

    def note(self, progress: Progress) -> None:
        """Take in one report of one run."""
        with self._lock:
            if progress.status in ("finished", "diverged"):
                last = self.running.pop(progress.run, None)
                # A run from an archive was never seen to train, and comes with its own.
                self.done[progress.run] = progress.return_mean if last is None else last.return_mean
            elif progress.status in ("training", "starting"):
                known = self.running.get(progress.run)
                if progress.return_mean is None and known is not None:
                    progress = Progress(**{**vars(progress), "return_mean": known.return_mean})
                self.running[progress.run] = progress
                if progress.status == "training":
                    # The first iteration waits for a process and the compiler, and must not count as speed.
                    self._started = self._clock() if self._started is None else self._started
                    self._before.setdefault(progress.run, progress.iteration)
            if progress.iterations:
                self._trained[progress.run] = progress.iteration

    @property
    def total(self) -> int:
        """All runs of the study; which ones are reported after tuning is known only then, how many before."""
        return max(self.study.run_count, len(self._known))

    @property
    def seconds_left(self) -> float | None:
        """By the iterations done so far; `None` until some are."""
        with self._lock:
            done = sum(self._trained[run] - before for run, before in self._before.items())
            passed = 0.0 if self._started is None else self._clock() - self._started
            if done <= 0 or passed <= 0:
                return None
            return self._iterations()[0] * passed / done

    @property
    def share(self) -> float:
        """Of all iterations, that of those done: runs that train together end together, and late."""
        with self._lock:
            left, total = self._iterations()
        return 1 - left / total

    def _iterations(self) -> tuple[float, float]:
        """Left, and in all; runs that are not known yet have as many as the others on average."""
        planned = {name: run.iterations for name, run in self.planned.items()}
        typical = sum(planned.values()) / len(planned)
        known = self._known
        unknown = (self.total - len(known)) * typical
        left = sum(planned.get(name, typical) - self._trained.get(name, 0) for name in known - self.done.keys())
        return left + unknown, sum(planned.get(name, typical) for name in known) + unknown

    @property
    def _known(self) -> set[str]:
        return {*self.planned, *self._trained, *self.running, *self.done}

    def cells(self) -> list[tuple[str, str, int, int, float | None]]:
        """Environment, cell, runs done, runs in all, and the mean of the newest returns of those that have one."""
        rows: dict[tuple[str, str], list[PlannedRun]] = {}
        for run in self.planned.values():
            rows.setdefault((run.environment, self.study.label(run.cell)), []).append(run)
        result = []
        with self._lock:
            for (environment, cell), runs in rows.items():
                current = [self.done[run.id] for run in runs if run.id in self.done]
                current += [self.running[run.id].return_mean for run in runs if run.id in self.running]
                values = [value for value in current if value is not None]
                mean = sum(values) / len(values) if values else None
                result.append((environment, cell, sum(run.id in self.done for run in runs), len(runs), mean))
        return result

    def line(self) -> str:
        """Everything in one line."""
        left = self.seconds_left
        parts = [f"{len(self.done)} of {self.total} runs done", f"{len(self.running)} running"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if self.running:
            parts.append(f"{self.share:.0%} of all iterations")
        if left is not None:
            parts.append(f"{duration(left)} left")
        return ", ".join(parts)


def show_study(study: Study, folder: Path, action: Callable[[Listener], T], stream: TextIO | None = None) -> T:
    """Run `action` with a listener and show the study on `stream` (standard output) meanwhile."""
    stream = sys.stdout if stream is None else stream
    board = StudyBoard(study, _ended(study, folder))
    if stream.isatty():
        return _live(board, action, stream)
    printed = time.monotonic()
    started = printed
    stream.write(f"{folder}: {board.line()}\n")
    told: set[str] = set()

    def listen(progress: Progress) -> None:
        nonlocal printed
        board.note(progress)
        news = _news(progress)
        if news is not None and news not in told:
            told.add(news)
            stream.write(news + "\n")
        now = time.monotonic()
        if now - printed >= max(FEWEST_SECONDS, SHARE_OF_TIME * (now - started)):
            printed = now
            stream.write(f"{board.line()}\n")
            stream.flush()

    return action(listen)


def _news(progress: Progress) -> str | None:
    if progress.status in ("diverged", "retrying"):
        return f"{progress.run} {progress.status}: {progress.message or 'no reason given'}"
    return None


def _live(board: StudyBoard, action: Callable[[Listener], T], stream: TextIO) -> T:
    from rich.console import Console
    from rich.live import Live

    console = Console(file=stream)

    def listen(progress: Progress) -> None:
        board.note(progress)
        news = _news(progress)
        if news is not None:
            console.print(news, markup=False, highlight=False)

    with Live(get_renderable=lambda: picture(board), console=console, refresh_per_second=2):
        return action(listen)


def picture(board: StudyBoard) -> RenderableType:
    """What a terminal shows of a study now."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    several = len(board.study.environments) > 1
    for name in [*(["environment"] if several else []), "cell"]:
        table.add_column(name)
    for name in ("done", "return"):
        table.add_column(name, justify="right")
    rows = board.cells()
    for environment, cell, done, count, mean in rows[:MOST_CELLS]:
        shown = "" if mean is None else f"{mean:,.1f}"
        table.add_row(*([environment] if several else []), cell, f"{done}/{count}", shown)
    more = [Text(f"and {len(rows) - MOST_CELLS} more cells")] if len(rows) > MOST_CELLS else []
    return Group(Text(board.line()), table, *more)


def _ended(study: Study, folder: Path) -> dict[str, float | None]:
    """Runs of the study that had ended before, with their final return."""
    from minutiae.studies.results import planned_runs
    from minutiae.studies.store import Store
    from minutiae.studies.study_file import FILE

    if not (folder / FILE).is_file():
        return {}
    from minutiae.runs.directory import RunDirectory

    store = Store(folder, study)
    ended: dict[str, float | None] = {}
    for run in planned_runs(store):
        archived = store.elsewhere(run.id)
        if archived is not None:
            ended[run.id] = archived.outcomes.get("final_return")
        elif store.ended(run.id):
            result = RunDirectory.open(store.run_path(run.id)).result
            ended[run.id] = None if result is None else result.summary.get("final_return")
    return ended
