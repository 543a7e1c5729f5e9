"""Numbers that change from iteration to iteration: learning rates, clip ranges, trust-region radius. On the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from minutiae.details import CATALOGUE, Config, numbers

Array = np.ndarray


def stacked_numbers(configs: Sequence[Config]) -> dict[str, Array]:
    """The learner's numbers of all agents: every name a float32 array `[P]`."""
    rows = [numbers(config) for config in configs]
    return {name: np.array([row[name] for row in rows], np.float32) for name in rows[0]}


def linear(start: Array, final: Array | float, iteration: float, iterations: int) -> Array:
    """start + (final - start) i / N at iteration i = 0 ... N - 1 of N: N values, `final` itself is never used."""
    return start + (final - start) * (iteration / iterations)


def _at(numbers: Mapping[str, Array], name: str, level: str) -> Array:
    """Which agents have `level` of the detail `name`: bool `[P]`."""
    return np.asarray(numbers[name] == CATALOGUE[name].encode(level))


def scheduled(numbers: Mapping[str, Array], iteration: int, iterations: int) -> dict[str, Array]:
    """The numbers of iteration `iteration` in [0, iterations): schedules applied, learning rates as (start, end).

    Adds `policy_learning_rate`, `policy_learning_rate_end`, `value_learning_rate`, `value_learning_rate_end`: equal
    within an iteration unless annealing goes by gradient step.
    """
    result = dict(numbers)
    by_iteration = _at(numbers, "learning_rate_annealing", "linear")
    by_gradient_step = _at(numbers, "learning_rate_annealing", "linear_per_gradient_step")
    for network, base in (("policy", "learning_rate"), ("value", "value_learning_rate")):
        scope = "learning_rate_annealing_networks"
        chosen = _at(numbers, scope, "both") | _at(numbers, scope, network)
        constant = numbers[base]
        # learning rate x (1 - i/N): Engstrom et al. 2020, optimization 4; OpenAI Baselines, ppo2.py
        start = linear(constant, 0.0, iteration, iterations)
        end = linear(constant, 0.0, iteration + 1, iterations)
        result[f"{network}_learning_rate"] = np.where(chosen & (by_iteration | by_gradient_step), start, constant)
        result[f"{network}_learning_rate_end"] = np.where(
            chosen & by_gradient_step, end, result[f"{network}_learning_rate"]
        )
    annealed = _at(numbers, "ratio_clipping_annealing", "linear")
    clip = numbers["ratio_clipping"]
    shrunk = linear(np.where(np.isinf(clip), 1.0, clip), 0.0, iteration, iterations)
    result["ratio_clipping"] = np.where(annealed & np.isfinite(clip), shrunk, clip)
    # From max_kl to max_kl_final (equal where no schedule is asked for): Engstrom et al. 2020, appendix A.1
    result["max_kl"] = linear(numbers["max_kl"], numbers["max_kl_final"], iteration, iterations)
    return {name: value.astype(np.float32) for name, value in result.items()}
