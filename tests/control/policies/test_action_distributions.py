"""Action distributions: sums to one, exact divergences, entropies, samples, and the population axis."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutiae.control.policies.distributions import Bounds, Categorical, DiagonalGaussian
from minutiae.errors import ConfigError

BOX = Bounds((-0.4, -2.0), (0.4, 5.0))
PLAIN, SQUASHED = DiagonalGaussian(2), DiagonalGaussian(2, BOX)
ONE = DiagonalGaussian(1, Bounds((-1.0,), (3.0,)))
HEADS = Categorical((3, 2))


def gaussian(seed, rows=5, size=2, leading=()):
    generator = np.random.default_rng(seed)
    return {
        "mean": generator.normal(size=(*leading, rows, size)),
        "log_std": generator.uniform(-1.5, 0.5, size=(*leading, size)),
    }


def categorical(seed, rows=5, size=5, leading=()):
    return {"logits": np.random.default_rng(seed).normal(size=(*leading, rows, size))}


def draw(distribution, seed, *, leading=(), rows=5):
    """Distribution parameters and actions of `distribution`."""
    make = categorical if isinstance(distribution, Categorical) else gaussian
    d = make(seed, rows, distribution.parameter_size, leading)
    noise = distribution.noise(np.random.default_rng(seed + 1), (*leading, rows))
    return d, distribution.sample(d, noise)


EVERY = pytest.mark.parametrize("distribution", [PLAIN, SQUASHED, HEADS], ids=["plain", "squashed", "heads"])


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (1.5, -1.0), (-0.5, 0.7)])
def test_tanh_density_integrates_to_one_over_the_box(mean, log_std):
    # Over bounded actions y = 1 + 2 tanh(x): the density must count the box, not the line of x.
    x = np.linspace(-15, 15, 400001)
    y = 1 + 2 * np.tanh(x)
    d = {"mean": np.full((len(x), 1), mean), "log_std": np.array([log_std])}
    density = np.exp(ONE.log_prob(d, x[:, None]))
    np.testing.assert_allclose(np.trapezoid(density, y), 1.0, rtol=1e-6)


def test_tanh_density_is_the_gaussian_less_the_jacobian():
    # mean 0, std 1, x 0: log N = -0.918939; the slope of y = 1 + 2 tanh(x) at 0 is 2: take log 2 away
    d = {"mean": np.zeros((1, 1)), "log_std": np.zeros(1)}
    np.testing.assert_allclose(ONE.log_prob(d, np.zeros((1, 1))), [-0.9189385332 - np.log(2)], rtol=1e-9)


def test_tanh_density_and_slope_are_finite_far_out():
    def total(mean):
        d = {"mean": mean, "log_std": jnp.zeros(2)}
        return SQUASHED.log_prob(d, mean + 1).sum() + SQUASHED.entropy(d).sum()

    value, slope = jax.value_and_grad(total)(jnp.float32([[60.0, -60.0], [1e3, 0.0]]))
    assert jnp.isfinite(value) and jnp.isfinite(slope).all()


@EVERY
@given(seed=st.integers(0, 2**31))
def test_divergence_is_never_negative_and_zero_at_equality(distribution, seed):
    old, _ = draw(distribution, seed)
    new, _ = draw(distribution, seed + 7)
    assert (distribution.kl(old, new) >= -1e-12).all()
    np.testing.assert_array_equal(distribution.kl(old, old), np.zeros(5))


@EVERY
def test_the_divergence_is_the_expected_log_ratio(distribution):
    old, _ = draw(distribution, 3, rows=1)
    new, _ = draw(distribution, 4, rows=1)
    old, new = ({k: np.repeat(v, 200_000, 0) if k != "log_std" else v for k, v in d.items()} for d in (old, new))
    actions = distribution.sample(old, distribution.noise(np.random.default_rng(0), (200_000,)))
    log_ratio = distribution.log_prob(old, actions) - distribution.log_prob(new, actions)
    error = log_ratio.std() / np.sqrt(len(log_ratio))
    assert abs(log_ratio.mean() - distribution.kl(old, new)[0]) < 4 * error


@EVERY
def test_the_entropy_is_the_expected_surprise(distribution):
    d, _ = draw(distribution, 5, rows=1)
    many = {k: np.repeat(v, 200_000, 0) if k != "log_std" else v for k, v in d.items()}
    actions = distribution.sample(many, distribution.noise(np.random.default_rng(0), (200_000,)))
    surprise = -distribution.log_prob(many, actions)
    error = surprise.std() / np.sqrt(len(surprise))
    assert abs(surprise.mean() - distribution.entropy(d)[0]) < 4 * error + 1e-3


@pytest.mark.parametrize(("std", "tolerance"), [(0.3, 1e-7), (1.0, 1e-3), (2.0, 3e-2)])
@pytest.mark.parametrize("mean", [-1.0, 0.0, 2.0])
def test_squashed_entropy_against_direct_integration(mean, std, tolerance):
    x = np.linspace(-30, 30, 400001)[:, None]
    d = {"mean": np.full_like(x, mean), "log_std": np.log([std])}
    log_density_of_x = DiagonalGaussian(1).log_prob(d, x)
    exact = -np.trapezoid(np.exp(log_density_of_x) * ONE.log_prob(d, x), x[:, 0])
    one = {"mean": np.array([[mean]]), "log_std": np.log([std])}
    np.testing.assert_allclose(ONE.entropy(one), [exact], atol=tolerance)


def test_squashed_entropy_falls_when_the_mean_runs_to_the_edge():
    # The bonus must pull a saturated mean back: slope towards the middle, of the log Jacobian, -2 E tanh.
    def entropy(mean):
        return ONE.entropy({"mean": mean, "log_std": jnp.zeros(1)}).sum()

    slopes = jax.grad(entropy)(jnp.float32([[-3.0], [0.0], [3.0]]))
    assert slopes[0] > 1.5 and abs(slopes[1]) < 1e-6 and slopes[2] < -1.5


def test_plain_entropy_does_not_depend_on_the_state():
    d = gaussian(0)
    expected = d["log_std"].sum() + 1 + np.log(2 * np.pi)  # two dimensions of (1 + log 2 pi) / 2
    np.testing.assert_allclose(PLAIN.entropy(d), np.full(5, expected), rtol=1e-12)


def test_hand_worked_heads():
    # First variable: log [1, 2, 5] -> 1/8, 2/8, 5/8. Second: log [3, 1] -> 3/4, 1/4. P(2, 1) = 5/8 * 1/4.
    d = {"logits": np.log([[1.0, 2.0, 5.0, 3.0, 1.0]])}
    np.testing.assert_allclose(HEADS.log_prob(d, np.array([[2, 1]])), [np.log(5 / 32)], rtol=1e-12)
    np.testing.assert_array_equal(HEADS.mode(d), [[2, 0]])


def test_head_probabilities_sum_to_one_over_all_actions():
    actions = np.array([[i, j] for i in range(3) for j in range(2)])
    d = {"logits": np.repeat(np.random.default_rng(0).normal(size=(1, 5)), 6, 0)}
    np.testing.assert_allclose(np.exp(HEADS.log_prob(d, actions)).sum(), 1.0, rtol=1e-12)


def test_gumbel_samples_have_the_right_frequencies():
    n, p = 100_000, np.array([1, 2, 5]) / 8
    distribution = Categorical((3,))
    d = {"logits": np.repeat(np.log(p)[None], n, 0)}
    sample = distribution.sample(d, distribution.noise(np.random.default_rng(0), (n,)))
    frequencies = np.bincount(sample[:, 0], minlength=3) / n
    np.testing.assert_allclose(frequencies, p, atol=4 * np.sqrt(0.25 / n))


def test_gaussian_samples_are_mean_plus_scaled_noise():
    d = {"mean": np.array([[1.0, 2.0]]), "log_std": np.log([0.5, 3.0])}
    np.testing.assert_allclose(PLAIN.sample(d, np.array([[2.0, -1.0]])), [[2.0, -1.0]], rtol=1e-12)
    np.testing.assert_array_equal(PLAIN.mode(d), d["mean"])


@EVERY
def test_noise_is_float32_and_repeatable(distribution):
    first, second = (distribution.noise(np.random.default_rng(0), (4, 3)) for _ in range(2))
    assert first.dtype == np.float32 and first.shape == (4, 3, distribution.parameter_size)
    np.testing.assert_array_equal(first, second)


@EVERY
def test_leading_axes_equal_a_loop_over_agents(distribution):
    d, actions = draw(distribution, 0, leading=(4,))
    other, _ = draw(distribution, 9, leading=(4,))
    for agent in range(4):
        mine, theirs = ({k: v[agent] for k, v in x.items()} for x in (d, other))
        for together, alone in (
            (distribution.log_prob(d, actions), distribution.log_prob(mine, actions[agent])),
            (distribution.entropy(d), distribution.entropy(mine)),
            (distribution.kl(d, other), distribution.kl(mine, theirs)),
            (distribution.mode(d), distribution.mode(mine)),
        ):
            np.testing.assert_allclose(together[agent], alone, rtol=1e-9)


@EVERY
def test_numpy_and_jax_agree_in_float32(distribution):
    d, actions = draw(distribution, 0)
    d = {name: array.astype(np.float32) for name, array in d.items()}
    actions = actions.astype(np.int32 if distribution.actions_are_integers else np.float32)
    for method, arguments in (
        (distribution.log_prob, (d, actions)),
        (distribution.entropy, (d,)),
        (distribution.kl, (d, {name: array / 2 for name, array in d.items()})),
        (distribution.mode, (d,)),
    ):
        on_host, traced = method(*arguments), jax.jit(method)(*arguments)
        assert traced.dtype == jnp.asarray(on_host).dtype
        np.testing.assert_allclose(on_host, traced, rtol=1e-5, atol=1e-6)


def test_actions_stored_as_floats_give_the_same_probability():
    d, actions = draw(HEADS, 0)
    np.testing.assert_array_equal(HEADS.log_prob(d, actions), HEADS.log_prob(d, actions.astype(np.float32)))


def test_a_tanh_needs_finite_bounds():
    with pytest.raises(ConfigError, match=r"'tanh' needs finite bounds.*use 'clip_at_environment'"):
        DiagonalGaussian(1, Bounds((-1.0,), (float("inf"),)))


@pytest.mark.parametrize("distribution", [DiagonalGaussian(2), Categorical((3, 2))], ids=["gaussian", "categorical"])
def test_drawing_with_the_spread_of_a_rollout_is_sampling_step_by_step(distribution: Any) -> None:
    generator = np.random.default_rng(0)
    noise = distribution.noise(generator, (4, 7, 5))
    output = generator.standard_normal((4, 7, 5, distribution.parameter_size)).astype(np.float32)
    parameters = {"log_standard_deviation": generator.standard_normal((4, 2)).astype(np.float32)}
    spread = distribution.spread(parameters, noise)
    for t in range(7):
        d = {"mean": output[:, t], "logits": output[:, t], "log_std": parameters["log_standard_deviation"]}
        expected = distribution.sample(d, noise[:, t])
        assert np.array_equal(distribution.drawn(output[:, t], spread[:, t]), expected)
