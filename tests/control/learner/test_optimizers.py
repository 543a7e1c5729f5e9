"""Adam with its epsilon in both places, RMSProp, SGD, and gradient clipping, each against steps worked by hand."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learner_cases import config_of, numbers_of

from minutiae.control.learner.optimizers import clip_scales, initial_optimizer, optimizer_step

RATE = 0.5


def steps(optimizer: str, gradients: list[float], **details: Any) -> list[float]:
    """The parameter after each gradient, from 0 with a rate of 1/2."""
    numbers = {name: value[0] for name, value in numbers_of([config_of(optimizer=optimizer, **details)]).items()}
    step = jax.jit(functools.partial(optimizer_step, optimizer, numbers=numbers))
    parameters = jnp.zeros(1)
    state = initial_optimizer(optimizer, parameters)
    positions = []
    for gradient in gradients:
        parameters, state = step(parameters, state, jnp.array([gradient]), RATE)
        positions.append(float(parameters[0]))
    return positions


def test_sgd() -> None:
    assert steps("sgd", [1.0, -4.0]) == [-0.5, 1.5]


def test_rmsprop() -> None:
    """v = 0.99 v + 0.01 g^2; step = rate g / sqrt(v + 1e-5).

    g = 1: v = 0.01, 0.5 / sqrt(0.01001) = 4.997502.
    g = -2: v = 0.0099 + 0.04 = 0.0499, 1 / sqrt(0.04991) = 4.476162.
    """
    assert steps("rmsprop", [1.0, -2.0]) == pytest.approx([-4.997502, -4.997502 + 4.476162], rel=1e-5)


def test_adam_with_epsilon_after_the_correction() -> None:
    """m = 0.9 m + 0.1 g, v = 0.999 v + 0.001 g^2; step = rate m_hat / (sqrt(v_hat) + 0.25).

    g = 1: m_hat = 0.1 / 0.1 = 1, v_hat = 0.001 / 0.001 = 1; 0.5 x 1 / 1.25 = 0.4.
    g = 3: m = 0.39, m_hat = 0.39 / 0.19 = 2.0526316; v = 0.009999, v_hat = 0.009999 / 0.001999 = 5.0020010,
    root 2.2365154; 0.5 x 2.0526316 / 2.4865154 = 0.4127526.
    """
    positions = steps("adam", [1.0, 3.0], adam_epsilon=0.25)
    assert positions == pytest.approx([-0.4, -0.4 - 0.4127526], rel=1e-5)


def test_adam_with_epsilon_before_the_correction() -> None:
    """As TensorFlow 1 does: step = rate sqrt(1 - 0.999^t) / (1 - 0.9^t) m / (sqrt(v) + 0.25).

    g = 1: 0.5 x sqrt(0.001) / 0.1 x 0.1 / (sqrt(0.001) + 0.25) = 0.5 x 0.0316228 / 0.2816228 = 0.0561439.
    g = 3: 0.5 x sqrt(0.001999) / 0.19 x 0.39 / (sqrt(0.009999) + 0.25)
         = 0.5 x 0.0447102 / 0.19 x 0.39 / 0.3499950 = 0.1311069.
    """
    positions = steps("adam", [1.0, 3.0], adam_epsilon=0.25, adam_epsilon_style="before_correction")
    assert positions == pytest.approx([-0.0561439, -0.0561439 - 0.1311069], rel=5e-5)


def test_the_two_places_of_epsilon_meet_in_time() -> None:
    def last_step(style: str, count: int) -> float:
        positions = steps("adam", [1.0] * count, adam_epsilon=0.25, adam_epsilon_style=style)
        return positions[-1] - positions[-2]

    for count in (2, 700):
        before, after = (last_step(style, count) for style in ("before_correction", "after_correction"))
        # (1 + 0.25) / (1 + 0.25 / sqrt(1 - 0.999^t)): 0.1896 at t = 2, 0.9244 at t = 700.
        correction = np.sqrt(1 - 0.999**count)
        assert before / after == pytest.approx(1.25 / (1 + 0.25 / correction), rel=1e-3)


_scales = jax.jit(clip_scales, static_argnums=3)


def scales_of(policy: float, value: float, joint: bool = True, **details: Any) -> list[float]:
    """What both gradients are multiplied with, given their norms."""
    numbers = {name: number[0] for name, number in numbers_of([config_of(**details)]).items()}
    return [float(scale) for scale in _scales(policy, value, numbers, joint)]


@pytest.mark.parametrize(
    ("scope", "joint", "policy", "value"),
    # Norms 3 and 4, together 5; the limit is 2.
    [
        ("joint", True, 2 / 5, 2 / 5),
        ("joint", False, 2 / 3, 2 / 4),
        ("per_network", True, 2 / 3, 2 / 4),
        ("per_network", False, 2 / 3, 2 / 4),
        ("policy_only", True, 2 / 3, 1),
        ("policy_only", False, 2 / 3, 1),
    ],
)
def test_what_gradient_clipping_measures(scope: str, joint: bool, policy: float, value: float) -> None:
    details: dict[str, Any] = {} if joint else {"separate_optimizers": True}
    scales = scales_of(3.0, 4.0, joint, gradient_clipping=2, gradient_clipping_scope=scope, **details)
    np.testing.assert_allclose(scales, [policy, value], rtol=1e-6)


@pytest.mark.parametrize("norm", [0.0, 1.0, 1.9999, 2.0, 2.0001, 1e4, 1e30])
def test_the_clipped_norm_is_torchs(norm: float) -> None:
    """`clip_grad_norm_`: the factor is limit / (norm + 1e-6), at most 1."""
    assert scales_of(norm, 0.0, gradient_clipping=2)[0] == pytest.approx(min(1, 2 / (norm + 1e-6)), rel=1e-6)


def test_without_a_limit_nothing_is_scaled() -> None:
    for norm in (0.0, 1.0, 1e18):
        assert scales_of(norm, norm) == [1, 1]


@pytest.mark.parametrize("optimizer", ["adam", "rmsprop", "sgd"])
def test_the_initial_state_is_what_optax_starts_from(optimizer: str) -> None:
    from minutiae.control.learner.optimizers import _transformation

    parameters = jnp.arange(3.0)
    mine, theirs = initial_optimizer(optimizer, parameters), _transformation(optimizer, 0.0).init(parameters)
    assert jax.tree.structure(mine) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_array_equal(one, other)
