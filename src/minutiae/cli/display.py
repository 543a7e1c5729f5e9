"""Training as it is watched: a live picture on a terminal, plain lines elsewhere. Knows no trainer."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from minutiae.cli.board import Board
from minutiae.control.progress import Progress

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

FEWEST_SECONDS = 5.0
SHARE_OF_TIME = 0.05
"""Plain lines are at least this far apart, in seconds and as a share of the time so far; tenths come anyway."""


class Display(Protocol):
    """A listener that is also a context: what it shows lasts while training does."""

    board: Board

    def say(self, line: str) -> None: ...
    def __call__(self, progress: Progress) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def make_display(expected: int, stream: TextIO | None = None) -> Display:
    """The display that suits `stream` (standard output): live on a terminal that can move its cursor."""
    stream = sys.stdout if stream is None else stream
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LiveDisplay(expected, stream)
    return PlainDisplay(expected, stream)


class PlainDisplay:
    """One line every few seconds and every tenth of the way, and one for each run that fails or is retried."""

    def __init__(self, expected: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.board = Board(expected, clock)
        self._stream, self._clock = stream, clock
        self._started = self._printed = clock()
        self._tenth = 0
        self._shown_fraction = -1.0
        self._told: set[tuple[str, str | None]] = set()

    def __call__(self, progress: Progress) -> None:
        self.board.note(progress)
        news = news_line(progress, self.board)
        if news is not None and (progress.run, news) not in self._told:
            self._told.add((progress.run, news))
            self.say(news)
        if progress.status == "starting":
            return
        now, tenth = self._clock(), int(10 * self.board.fraction)
        pause = max(FEWEST_SECONDS, SHARE_OF_TIME * (now - self._started))
        due = tenth > self._tenth or now - self._printed >= pause
        if progress.iteration and due and self.board.fraction != self._shown_fraction:
            self._tenth, self._printed = max(tenth, self._tenth), now
            self._line()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.board.runs and self.board.fraction != self._shown_fraction:
            self._line()

    def _line(self) -> None:
        self._shown_fraction = self.board.fraction
        self.say(summary_line(self.board))

    def say(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class LiveDisplay:
    """One agent: a bar with speed, time left and return. Several: a table of them below the bar."""

    def __init__(self, expected: int, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self.board = Board(expected, time.monotonic)
        self._console = Console(file=stream)
        self._told: set[tuple[str, str | None]] = set()
        self._live = Live(
            get_renderable=lambda: picture(self.board, self._console.height),
            console=self._console,
            refresh_per_second=4,
        )

    def __call__(self, progress: Progress) -> None:
        self.board.note(progress)
        news = news_line(progress, self.board)
        if news is not None and (progress.run, news) not in self._told:
            self._told.add((progress.run, news))
            self.say(news)

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._live.stop()


def news_line(progress: Progress, board: Board) -> str | None:
    """One line for a run that diverged or is retried, and for the first of all that starts; `None` for any other."""
    if progress.status == "starting":
        return f"{progress.run} {progress.message}" if len(board.runs) == 1 else None
    if progress.status not in ("diverged", "retrying"):
        return None
    return f"{progress.run} {progress.status}: {progress.message or 'no reason given'}"


def summary_line(board: Board) -> str:
    """All runs in one line."""
    runs = list(board.runs.values())
    what = runs[0].run if board.expected == 1 else f"{board.expected} runs"
    parts = [what, f"{board.fraction:4.0%}", f"{board.steps:,} of {board.total_steps:,} steps"]
    parts += measures(board)
    return "  ".join(parts)


def measures(board: Board) -> list[str]:
    """Speed, return and time left, each where it is known."""
    speed, left, returns = board.steps_per_second, board.seconds_left, board.returns
    parts = []
    if speed is not None:
        parts.append(f"{speed:,.0f} steps/s")
    if len(returns) == 1:
        parts.append(f"return {returns[0]:,.1f}")
    elif returns:
        mean = sum(returns) / len(returns)
        parts.append(f"return {mean:,.1f} ({min(returns):,.1f} to {max(returns):,.1f})")
    if left is not None and board.fraction < 1:
        parts.append(f"{duration(left)} left")
    return parts


def duration(seconds: float) -> str:
    """As in `1:02:03`."""
    return str(timedelta(seconds=round(seconds)))


def picture(board: Board, height: int) -> RenderableType:
    """What the terminal shows now; `height` is its number of lines."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    if not board.runs:
        return Text("starting: the first iteration waits for the compiler")
    bar = Table.grid(padding=(0, 2), expand=True)
    bar.add_column(no_wrap=True)
    bar.add_column(ratio=1)
    for _ in range(5):
        bar.add_column(no_wrap=True)
    bar.add_row(
        next(iter(board.runs.values())).run if board.expected == 1 else f"{board.expected} runs",
        ProgressBar(total=1.0, completed=board.fraction),
        f"{board.fraction:4.0%}",
        *measures(board),
    )
    return bar if board.expected == 1 else Group(bar, _table(board, max(1, height - 6)))


def _table(board: Board, most: int) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name, justify in (("run", "left"), ("done", "right"), ("steps", "right"), ("return", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("status")
    order = {"diverged": 0, "retrying": 1, "training": 2, "finished": 3}
    runs = sorted(board.runs.values(), key=lambda progress: order[progress.status])
    for progress in runs[:most]:
        done = progress.steps / progress.total_steps if progress.total_steps else 0.0
        value = "" if progress.return_mean is None else f"{progress.return_mean:,.1f}"
        table.add_row(progress.run, f"{done:.0%}", f"{progress.steps:,}", value, progress.status)
    if len(runs) > most:
        table.add_row(f"and {len(runs) - most} more")
    return table
