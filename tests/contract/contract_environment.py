"""Environments of the contract table: what they show and pay depends on their seed alone. Factories only, no tests."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Tape(gymnasium.Env):
    """Episodes of two steps, which terminate, and of three, which are cut, in turn.

    An observation is (noise around 1, noise, step in the episode); a reward is noise around 2. Actions are two numbers
    between bounds that differ, one pair far from symmetric.
    """

    lengths = (2, 3)

    def __init__(self) -> None:
        self.observation_space = Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = Box(np.array([-0.5, -1.0]), np.array([0.5, 2.0]), dtype=np.float64)
        self.episode = -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.episode += 1
        self.time = 0
        return self._see(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.time += 1
        over = self.time == self.lengths[self.episode % 2]
        terminates = self.episode % 2 == 0
        reward = 2 + 3 * self.np_random.standard_normal()
        return self._see(), reward, over and terminates, over and not terminates, {}

    def _see(self) -> np.ndarray:
        first, second = self.np_random.standard_normal(2)
        return np.array([1 + 2 * first, second, float(self.time)])


class OtherTape(Tape):
    lengths = (4, 1)


def tape() -> gymnasium.Env:
    return Tape()


def other_tape() -> gymnasium.Env:
    return OtherTape()
