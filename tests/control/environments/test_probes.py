"""The probe environments do what their table says, so that what is proved with them is proved."""

from __future__ import annotations

import numpy as np
import pytest

import probes
from minutiae.control.environments import Pool, make_pool

GAMMA = 0.9


def episode(pool: Pool, action: float) -> tuple[list[float], list[float], bool]:
    """Observations before each step, rewards, and whether the episode terminated."""
    observations, rewards = [float(pool.reset()[0, -1])], []
    shape = (1, *pool.action_space.shape)
    while True:
        step = pool.step(np.full(shape, action))
        rewards.append(float(step.rewards[0]))
        if step.terminated[0] or step.truncated[0]:
            return observations, rewards, bool(step.terminated[0])
        observations.append(float(step.observations[0, -1]))


def value(rewards: list[float]) -> float:
    return sum(GAMMA**power * reward for power, reward in enumerate(rewards))


@pytest.mark.parametrize("kind", ["", "_continuous"])
@pytest.mark.parametrize(
    ("name", "action", "observations", "rewards"),
    [
        ("constant_reward", 0, [0], [1]),
        ("two_step", 1, [0, 1], [0, 1]),
        ("discounting", 0, [0, 1, 2, 3, 4], [0, 0, 0, 0, 1]),
        ("terminated", 0, [0] * 10, [1] * 10),
        ("truncated", 0, [0] * 10, [1] * 10),
        ("counter", 0, [0, 1], [0, 1]),
    ],
)
def test_what_is_seen_and_paid(
    name: str, kind: str, action: float, observations: list[float], rewards: list[float]
) -> None:
    pool = make_pool(f"probes:{name}{kind}", [1])
    assert episode(pool, action) == (observations, rewards, name != "truncated")
    assert pool.time_limit == (10 if name == "truncated" else None)


def test_values_at_a_discount_of_nine_tenths() -> None:
    assert value(episode(make_pool("probes:two_step", [1]), 0)[1]) == pytest.approx(0.9)
    assert value(episode(make_pool("probes:discounting", [1]), 0)[1]) == pytest.approx(0.9**4)
    # Ten rewards of one and then 1 / (1 - g) for what was cut off: as if it had gone on.
    rewards = episode(make_pool("probes:truncated", [1]), 0)[1]
    assert value([*rewards, 1 / (1 - GAMMA)]) == pytest.approx(1 / (1 - GAMMA))
    # Ten rewards of one and nothing after: (1 - g^n) / (1 - g) with n steps to go.
    rewards = episode(make_pool("probes:terminated", [1]), 0)[1]
    assert [value(rewards[10 - n :]) for n in (1, 2, 10)] == pytest.approx([1, 1.9, (1 - 0.9**10) / 0.1])


def test_coins_fall_both_ways_and_pay_what_they_show() -> None:
    pool = make_pool("probes:observation_reward", range(40))
    shown = pool.reset()[:, 0]
    assert set(shown) == {-1.0, 1.0}
    np.testing.assert_array_equal(pool.step(np.zeros(40, int)).rewards, shown)


def test_actions_pay() -> None:
    assert [episode(make_pool("probes:action_reward", [1]), action)[1] for action in (0, 1)] == [[-1], [1]]
    pool = make_pool("probes:action_reward_continuous", [1])
    assert [episode(pool, action)[1] for action in (0.5, 0.0, -1.0)] == [[0], [-0.25], [-2.25]]
    pool = make_pool("probes:matching", range(40))
    sign = pool.reset()[:, 0]
    np.testing.assert_array_equal(pool.step((sign > 0).astype(int)).rewards, np.ones(40))
    pool = make_pool("probes:matching_continuous", range(40))
    sign = pool.reset()[:, 0]
    np.testing.assert_array_equal(pool.step(sign[:, None]).rewards, np.full(40, -0.25))


@pytest.mark.parametrize("name", probes.NAMES)
def test_every_probe_is_a_registered_id(name: str) -> None:
    for kind in ("", "_continuous"):
        pool = make_pool(f"gymnasium:probes:probes/{name}{kind}-v0", [1])
        pool.reset()
        pool.step(np.zeros((1, *pool.action_space.shape)))
        pool.close()
