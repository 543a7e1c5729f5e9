"""Configs that train in a tenth of a second once compiled, all by the same programs. No test lives here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars

from minutiae.control.run import Run, open_run
from minutiae.details import Config

ITERATIONS = 6
SEGMENT = 2

VARIED: list[dict[str, Any]] = [
    {},
    {
        "learning_rate": 3e-3,
        "reward_scaling_reset": "never",
        "value_clipping": "max",
        "observation_normalization_update": "per_iteration_after_update",
        "gae_lambda": 0.9,
    },
    {
        "discount": 0.9,
        "initialization": "xavier_uniform",
        "observation_normalization_update": "per_iteration_before_update",
        "kl_penalty": "adaptive",
        "environment_reset_each_iteration": True,
    },
    {
        "observation_normalization": None,
        "reward_scaling": "rewards",
        "entropy_coefficient": 0.01,
        "learning_rate_annealing": None,
    },
]
"""What agents of one population may differ in; every kind of state that a checkpoint holds is in use."""


def small(**details: Any) -> Config:
    """Forty samples an iteration, six iterations in three segments."""
    plain: dict[str, Any] = {
        "environment": "training_probes:wander",
        "environments": 2,
        "rollout_length": 20,
        "minibatches": 2,
        "epochs": 2,
        "steps": 40 * ITERATIONS,
        "segment_iterations": SEGMENT,
        "policy_hidden_sizes": (8,),
        "value_hidden_sizes": (8,),
    }
    return Config(**(plain | details))


def several(**details: Any) -> list[tuple[Config, int]]:
    """Four different agents with four seeds."""
    return [(small(**details, **own), 10 + seed) for seed, own in enumerate(VARIED)]


def contents(path: Path) -> tuple[polars.DataFrame, bytes, bytes]:
    """What must not depend on how often a run was stopped: metrics, policy and result."""
    run = open_run(path)
    return run.metrics(), (path / "policy.safetensors").read_bytes(), (path / "result.json").read_bytes()


def assert_same_bits(path: Path, reference: Path) -> None:
    """Both runs have ended with the same metrics, policy and result, bit for bit."""
    metrics, policy, result = contents(path)
    expected_metrics, expected_policy, expected_result = contents(reference)
    assert metrics.equals(expected_metrics), first_difference(metrics, expected_metrics)
    assert policy == expected_policy
    assert result == expected_result


def first_difference(one: polars.DataFrame, other: polars.DataFrame) -> str:
    """Where two tables of metrics part."""
    if one.columns != other.columns or one.height != other.height:
        return f"{one.height} rows of {one.columns} against {other.height} rows of {other.columns}"
    for row, (mine, theirs) in enumerate(zip(one.rows(), other.rows(), strict=True)):
        for name, a, b in zip(one.columns, mine, theirs, strict=True):
            if a != b and not (a != a and b != b):
                return f"row {row}, {name}: {a!r} against {b!r}"
    return "nowhere: only their types differ"


def paths_of(runs: Sequence[Run]) -> list[Path]:
    """Where runs lie."""
    return [run.path for run in runs]
