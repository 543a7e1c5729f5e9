"""A row of ours, as a process: trains through the public API and notes when iterations end. Prints one line of JSON."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from typing import Any

from minutiae.control.progress import Progress
from minutiae.details import preset


def measure(
    environment: str,
    preset_name: str,
    agents: int,
    details: dict[str, Any],
    cores: int | None,
    iterations: int,
    segment: int,
    out: str,
) -> dict[str, Any]:
    """Train `agents` agents for `iterations` iterations and read the clock after each of them.

    Returns:
        `clocks` (one list of monotonic times per run), `collecting` and `learning` (seconds of one worker's iteration,
        by iteration), `workers`, `natural_segment` (iterations per segment when the benchmark does not choose).
    """
    if cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))
    from minutiae import train_population
    from minutiae.control.population import segment_length
    from minutiae.runs.group import RunGroup, is_group

    natural = preset(preset_name, environment, **details)
    samples = natural.environments * natural.rollout_length
    config = natural.replace(steps=iterations * samples, segment_iterations=segment)
    clocks: dict[str, list[float]] = defaultdict(list)

    def listen(progress: Progress) -> None:
        if progress.status == "training":
            clocks[progress.run].append(time.monotonic())
        elif progress.status in ("diverged", "retrying"):
            raise RuntimeError(f"{progress.run} {progress.status}: {progress.message}")

    runs = train_population(
        [(config, seed) for seed in range(agents)], name="row", out=out, workers=cores, listener=listen
    )
    folder = runs[0].path.parent if agents > 1 else runs[0].path
    workers = len(RunGroup.open(folder).chunks) if is_group(folder) else 1
    timing = [run.timing() for run in runs]
    per_worker = {
        # Timing is told per agent; all agents of one worker together make its iteration.
        part: [sum(column) / workers for column in zip(*(t[f"{part}_seconds"] for t in timing), strict=True)]
        for part in ("collecting", "learning")
    }
    return {
        "clocks": list(clocks.values()),
        **per_worker,
        "workers": workers,
        "natural_segment": segment_length(natural),
    }


def main() -> None:
    """`python -m measuring.training ARGUMENTS`: the arguments of `measure`, without `out`, as a JSON object."""
    with tempfile.TemporaryDirectory() as out:
        print(json.dumps(measure(**json.loads(sys.argv[1]), out=out)))


if __name__ == "__main__":
    main()
