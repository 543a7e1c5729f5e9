"""The ceiling, as a process: EnvPool stepped with random actions and nothing else. Prints one line of JSON."""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np

from minutiae.control.workers import usable_cores

ACTIONS_DRAWN = 256
WARM_SECONDS = 0.3
BETWEEN_CLOCKS = 50


def measure(environment: str, rows: int, seconds: float) -> dict[str, float]:
    """Step `rows` environments on all cores for `seconds`; every step of every row counts, as EnvPool itself counts.

    EnvPool's resets are counted as steps too (it answers the step after an episode's end with the next episode's first
    observation): the ceiling is a little higher than any trainer could reach, never lower.
    """
    import envpool

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pool = envpool.make_gymnasium(
            environment, num_envs=rows, num_threads=min(rows, len(usable_cores())), seed=list(range(rows))
        )
    space = pool.action_space
    space.seed(0)
    actions = np.stack([[space.sample() for _ in range(rows)] for _ in range(ACTIONS_DRAWN)])
    pool.reset()

    def run(limit: float) -> tuple[int, float]:
        started, steps = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - started) < limit:
            for _ in range(BETWEEN_CLOCKS):
                pool.step(actions[steps % ACTIONS_DRAWN])
                steps += 1
        return steps * rows, elapsed

    run(WARM_SECONDS)
    steps, elapsed = run(seconds)
    return {"steps": steps, "seconds": elapsed}


def main() -> None:
    """`python -m measuring.ceiling ENVIRONMENT ROWS SECONDS`."""
    environment, rows, seconds = sys.argv[1:]
    print(json.dumps(measure(environment, int(rows), float(seconds))))


if __name__ == "__main__":
    main()
