"""Densities, divergences and entropies: the published study's vector, integrals, identities and stability."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference_vectors
from minutiae.objectives import densities

finite = st.floats(-20, 20)


def test_reference_gaussian(library):
    vector = {key: library.asarray(value) for key, value in reference_vectors.load("gaussian").items()}
    p, q = ((vector[f"{name}_mean"], library.log(vector[f"{name}_std"])) for name in "pq")
    density = densities.gaussian_log_density(vector["actions"], *p)
    np.testing.assert_allclose(density, vector["p_log_prob"], rtol=1e-6)
    np.testing.assert_allclose(densities.gaussian_divergence(*p, *q), vector["kl_p_q"], rtol=1e-6)
    np.testing.assert_allclose(densities.gaussian_divergence(*q, *p), vector["kl_q_p"], rtol=1e-6)
    np.testing.assert_allclose(densities.gaussian_entropy(p[1]), vector["p_entropy"], rtol=1e-6)


def test_hand_worked_gaussian(library):
    # x = 3, mean 1, std 2: z = 1; log density = -1/2 - log 2 - log(2 pi) / 2 = -0.5 - 0.693147 - 0.918939 =
    # -2.112086
    x, mean, log_std = library.asarray([3.0]), library.asarray([1.0]), library.asarray([np.log(2.0)])
    np.testing.assert_allclose(densities.gaussian_log_density(x, mean, log_std), -2.112085713764618, rtol=1e-12)
    # KL(N(1, 2) || N(0, 1)) = log(1/2) + (4 + 1) / 2 - 1/2 = 2 - 0.693147
    zero = library.asarray([0.0])
    np.testing.assert_allclose(densities.gaussian_divergence(mean, log_std, zero, zero), 2 - np.log(2), rtol=1e-12)


@given(st.lists(st.tuples(finite, st.floats(-3, 3), finite, st.floats(-3, 3)), min_size=1, max_size=5))
def test_gaussian_divergence_is_never_negative_and_zero_at_equality(rows):
    old_mean, old_log_std, new_mean, new_log_std = np.array(rows).T
    assert densities.gaussian_divergence(old_mean, old_log_std, new_mean, new_log_std) >= -1e-9
    assert densities.gaussian_divergence(old_mean, old_log_std, old_mean, old_log_std) == 0.0


@given(finite)
def test_tanh_log_derivative_is_the_logarithm_of_the_derivative(x):
    # 1 - tanh(x)^2 = 1 / cosh(x)^2
    np.testing.assert_allclose(densities.tanh_log_derivative(np.array(x)), -2 * np.log(np.cosh(x)), atol=1e-9)


def test_tanh_log_derivative_and_its_slope_are_finite_far_out():
    x = jnp.float32([-1e4, -50.0, 0.0, 50.0, 1e4])
    slopes = jax.grad(lambda x: densities.tanh_log_derivative(x).sum())(x)
    assert jnp.isfinite(densities.tanh_log_derivative(x)).all()
    np.testing.assert_allclose(slopes, [2, 2, 0, -2, -2], atol=1e-6)  # -2 tanh(x)


def test_hand_worked_categorical(library):
    # logits log [1, 2, 5]: probabilities 1/8, 2/8, 5/8
    logits = library.log(library.asarray([1.0, 2.0, 5.0]))
    p = np.array([1, 2, 5]) / 8
    log_probability = densities.categorical_log_probability(library.asarray([2, 0]), library.stack([logits] * 2))
    np.testing.assert_allclose(log_probability, np.log([5 / 8, 1 / 8]), rtol=1e-12)
    np.testing.assert_allclose(densities.categorical_entropy(logits), -(p * np.log(p)).sum(), rtol=1e-12)
    # against the uniform: log 3 - entropy
    divergence = densities.categorical_divergence(logits, library.zeros(3))
    np.testing.assert_allclose(divergence, np.log(3) + (p * np.log(p)).sum(), rtol=1e-12)


@given(st.lists(st.tuples(finite, finite), min_size=2, max_size=6), st.floats(-1e4, 1e4))
def test_categorical_identities(rows, shift):
    old, new = np.array(rows).T
    np.testing.assert_allclose(np.exp(densities.log_softmax(old)).sum(), 1, rtol=1e-9)
    np.testing.assert_allclose(densities.log_softmax(old + shift), densities.log_softmax(old), atol=1e-8)
    assert densities.categorical_divergence(old, new) >= -1e-9
    assert densities.categorical_divergence(old, old) == 0.0
    assert -1e-9 <= densities.categorical_entropy(old) <= np.log(len(old)) + 1e-9


def test_a_forbidden_category_leaves_everything_finite():
    logits = jnp.float32([0.0, -1e8, 0.0])
    entropy, slope = jax.value_and_grad(densities.categorical_entropy)(logits)
    np.testing.assert_allclose(entropy, np.log(2), rtol=1e-6)
    assert jnp.isfinite(slope).all()
