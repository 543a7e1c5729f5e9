"""The process that trains one population for a moment and prints what an iteration took. Keeps nothing it trained."""

from __future__ import annotations

import json
import os
import sys
import time

from minutiae.control.parent import end_with_parent

ITERATIONS = 3
"""Of which the first, which waits for the compiler, does not count."""


def main() -> int:
    """Read `[[config as TOML, seed], ...]` in a line of standard input; print `{"seconds": ..., "memory": ...}`."""
    agents = json.loads(sys.stdin.readline())
    end_with_parent()
    shown = os.dup(1)
    os.dup2(2, 1)  # simulators print to standard output too

    from threadpoolctl import threadpool_limits

    from minutiae.control.compilation import start_jax
    from minutiae.control.population import Population
    from minutiae.details import from_toml
    from minutiae.errors import MinutiaeError

    try:
        start_jax()
        with threadpool_limits(limits=1, user_api="blas"):
            population = Population([from_toml(text) for text, _ in agents], [seed for _, seed in agents], threads=1)
            times = [_timed(population.iterate) for _ in range(min(ITERATIONS, population.iterations))]
            population.close()
    except MinutiaeError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    document = {"seconds": min(times[1:] or times), "memory": _peak_memory()}
    os.write(shown, (json.dumps(document) + "\n").encode())
    return 0


def _timed(function: object) -> float:
    started = time.perf_counter()
    function()  # type: ignore[operator]
    return time.perf_counter() - started


def _peak_memory() -> int:
    """Bytes that this process held at most."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    sys.exit(main())
