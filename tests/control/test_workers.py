"""Worker processes: tried again when they die or fall silent, heard whatever a simulator prints, never left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minutiae.control import workers
from minutiae.control.progress import Progress
from minutiae.control.workers import Worker, Workers, usable_cores
from minutiae.details import to_toml
from minutiae.errors import MinutiaeError, RunError
from minutiae.runs.directory import RunDirectory
from small_runs import assert_same_bits, small

PATIENCE = 240.0


def run_at(path: Path, **details: Any) -> RunDirectory:
    return RunDirectory.create(path, to_toml(small(**details)), 10)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, elsewhere: dict[str, str]) -> Iterator[list[subprocess.Popen[str]]]:
    """Every process that `Workers` starts; none may be left, not even to be collected."""
    processes: list[subprocess.Popen[str]] = []

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            processes.append(self)

    for name in ("JAX_COMPILATION_CACHE_DIR", "QUICK_COMPILATION"):
        monkeypatch.setenv(name, elsewhere[name])
    monkeypatch.setattr(subprocess, "Popen", Watched)
    yield processes
    assert processes
    for process in processes:
        assert process.returncode is not None, "a worker was not waited for"
        assert not os.path.exists(f"/proc/{process.pid}")


@pytest.fixture
def scripted(started: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace the workers, in the order in which they start, by scripts that speak as one; the last goes on for all."""
    watched = subprocess.Popen

    def replace(*scripts: str) -> None:
        numbers = iter(range(10**6))

        def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
            script = scripts[min(next(numbers), len(scripts) - 1)]
            return watched([sys.executable, "-S", "-c", PREAMBLE + script, *command[4:]], **options)

        monkeypatch.setattr(workers.subprocess, "Popen", start)

    return replace


PREAMBLE = """
import json, os, sys, time
path = sys.argv[-1]
def say(iteration, status="training", **fields):
    progress = {"run": os.path.basename(path), "path": path, "iteration": iteration, "iterations": 9, "steps": 0,
                "total_steps": 0, "return_mean": None, "status": status, "message": None}
    os.write(1, (json.dumps({"progress": progress}) + "\\n").encode())
"""
GOOD = "say(9, 'finished')"
SILENT = "say(1); time.sleep(1000)"


def heard_from(chunks: list[list[RunDirectory]], count: int = 1, listener: Any = None) -> list[Progress]:
    """Everything that the workers report until they are done."""
    heard: list[Progress] = []
    Workers(chunks, count, [], listener or heard.append).train()
    return heard


@pytest.fixture
def whole(tmp_path: Path, started: list[subprocess.Popen[str]]) -> RunDirectory:
    """What a worker makes of a run that nothing happens to."""
    run = run_at(tmp_path / "whole")
    heard = heard_from([[run]])
    assert [one.iteration for one in heard] == [0, 1, 2, 3, 4, 5, 6, 6]
    assert heard[-1] == Progress("whole", run.path, 6, 6, 240, 240, None, "finished")
    return run


