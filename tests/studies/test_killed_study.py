"""A study in processes of its own, killed with -9 at random moments: it ends with the bits of an undisturbed one.

`MINUTIAE_KILLS=20` kills it that often; the tests of every change do so twice.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from small_studies import small_study

from minutiae.studies.results import open_study
from minutiae.studies.study_file import study_to_toml
from small_runs import assert_same_bits

KILLS = int(os.environ.get("MINUTIAE_KILLS", "2"))
PATIENCE = 600.0


def children(parent: int) -> list[int]:
    """Processes that a process has started and that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def test_killed_at_random_moments_it_ends_as_undisturbed(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    study = small_study()
    (tmp_path / "study.toml").write_text(study_to_toml(study))
    command = [sys.executable, "-m", "minutiae", "study", "run", str(tmp_path / "study.toml"), "--out", str(tmp_path)]
    # Steps that take a while, so that a kill finds training under way.
    slowly = {**elsewhere, "PROBE_DELAY": "0.002"}

    def start(name: str, environment: dict[str, str], workers: int = 2) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, "--name", name, "--workers", str(workers)],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    whole = start("whole", elsewhere)
    output, _ = whole.communicate(timeout=PATIENCE)
    assert whole.returncode == 0, output
    moments = np.random.default_rng(0)
    for kill in range(KILLS):
        process = start("killed", slowly)
        deadline = time.monotonic() + moments.uniform(0.5, 12.0)
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        workers = children(process.pid)
        if kill % 2 and workers:
            os.kill(workers[int(moments.integers(len(workers)))], signal.SIGKILL)  # the parent starts it again
            time.sleep(moments.uniform(0.0, 3.0))
        process.kill()
        process.communicate(timeout=PATIENCE)
    # The populations of a study follow the study, not the number of workers.
    last = start("killed", elsewhere, workers=1)
    output, _ = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, output
    mine, reference = open_study(tmp_path / "killed"), open_study(tmp_path / "whole")
    assert mine.frame().equals(reference.frame())
    for run in mine.frame()["run_id"]:
        assert_same_bits(mine.path / "runs" / run, reference.path / "runs" / run)
    assert not list((tmp_path / "killed" / "claims").glob("[!.]*"))
