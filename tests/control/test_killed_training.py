"""Real processes, killed with -9 at moments of chance and started again, end with the bits of one never killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import training_driver
from minutiae.control.run import open_runs
from minutiae.runs.directory import RunDirectory, is_run
from small_runs import assert_same_bits
from training_driver import NAME

DRIVER = Path(training_driver.__file__)
PATIENCE = 240.0
"""Seconds until something is taken to hang; only a machine with much else to do needs more than ten."""


@pytest.fixture
def start(elsewhere: dict[str, str]) -> Iterator[Callable[[str, Path], subprocess.Popen[str]]]:
    """Start the driver; whatever is left of it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(kind: str, out: Path) -> subprocess.Popen[str]:
        command = [sys.executable, str(DRIVER), kind, str(out)]
        slowly = {**elsewhere, "PROBE_DELAY": "0.004"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=slowly)
        started.append(process)
        return process

    yield begin
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def heard(process: subprocess.Popen[str], lines: int) -> list[str]:
    """The next lines that the process writes; fewer when it ends before."""
    assert process.stdout is not None
    return [line for line in (process.stdout.readline() for _ in range(lines)) if line]


def finish(process: subprocess.Popen[str]) -> str:
    """All that the process still writes until its good end."""
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return output


def workers_of(parent: int) -> list[int]:
    """Numbers of the processes that `parent` has started."""
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def gone(pid: int) -> bool:
    """Whether a process has ended; one whose parent died may await collection for a while."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def newest(folder: Path) -> dict[str, int]:
    """The newest readable checkpoint of every run."""
    runs = [folder] if is_run(folder) else [path for path in folder.iterdir() if is_run(path)]
    return {path.name: max(RunDirectory.open(path).checkpoints(), default=0) for path in runs}


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory, elsewhere: dict[str, str]) -> Callable[[str], Path]:
    """The folder of a run or group of this kind that was never killed."""
    done: dict[str, Path] = {}

    def reference(kind: str) -> Path:
        if kind not in done:
            out = tmp_path_factory.mktemp(kind)
            command = [sys.executable, str(DRIVER), kind, str(out)]
            subprocess.run(command, env=elsewhere, check=True, capture_output=True, timeout=PATIENCE)
            done[kind] = out / NAME
        return done[kind]

    return reference


def assert_all_same_bits(folder: Path, reference: Path) -> None:
    for run, expected in zip(open_runs(folder), open_runs(reference), strict=True):
        assert_same_bits(run.path, expected.path)


def wait_until_gone(processes: Sequence[int]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not all(gone(process) for process in processes):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.01)


Start = Callable[[str, Path], subprocess.Popen[str]]


@pytest.mark.parametrize("kind", ["single", "population"])
def test_killed_and_resumed_again_and_again(
    kind: str, start: Start, references: Callable[[str], Path], tmp_path: Path
) -> None:
    chance = random.Random(kind)
    before: dict[str, int] = {}
    for _ in range(2):
        process = start(kind, tmp_path)
        heard(process, chance.randrange(2, 6) * (1 if kind == "single" else 2))
        # Long enough to reach any place in the next iteration and the save behind it.
        time.sleep(chance.random() * 0.2)
        process.kill()
        process.wait()
        now = newest(tmp_path / NAME)
        assert all(now[name] >= iteration for name, iteration in before.items())
        before = now
    assert any(run.status == "unfinished" for run in open_runs(tmp_path / NAME))
    finish(start(kind, tmp_path))
    if kind == "single":
        assert_same_bits(tmp_path / NAME, references("apart") / "seed-10")
    else:
        assert_all_same_bits(tmp_path / NAME, references("population"))
    assert not list(tmp_path.rglob("*.unfinished"))


def test_a_group_killed_interrupted_and_resumed_by_another_number_of_workers(
    start: Start, references: Callable[[str], Path], tmp_path: Path
) -> None:
    process = start("group", tmp_path)
    heard(process, 5)
    workers = workers_of(process.pid)
    assert len(workers) == 2
    process.kill()
    process.wait()
    # Nobody ends the workers: each leaves when its parent is gone.
    wait_until_gone(workers)
    before = newest(tmp_path / NAME)
    process = start("group", tmp_path)
    heard(process, 2)
    deadline = time.monotonic() + PATIENCE
    while len(workers := workers_of(process.pid)) != 1:  # never two; none for the moment between two of them
        assert len(workers) == 0 and time.monotonic() < deadline
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT
    # The parent has waited for its worker: it is not even left to be collected.
    assert not os.path.exists(f"/proc/{workers[0]}")
    assert all(iteration >= before[name] for name, iteration in newest(tmp_path / NAME).items())
    assert any(run.status == "unfinished" for run in open_runs(tmp_path / NAME))
    finish(start("group", tmp_path))
    # Each is a population of one: the same program, and so the same bits, as alone in one process.
    assert_all_same_bits(tmp_path / NAME, references("apart"))
