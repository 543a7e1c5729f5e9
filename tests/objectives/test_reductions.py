"""Means and variances under a mask: what is masked away must not matter, whatever it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minutiae.objectives.reductions import centered, count, mean, variance


def test_hand_worked_masked_mean_and_variance(library):
    x, mask = library.asarray([1.0, 100.0, 3.0]), library.asarray([1, 0, 1])
    assert float(count(x, mask)) == 2 and float(count(x)) == 3
    assert float(mean(x, mask)) == 2.0
    assert float(variance(x, mask)) == 1.0 and float(variance(x, mask, ddof=1)) == 2.0
    np.testing.assert_array_equal(centered(x, mask), [-1.0, 0.0, 1.0])


@pytest.mark.parametrize("hidden", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("reduction", [mean, variance])
def test_neither_value_nor_slope_sees_a_masked_sample(reduction, hidden):
    mask = jnp.array([True, False, True])
    value, slope = jax.value_and_grad(reduction)(jnp.float32([1.0, hidden, 3.0]), mask)
    expected, rest = jax.value_and_grad(reduction)(jnp.float32([1.0, 3.0]))
    assert value == expected
    np.testing.assert_allclose(slope, [rest[0], 0.0, rest[1]], atol=1e-7)


def test_nothing_left_gives_zero_and_no_slope():
    mask = jnp.zeros(3, bool)
    value, slope = jax.value_and_grad(mean)(jnp.float32([1.0, 2.0, 3.0]), mask)
    assert value == 0 and not slope.any()
    assert variance(jnp.float32([1.0, 2.0, 3.0]), mask, 1) == 0


@pytest.mark.parametrize("ddof", [0, 1])
def test_variance_agrees_with_numpy(library, ddof):
    x = np.random.default_rng(0).normal(size=(4, 5))
    np.testing.assert_allclose(variance(library.asarray(x), ddof=ddof), x.var(ddof=ddof), rtol=1e-12)
    np.testing.assert_allclose(mean(library.asarray(x)), x.mean(), rtol=1e-12)
