"""Conjugate gradient, Fisher-vector products, the step to the radius and the line search, as functions of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jax.flatten_util import ravel_pytree

from minutiae.control.learner.natural_gradient import (
    accepts,
    conjugate_gradient,
    fisher_vector_product,
    line_search,
    scaled_to_radius,
)
from minutiae.control.policies.distributions import DiagonalGaussian
from minutiae.control.policies.policy import Policy
from minutiae.details import CATALOGUE

SIZE = 5


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@jax.jit
def solved(matrix: Any, target: Any) -> Any:
    """After as many steps as there are unknowns, and after ten times as many."""
    return [conjugate_gradient(lambda x: matrix @ x, target, steps) for steps in (SIZE, 10 * SIZE)]


@st.composite
def positive_definite(draw: st.DrawFn) -> np.ndarray:
    """Any eigenvectors, eigenvalues from 1/3 to 3."""
    vectors, _ = np.linalg.qr(draw(arrays(float, (SIZE, SIZE), elements=st.floats(-1, 1))) + 2 * np.eye(SIZE))
    values = draw(arrays(float, SIZE, elements=st.floats(1 / 3, 3)))
    return np.asarray(vectors @ np.diag(values) @ vectors.T)


def squarable(value: float) -> bool:
    return value == 0 or abs(value) > 1e-100


@given(positive_definite(), arrays(float, SIZE, elements=st.floats(-10, 10).filter(squarable)))
def test_conjugate_gradient_needs_no_more_steps_than_unknowns(matrix: np.ndarray, target: np.ndarray) -> None:
    exact = np.linalg.solve(matrix, target)
    for solution in solved(matrix, target):
        # The squared residual may stop at the tolerance of 1e-10, relative to that of no step.
        size = np.linalg.norm(target)
        np.testing.assert_allclose(solution, exact, rtol=1e-8, atol=1e-4 * size)
        assert np.linalg.norm(matrix @ solution - target) <= 1.1e-5 * size


def test_conjugate_gradient_by_hand() -> None:
    """A = [[2, 0], [0, 1]], b = (2, 1): alpha_1 = 5 / 9 gives (10, 5) / 9, the second step gives (1, 1)."""
    matrix, target = jnp.diag(jnp.array([2.0, 1.0])), jnp.array([2.0, 1.0])
    once, twice = (conjugate_gradient(lambda x: matrix @ x, target, steps) for steps in (1, 2))
    np.testing.assert_allclose(once, [10 / 9, 5 / 9])
    np.testing.assert_allclose(twice, [1, 1])


def test_conjugate_gradient_of_nothing_and_of_a_matrix_that_is_not_positive() -> None:
    np.testing.assert_array_equal(conjugate_gradient(lambda x: x, jnp.zeros(3), 4), np.zeros(3))
    # No step is taken along a direction without curvature, rather than a division by zero.
    np.testing.assert_array_equal(conjugate_gradient(lambda x: 0 * x, jnp.ones(3), 4), np.zeros(3))
    np.testing.assert_array_equal(conjugate_gradient(lambda x: -x, jnp.ones(3), 4), np.zeros(3))


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6])
def test_the_natural_direction_does_not_depend_on_the_size_of_the_gradient(scale: float) -> None:
    matrix, target = jnp.diag(jnp.array([2.0, 1.0, 0.5])), jnp.array([2.0, 1.0, -1.0])
    for steps in (1, 3):
        whole = conjugate_gradient(lambda x: matrix @ x, target, steps)
        np.testing.assert_allclose(conjugate_gradient(lambda x: matrix @ x, scale * target, steps) / scale, whole, 1e-5)


def kl_of(policy: Policy, parameters: Any, observations: Any) -> tuple[Any, Any]:
    """Mean KL from the distribution at `parameters`, as a function of a vector; and that vector."""
    start, unravel = ravel_pytree(parameters)
    old = policy.distribution_of(parameters, observations)

    def kl(vector: Any) -> Any:
        return policy.distribution.kl(old, policy.distribution_of(unravel(vector), observations)).mean()

    return kl, start


def test_products_are_those_of_the_whole_hessian() -> None:
    draws = np.random.default_rng(0)
    policy = Policy(2, DiagonalGaussian(2), (3,), (1,), "tanh")
    parameters = {
        "hidden": [{"weight": jnp.asarray(draws.normal(size=(2, 3))), "bias": jnp.asarray(draws.normal(size=3))}],
        "head": {"weight": jnp.asarray(draws.normal(size=(3, 2))), "bias": jnp.asarray(draws.normal(size=2))},
        "log_standard_deviation": jnp.array([-0.5, 0.3]),
    }
    kl, start = kl_of(policy, parameters, jnp.asarray(draws.normal(size=(7, 2))))
    hessian = jax.jit(jax.hessian(kl))(start)
    product = jax.jit(lambda vector: fisher_vector_product(kl, start, vector, 0.1))
    columns = np.stack([product(unit) for unit in np.eye(len(start))], axis=1)
    np.testing.assert_allclose(columns, hessian + 0.1 * np.eye(len(start)), atol=1e-12)
    assert np.linalg.eigvalsh(hessian).min() > -1e-12


def test_fisher_matrix_of_a_linear_policy_by_hand() -> None:
    """Mean w x + b, one action: F(w, w) = mean x^2 / sigma^2, F(w, b) = mean x / sigma^2, F(log sigma) = 2.

    States 1 and 3, sigma = 1/2: mean x^2 = 5, mean x = 2. In the order b, w, log sigma.
    """
    policy = Policy(1, DiagonalGaussian(1), (), (), "tanh")
    parameters = {
        "head": {"bias": jnp.array([0.7]), "weight": jnp.array([[0.2]])},
        "hidden": [],
        "log_standard_deviation": jnp.log(jnp.array([0.5])),
    }
    kl, start = kl_of(policy, parameters, jnp.array([[1.0], [3.0]]))
    product = jax.jit(lambda vector: fisher_vector_product(kl, start, vector, 0.0))
    fisher = [product(unit) for unit in jnp.eye(3)]
    np.testing.assert_allclose(fisher, [[4, 8, 0], [8, 20, 0], [0, 0, 2]], atol=1e-12)


@given(positive_definite(), arrays(float, SIZE, elements=st.floats(-10, 10)), st.floats(1e-4, 1.0))
def test_the_step_has_the_radius_as_its_quadratic_kl(matrix: np.ndarray, direction: np.ndarray, max_kl: float) -> None:
    direction = direction + np.eye(SIZE)[0] * (np.abs(direction).max() < 1e-3)
    step, scale = scaled_to_radius(direction, matrix @ direction, max_kl)
    np.testing.assert_allclose(0.5 * step @ matrix @ step, max_kl)
    np.testing.assert_allclose(step, scale * direction)


def test_no_step_without_curvature() -> None:
    for curvature in (0.0, -1.0):
        step, scale = scaled_to_radius(jnp.ones(2), curvature * jnp.ones(2), 0.01)
        np.testing.assert_array_equal(step, np.zeros(2))
        assert scale == 0


@pytest.mark.parametrize(
    ("improvement", "expected", "kl", "accepted_by"),
    # The radius is 0.01 and a tenth of the expected improvement is asked for.
    [
        (1.0, 2.0, 0.005, {"improvement_ratio", "baselines", "strict"}),
        (0.1, 2.0, 0.005, {"baselines", "strict"}),
        (0.2, 2.0, 0.005, {"baselines", "strict"}),
        (0.21, 2.0, 0.005, {"improvement_ratio", "baselines", "strict"}),
        (0.0, 2.0, 0.005, {"baselines"}),
        (0.0, 0.0, 0.0, {"baselines"}),
        (-0.1, -2.0, 0.005, set()),
        (-0.1, 2.0, 0.005, set()),
        (1.0, 2.0, 0.01, {"improvement_ratio", "baselines"}),
        (1.0, 2.0, 0.012, {"baselines"}),
        (1.0, 2.0, 0.015, {"baselines"}),
        (1.0, 2.0, 0.016, set()),
        (np.nan, 2.0, 0.005, set()),
        (1.0, 2.0, np.nan, set()),
    ],
)
def test_what_each_rule_accepts(improvement: float, expected: float, kl: float, accepted_by: set[str]) -> None:
    rules = CATALOGUE["line_search"]
    accepted = {
        level
        for level in rules.levels.order
        if accepts(improvement, expected, kl, 0.01, 0.1, jnp.asarray(rules.encode(level)))
    }
    assert accepted == accepted_by


def search(evaluate: Any, level: str = "strict", backtracks: int = 10, ratio: float = 0.1) -> list[float]:
    """From 0 by the whole step 1, radius 1, expected improvement 1: whether accepted, fraction, backtracks."""
    found = line_search(
        evaluate,
        jnp.zeros(1),
        jnp.ones(1),
        slope=1.0,
        max_kl=1.0,
        ratio=ratio,
        level=jnp.asarray(CATALOGUE["line_search"].encode(level)),
        backtracks=backtracks,
    )
    return [float(part) for part in found]


def test_backtracking_by_hand() -> None:
    # f(x) = x - x^2: f(1) = 0 is no improvement, f(1/2) = 1/4 is.
    assert search(lambda x: (x[0] - x[0] ** 2, 0.0)) == [1, 0.5, 1]
    # ... and 1/2 of the expected 1/2, which is not more than 1/2; f(1/4) = 3/16 is 3/4 of 1/4.
    assert search(lambda x: (x[0] - x[0] ** 2, 0.0), "improvement_ratio", ratio=0.5) == [1, 0.25, 2]
    # Baselines takes a step that improves nothing.
    assert search(lambda x: (x[0] - x[0] ** 2, 0.0), "baselines") == [1, 1, 0]
    # The KL 10 x^2 is 2.5 at 1/2 and 0.625 at 1/4.
    assert search(lambda x: (x[0], 10 * x[0] ** 2)) == [1, 0.25, 2]


def test_nothing_accepted_is_no_step() -> None:
    assert search(lambda x: (-x[0], 0.0)) == [0, 0, 10]
    assert search(lambda x: (x[0], 10 * x[0] ** 2), backtracks=2) == [0, 0, 2]
    assert search(lambda x: (x[0], 10 * x[0] ** 2), backtracks=3) == [1, 0.25, 2]


@pytest.mark.parametrize("level", CATALOGUE["line_search"].levels.order)
def test_a_candidate_that_is_not_finite_is_refused_by_every_rule(level: str) -> None:
    def evaluate(x: Any) -> tuple[Any, Any]:
        """Infinite at 1, not a number at 1/2, a KL that is not one at 1/4."""
        surrogate = jnp.where(x[0] > 0.9, jnp.inf, jnp.where(x[0] > 0.4, jnp.nan, x[0]))
        return surrogate, jnp.where(jnp.abs(x[0] - 0.25) < 0.01, jnp.nan, 0.0)

    assert search(evaluate, level) == pytest.approx([1, 0.125, 3])