def test_a_worker_in_trouble_makes_the_same_bits(
    whole: RunDirectory, started: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    # One dies in its second segment, the other has a simulator that prints, by Python and past it.
    killed, noisy = run_at(tmp_path / "killed"), run_at(tmp_path / "noisy", environment="training_probes:noisy")
    heard: list[Progress] = []

    def kill(progress: Progress) -> None:
        heard.append(progress)
        if (progress.run, progress.iteration) == ("killed", 3) and len(started) == 3:
            started[1].kill()

    heard_from([[killed], [noisy]], count=2, listener=kill)
    assert len(started) == 4
    assert_same_bits(killed.path, whole.path)
    assert [(one.run, one.message) for one in heard if one.status == "retrying"] == [
        ("killed", "the worker ended with exit code -9 (it said nothing)")
    ]
    assert noisy.metrics().frame().equals(whole.metrics().frame())
    assert [one.iteration for one in heard if one.run == "noisy"] == [0, 1, 2, 3, 4, 5, 6, 6]


def test_a_silent_worker_is_ended_and_tried_again(
    started: list[subprocess.Popen[str]],
    scripted: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(workers, "SILENCE_PAUSES", 1.0)
    monkeypatch.setattr(workers, "POLL_SECONDS", 0.1)
    scripted(SILENT, GOOD)
    heard = heard_from([[run_at(tmp_path / "run")]])
    assert [one.status for one in heard] == ["training", "retrying", "finished"]
    assert heard[1].message is not None and heard[1].message.startswith("the worker reported nothing for ")
    assert [process.returncode for process in started] == [-signal.SIGKILL, 0]


def test_a_silent_worker_is_noticed_beside_a_talkative_one(
    started: list[subprocess.Popen[str]],
    scripted: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(workers, "SILENCE_PAUSES", 1.0)
    talkative = "while not os.path.exists(path + '/over'): say(1); time.sleep(0.01)"
    scripted(talkative, SILENT, GOOD)
    runs = [run_at(tmp_path / name) for name in ("talkative", "silent")]
    heard: list[Progress] = []

    def listen(progress: Progress) -> None:
        heard.append(progress)
        if progress.status == "finished":
            (runs[0].path / "over").touch()
        assert len(heard) < 50_000, "the silent one was never missed"

    # Two at a time: the talkative one ends only once the silent one was ended, tried again and done.
    heard_from([[run] for run in runs], count=2, listener=listen)
    assert [one.status for one in heard if one.run == "silent"] == ["training", "retrying", "finished"]


def test_patience_grows_with_the_pauses_heard_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SILENCE_SECONDS", 600.0)
    worker = Worker(0, None, None)  # type: ignore[arg-type]
    for silence, dead in ((599.0, False), (601.0, True)):
        worker.silence = silence
        assert worker.silent_too_long is dead
    worker.silence = 100.0  # one iteration took so long: 2000 s are nothing to worry about
    worker.listen()
    for silence, dead in ((1999.0, False), (2001.0, True)):
        worker.silence = silence
        assert worker.silent_too_long is dead


def test_sleeping_through_it_oneself_is_no_silence_of_the_workers(
    scripted: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ctrl-Z and fg an hour later: the clock went on, parent and worker did not.
    scripted("say(1); time.sleep(1.0); say(9, 'finished')")
    clock, jump = time.monotonic, [0.0]
    monkeypatch.setattr(workers.time, "monotonic", lambda: clock() + jump[0])
    heard: list[Progress] = []

    def listen(progress: Progress) -> None:
        heard.append(progress)
        jump[0] = 3600.0

    heard_from([[run_at(tmp_path / "run")]], listener=listen)
    assert [one.status for one in heard] == ["training", "finished"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "sys.stderr.write('Traceback\\nValueError: the wheel came off\\n'); sys.exit(1)",
            "1 (ValueError: the wheel came off)",
        ),
        ("sys.exit(3)", "3 (it said nothing)"),
        ("os.abort()", "-6 (it said nothing)"),
    ],
)
def test_a_worker_that_always_dies_is_given_up_in_one_line(
    started: list[subprocess.Popen[str]], scripted: Callable[..., None], tmp_path: Path, script: str, reason: str
) -> None:
    scripted(script)
    with pytest.raises(RunError) as caught:
        heard_from([[run_at(tmp_path / "run")]])
    assert str(caught.value) == (
        f"the worker of {tmp_path / 'run'} ended with exit code {reason}, 3 times; what was saved is kept: mend the "
        "cause and resume it"
    )
    assert len(started) == workers.RETRIES + 1 == 3


def test_an_error_that_the_user_can_mend_arrives_as_it_is_and_ends_the_others(
    started: list[subprocess.Popen[str]], scripted: Callable[..., None], tmp_path: Path
) -> None:
    complaint = json.dumps({"error": "cannot write runs/x: the disk is full; make room"})
    scripted(SILENT, f"print({complaint!r}); sys.exit(2)")
    with pytest.raises(MinutiaeError) as caught:
        heard_from([[run_at(tmp_path / name)] for name in "ab"], count=2)
    assert str(caught.value) == "cannot write runs/x: the disk is full; make room"
    assert len(started) == 2 and started[0].returncode == -signal.SIGKILL


def test_an_interrupt_ends_all_workers(
    started: list[subprocess.Popen[str]], scripted: Callable[..., None], tmp_path: Path
) -> None:
    scripted(SILENT)

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heard_from([[run_at(tmp_path / name)] for name in "abc"], count=2, listener=interrupt)
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


def test_never_more_workers_at_a_time_than_asked_for(
    started: list[subprocess.Popen[str]], scripted: Callable[..., None], tmp_path: Path
) -> None:
    scripted("say(1); time.sleep(0.2); say(9, 'finished')")
    running: list[int] = []

    def count(progress: Progress) -> None:
        running.append(sum(process.poll() is None for process in started))

    heard_from([[run_at(tmp_path / name)] for name in "abcde"], count=2, listener=count)
    assert len(started) == 5 and max(running) == 2


def test_workers_find_the_modules_that_this_process_finds(
    started: list[subprocess.Popen[str]], scripted: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A user's script lies in a folder of its own, which only its own process has on the path.
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own_environments.py").write_text("name = 'mine'")
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    scripted("import own_environments; say(9, own_environments.name)")
    heard = heard_from([[run_at(tmp_path / "run")]])
    assert [one.status for one in heard] == ["mine"]


def test_the_worker_itself_tells_a_mendable_error_in_one_line(elsewhere: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "minutiae.control.worker", str(tmp_path / "nothing")]
    worker = subprocess.Popen(
        command, env=elsewhere, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None and worker.stderr is not None
    # Not `communicate`, which closes standard input: to the worker that is the death of its parent.
    assert json.loads(worker.stdout.read()) == {"error": f"no run at {tmp_path / 'nothing'}; check the path"}
    assert worker.stderr.read() == ""
    assert worker.wait(PATIENCE) == 2
    worker.communicate()


def test_a_folder_whose_name_begins_with_a_dash_is_no_option(
    started: list[subprocess.Popen[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_at(Path("-w4/run"))
    shutil.rmtree(run.path)
    with pytest.raises(MinutiaeError, match=r"^no run at -w4/run; check the path$"):
        heard_from([[run]])
    assert len(started) == 1


def test_usable_cores_are_those_of_this_process() -> None:
    assert usable_cores() == sorted(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(before)})
        assert usable_cores() == [max(before)]
    finally:
        os.sched_setaffinity(0, before)
