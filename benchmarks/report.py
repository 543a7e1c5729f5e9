"""How long the report of a large study takes and how much memory: 2,000 runs of 500 iterations by default.

python benchmarks/report.py [--runs 2000] [--iterations 500] [--factors 5] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from minutiae.reports.study import write_report
from minutiae.studies.factors import Factor
from minutiae.studies.results import StudyData
from minutiae.studies.study import Study

FACTORS = (
    Factor("reward_scaling", (None, "returns")),
    Factor("learning_rate_annealing", (None, "linear")),
    Factor("value_clipping", (None, "max")),
    Factor("observation_normalization", (None, True)),
    Factor("gradient_clipping", (None, 0.5)),
    Factor("initialization", ("xavier_uniform", "orthogonal")),
)
TARGET_SECONDS, TARGET_GIBIBYTES = 60, 2


def synthetic(runs: int, iterations: int, factors: int, folder: Path) -> StudyData:
    """A factorial whose runs were drawn, not trained: every factor is worth 100 times its place."""
    seeds = max(2, runs // 2**factors)
    study = Study(
        question="How long does a report take?",
        preset="ppo-m",
        environments=("CartPole-v1",),
        factors=FACTORS[:factors],
        seeds=seeds,
    )
    generator = np.random.default_rng(0)
    cells = study.layout.cells
    codes = np.repeat(study.layout.codes(), seeds, axis=0)
    total = len(codes)
    outcome = 1000 + codes @ (100.0 * np.arange(1, factors + 1)) + generator.normal(0, 100, total)
    labels = [study.label(cell) for cell in cells]
    levels = {
        factor.name: np.array([study.written(factor.name, level) for level in factor.levels])[codes[:, place]]
        for place, factor in enumerate(study.factors)
    }
    ids = np.array([f"{place:016x}" for place in range(total)])
    frame = pl.DataFrame(
        {
            "run_id": ids,
            "environment": np.full(total, "CartPole-v1"),
            "seed": np.tile(np.arange(seeds), len(cells)),
            "stage": np.full(total, "report"),
            "cell": np.repeat(labels, seeds),
            **levels,
            "status": np.where(generator.random(total) < 0.01, "diverged", "finished"),
            "reason": np.full(total, ""),
            "iterations": np.full(total, iterations),
            "steps": np.full(total, 2048 * iterations),
            "final_return": outcome,
        }
    )
    rise = 1 - np.exp(-4 * np.arange(1, iterations + 1) / iterations)
    size = total * iterations
    curves = pl.DataFrame(
        {
            "run_id": np.repeat(ids, iterations),
            "iteration": np.tile(np.arange(1, iterations + 1), total),
            "steps": np.tile(2048 * np.arange(1, iterations + 1), total),
            "episodes": np.full(size, 10),
            "return_mean": (outcome[:, None] * rise).ravel() + generator.normal(0, 50, size),
            "kl_exact_batch": generator.lognormal(-5, 0.3, size),
            "ratio_max_batch": 1 + generator.lognormal(0, 0.3, size),
        }
    )
    return StudyData(study, folder, frame, curves, {"command": " ".join(sys.argv)})


def main() -> None:
    """Print seconds, and the peak memory of the process before and after the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--factors", type=int, default=5, choices=range(1, len(FACTORS) + 1))
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = synthetic(given.runs, given.iterations, given.factors, given.output or Path(folder))
        before, start, work = peak(), time.perf_counter(), time.process_time()
        path = write_report(data)
        seconds, busy = time.perf_counter() - start, time.process_time() - work
        size = path.stat().st_size / 2**20
    print(f"{len(data.frame):,} runs of {given.iterations} iterations, {len(data.study.layout.cells)} cells")
    print(f"seconds         {seconds:6.1f}   (target {TARGET_SECONDS}; of the processor {busy:.1f})")
    print(f"peak memory GiB {peak():6.2f}   (target {TARGET_GIBIBYTES}; {before:.2f} with the data alone)")
    print(f"page MiB        {size:6.1f}")


def peak() -> float:
    """The most memory this process has held, in GiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**30 if sys.platform == "darwin" else 2**20)


if __name__ == "__main__":
    main()
