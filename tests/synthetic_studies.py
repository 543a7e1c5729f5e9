"""Studies of known truth: outcomes are a formula of cell and seed, and curves rise to them. Nothing is trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from minutiae.studies.factors import Factor
from minutiae.studies.results import StudyData
from minutiae.studies.study import Study, Tuning

VALUE_CLIPPING = Factor("value_clipping", (None, "max"))
ANNEALING = Factor("learning_rate_annealing", (None, "linear"))
SCALING = Factor("reward_scaling", (None, "returns"))
ORTHOGONAL = Factor("initialization", ("xavier_uniform", "orthogonal"))
NORMALIZED = Factor("observation_normalization", (None, True))
GRADIENT = Factor("gradient_clipping", (None, 0.5))
RATES = Factor("learning_rate", (1e-4, 3e-4, 1e-3))

Truth = Callable[[str, dict[str, int], dict[str, int]], float]
"""The expected outcome, from environment, level codes of the cell, and level codes of the setting."""


def study_data(
    study: Study, truth: Truth, folder: Path, *, deviation: float = 10.0, iterations: int = 40, random: int = 0
) -> StudyData:
    """All runs of a study, finished, with normal outcomes around the truth and a part that each seed shares."""
    generator = np.random.default_rng(random)
    rows: list[dict[str, Any]] = []
    shared: dict[tuple[str, int], float] = {}
    planned = study.first_runs()
    if study.tuning is not None:
        # The best setting by the truth stands for what tuning would find.
        best = {
            (environment, cell): max(
                study.settings, key=lambda s: truth(environment, _codes(study, cell), _grid(study, s))
            )
            for environment in study.environments
            for cell in study.layout.cells
        }
        planned = [*planned, *study.final_runs(best)]
    for run in planned:
        part = shared.setdefault((run.environment, run.seed), float(generator.normal(0, deviation)))
        mean = truth(run.environment, _codes(study, run.cell), _grid(study, run.setting))
        levels = zip(study.factors, run.cell, strict=True)
        tuned = zip(study.tuning.grid, run.setting, strict=True) if study.tuning is not None else ()
        value = mean + part + float(generator.normal(0, deviation))
        rows.append(
            {
                "run_id": run.id,
                "environment": run.environment,
                "seed": run.seed,
                "stage": run.stage,
                "cell": study.label(run.cell),
                **{factor.name: study.written(factor.name, level) for factor, level in (*levels, *tuned)},
                "status": "finished",
                "reason": None,
                "iterations": iterations,
                "steps": 2048 * iterations,
                **{name: value if name == "final_return" else value * 0.8 for name in study.outcomes},
            }
        )
    frame = pl.DataFrame(rows, schema_overrides={"reason": pl.String})
    about = {"minutiae": "0.1.0", "python": "3.11", "machine": "x86_64", "command": f"minutiae study run {folder}"}
    return StudyData(study, folder, frame, synthetic_curves(frame, iterations, generator), about)


def synthetic_curves(frame: pl.DataFrame, iterations: int, generator: np.random.Generator) -> pl.DataFrame:
    """Learning curves that end at each run's outcome; no episode ends in the first iteration."""
    runs = frame.unique("run_id", maintain_order=True)
    i = np.arange(1, iterations + 1)
    rise = 1 - np.exp(-4 * i / iterations)
    outcome = runs["final_return"].fill_null(0.0).to_numpy()
    values = outcome[:, None] * rise + generator.normal(0, 0.05 * np.abs(outcome).mean(), (len(runs), iterations))
    values[:, 0] = np.nan
    shape = (len(runs), iterations)
    noise = generator.lognormal(0, 0.3, shape)
    return pl.DataFrame(
        {
            "run_id": np.repeat(runs["run_id"].to_numpy(), iterations),
            "iteration": np.tile(i, len(runs)),
            "steps": np.tile(2048 * i, len(runs)),
            "episodes": np.full(values.size, 3),
            "return_mean": values.ravel(),
            "kl_exact_batch": (0.01 * noise).ravel(),
            "ratio_max_batch": (1 + 2 * noise).ravel(),
        }
    ).with_columns(pl.col("return_mean").fill_nan(None))


def _codes(study: Study, cell: tuple[Any, ...]) -> dict[str, int]:
    return {factor.name: factor.code(level) for factor, level in zip(study.factors, cell, strict=True)}


def _grid(study: Study, setting: tuple[Any, ...]) -> dict[str, int]:
    if not setting or study.tuning is None:
        return {}
    return {factor.name: factor.code(level) for factor, level in zip(study.tuning.grid, setting, strict=True)}


def make(**options: Any) -> Study:
    """A study of small networks on CartPole; its training never happens."""
    return Study(
        **{"environments": ("CartPole-v1",), "factors": (VALUE_CLIPPING, ANNEALING), "preset": "ppo-m", **options}
    )


__all__ = [
    "ANNEALING",
    "GRADIENT",
    "NORMALIZED",
    "ORTHOGONAL",
    "RATES",
    "SCALING",
    "VALUE_CLIPPING",
    "Study",
    "Tuning",
    "make",
    "study_data",
]
