"""The coefficient of the KL penalty: where it starts, and how it follows the divergence of each update."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from learner_cases import Case, case_of, config_of, numbers_of

from minutiae.control.learner.program import adapted_kl_coefficient
from minutiae.control.learner.structure import LearnerState

ADAPTIVE = {"kl_penalty": "adaptive", "kl_penalty_target": 0.03}


def numbers(**details: Any) -> dict[str, Any]:
    return {name: jnp.asarray(value[0]) for name, value in numbers_of([config_of(**details)]).items()}


@pytest.mark.parametrize(
    ("kl", "beta"),
    # Half below 0.03 / 1.5 = 0.02, double beyond 1.5 x 0.03 = 0.045, from 4.
    [(0.0, 2), (0.019, 2), (0.021, 4), (0.03, 4), (0.044, 4), (0.046, 8), (10.0, 8)],
)
def test_the_adaptive_coefficient(kl: float, beta: float) -> None:
    assert adapted_kl_coefficient(jnp.float32(4), kl, numbers(**ADAPTIVE)) == beta


def test_a_coefficient_that_was_halved_for_long_can_still_be_doubled() -> None:
    beta = jnp.float32(1)
    for _ in range(200):
        beta = adapted_kl_coefficient(beta, 0.0, numbers(**ADAPTIVE))
    assert float(beta) == np.finfo(np.float32).tiny > 0
    assert adapted_kl_coefficient(beta, 1.0, numbers(**ADAPTIVE)) == 2 * beta


@pytest.mark.parametrize("details", [{}, {"kl_penalty": "fixed"}])
@pytest.mark.parametrize("kl", [0.0, 0.03, 10.0])
def test_a_coefficient_that_is_not_adaptive_stays(details: dict[str, Any], kl: float) -> None:
    assert adapted_kl_coefficient(jnp.float32(4), kl, numbers(**details)) == 4


@pytest.fixture(scope="module")
def updates(quick_compilation: None) -> tuple[Case, list[tuple[LearnerState, dict[str, np.ndarray]]]]:
    """Three updates in a row of agents with no, a fixed, an eager and a lazy adaptive penalty, else alike."""
    case = case_of(
        [
            config_of(),
            config_of(kl_penalty="fixed", kl_penalty_coefficient=3),
            config_of(kl_penalty="adaptive", kl_penalty_coefficient=3, kl_penalty_target=1e-6),
            config_of(kl_penalty="adaptive", kl_penalty_coefficient=3, kl_penalty_target=1e3),
        ]
    )
    results = []
    state = case.state
    for _ in range(3):
        state, metrics, sound = case._replace(state=state).update()
        assert sound.all()
        results.append((state, metrics))
    return case, results


def test_coefficients_through_three_updates(
    updates: tuple[Case, list[tuple[LearnerState, dict[str, np.ndarray]]]],
) -> None:
    case, results = updates
    np.testing.assert_array_equal(case.state.kl_coefficient, [0, 3, 3, 3])
    np.testing.assert_array_equal(
        [state.kl_coefficient for state, _ in results], [[0, 3, 6, 1.5], [0, 3, 12, 0.75], [0, 3, 24, 0.375]]
    )
    # What is logged is the coefficient that the update was made with.
    np.testing.assert_array_equal(
        [metrics["kl_penalty_coefficient"] for _, metrics in results], [[0, 3, 3, 3], [0, 3, 6, 1.5], [0, 3, 12, 0.75]]
    )
