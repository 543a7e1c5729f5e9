"""What `train` and `resume` share: showing the training, surviving Ctrl-C, saying how it ended. Nothing trains here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from minutiae.cli.display import make_display
from minutiae.cli.main import INTERRUPTED
from minutiae.control.progress import Listener, Progress
from minutiae.control.run import open_runs
from minutiae.errors import MinutiaeError
from minutiae.runs.checkpoints import saved
from minutiae.runs.group import is_group

if TYPE_CHECKING:
    from minutiae.control.training import Run

DIVERGED = 1
"""Exit code when a run met numbers that are not finite."""

_MOST_LINES = 20


def show(
    action: Callable[[Listener], Sequence[Run]],
    expected: int,
    path: Path | None = None,
    notes: Callable[[Path], Sequence[str]] = lambda folder: (),
) -> int:
    """Train by `action` and show it; returns the exit code.

    Args:
        action: trains, given a listener.
        expected: how many runs it will train.
        path: what to resume after Ctrl-C, where that is known before training begins.
        notes: lines to say when training begins, from the folder of the run or group; what is refused has none.
    """
    display = make_display(expected)

    def listener(progress: Progress) -> None:
        if not display.board.runs:
            for line in notes(_folder(progress.path)):
                display.say(line)
        display(progress)

    try:
        with display:
            runs = action(listener)
    except KeyboardInterrupt:
        heard = next(iter(display.board.runs), None)
        if path is None and heard is not None:
            path = _folder(heard)
        again = "start it again" if path is None else f"go on with: minutiae resume {path} ({_resume_point(path)})"
        sys.stderr.write(f"minutiae: interrupted; {again}\n")
        return INTERRUPTED
    for line in _ending(runs):
        sys.stdout.write(line + "\n")
    return DIVERGED if any(run.status == "diverged" for run in runs) else 0


def _folder(run: Path) -> Path:
    """What was asked for: the run itself, or the group that it belongs to."""
    return run.parent if is_group(run.parent) else run


def _resume_point(path: Path) -> str:
    """From where `resume` would go on; what was trained since the last checkpoint is trained again."""
    try:
        saved_steps = [
            max(saved(run.path / "checkpoint"), default=0) * run.config.samples_per_iteration for run in open_runs(path)
        ]
    except MinutiaeError:
        saved_steps = [0]
    return f"from step {min(saved_steps):,}" if min(saved_steps) else "from the start: no checkpoint was due yet"


def _ending(runs: Sequence[Run]) -> list[str]:
    lines = [_outcome(run) for run in runs[:_MOST_LINES]]
    if len(runs) > _MOST_LINES:
        lines.append(f"and {len(runs) - _MOST_LINES} more")
    path = runs[0].path if len(runs) == 1 else runs[0].path.parent
    film = f", minutiae watch {path}" if len(runs) == 1 else ""
    return [*lines, f"next: minutiae evaluate {path}, minutiae plot {path}{film}"]


def _outcome(run: Run) -> str:
    result = run.result or {}
    value, rule = result.get("final_return"), result.get("final_return_rule", "")
    if run.status == "diverged":
        return f"{run.path}: diverged: {'; '.join(result.get('reasons', []))}"
    if value is None:
        return f"{run.path}: {run.status}, no episode ended"
    return f"{run.path}: {run.status}, final return {value:,.1f} ({rule})"
