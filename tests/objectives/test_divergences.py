"""Estimators of the KL divergence: hand-worked numbers, signs, expectations, and the edge of a dtype."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutiae.objectives.densities import gaussian_divergence, gaussian_log_density
from minutiae.objectives.divergences import kl_k1, kl_k2, kl_k3


def test_hand_worked_estimates(library):
    # log ratio log 2 = 0.6931: k1 -0.6931, k2 0.6931^2 / 2 = 0.2402, k3 2 - 1 - 0.6931 = 0.3069
    new, old = library.asarray([np.log(2.0)]), library.asarray([0.0])
    np.testing.assert_allclose(kl_k1(new, old), [-np.log(2)], rtol=1e-12)
    np.testing.assert_allclose(kl_k2(new, old), [np.log(2) ** 2 / 2], rtol=1e-12)
    np.testing.assert_allclose(kl_k3(new, old), [1 - np.log(2)], rtol=1e-12)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
def test_k2_and_k3_are_never_negative_and_zero_at_equality(log_ratios):
    new, old = np.array(log_ratios), np.zeros(len(log_ratios))
    assert (kl_k2(new, old) >= 0).all()
    assert (kl_k3(new, old) >= -1e-12).all()
    for estimate in (kl_k1, kl_k2, kl_k3):
        np.testing.assert_array_equal(estimate(new, new), old)


def test_k1_and_k3_are_unbiased_by_integration():
    # E over x ~ old of the estimate, by the trapezoidal rule on a wide fine grid (spectrally accurate here).
    x = np.linspace(-30, 30, 20001)[:, None]
    old_mean, old_log_std, new_mean, new_log_std = (np.array([v]) for v in (0.0, 0.0, 0.7, 0.3))
    old = gaussian_log_density(x, old_mean, old_log_std)
    new = gaussian_log_density(x, new_mean, new_log_std)
    exact = gaussian_divergence(old_mean, old_log_std, new_mean, new_log_std)
    for estimate in (kl_k1, kl_k3):
        np.testing.assert_allclose(np.trapezoid(np.exp(old) * estimate(new, old), x[:, 0]), exact, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("log_ratio", "least"),
    # The bound in float32 is log(3.4e38) - 8 = 80.7, so 88 and 1e4 both read as e^80.7 = 1.1e35. Below, k3
    # is -1 - d.
    [(88.0, 1e35), (1e4, 1e35), (-1e4, 9998.0)],
)
def test_k3_stays_finite_where_its_exponential_would_overflow(dtype, log_ratio, least):
    estimate = kl_k3(np.array([log_ratio], dtype), np.zeros(1, dtype))
    assert estimate.dtype == dtype
    assert np.isfinite(estimate[0]) and estimate[0] > least


def test_k3_is_accurate_for_a_tiny_log_ratio_in_float32():
    # exp(d) - 1 - d is d^2 / 2 + d^3 / 6 for small d; computed with exp it would be rounding noise.
    d = np.float32(1e-3)
    estimate = float(kl_k3(np.array([d]), np.zeros(1, np.float32))[0])
    np.testing.assert_allclose(estimate, float(d) ** 2 / 2, rtol=1e-3)
