"""PPO finds the values that the probes have in closed form, for both kinds of end, reset and action.

Four agents learn at once, which differ in what the table below calls their levels: one program serves all probes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from minutiae.control.population import Population, agent_of
from minutiae.details import Config

pytestmark = pytest.mark.usefixtures("quick_compilation")

STEPS = 20
"""Steps of a rollout: whole episodes of every probe, so that a rollout's end never cuts one."""

DISCOUNTS = (0.7, 0.8, 0.9, 0.95)
KINDS = ("", "_continuous")
GENTLE: dict[str, Any] = {"learning_rate": 0.01, "action_bound": None, "initial_log_standard_deviation": -0.5}
"""For actions that matter: beyond the box, or with a deviation shrunk too soon, they would never be found."""


def learned(environment: str, observations: Sequence[float], levels: Sequence[dict[str, Any]]) -> np.ndarray:
    """What each of the four agents holds the observations to be worth after 2000 steps: `[4, observations]`."""
    return taught(environment, levels)[0](observations)


def taught(environment: str, levels: Sequence[dict[str, Any]]) -> tuple[Any, Any]:
    """Four agents trained; their values, and their most probable actions, as functions of observations."""
    plain: dict[str, Any] = {
        "observation_normalization": None,
        "reward_scaling": None,
        "reward_clipping": None,
        "gradient_clipping": None,
        "learning_rate": 0.02,
    }
    configs = [
        Config(
            environment=environment,
            environments=2,
            rollout_length=STEPS,
            steps=2000,
            epochs=8,
            minibatches=2,
            policy_hidden_sizes=(8,),
            value_hidden_sizes=(8,),
            **(plain | level),
        )
        for level in levels
    ]
    population = Population(configs, [0, 1, 2, 3], threads=1)
    try:
        while not population.finished:
            assert all(report is not None and report.sound for report in population.iterate())
    finally:
        population.close()
    policy, parameters = population.policy, [agent_of(population.state.parameters, agent) for agent in range(4)]

    def column(observations: Sequence[float]) -> np.ndarray:
        return np.array(observations, np.float32)[:, None]

    def values(observations: Sequence[float]) -> np.ndarray:
        return np.stack([policy.value(mine["value"], column(observations)) for mine in parameters])

    def actions(observations: Sequence[float]) -> np.ndarray:
        modes = [
            policy.distribution.mode(policy.distribution_of(mine["policy"], column(observations)))
            for mine in parameters
        ]
        return np.stack(modes)[..., 0]

    return values, actions


def by_discount(**levels: Any) -> list[dict[str, Any]]:
    return [{"discount": discount, **levels} for discount in DISCOUNTS]


