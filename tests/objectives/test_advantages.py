"""Advantages, returns and bootstraps: hand-worked numbers, identities, and the published study's vectors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_vectors
from minutiae.objectives.advantages import (
    bootstrap,
    generalized_advantages,
    normalize,
    rewards_to_go,
    temporal_differences,
)
from minutiae.objectives.arrays import reverse_linear_recurrence

TERMINAL, BOOTSTRAP, BOOTSTRAP_SELF, MASK_DELTA = range(4)
NEXT, SELF, ZERO = range(3)


def rollout(seed, steps=12, rows=3):
    """Random arrays `[T, N]`: rewards, values, next_values, terminated, truncated."""
    generator = np.random.default_rng(seed)
    rewards, values, next_values = generator.normal(size=(3, steps, rows))
    terminated, truncated = generator.random((2, steps, rows)) < 0.2
    return rewards, values, next_values, terminated, truncated


def by_definition(rewards, values, next_values, terminated, truncated, discount, gae_lambda):
    """The estimate as its paper defines it: a sum of later temporal differences, term by term."""
    steps, rows = rewards.shape
    total = np.zeros((steps, rows))
    for row in range(rows):
        for t in range(steps):
            for later in range(t, steps):
                alive = 0.0 if terminated[later, row] else 1.0
                delta = rewards[later, row] + discount * next_values[later, row] * alive - values[later, row]
                total[t, row] += (discount * gae_lambda) ** (later - t) * delta
                if terminated[later, row] or truncated[later, row]:
                    break
    return total


def test_hand_worked_advantages(library):
    # discount 0.5, lambda 0.5. One episode of two steps that terminates, then a step that goes on.
    # delta_2 = 3 + 0.5 * 8 - 2 = 5                   A_2 = 5
    # delta_1 = 2 + 0 - 4 = -2   (terminated)         A_1 = -2
    # delta_0 = 1 + 0.5 * 4 - 1 = 2                   A_0 = 2 + 0.25 * (-2) = 1.5
    advantages = generalized_advantages(
        library.asarray([1.0, 2.0, 3.0]),
        library.asarray([1.0, 4.0, 2.0]),
        library.asarray([4.0, 99.0, 8.0]),
        library.asarray([False, True, False]),
        library.asarray([False, False, False]),
        0.5,
        0.5,
    )
    np.testing.assert_allclose(advantages, [1.5, -2.0, 5.0], rtol=1e-12)


def test_value_of_the_next_episode_does_not_leak_through_a_truncation(library):
    # Two trajectories of two steps, V = 1 and V = 100, no reward, discount 1 (TorchRL issue 4209): all
    # zero, not 99.
    values = library.asarray([1.0, 1.0, 100.0, 100.0])
    cut = library.asarray([False, True, False, True])
    advantages = generalized_advantages(library.zeros(4), values, values, cut & ~cut, cut, 1.0, 0.95)
    np.testing.assert_array_equal(advantages, np.zeros(4))


@pytest.mark.parametrize("name", reference_vectors.names("gae_"))
def test_reference_advantages_and_returns(library, name):
    vector = reference_vectors.load(name)
    rewards, values, not_dones = (library.asarray(vector[key].T) for key in ("rewards", "values", "not_dones"))
    discount, gae_lambda = float(vector["gamma"]), float(vector["lam"])
    # The study's code treats every end as terminal and lets the last state bootstrap with itself.
    following = library.concatenate([values[1:], library.full((1, 1), 1e9)])
    never = library.zeros_like(not_dones)
    rewards, next_values, terminated, mask = bootstrap(
        values, following, 1 - not_dones, never, rewards, discount, TERMINAL, SELF
    )
    advantages = generalized_advantages(rewards, values, next_values, terminated, never, discount, gae_lambda, mask)
    returns = rewards_to_go(rewards, 1 - not_dones, discount)
    np.testing.assert_allclose(advantages, vector["advantages"].T, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(returns, vector["returns"].T, rtol=1e-6, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 1))
def test_advantages_are_the_discounted_sum_of_differences(seed, discount, gae_lambda):
    arrays = rollout(seed)
    expected = by_definition(*arrays, discount, gae_lambda)
    np.testing.assert_allclose(generalized_advantages(*arrays, discount, gae_lambda), expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_lambda_zero_gives_the_temporal_differences(seed, discount):
    rewards, values, next_values, terminated, truncated = rollout(seed)
    deltas = temporal_differences(rewards, values, next_values, terminated, discount)
    advantages = generalized_advantages(rewards, values, next_values, terminated, truncated, discount, 0.0)
    np.testing.assert_array_equal(advantages, deltas)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_lambda_one_gives_returns_less_values(seed, discount):
    rewards, values, _, terminated, truncated = rollout(seed)
    # Consistent values: the next value is the value of the next step, wherever an episode goes on.
    next_values = np.concatenate([values[1:], np.zeros((1, 3))])
    ended = terminated | truncated
    advantages = generalized_advantages(rewards, values, next_values, ended, np.zeros_like(ended), discount, 1.0)
    np.testing.assert_allclose(advantages, rewards_to_go(rewards, ended, discount) - values, rtol=1e-9, atol=1e-9)


def test_numpy_and_jax_agree_in_float32_and_keep_the_dtype():
    rewards, values, next_values, terminated, truncated = rollout(0, steps=64, rows=4)
    single = [array.astype(np.float32) for array in (rewards, values, next_values)]
    on_host = generalized_advantages(*single, terminated, truncated, 0.99, 0.95)
    traced = jax.jit(generalized_advantages)(*single, terminated, truncated, 0.99, 0.95)
    assert on_host.dtype == np.float32 and traced.dtype == jnp.float32
    np.testing.assert_allclose(on_host, traced, rtol=1e-5, atol=1e-5)


def test_a_population_axis_equals_a_loop_over_agents():
    agents = [rollout(seed) for seed in range(4)]
    stacked = [np.stack(arrays).astype(np.float32) for arrays in zip(*agents, strict=True)]
    discounts, lambdas = np.float32([0.9, 0.99, 1.0, 0.5]), np.float32([0.0, 0.95, 1.0, 0.7])
    together = jax.jit(jax.vmap(generalized_advantages))(*stacked, discounts, lambdas)
    for agent, arrays in enumerate(zip(*stacked, strict=True)):
        alone = generalized_advantages(*arrays, discounts[agent], lambdas[agent])
        np.testing.assert_allclose(together[agent], alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("level", "reward", "mask"),
    [
        # Step 1 of 3 is a time limit: r = 2, V(s_1) = 4, V(true successor) = 6, discount 0.5.
        (TERMINAL, 2.0, 1.0),
        (BOOTSTRAP, 2.0 + 0.5 * 6.0, 1.0),
        (BOOTSTRAP_SELF, 2.0 + 0.5 * 4.0, 1.0),
        (MASK_DELTA, 2.0, 0.0),
    ],
)
@pytest.mark.parametrize("as_code", [int, float, np.float32, jnp.float32], ids=lambda kind: kind.__name__)
def test_truncation_bootstrap_levels(level, reward, mask, as_code):
    rewards, next_values, terminated, delta_mask = bootstrap(
        np.float32([1, 4, 2]),
        np.float32([4, 6, 8]),
        np.array([False, False, False]),
        np.array([False, True, False]),
        np.float32([1, 2, 3]),
        0.5,
        as_code(level),
        NEXT,
    )
    np.testing.assert_array_equal(rewards, [1, reward, 3])
    np.testing.assert_array_equal(next_values, [4, 6, 8])
    np.testing.assert_array_equal(terminated, [False, True, False])
    np.testing.assert_array_equal(delta_mask, [1, mask, 1])
    # delta_1 = reward - V(s_1) = reward - 4, or nothing; delta_0 = 1 + 0.5 * 4 - 1 = 2; lambda 1.
    advantages = generalized_advantages(
        rewards, np.float32([1, 4, 2]), next_values, terminated, terminated, 0.5, 1.0, delta_mask
    )
    cut = mask * (reward - 4)
    np.testing.assert_allclose(advantages[:2], [2 + 0.5 * cut, cut])


@pytest.mark.parametrize(("level", "last"), [(NEXT, 8.0), (SELF, 2.0), (ZERO, 0.0)])
@pytest.mark.parametrize("as_code", [int, jnp.float32], ids=lambda kind: kind.__name__)
def test_final_state_bootstrap_levels(level, last, as_code):
    none = np.array([False, False, False])
    _, next_values, _, _ = bootstrap(
        np.float32([1, 4, 2]),
        np.float32([4, 6, 8]),
        none,
        none,
        np.float32([1, 2, 3]),
        0.5,
        BOOTSTRAP,
        as_code(level),
    )
    np.testing.assert_array_equal(next_values, [4, 6, last])


def test_a_step_that_is_both_terminated_and_truncated_is_terminated(library):
    yes = library.asarray([True])
    values = library.asarray([4.0])
    for level in range(4):
        rewards, _, terminated, mask = bootstrap(values, values, yes, yes, library.asarray([2.0]), 0.5, level, NEXT)
        assert (float(rewards[0]), bool(terminated[0]), float(mask[0])) == (2.0, True, 1.0)


def test_a_time_limit_with_reward_one_is_worth_the_infinite_horizon(library):
    # Constant reward 1, discount 0.9: V = 1 / (1 - 0.9) = 10 everywhere, so no step has an advantage (SB3
    # issue 633).
    steps = 5
    values, ends = library.full((steps,), 10.0), library.asarray([False] * (steps - 1) + [True])
    rewards, next_values, terminated, mask = bootstrap(
        values, values, ends & ~ends, ends, library.ones(steps), 0.9, BOOTSTRAP, NEXT
    )
    advantages = generalized_advantages(rewards, values, next_values, terminated, ends, 0.9, 0.95, mask)
    np.testing.assert_allclose(advantages, np.zeros(steps), atol=1e-12)
    np.testing.assert_allclose(rewards_to_go(rewards, ends, 0.9), np.full(steps, 10.0), rtol=1e-12)


def test_values_that_are_not_finite_beyond_a_terminal_state_do_not_matter(library):
    advantages = generalized_advantages(
        library.asarray([1.0, 1.0]),
        library.asarray([0.0, 0.0]),
        library.asarray([0.0, library.nan]),
        library.asarray([False, True]),
        library.asarray([False, False]),
        1.0,
        1.0,
    )
    np.testing.assert_array_equal(advantages, [2.0, 1.0])


def test_hand_worked_rewards_to_go(library):
    # discount 0.5; the episode ends after step 1: [1 + 0.5 * 2, 2], then [4 + 0.5 * 8, 8].
    returns = rewards_to_go(library.asarray([1.0, 2.0, 4.0, 8.0]), library.asarray([0, 1, 0, 0]), 0.5)
    np.testing.assert_array_equal(returns, [2.0, 2.0, 8.0, 8.0])


def test_hand_worked_recurrence(library):
    # y_2 = 3; y_1 = 2 + 10 * 3 = 32; y_0 = 1 + 0 * 32 = 1
    solution = reverse_linear_recurrence(library.asarray([1.0, 2.0, 3.0]), library.asarray([0.0, 10.0, 99.0]))
    np.testing.assert_array_equal(solution, [1.0, 32.0, 3.0])


def test_arrays_that_would_broadcast_are_refused():
    column = np.zeros((3, 1))
    with pytest.raises(ValueError, match=r"one shape: rewards \(3,\), values \(3, 1\), .*reshape the odd one"):
        temporal_differences(np.zeros(3), column, np.zeros(3), np.zeros(3), 0.9)


def test_hand_worked_normalization(library):
    # [1, 3, 5]: mean 3, squares 4 + 0 + 4; ddof 0: std sqrt(8 / 3); ddof 1: std 2.
    x = library.asarray([1.0, 3.0, 5.0])
    np.testing.assert_allclose(normalize(x, 0), np.array([-2, 0, 2]) / np.sqrt(8 / 3), rtol=1e-7)
    np.testing.assert_allclose(normalize(x, 1), [-1, 0, 1], rtol=1e-7)
    np.testing.assert_allclose(normalize(x, 1, epsilon=2.0), [-0.5, 0, 0.5], rtol=1e-7)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e6, -1.2345678e8])
@pytest.mark.parametrize("size", [1, 2, 60, 64, 125])
def test_one_sample_or_equal_samples_normalize_to_zero(ddof, dtype, value, size):
    samples = np.full(size, value, dtype)
    np.testing.assert_array_equal(normalize(samples, ddof), np.zeros(size))
    np.testing.assert_array_equal(jax.jit(normalize)(jnp.asarray(samples), ddof), np.zeros(size))


def test_one_sample_normalizes_to_zero_under_jit_with_a_traced_ddof():
    assert jax.jit(normalize)(jnp.float32([7.0]), jnp.float32(1)).tolist() == [0.0]


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=40), st.sampled_from([0, 1]))
def test_normalization_is_centred_scaled_and_never_nan(samples, ddof):
    normalized = normalize(np.array(samples), ddof)
    assert np.isfinite(normalized).all()
    np.testing.assert_allclose(normalized.mean(), 0, atol=1e-6)
    if np.std(samples) > 1e-3:
        np.testing.assert_allclose(normalized.std(ddof=ddof), 1, rtol=1e-4)


def test_a_masked_sample_counts_neither_in_the_mean_nor_in_the_result(library):
    x = library.asarray([1.0, library.nan, 3.0, 5.0])
    np.testing.assert_allclose(normalize(x, 1, mask=library.asarray([1, 0, 1, 1])), [-1, 0, 0, 1], atol=1e-7)
