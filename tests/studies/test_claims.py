"""Claims: one holder at a time, on this machine and others; the dead are found; a claim is never half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from minutiae.errors import RunError
from minutiae.studies.claims import Claims


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    with Claims(tmp_path) as first, Claims(tmp_path) as second:
        assert first.take("task")
        assert not second.take("task")
        assert second.take("other")
        second.release("task")  # not its own: nothing happens
        assert not second.take("task")
        first.release("task")
        assert second.take("task")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "task"]
    assert list(tmp_path.iterdir()) == []


def test_of_many_that_try_one_wins(tmp_path: Path) -> None:
    ready, won = threading.Barrier(8), []

    def attempt() -> None:
        claims = Claims(tmp_path)
        ready.wait()
        if claims.take("task"):
            won.append(claims)

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_the_claim_of_a_killed_process_is_taken_over_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from minutiae.studies.claims import Claims\n"
        "assert Claims(Path(sys.argv[1])).take('task'); print('taken', flush=True); time.sleep(1000)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    claims = Claims(tmp_path)
    assert not claims.take("task")
    process.kill()
    process.wait()
    assert claims.take("task")


def elsewhere(folder: Path, age: float) -> None:
    """A claim of a process on another machine, last touched `age` seconds ago."""
    (folder / "task").write_text(json.dumps({"token": "theirs", "host": "another", "pid": 1, "started": "1"}))
    os.utime(folder / "task", (time.time() - age,) * 2)


@pytest.mark.parametrize(("age", "mine"), [(0.0, False), (9.0, False), (11.0, True), (1e6, True)])
def test_the_claim_of_another_machine_lasts_for_a_lease(tmp_path: Path, age: float, mine: bool) -> None:
    elsewhere(tmp_path, age)
    assert Claims(tmp_path, lease=10.0).take("task") is mine


def test_a_claim_is_touched_while_it_is_held(tmp_path: Path) -> None:
    with Claims(tmp_path, lease=0.4) as claims:
        assert claims.take("task")
        os.utime(tmp_path / "task", (0, 0))
        deadline = time.monotonic() + 10
        while (tmp_path / "task").stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (tmp_path / "task").stat().st_mtime > 0


def test_a_damaged_claim_lasts_for_a_lease_too(tmp_path: Path) -> None:
    (tmp_path / "task").write_text("{")
    assert not Claims(tmp_path).take("task")
    os.utime(tmp_path / "task", (0, 0))
    assert Claims(tmp_path).take("task")


def test_a_number_used_again_by_another_process_is_no_sign_of_life(tmp_path: Path) -> None:
    with Claims(tmp_path) as claims:
        claims.take("task")
        document = json.loads((tmp_path / "task").read_text())
    (tmp_path / "task").write_text(json.dumps({**document, "token": "earlier", "started": "1"}))
    assert Claims(tmp_path).take("task")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write"):
        Claims(tmp_path / "file").take("task")


def test_what_the_dead_left_is_swept_and_the_living_keep_theirs(tmp_path: Path) -> None:
    elsewhere(tmp_path, age=0.0)
    with Claims(tmp_path, lease=10.0) as claims:
        assert claims.take("mine")
        claims.sweep()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "task"]
        os.utime(tmp_path / "task", (0, 0))
        claims.sweep()
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]
