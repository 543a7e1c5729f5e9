"""Ratios and surrogates: hand-worked numbers, identities, gradients, and the published study's vector."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_vectors
from minutiae.objectives.advantages import normalize
from minutiae.objectives.ratios import clip_fraction, clipped_surrogate, ratio, surrogate

INFINITY = float("inf")
ratios_and_advantages = st.lists(
    st.tuples(st.floats(0.0625, 64, width=32), st.floats(-10, 10, width=32)), min_size=1, max_size=20
)


def test_hand_worked_clipping(library):
    # clip_range 0.2.  ratio 1.5, A  2: min(3, 1.2 * 2) = 2.4      clipped
    #                  ratio 1.5, A -2: min(-3, -2.4)   = -3       pessimistic: not clipped
    #                  ratio 0.5, A  2: min(1, 1.6)     = 1        not clipped
    #                  ratio 0.5, A -2: min(-1, -1.6)   = -1.6     clipped
    #                  ratio 1.1, A  2: inside          = 2.2
    ratios = library.asarray([1.5, 1.5, 0.5, 0.5, 1.1])
    advantages = library.asarray([2.0, -2.0, 2.0, -2.0, 2.0])
    expected = [2.4, -3.0, 1.0, -1.6, 2.2]
    np.testing.assert_allclose(clipped_surrogate(ratios, advantages, 0.2), expected, rtol=1e-12)


def test_hand_worked_dual_clipping(library):
    # dual_clip 3, A = -2: never below -6. ratio 5: min(-10, -2.4) = -10 -> -6; ratio 2: -4 stays. A = 2
    # untouched.
    surrogates = clipped_surrogate(
        library.asarray([5.0, 2.0, 5.0, 5.0]), library.asarray([-2.0, -2.0, 2.0, 0.0]), 0.2, 3.0
    )
    np.testing.assert_allclose(surrogates, [-6.0, -4.0, 2.4, 0.0], rtol=1e-12)


def test_reference_surrogates(library):
    vector = reference_vectors.load("surrogate")
    new, old, advantages = (library.asarray(vector[key]) for key in ("new_log_probs", "old_log_probs", "advantages"))
    ratios, normalized = ratio(new, old), normalize(advantages, 1)
    clip_range = float(vector["clip_eps"])
    np.testing.assert_allclose(surrogate(ratios, normalized), vector["unclipped"], rtol=1e-6)
    # The vector's "clipped" is clip(ratio) A; the objective is the smaller of the two.
    expected = np.minimum(vector["unclipped"], vector["clipped"])
    np.testing.assert_allclose(clipped_surrogate(ratios, normalized, clip_range), expected, rtol=1e-6)


@given(ratios_and_advantages)
def test_clipping_at_infinity_is_no_clipping(pairs):
    ratios, advantages = np.array(pairs).T
    np.testing.assert_array_equal(
        clipped_surrogate(ratios, advantages, INFINITY, INFINITY), surrogate(ratios, advantages)
    )


@given(ratios_and_advantages, st.floats(0.01, 5), st.floats(1.01, 50))
def test_clipping_never_promises_more_and_dual_clipping_never_less(pairs, clip_range, dual_clip):
    ratios, advantages = np.array(pairs).T
    single = clipped_surrogate(ratios, advantages, clip_range)
    dual = clipped_surrogate(ratios, advantages, clip_range, dual_clip)
    assert (single <= surrogate(ratios, advantages)).all()
    assert (dual >= single).all()
    assert (dual >= np.minimum(dual_clip * advantages, single * (advantages >= 0))).all()


@pytest.mark.parametrize(
    ("log_ratio", "advantage", "slope"),
    # d surrogate / d log ratio = ratio A inside; 0 where the clipped branch is the smaller; ratio A where
    # it is not.
    [(0.0, 2.0, 2.0), (0.5, 2.0, 0.0), (0.5, -2.0, -2 * np.exp(0.5)), (-0.5, -2.0, 0.0), (200.0, 2.0, 0.0)],
)
@pytest.mark.parametrize("dual_clip", [INFINITY, 3.0])
def test_slope_of_the_clipped_surrogate(log_ratio, advantage, slope, dual_clip):
    def objective(new):
        ratios = ratio(new, jnp.zeros(1))
        return clipped_surrogate(ratios, jnp.float32([advantage]), 0.2, jnp.float32(dual_clip)).sum()

    np.testing.assert_allclose(jax.jit(jax.grad(objective))(jnp.float32([log_ratio])), [slope], rtol=1e-6)


@pytest.mark.parametrize("advantage", [-2.0, 0.0, 2.0])
def test_switches_that_are_off_keep_the_slope_of_the_plain_surrogate(advantage):
    def slope(clip_range, dual_clip):
        def objective(new):
            return clipped_surrogate(ratio(new, jnp.zeros(1)), jnp.float32([advantage]), clip_range, dual_clip).sum()

        return jax.grad(objective)(jnp.float32([0.7]))

    np.testing.assert_allclose(
        slope(jnp.float32(INFINITY), jnp.float32(INFINITY)), [advantage * np.exp(0.7)], rtol=1e-6
    )


def test_equal_log_probabilities_give_a_ratio_of_exactly_one(library):
    log_prob = library.asarray([-3.7, 0.0, 12.5])
    np.testing.assert_array_equal(ratio(log_prob, log_prob), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ratio_is_finite_for_any_finite_log_probabilities(dtype):
    ratios = ratio(np.array([1e4, 88.0, -1e4], dtype), np.zeros(3, dtype))
    assert ratios.dtype == dtype and np.isfinite(ratios).all()
    assert ratios[0] > 1e34 and ratios[2] == 0.0


def test_ratio_does_not_hide_a_nan():
    assert np.isnan(ratio(np.array([np.nan]), np.zeros(1))).all()


def test_a_column_of_log_probabilities_is_refused():
    with pytest.raises(ValueError, match=r"new_log_prob \(4,\), old_log_prob \(4, 1\)"):
        ratio(np.zeros(4), np.zeros((4, 1)))


def test_hand_worked_clip_fraction(library):
    # 0.2: 1.5 and 0.7 lie outside, 1.1 and 0.9 inside.
    ratios = library.asarray([1.5, 0.7, 1.1, 0.9])
    assert float(clip_fraction(ratios, 0.2)) == 0.5
    assert float(clip_fraction(ratios, INFINITY)) == 0.0
    assert float(clip_fraction(ratios, 0.2, mask=library.asarray([True, False, False, False]))) == 1.0


def test_tokens_with_a_time_axis_need_no_second_copy():
    ratios = np.array([[1.5, 1.1], [0.5, 1.0]])
    advantages = np.array([[2.0, 2.0], [-2.0, 1.0]])
    np.testing.assert_allclose(clipped_surrogate(ratios, advantages, 0.2), [[2.4, 2.2], [-1.6, 1.0]])


def test_switches_that_are_off_compute_no_nan_on_the_way():
    # Infinity times a zero advantage would be NaN, selected away later but fatal under jax_debug_nans.
    with np.errstate(all="raise"):
        surrogates = clipped_surrogate(np.array([1.5, 2.0]), np.array([0.0, -1.0]), INFINITY, INFINITY)
    np.testing.assert_array_equal(surrogates, [0.0, -2.0])
