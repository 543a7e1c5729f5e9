"""Trains in a process of its own, to be killed from outside: `python training_driver.py KIND OUT`. No test lives here.

It begins what is not there and resumes what is, and writes one line for every iteration. With `PROBE_DELAY` set every
step of the environment takes so many seconds longer, and every write five times as many, to be killed in.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from minutiae.control.progress import Progress
from minutiae.control.training import resume, train, train_population
from small_runs import several

ITERATIONS = 12
NAME = "run"


def begin(kind: str, out: Path) -> None:
    """Train a `single` agent, two `apart` in turn, both in one `population`, or in a `group` with a worker for each."""
    agents = several(steps=40 * ITERATIONS)[:2]
    if kind == "single":
        config, seed = agents[0]
        train(config, seed=seed, name=NAME, out=out, listener=tell)
    elif kind == "apart":
        for config, seed in agents:
            train(config, seed=seed, name=f"seed-{seed}", out=out / NAME, listener=tell)
    else:
        train_population(agents, name=NAME, out=out, workers=1 if kind == "population" else 2, listener=tell)


def tell(progress: Progress) -> None:
    """One line for each iteration, at once."""
    sys.stdout.write(f"{progress.run} {progress.iteration} {progress.status}\n")
    sys.stdout.flush()


def write_slowly(seconds: float) -> None:
    """Stay within and after every write for a while."""
    replace = os.replace

    def slowly(*arguments: Any) -> None:
        time.sleep(seconds)
        replace(*arguments)
        time.sleep(seconds)

    os.replace = slowly  # type: ignore[assignment]


if __name__ == "__main__":
    kind, folder = sys.argv[1], Path(sys.argv[2])
    write_slowly(5 * float(os.environ.get("PROBE_DELAY", "0")))
    if (folder / NAME).exists():
        resume(folder / NAME, workers=1, listener=tell)
    else:
        begin(kind, folder)
