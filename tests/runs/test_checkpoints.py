"""Whenever a writer dies, the newest checkpoint that can be read is complete, and the next start finds it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from minutiae.errors import RunError
from minutiae.runs.checkpoints import available, load_checkpoint, save_checkpoint, saved


def save(folder: Path, iteration: int, size: int = 3) -> Path:
    return save_checkpoint(folder, iteration, {"weight": np.full(size, iteration)}, {"steps": 10 * iteration})


def check_complete(folder: Path) -> int:
    """Load the newest, make sure that it is whole and its own, and return its iteration."""
    checkpoint = load_checkpoint(folder)
    assert checkpoint.skipped == ()
    assert (checkpoint.arrays["weight"] == checkpoint.iteration).all()
    assert checkpoint.metadata == {"steps": 10 * checkpoint.iteration}
    return checkpoint.iteration


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    start = "import os, resource, sys\nimport numpy as np\nfrom minutiae.runs.checkpoints import *\n"
    command = [sys.executable, "-c", start + code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_last_two_stay(tmp_path: Path) -> None:
    for iteration in (0, 7, 12, 1_000_000):
        path = save(tmp_path, iteration)
    assert path == tmp_path / "1000000.safetensors"
    assert sorted(os.listdir(tmp_path)) == ["000012.safetensors", "1000000.safetensors"]
    assert available(tmp_path) == [12, 1_000_000]
    assert check_complete(tmp_path) == 1_000_000
    assert load_checkpoint(tmp_path, 12).metadata == {"steps": 120}


def test_going_back_drops_the_later_ones(tmp_path: Path) -> None:
    save(tmp_path, 5)
    save(tmp_path, 10)
    save(tmp_path, 6)
    assert saved(tmp_path) == [5, 6]
    save(tmp_path, 6)
    assert saved(tmp_path) == [5, 6]


def test_nothing_there(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    assert saved(folder) == available(folder) == []
    with pytest.raises(RunError) as caught:
        load_checkpoint(folder)
    assert str(caught.value) == f"{folder} holds no checkpoint; the run was stopped before its first, so train it again"
    save(folder, 3)
    with pytest.raises(RunError, match=f"^{folder} has no checkpoint of iteration 4; there are: 3$"):
        load_checkpoint(folder, 4)
    with pytest.raises(ValueError, match=r"^iteration is -1; it counts completed iterations and must be at least 0$"):
        save(folder, -1)


@pytest.mark.parametrize("damage", [b"", b"not ours", None])
def test_a_damaged_one_is_skipped(tmp_path: Path, damage: bytes | None) -> None:
    save(tmp_path, 1)
    path = save(tmp_path, 2)
    path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    assert saved(tmp_path) == [1, 2]
    assert available(tmp_path) == [1]
    checkpoint = load_checkpoint(tmp_path)
    assert (checkpoint.iteration, checkpoint.skipped) == (1, (2,))
    assert checkpoint.arrays["weight"].tolist() == [1, 1, 1]
    with pytest.raises(
        RunError, match=r"000002.safetensors is truncated or damaged: .*; ask for another iteration \(1\)$"
    ):
        load_checkpoint(tmp_path, 2)


def test_nothing_readable_left(tmp_path: Path) -> None:
    for iteration in (1, 2):
        save(tmp_path, iteration).write_bytes(b"zero")
    assert available(tmp_path) == []
    with pytest.raises(RunError) as caught:
        load_checkpoint(tmp_path)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path}/000002.safetensors is truncated or damaged: ")
    assert text.endswith(
        f"; nothing readable is left in {tmp_path}: restore it from a copy, or train the run again elsewhere"
    )


def test_a_file_under_another_number(tmp_path: Path) -> None:
    save(tmp_path, 2).rename(tmp_path / "000009.safetensors")
    assert available(tmp_path) == []
    with pytest.raises(RunError, match=r"000009.safetensors holds another iteration than its name says; restore it"):
        load_checkpoint(tmp_path, 9)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes.txt", "1.safetensors", "000001.safetensors.bak", "best.safetensors"):
        (tmp_path / name).write_text("mine")
    for iteration in (1, 2, 3):
        save(tmp_path, iteration)
    assert saved(tmp_path) == [2, 3]
    assert len(os.listdir(tmp_path)) == 6


def test_a_folder_or_pipe_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "000001.safetensors").mkdir()
    os.mkfifo(tmp_path / "000002.safetensors")
    assert available(tmp_path) == []
    save(tmp_path, 0)
    checkpoint = load_checkpoint(tmp_path)
    assert (checkpoint.iteration, checkpoint.skipped) == (0, (1,))


@pytest.mark.parametrize("call", ["open", "fsync", "replace", "unlink"])
def test_killed_at_each_step_of_a_save(tmp_path: Path, call: str) -> None:
    for iteration in (1, 2):
        save(tmp_path, iteration)
    child = python(
        f"os.{call} = lambda *arguments, **options: os._exit(9)\n"
        "save_checkpoint(sys.argv[1], 3, {'weight': np.full(3, 3)}, {'steps': 30})",
        tmp_path,
    )
    assert child.wait(60) == 9
    assert check_complete(tmp_path) == (3 if call == "unlink" else 2)
    save(tmp_path, 4)
    assert sorted(os.listdir(tmp_path)) == [f"{n:06d}.safetensors" for n in ((3, 4) if call == "unlink" else (2, 4))]


def test_killed_at_random_moments(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    code = (
        "iteration = int(sys.argv[2])\n"
        "while True:\n"
        "    iteration += 1\n"
        "    weight = np.full(200_000, iteration)\n"
        "    save_checkpoint(sys.argv[1], iteration, {'weight': weight}, {'steps': 10 * iteration})\n"
        "    print(iteration, flush=True)\n"
    )
    newest = 0
    for _ in range(6):
        child = python(code, tmp_path, newest)
        assert child.stdout is not None
        reported = int(child.stdout.readline())
        time.sleep(random.uniform(0, 0.03))
        child.send_signal(signal.SIGKILL)
        reported = max([reported, *map(int, child.stdout.read().split())])
        child.communicate()
        # At most one more than it said: it can die between the rename and the report.
        newest = check_complete(tmp_path)
        assert newest in (reported, reported + 1)
        assert available(tmp_path)[-1] == newest
    save(tmp_path, newest + 1)
    assert sorted(os.listdir(tmp_path)) == [f"{n:06d}.safetensors" for n in (newest, newest + 1)]


def test_a_real_limit_on_file_size(tmp_path: Path) -> None:
    child = python(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "save_checkpoint(sys.argv[1], 1, {'weight': np.full(3, 1)}, {'steps': 10})\n"
        "try:\n"
        "    save_checkpoint(sys.argv[1], 2, {'weight': np.full(100_000, 2)}, {'steps': 20})\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n",
        tmp_path,
    )
    output, errors = child.communicate(timeout=60)
    assert errors == ""
    assert output.startswith(f"RunError cannot write {tmp_path}/000002.safetensors: the disk, quota or file-size limit")
    assert output.endswith(" free); make room and resume the run, or choose another folder with out=...\n")
    assert os.listdir(tmp_path) == ["000001.safetensors"]
    assert check_complete(tmp_path) == 1


def test_a_real_full_disk(tmp_path: Path) -> None:
    """`/dev/full` is a disk that is always full; a link to it stands in for the file beside."""
    path = save(tmp_path, 1)
    before = path.read_bytes()
    child = python(
        "import minutiae.runs.atomic as atomic\n"
        "really = os.open\n"
        "os.open = lambda path, flags, *mode: really('/dev/full', os.O_WRONLY) if flags & os.O_CREAT "
        "else really(path, flags, *mode)\n"
        "try:\n"
        "    save_checkpoint(sys.argv[1], 2, {'weight': np.full(3, 2)}, {'steps': 20})\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n",
        tmp_path,
    )
    output, _ = child.communicate(timeout=60)
    assert output.startswith(f"RunError cannot write {tmp_path}/000002.safetensors: the disk, quota or file-size limit")
    assert os.listdir(tmp_path) == ["000001.safetensors"]
    assert path.read_bytes() == before
