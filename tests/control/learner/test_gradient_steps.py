"""Whole gradient steps of SGD, where a step is rate x scale x gradient: what each factor is, network by network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from learner_cases import case_of, config_of, numbers_of

pytestmark = pytest.mark.usefixtures("quick_compilation")

Moves = tuple[dict[str, np.ndarray], dict[str, Any]]


@pytest.fixture(scope="module")
def moves(quick_compilation: None) -> Callable[..., Moves]:
    """How far each network moves in one step over the whole batch, and the metrics, under some details."""
    shape = {"optimizer": "sgd", "minibatches": 1}
    case = case_of([config_of(**shape)])

    def run(**details: Any) -> Moves:
        config = config_of(**shape, **details)
        state, metrics, sound = case._replace(numbers=numbers_of([config])).update()
        assert sound.all()
        before, after = (jax.tree.map(lambda leaf: leaf[0], each.parameters) for each in (case.state, state))
        moved = {name: ravel_pytree(after[name])[0] - ravel_pytree(before[name])[0] for name in before}
        return moved, {name: value[0] for name, value in metrics.items()}

    return run


PLAIN = {"learning_rate": 0.25}


def test_the_rate_scales_both_steps(moves: Callable[..., Moves]) -> None:
    once, metrics = moves(**PLAIN)
    twice, _ = moves(learning_rate=0.5)
    for network in ("policy", "value"):
        np.testing.assert_allclose(twice[network], 2 * once[network], rtol=1e-4, atol=1e-6)
        norm = metrics[f"{network}_gradient_norm_minibatch_mean"]
        np.testing.assert_allclose(np.linalg.norm(once[network]), 0.25 * norm, rtol=1e-4)
        assert norm == metrics[f"{network}_gradient_norm_minibatch_max"] > 0.1


def test_the_value_loss_coefficient_scales_the_value_step_alone(moves: Callable[..., Moves]) -> None:
    half, one = moves(**PLAIN)[0], moves(**PLAIN, value_loss_coefficient=1)[0]
    np.testing.assert_allclose(one["value"], 2 * half["value"], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(one["policy"], half["policy"])


@pytest.mark.parametrize("scope", ["joint", "per_network", "policy_only"])
def test_gradients_are_clipped_by_their_norm(moves: Callable[..., Moves], scope: str) -> None:
    free, metrics = moves(**PLAIN)
    policy, value = (metrics[f"{network}_gradient_norm_minibatch_max"] for network in ("policy", "value"))
    limit = float(min(policy, value)) / 2
    clipped, measured = moves(**PLAIN, gradient_clipping=limit, gradient_clipping_scope=scope)
    both = np.hypot(policy, value)
    factors = {
        "joint": (limit / both, limit / both),
        "per_network": (limit / policy, limit / value),
        "policy_only": (limit / policy, 1),
    }[scope]
    for network, factor in zip(("policy", "value"), factors, strict=True):
        # Every component by the same factor: the direction stays.
        np.testing.assert_allclose(clipped[network], factor * free[network], rtol=1e-3, atol=1e-6)
    # The logged norms are those before clipping.
    assert measured["policy_gradient_norm_minibatch_max"] == policy


def test_a_limit_beyond_the_norm_changes_nothing(moves: Callable[..., Moves]) -> None:
    free, metrics = moves(**PLAIN)
    limit = 2 * np.hypot(*(metrics[f"{network}_gradient_norm_minibatch_max"] for network in ("policy", "value")))
    clipped, _ = moves(**PLAIN, gradient_clipping=float(limit))
    for network in ("policy", "value"):
        np.testing.assert_array_equal(clipped[network], free[network])


def test_entropy_and_penalty_pull_the_deviation_and_nothing_else_at_the_start(moves: Callable[..., Moves]) -> None:
    """At the first step KL(old || new) is at its minimum: its gradient is zero, whatever its coefficient.

    The entropy of a Gaussian is a sum of log standard deviations, so a coefficient of c adds rate x c to each.
    """
    free, _ = moves(**PLAIN)
    penalized, _ = moves(**PLAIN, kl_penalty="fixed", kl_penalty_coefficient=10)
    np.testing.assert_allclose(penalized["policy"], free["policy"], rtol=1e-4, atol=1e-5)
    encouraged, _ = moves(**PLAIN, entropy_coefficient=0.4)
    difference = encouraged["policy"] - free["policy"]
    # The log standard deviations of two actions are the last of the vector.
    np.testing.assert_allclose(difference[-2:], [0.1, 0.1], rtol=1e-4)
    np.testing.assert_allclose(difference[:-2], 0, atol=1e-6)
    np.testing.assert_array_equal(encouraged["value"], free["value"])
