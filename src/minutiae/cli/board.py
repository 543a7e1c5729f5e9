"""What is known of all runs in training: fractions, speed, time left. Neither a terminal nor a clock of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from minutiae.control.progress import Progress

WINDOW_SECONDS = 30.0
"""Speed is measured over the last so many seconds: the start, which compiles, is soon forgotten."""


class Board:
    """Collects reports of `expected` runs; `clock` gives seconds and never goes back."""

    def __init__(self, expected: int, clock: Callable[[], float]) -> None:
        self.expected = expected
        self.runs: dict[Path, Progress] = {}
        self._clock = clock
        self._trained_before: dict[Path, int] = {}
        self._window: deque[tuple[float, int]] = deque()

    def note(self, progress: Progress) -> None:
        """Take in one report. A run that is being retried keeps its numbers."""
        known = self.runs.get(progress.path)
        if progress.status == "retrying" and known is not None:
            self.runs[progress.path] = replace(known, status="retrying", message=progress.message)
            return
        if progress.status == "starting":
            self.runs[progress.path] = progress
            return
        if progress.return_mean is None and known is not None:
            progress = replace(progress, return_mean=known.return_mean)
        self.runs[progress.path] = progress
        if progress.iteration > 0:
            # What a resumed run had done before must not count as speed.
            first = progress.steps - progress.steps // progress.iteration
            self._trained_before.setdefault(progress.path, first)
        if progress.status != "training":
            return  # the last report follows the writing of results, which is no training
        self._window.append((self._clock(), self.trained))
        while self._window[-1][0] - self._window[0][0] > WINDOW_SECONDS:
            self._window.popleft()

    @property
    def steps(self) -> int:
        """Environment steps of all runs so far, those before a resume included."""
        return sum(progress.steps for progress in self.runs.values())

    @property
    def trained(self) -> int:
        """Environment steps that were watched here."""
        return sum(self.runs[path].steps - before for path, before in self._trained_before.items())

    @property
    def total_steps(self) -> int:
        """Environment steps of all runs when they end; runs not heard of yet count like the average one."""
        known = [progress.total_steps for progress in self.runs.values() if progress.total_steps]
        if not known:
            return 0
        return sum(known) + max(0, self.expected - len(known)) * sum(known) // len(known)

    @property
    def fraction(self) -> float:
        """Between 0 and 1."""
        return self.steps / self.total_steps if self.total_steps else 0.0

    @property
    def steps_per_second(self) -> float | None:
        """`None` until two reports are some time apart."""
        if not self._window:
            return None
        (first, before), (last, after) = self._window[0], self._window[-1]
        return (after - before) / (last - first) if last > first else None

    @property
    def seconds_left(self) -> float | None:
        """`None` until the speed is known."""
        speed = self.steps_per_second
        return (self.total_steps - self.steps) / speed if speed else None

    @property
    def returns(self) -> list[float]:
        """The newest mean return of every run that has one."""
        return [progress.return_mean for progress in self.runs.values() if progress.return_mean is not None]
