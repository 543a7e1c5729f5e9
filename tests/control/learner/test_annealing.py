"""What changes from iteration to iteration, worked by hand: learning rates, clip range, radius."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import config_of

from minutiae.control.learner.epochs import learning_rate
from minutiae.control.schedules import scheduled, stacked_numbers

ITERATIONS = 4


def through(name: str, **details: Any) -> list[float]:
    """A number in each of four iterations."""
    numbers = stacked_numbers([config_of(**details)])
    return [float(scheduled(numbers, i, ITERATIONS)[name][0]) for i in range(ITERATIONS)]


@pytest.mark.parametrize(
    ("level", "starts", "ends"),
    [
        (None, [0.8] * 4, [0.8] * 4),
        ("linear", [0.8, 0.6, 0.4, 0.2], [0.8, 0.6, 0.4, 0.2]),
        # Followed from gradient step to gradient step: an iteration ends where the next one starts, the last at zero.
        ("linear_per_gradient_step", [0.8, 0.6, 0.4, 0.2], [0.6, 0.4, 0.2, 0.0]),
    ],
)
@pytest.mark.parametrize("network", ["policy", "value"])
def test_learning_rates(level: str | None, starts: list[float], ends: list[float], network: str) -> None:
    details = {"learning_rate": 0.8, "learning_rate_annealing": level}
    np.testing.assert_allclose(through(f"{network}_learning_rate", **details), starts, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(through(f"{network}_learning_rate_end", **details), ends, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("networks", "policy", "value"),
    [
        ("both", [0.8, 0.6, 0.4, 0.2], [0.4, 0.3, 0.2, 0.1]),
        ("policy", [0.8, 0.6, 0.4, 0.2], [0.4] * 4),
        ("value", [0.8] * 4, [0.4, 0.3, 0.2, 0.1]),
    ],
)
@pytest.mark.parametrize("level", ["linear", "linear_per_gradient_step"])
def test_whose_learning_rate_is_annealed(networks: str, policy: list[float], value: list[float], level: str) -> None:
    details = {
        "separate_optimizers": True,
        "learning_rate": 0.8,
        "value_learning_rate": 0.4,
        "learning_rate_annealing": level,
        "learning_rate_annealing_networks": networks,
    }
    for network, expected in (("policy", policy), ("value", value)):
        np.testing.assert_allclose(through(f"{network}_learning_rate", **details), expected, rtol=1e-6)
        annealed = networks in ("both", network) and level == "linear_per_gradient_step"
        ends = [*expected[1:], 0] if annealed else expected
        np.testing.assert_allclose(through(f"{network}_learning_rate_end", **details), ends, rtol=1e-6, atol=1e-7)


def test_the_rate_falls_with_every_gradient_step_and_never_jumps() -> None:
    """Two iterations of five steps each, from 1: 1.0, 0.9, ... 0.1, on one line."""
    numbers = stacked_numbers(
        [config_of(learning_rate=1, learning_rate_annealing=level) for level in ("linear_per_gradient_step", "linear")]
    )
    rates = [
        learning_rate(scheduled(numbers, iteration, 2), "policy", step, 5)
        for iteration in range(2)
        for step in range(5)
    ]
    by_step, by_iteration = np.transpose(rates)
    np.testing.assert_allclose(by_step, np.arange(10, 0, -1) / 10, rtol=1e-6)
    np.testing.assert_allclose(by_iteration, [1.0] * 5 + [0.5] * 5, rtol=1e-6)


def test_the_clip_range() -> None:
    assert through("ratio_clipping", ratio_clipping=0.2) == pytest.approx([0.2] * 4)
    annealed = through("ratio_clipping", ratio_clipping=0.2, ratio_clipping_annealing="linear")
    assert annealed == pytest.approx([0.2, 0.15, 0.1, 0.05])
    assert through("ratio_clipping", ratio_clipping=None) == [np.inf] * 4


def test_the_radius() -> None:
    trpo = {"algorithm": "trpo", "max_kl": 0.04}
    assert through("max_kl", **trpo) == pytest.approx([0.04] * 4)
    assert through("max_kl", **trpo, max_kl_final=0.08) == pytest.approx([0.04, 0.05, 0.06, 0.07])
    assert through("max_kl", **trpo, max_kl_final=0.02) == pytest.approx([0.04, 0.035, 0.03, 0.025])


def test_agents_of_one_population_have_schedules_of_their_own() -> None:
    configs = [
        config_of(learning_rate=0.8),
        config_of(learning_rate=0.8, learning_rate_annealing="linear", ratio_clipping=None),
        config_of(learning_rate=0.4, ratio_clipping_annealing="linear"),
    ]
    numbers = scheduled(stacked_numbers(configs), 2, ITERATIONS)
    assert list(numbers["policy_learning_rate"]) == pytest.approx([0.8, 0.4, 0.4])
    assert list(numbers["ratio_clipping"]) == pytest.approx([0.2, np.inf, 0.1])
    assert all(value.dtype == np.float32 and value.shape == (3,) for value in numbers.values())
