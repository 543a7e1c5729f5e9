"""Value losses and explained variance: every level by hand, identities, slopes, and reference vectors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_vectors
from minutiae.objectives.reductions import mean
from minutiae.objectives.values import clipped_value_loss, explained_variance, squared_error

OFF, MAX, MIN, CLIPPED_ONLY, MAX_SIGNED = LEVELS = range(5)

# V_old = 0, range 1, so V_c = clip(V, -1, 1). Samples (V, G) and what each level gives:
#   (3, 0): V - G = 3, V_c - G = 1      off 9   max 9   min 1  clipped_only 1   max_signed 3^2 = 9
#   (3, 4): -1, -3                      off 1   max 9   min 1  clipped_only 9   max_signed (-1)^2 = 1
#   (3, 2): 1, -1                       off 1   max 1   min 1  clipped_only 1   max_signed 1
#   (0.5, 2): inside: -1.5 both         2.25 at every level
#   (-3, 0): -3, -1                     off 9   max 9   min 1  clipped_only 1   max_signed (-1)^2 = 1
VALUES, TARGETS = [3.0, 3.0, 3.0, 0.5, -3.0], [0.0, 4.0, 2.0, 2.0, 0.0]
BY_HAND = {
    OFF: [9.0, 1.0, 1.0, 2.25, 9.0],
    MAX: [9.0, 9.0, 1.0, 2.25, 9.0],
    MIN: [1.0, 1.0, 1.0, 2.25, 1.0],
    CLIPPED_ONLY: [1.0, 9.0, 1.0, 2.25, 1.0],
    MAX_SIGNED: [9.0, 1.0, 1.0, 2.25, 1.0],
}


@pytest.mark.parametrize("level", LEVELS)
def test_hand_worked_levels(library, level):
    values, targets = library.asarray(VALUES), library.asarray(TARGETS)
    loss = clipped_value_loss(values, library.zeros(5), targets, 1.0, level)
    np.testing.assert_array_equal(loss, BY_HAND[level])


def test_levels_as_data_agree_with_levels_as_numbers():
    loss = jax.jit(jax.vmap(clipped_value_loss, in_axes=(None, None, None, None, 0)))(
        jnp.float32(VALUES), jnp.zeros(5), jnp.float32(TARGETS), 1.0, jnp.arange(5.0)
    )
    np.testing.assert_array_equal(loss, [BY_HAND[level] for level in LEVELS])


@pytest.mark.parametrize("name", reference_vectors.names("value_loss_"))
def test_reference_losses(library, name):
    vector = reference_vectors.load(name)
    values, old_values, advantages, not_dones = (
        library.asarray(vector[key]) for key in ("values", "old_values", "advantages", "not_dones")
    )
    level = MAX if vector["clip"] else OFF
    losses = clipped_value_loss(values, old_values, old_values + advantages, float(vector["clip_eps"]), level)
    np.testing.assert_allclose(mean(losses, not_dones), vector["loss"], rtol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_infinite_range_is_the_plain_squared_error(level, seed):
    values, old_values, targets = np.random.default_rng(seed).normal(size=(3, 10))
    np.testing.assert_allclose(
        clipped_value_loss(values, old_values, targets, float("inf"), level),
        squared_error(values, targets),
        rtol=1e-9,
        atol=1e-12,
    )


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 3))
def test_order_of_the_levels(seed, clip_range):
    values, old_values, targets = np.random.default_rng(seed).normal(size=(3, 20))
    off, larger, smaller, only, signed = (
        clipped_value_loss(values, old_values, targets, clip_range, level) for level in LEVELS
    )
    assert (smaller <= off).all() and (off <= larger).all()
    assert (smaller <= only).all() and (only <= larger).all()
    assert ((signed == off) | (signed == only)).all()


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_has_the_slope_of_the_branch_it_takes(level):
    # Sample 1 of the table: V = 3, G = 4, V_c = 1 is outside the range, where its slope is 0.
    slope = jax.grad(
        lambda v: clipped_value_loss(v, jnp.zeros(1), jnp.float32([4.0]), jnp.float32(1.0), jnp.float32(level)).sum()
    )(jnp.float32([3.0]))
    unclipped = {OFF: -2.0, MAX: 0.0, MIN: -2.0, CLIPPED_ONLY: 0.0, MAX_SIGNED: -2.0}
    np.testing.assert_allclose(slope, [unclipped[level]])


@pytest.mark.parametrize("level", LEVELS)
def test_inside_the_range_every_level_has_the_slope_of_the_squared_error(level):
    slope = jax.grad(lambda v: clipped_value_loss(v, jnp.zeros(1), jnp.float32([4.0]), 1.0, jnp.float32(level)).sum())(
        jnp.float32([0.5])
    )
    np.testing.assert_allclose(slope, [2 * (0.5 - 4.0)])


def test_a_column_of_values_is_refused():
    with pytest.raises(ValueError, match=r"values \(4, 1\), old_values \(4,\), targets \(4,\)"):
        clipped_value_loss(np.zeros((4, 1)), np.zeros(4), np.zeros(4), 0.2, MAX)


def test_hand_worked_explained_variance(library):
    # targets [0, 2, 4]: variance 8/3. Errors of [0, 2, 1]: [0, 0, 3], variance 2. 1 - 2 / (8/3) = 0.25
    targets = library.asarray([0.0, 2.0, 4.0])
    assert float(explained_variance(targets, targets)) == 1.0
    np.testing.assert_allclose(explained_variance(library.asarray([0.0, 2.0, 1.0]), targets), 0.25)
    np.testing.assert_allclose(explained_variance(library.full((3,), 7.0), targets), 0.0, atol=1e-12)
    masked = explained_variance(library.asarray([0.0, 2.0, 9.0]), targets, mask=library.asarray([1, 1, 0]))
    np.testing.assert_allclose(masked, 1.0)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1234.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_explained_variance_of_constant_targets_is_defined(constant, dtype):
    targets = np.full(63, constant, dtype)
    assert float(explained_variance(targets, targets)) == 1.0
    assert float(explained_variance(np.arange(63, dtype=dtype), targets)) == 0.0
    assert explained_variance(targets, targets).dtype == dtype
