"""A grid of runs as a study, in batched populations on every core, against the same runs one after another.

    python benchmarks/grid.py [--iterations N] [--rounds N] [--json FILE] [--environment ID]

Both train the same runs of the paper's shape (one environment x 2048 steps, 10 epochs of 32 minibatches, networks of
64-64). Steps per second are counted while all workers train, starts left out; the share is of EnvPool alone, measured
before and after. `whole` is the wall clock from start to end, compilation and process starts included, of runs so short
that these are most of it; in the million steps of a study they hardly count.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import minutiae
from measuring import ceiling
from measuring.arithmetic import Plan, population_rate
from minutiae.control.population import segment_length
from minutiae.control.progress import Progress
from minutiae.studies.study import Study

FACTORS = {"value_clipping": ["off", "max"], "reward_scaling": ["off", "returns"]}
SEEDS = 4
WARM = 2
ONE_AFTER_ANOTHER = 3
"""So many runs of the grid are trained alone; all of them are alike."""


def study_of(environment: str, iterations: int) -> Study:
    """Four cells of four seeds: two populations of eight."""
    return Study(
        environments=environment,
        factors=FACTORS,
        seeds=SEEDS,
        base={"environments": 1, "rollout_length": 2048, "steps": 2048 * iterations},
    )


class Clock:
    """A listener that writes down when every iteration of every run was done."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def __call__(self, progress: Progress) -> None:
        if progress.status == "training":
            self.times.setdefault(progress.run, []).append(time.perf_counter())


def timed(action: Callable[[Clock], Any]) -> tuple[float, Clock]:
    """Seconds of the whole, and its clock."""
    clock, started = Clock(), time.perf_counter()
    action(clock)
    return time.perf_counter() - started, clock


def measure(environment: str, iterations: int) -> dict[str, float]:
    """One round: the grid and some of its runs alone, between three measurements of the ceiling."""
    study = study_of(environment, iterations)
    runs = study.first_runs()
    natural = segment_length(runs[0].config.replace(steps=1_000_000))
    plan = Plan(WARM, iterations - WARM)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        top = [_ceiling(environment)]
        grid_seconds, grid = timed(lambda clock: minutiae.run_study(study, out / "grid", listener=clock))
        top.append(_ceiling(environment))

        def one_after_another(clock: Clock) -> None:
            for run in runs[:ONE_AFTER_ANOTHER]:
                minutiae.train(run.config, seed=run.seed, name=run.id, out=out / "alone", listener=clock)

        alone_seconds, alone = timed(one_after_another)
        top.append(_ceiling(environment))
    grid_rate = population_rate(list(grid.times.values()), plan, natural, 2048)
    alone_rate = fmean(population_rate([times], plan, natural, 2048) for times in alone.times.values())
    return {
        "grid_steps_per_second": grid_rate,
        "grid_share_of_ceiling": grid_rate / fmean(top[:2]),
        "alone_steps_per_second": alone_rate,
        "alone_share_of_ceiling": alone_rate / fmean(top[1:]),
        "ratio": grid_rate / alone_rate,
        "ratio_whole": alone_seconds / ONE_AFTER_ANOTHER * len(runs) / grid_seconds,
    }


def _ceiling(environment: str) -> float:
    found = ceiling.measure(environment, 16, 2.0)
    return found["steps"] / found["seconds"]


def main() -> int:
    """Measure, print a table, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", default="Hopper-v5")
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.iterations < WARM + 2:
        parser.error(f"--iterations is at least {WARM + 2}")
    rounds = [measure(arguments.environment, arguments.iterations) for _ in range(arguments.rounds)]
    figures = {name: median(one[name] for one in rounds) for name in rounds[0]}
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):<26}{value:>10,.2f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"rounds": rounds, "medians": figures}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
