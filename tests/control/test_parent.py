"""Processes that train for another end with it. What they train is tested elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minutiae.details import Config
from saved_runs import save_run

CHILD = "import time; from minutiae.control.parent import end_with_parent; end_with_parent(); print(1, flush=True); "


def test_the_process_ends_when_the_pipe_closes() -> None:
    words = [sys.executable, "-c", CHILD + "time.sleep(600)"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "1\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=60) == 1


@pytest.mark.parametrize("module", ["minutiae.control.worker", "minutiae.studies.measuring"])
def test_whoever_trains_for_another_watches_it(module: str, tmp_path: Path) -> None:
    """The parent starts such a process on nothing that ends by itself, and is killed: the pipe closes behind it."""
    waits = (
        "import sys, time, runpy\n"
        "from minutiae.control import trainer, population\n"
        "def forever(*_, **__):\n"
        "    print('training', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
        "trainer.Trainer.__init__ = population.Population.__init__ = forever\n"
        f"runpy.run_module({module!r}, run_name='__main__')\n"
    )
    run = save_run(tmp_path / "run", Config(environment="CartPole-v1"))
    words = [sys.executable, "-c", waits, str(run.path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write("[]\n")
        process.stdin.flush()
        while "training" not in process.stderr.readline():
            assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=60) == 1