@pytest.mark.parametrize("kind", KINDS)
def test_one_step(kind: str) -> None:
    np.testing.assert_allclose(learned(f"probes:constant_reward{kind}", [0], by_discount()), np.ones((4, 1)), atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_dependence_on_the_observation(kind: str) -> None:
    values = learned(f"probes:observation_reward{kind}", [-1, 1], by_discount())
    np.testing.assert_allclose(values, [[-1, 1]] * 4, atol=0.02)


@pytest.mark.parametrize("door", ["probes:two_step", "training_probes:two_step_next_step"])
def test_two_steps(door: str) -> None:
    values = learned(door, [0, 1], by_discount())
    np.testing.assert_allclose(values, [[discount, 1] for discount in DISCOUNTS], atol=0.02)


@pytest.mark.parametrize("door", ["probes:two_step_continuous", "training_probes:two_step_continuous_same_step"])
def test_two_steps_continuous(door: str) -> None:
    values = learned(door, [0, 1], by_discount())
    np.testing.assert_allclose(values, [[discount, 1] for discount in DISCOUNTS], atol=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_discounting(kind: str) -> None:
    values = learned(f"probes:discounting{kind}", range(5), by_discount())
    expected = [[discount ** (4 - k) for k in range(5)] for discount in DISCOUNTS]
    np.testing.assert_allclose(values, expected, atol=0.05)


def test_dependence_on_the_action() -> None:
    values, actions = taught("probes:action_reward", by_discount())
    np.testing.assert_allclose(values([0]), np.ones((4, 1)), atol=0.05)
    np.testing.assert_array_equal(actions([0]), np.ones((4, 1)))
    values, actions = taught("probes:action_reward_continuous", by_discount(**GENTLE))
    np.testing.assert_allclose(values([0]), np.zeros((4, 1)), atol=0.05)
    np.testing.assert_allclose(actions([0]), np.full((4, 1), 0.5), atol=0.1)


def test_dependence_on_the_action_and_the_observation() -> None:
    values, actions = taught("probes:matching", by_discount())
    np.testing.assert_allclose(values([-1, 1]), np.ones((4, 2)), atol=0.1)
    np.testing.assert_array_equal(actions([-1, 1]), [[0, 1]] * 4)
    values, actions = taught("probes:matching_continuous", by_discount(**GENTLE))
    np.testing.assert_allclose(values([-1, 1]), np.zeros((4, 2)), atol=0.05)
    np.testing.assert_allclose(actions([-1, 1]), [[-0.5, 0.5]] * 4, atol=0.15)


# One agent for each level of truncation_bootstrap; with gae_lambda = 1 the values are exact at any discount.
DISCOUNT = 0.8
TRUNCATIONS = ("terminal", "bootstrap", "bootstrap_self", "mask_delta")
BY_TRUNCATION = [
    {"truncation_bootstrap": level, "gae_lambda": 1.0, "discount": DISCOUNT, "learning_rate": 0.03}
    for level in TRUNCATIONS
]
FOREVER = 1 / (1 - DISCOUNT)
TEN_STEPS = np.mean([(1 - DISCOUNT**n) / (1 - DISCOUNT) for n in range(1, 11)])
DOORS = [f"probes:truncated{kind}" for kind in KINDS] + [
    f"training_probes:truncated{kind}_{mode}" for kind in KINDS for mode in ("next_step", "same_step")
]


@pytest.mark.parametrize("door", DOORS)
def test_a_time_limit_is_no_death_where_it_is_bootstrapped(door: str) -> None:
    # v = 1 + 0.8 v in every way of looking beyond the limit, since all observations are the same; as a death, the
    # best constant for what is left of ten steps.
    values = learned(door, [0], BY_TRUNCATION)
    np.testing.assert_allclose(values, [[TEN_STEPS], [FOREVER], [FOREVER], [FOREVER]], rtol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_a_death_is_a_death_at_every_level(kind: str) -> None:
    np.testing.assert_allclose(learned(f"probes:terminated{kind}", [0], BY_TRUNCATION), [[TEN_STEPS]] * 4, rtol=0.01)


def test_each_level_of_truncation_bootstrap_has_its_own_fixed_point() -> None:
    # Observations 0, 1, and cut; the true successor of the cut is observation 0 again; rewards 0, 1.
    values = learned("training_probes:cycle", [0, 1], BY_TRUNCATION)
    terminal, bootstrap, bootstrap_self, mask_delta = values
    np.testing.assert_allclose(terminal, [DISCOUNT, 1], rtol=0.02)
    # V(1) = 1 + 0.8 V(0) and V(0) = 0.8 V(1)
    np.testing.assert_allclose(bootstrap, [DISCOUNT / (1 - DISCOUNT**2), 1 / (1 - DISCOUNT**2)], rtol=0.02)
    # V(1) = 1 + 0.8 V(1) and V(0) = 0.8 V(1)
    np.testing.assert_allclose(bootstrap_self, [DISCOUNT * FOREVER, FOREVER], rtol=0.02)
    # Nothing is learned of V(1), and V(0) = 0.8 V(1)
    np.testing.assert_allclose(mask_delta[0], DISCOUNT * mask_delta[1], atol=0.02)
    assert abs(mask_delta[1] - 1) > 0.1 and abs(mask_delta[1] - bootstrap[1]) > 0.1


def test_the_end_of_a_rollout_is_no_end_where_it_is_bootstrapped() -> None:
    levels = [
        {"final_state_bootstrap": level, "discount": 0.9, "gae_lambda": 1.0, "learning_rate": 0.03}
        for level in ("next", "self", "zero", "next")
    ]
    levels[3]["gae_lambda"] = 0.5
    # Cut to zero after n = 1 ... 20 steps: the best constant for them.
    cut = np.mean([(1 - 0.9**n) / (1 - 0.9) for n in range(1, STEPS + 1)])
    values = learned("training_probes:endless", [0], levels)
    np.testing.assert_allclose(values, [[10], [10], [cut], [10]], rtol=0.02)
