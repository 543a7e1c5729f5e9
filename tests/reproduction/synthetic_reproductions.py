"""Runs of a reproduction whose truth is known. Nothing is trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.protocol import item_named, protocol_of
from minutiae.studies.results import StudyData

Draw = Callable[[np.random.Generator], float]


def tables_data(
    folder: Path,
    returns: dict[str, float],
    *,
    tasks: tuple[str, ...] = ("Hopper",),
    agents: int = 5,
    deviation: float = 20.0,
    item: str = "table2",
    kl: Callable[[str, np.ndarray], np.ndarray] = lambda preset, i: np.full(len(i), 0.01),
    ratio: float = 3.0,
    fresh: float = 1.0,
    leave_out: tuple[str, ...] = (),
) -> StudyData:
    """All runs of Tables 2 and 3: normal returns around the means, equal in all tasks, and made-up diagnostics."""
    chosen = item_named(item)
    assert chosen.study is not None
    study = chosen.study(protocol_of(chosen, tasks if item != "halfcheetah" else None, agents))
    generator = np.random.default_rng(0)
    rows, curves = [], []
    iterations = np.arange(1, 31)
    for run in study.first_runs():
        preset = str(run.cell[0])
        value = returns[preset] + float(generator.normal(0, deviation))
        ended = preset not in leave_out
        rows.append(
            {
                "run_id": run.id,
                "environment": run.environment,
                "seed": run.seed,
                "stage": run.stage,
                "cell": study.label(run.cell),
                "preset": preset,
                "status": "finished" if ended else "unfinished",
                "reason": None,
                "iterations": 30,
                "steps": 30 * 2048,
                "final_return": value if ended else None,
                "best_return": value * 1.2 if ended else None,
            }
        )
        noise = generator.lognormal(0, 0.02, len(iterations))
        batch = kl(preset, iterations) * noise
        looked = iterations % 10 == 0
        curves.append(
            pl.DataFrame(
                {
                    "run_id": [run.id] * len(iterations),
                    "iteration": iterations,
                    "steps": iterations * 2048,
                    "return_mean": value * iterations / 30,
                    "kl_exact_batch": batch,
                    "kl_exact_held_out": np.where(looked, batch * fresh, np.nan),
                    "ratio_max_batch": np.full(len(iterations), ratio) * noise,
                    "ratio_max_held_out": np.where(looked, ratio, np.nan),
                }
            ).with_columns(pl.col(pl.Float64).fill_nan(None))
        )
    frame = pl.DataFrame(rows, schema_overrides={"reason": pl.String, "final_return": pl.Float64})
    return StudyData(study, folder, frame, pl.concat(curves), {"minutiae": "0.1.0", "command": "none"})


def evidence(folder: Path, returns: dict[str, float], **options: object) -> Evidence:
    """The same as claims see it."""
    return Evidence(tables_data(folder, returns, **options))  # type: ignore[arg-type]
