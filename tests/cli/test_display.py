"""What is shown while training: numbers by a clock of the test's own, few lines, and a picture that fits."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from minutiae.cli.board import Board
from minutiae.cli.display import LiveDisplay, PlainDisplay, duration, make_display, picture, summary_line
from minutiae.control.progress import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def report(iteration: int, run: str = "a", **changes: Any) -> Progress:
    fields: dict[str, Any] = {
        "run": run,
        "path": Path(run),
        "iteration": iteration,
        "iterations": 100,
        "steps": 10 * iteration,
        "total_steps": 1000,
        "return_mean": float(iteration),
    }
    return Progress(**(fields | changes))


def test_speed_and_time_left() -> None:
    clock = Clock()
    board = Board(1, clock)
    board.note(report(1))
    assert (board.steps_per_second, board.seconds_left) == (None, None)
    clock.now += 2
    board.note(report(3))
    # 20 steps in 2 seconds; 970 are left.
    assert (board.steps_per_second, board.seconds_left) == (10.0, 97.0)
    assert board.fraction == 0.03


def test_only_the_last_half_minute_counts() -> None:
    clock = Clock()
    board = Board(1, clock)
    board.note(report(1))
    clock.now += 60
    board.note(report(2))
    clock.now += 1
    board.note(report(12))
    assert board.steps_per_second == 100.0


def test_steps_before_a_resume_are_no_speed() -> None:
    clock = Clock()
    board = Board(2, clock)
    board.note(report(51, run="a"))
    clock.now += 1
    board.note(report(51, run="b"))
    assert board.trained == 20
    assert board.steps_per_second == 10.0
    assert board.fraction == 0.51


def test_runs_not_heard_of_yet_count() -> None:
    board = Board(4, Clock())
    board.note(report(100))
    assert (board.total_steps, board.fraction) == (4000, 0.25)


def test_retried_run_keeps_its_numbers() -> None:
    board = Board(1, Clock())
    board.note(report(40))
    board.note(report(0, steps=0, total_steps=0, return_mean=None, status="retrying", message="it died"))
    (known,) = board.runs.values()
    assert (known.steps, known.return_mean, known.status, known.message) == (400, 40.0, "retrying", "it died")


def test_last_known_return_stays() -> None:
    board = Board(1, Clock())
    board.note(report(1, return_mean=5.0))
    board.note(report(2, return_mean=None))
    assert board.returns == [5.0]


def test_fast_run_prints_a_line_each_tenth() -> None:
    stream = io.StringIO()
    with PlainDisplay(1, stream, Clock()) as display:
        for iteration in range(1, 101):
            display(report(iteration))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "a   10%  100 of 1,000 steps  return 10.0"
    assert lines[-1] == "a  100%  1,000 of 1,000 steps  return 100.0"


def test_slow_run_prints_a_line_every_few_seconds() -> None:
    clock, stream = Clock(), io.StringIO()
    with PlainDisplay(1, stream, clock) as display:
        for iteration in range(1, 10):
            clock.now += 2
            display(report(iteration))
    # At 6 and 12 seconds, and the last.
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["30", "60", "90"]


def test_the_end_is_told_once_however_long_the_results_take_to_write() -> None:
    clock, stream = Clock(), io.StringIO()
    with PlainDisplay(1, stream, clock) as display:
        display(report(100))
        clock.now += 60
        display(report(100, status="finished"))
    assert len(stream.getvalue().splitlines()) == 1


def test_trouble_is_told_once() -> None:
    stream = io.StringIO()
    with PlainDisplay(2, stream, Clock()) as display:
        display(report(1))
        for _ in range(2):
            display(report(2, run="b", status="diverged", message="bias is not finite at iteration 2"))
    assert stream.getvalue().splitlines()[0] == "b diverged: bias is not finite at iteration 2"
    assert stream.getvalue().count("diverged") == 1


def test_several_runs_in_one_line() -> None:
    clock = Clock()
    board = Board(2, clock)
    board.note(report(1, run="a", return_mean=1.0))
    clock.now += 1
    board.note(report(1, run="b", return_mean=4.0))
    assert summary_line(board) == ("2 runs    1%  20 of 2,000 steps  10 steps/s  return 2.5 (1.0 to 4.0)  0:03:18 left")


def test_nothing_heard_nothing_shown() -> None:
    stream = io.StringIO()
    with PlainDisplay(1, stream, Clock()):
        pass
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00:00"), (61, "0:01:01"), (3723, "1:02:03")])
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def drawn(board: Board, height: int = 24) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80, height=height).print(picture(board, height))
    return stream.getvalue()


def test_picture_of_one_run_fits_a_line() -> None:
    clock = Clock()
    board = Board(1, clock)
    assert drawn(board) == "starting: the first iteration waits for the compiler\n"
    board.note(report(1, run="ppo-Hopper-v5", path=Path("ppo-Hopper-v5")))
    clock.now += 1
    board.note(report(50, run="ppo-Hopper-v5", path=Path("ppo-Hopper-v5")))
    (line,) = drawn(board).splitlines()
    assert line.split()[0] == "ppo-Hopper-v5"
    assert line.rstrip().endswith("50%  490 steps/s  return 50.0  0:00:01 left")


def test_picture_of_many_runs_fits_the_terminal() -> None:
    board = Board(50, Clock())
    for number in range(50):
        board.note(report(number + 1, run=f"seed-{number}"))
    board.note(report(7, run="seed-30", status="diverged", message="bias is not finite"))
    lines = drawn(board, height=24).splitlines()
    assert len(lines) <= 23
    assert lines[1].split() == ["run", "done", "steps", "return", "status"]
    assert lines[2].split() == ["seed-30", "7%", "70", "7.0", "diverged"]
    assert lines[-1] == "and 32 more".ljust(len(lines[-1]))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_terminal_gets_a_picture_and_a_pipe_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    assert isinstance(make_display(1, Terminal()), LiveDisplay)
    assert isinstance(make_display(1, io.StringIO()), PlainDisplay)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_display(1, Terminal()), PlainDisplay)


@pytest.mark.parametrize("color", [True, False])
def test_colors_can_be_refused(color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not color:
        monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with LiveDisplay(1, stream) as display:
        display(report(50))
        display(report(51, status="retrying", message="the worker was killed"))
    text = stream.getvalue()
    assert "a retrying: the worker was killed" in text
    assert ("\x1b[38" in text or "\x1b[9" in text or "\x1b[3" in text) is color
