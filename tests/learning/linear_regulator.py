"""A continuous task whose optimum is known exactly: the scalar linear-quadratic regulator. No tests here.

x_{t+1} = x_t + u_t, paid -(x_t^2 + u_t^2), for `HORIZON` steps from x_0 ~ U(-`REACH`, `REACH`), then cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv

HORIZON = 10
REACH = 3.0


def optimal_return() -> float:
    """Mean return of the best policy: -p_0 E[x_0^2], by the Riccati recursion p_t = 1 + p_{t+1} / (1 + p_{t+1})."""
    cost_to_go = 0.0  # nothing is paid for where the last step leads
    for _ in range(HORIZON):
        cost_to_go = 1.0 + cost_to_go / (1.0 + cost_to_go)
    return -cost_to_go * REACH**2 / 3.0


def idle_return() -> float:
    """Mean return of never acting: x stays where it began."""
    return -HORIZON * REACH**2 / 3.0


class LinearRegulator(VectorEnv):
    """`num_envs` regulators; the observation is x. Finished rows wait until `reset` is asked for them."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012 - Gymnasium's own spelling

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_observation_space = Box(-np.inf, np.inf, (1,), np.float64)
        self.single_action_space = Box(-REACH, REACH, (1,), np.float64)
        self._generators = [np.random.default_rng() for _ in range(num_envs)]
        self._x = np.zeros(num_envs)
        self._time = np.zeros(num_envs, int)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            self._generators = [np.random.default_rng(one) for one in seed]
        chosen = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        for row in np.flatnonzero(chosen):
            self._x[row] = self._generators[row].uniform(-REACH, REACH)
            self._time[row] = 0
        return self._x[:, None].copy(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        control = np.asarray(actions, np.float64).reshape(self.num_envs)
        rewards = -(self._x**2 + control**2)
        self._x = self._x + control
        self._time += 1
        cut = self._time >= HORIZON
        return self._x[:, None].copy(), rewards, np.zeros(self.num_envs, bool), cut, {}


def linear_regulator(num_envs: int) -> VectorEnv:
    """The environment `linear_regulator:linear_regulator`."""
    return LinearRegulator(num_envs)
