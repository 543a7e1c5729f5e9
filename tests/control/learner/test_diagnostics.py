"""What is measured about an update, worked by hand on three samples of a linear policy."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learner_cases import config_of, numbers_of

from minutiae.control.learner.diagnostics import finite_flags, minibatch_summary, trust_region_diagnostics
from minutiae.control.learner.structure import Samples, Structure
from minutiae.control.policies.distributions import DiagonalGaussian
from minutiae.control.policies.policy import Policy


def linear(weight: float, **more: Any) -> dict[str, Any]:
    return {"hidden": [], "head": {"weight": jnp.array([[weight]]), "bias": jnp.zeros(1)}, **more}


def test_diagnostics_by_hand() -> None:
    """One action, sigma 1; the mean was 0 and is now 0.5 x, at x = 0, 1, 2 with actions 1, 1, -1.

    log pi_new - log pi_old = (a^2 - (a - m)^2) / 2: at m = 0, 0.5, 1 that is 0, (1 - 0.25) / 2 = 0.375 and
    (1 - 4) / 2 = -1.5. Ratios 1, 1.454991, 0.223130.
    KL(old || new) = m^2 / 2 = 0, 0.125, 0.5. k3 = r - 1 - log r = 0, 0.079991, 0.723130.
    Outside 1 +- 0.3: two of three. Entropy: (1 + log 2 pi) / 2.
    Advantages 2, -1, 1: (2 - 1.454991 + 0.223130) / 3 = 0.256046.
    Values are 3 x = 0, 3, 6 against targets 1, 3, 3 of which the last does not count: (1 + 0) / 2 = 0.5.
    They were 1, 2, 3: targets less old values 0, 1, 0 of variance 2 / 9, targets of variance 8 / 9.
    """
    policy = Policy(1, DiagonalGaussian(1), (), (), "tanh")
    samples = Samples(
        observations=jnp.array([[0.0], [1.0], [2.0]]),
        actions=jnp.array([[1.0], [1.0], [-1.0]]),
        old_log_probs=jnp.full(3, -0.5 - 0.5 * math.log(2 * math.pi)),
        old={"mean": jnp.zeros((3, 1))},
        advantages=jnp.array([2.0, -1.0, 1.0]),
        targets=jnp.array([1.0, 3.0, 3.0]),
        old_values=jnp.array([1.0, 2.0, 3.0]),
        value_counts=jnp.array([True, True, False]),
    )
    parameters = {"policy": linear(0.5, log_standard_deviation=jnp.zeros(1)), "value": linear(3.0)}
    config = config_of(ratio_clipping=0.3, advantage_normalization=None)
    numbers = {name: value[0] for name, value in numbers_of([config]).items()}
    arguments = (parameters, samples, {"log_std": jnp.zeros(1)}, numbers)
    measure = jax.jit(trust_region_diagnostics, static_argnums=(0, 5))
    measured = measure(Structure.of(config, policy), *arguments, "batch")
    expected = {
        "kl_exact_batch": 0.625 / 3,
        "kl_k3_batch": (0.079991 + 0.723130) / 3,
        "ratio_max_batch": 1.454991,
        "ratio_mean_batch": (1 + 1.454991 + 0.223130) / 3,
        "clip_fraction_batch": 2 / 3,
        "entropy_batch": 0.5 * (1 + math.log(2 * math.pi)),
        "surrogate_batch": 0.256046,
        "value_loss_batch": 0.5,
        "explained_variance_batch": 1 - (2 / 9) / (8 / 9),
    }
    assert {name: float(value) for name, value in measured.items()} == pytest.approx(expected, rel=1e-5)


def test_minibatch_metrics_become_one_number_each() -> None:
    """Two epochs of two minibatches."""
    summary = minibatch_summary(
        {
            "value_loss": jnp.array([[1.0, 2.0], [3.0, 6.0]]),
            "policy_gradient_norm": jnp.array([[1.0, 5.0], [2.0, 0.0]]),
            "ratio_deviation": jnp.array([[0.25, 5.0], [6.0, 7.0]]),
            "stopping_kl": jnp.array([[0.0, 1.0], [2.0, 0.5]]),
            "stepped": jnp.array([[True, True], [True, False]]),
        }
    )
    assert {name: float(value) for name, value in summary.items()} == {
        "value_loss_minibatch_mean": 3.0,
        "policy_gradient_norm_minibatch_mean": 2.0,
        "policy_gradient_norm_minibatch_max": 5.0,
        "ratio_deviation_first_minibatch": 0.25,
        "stopping_kl_last_minibatch": 0.5,
        "gradient_step_fraction": 0.75,
    }


def test_every_array_is_looked_at_under_its_path_and_in_the_order_given() -> None:
    flags = finite_flags(
        [
            ("second", {"b": np.array([0.0, np.inf]), "a": {"inner": [np.zeros(2), np.array(np.nan)]}}),
            ("first", (np.array([1, 2]), np.array([True]))),
        ]
    )
    assert {name: bool(flag) for name, flag in flags.items()} == {
        "second/a/inner/0": True,
        "second/a/inner/1": False,
        "second/b": False,
        "first/0": True,
        "first/1": True,
    }
    assert list(flags)[:3] == ["second/a/inner/0", "second/a/inner/1", "second/b"]
