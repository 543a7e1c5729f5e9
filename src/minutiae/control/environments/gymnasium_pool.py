"""Pools of ordinary Gymnasium environments, stepped one after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np

from minutiae.control.environments.base import BasePool
from minutiae.control.environments.blame import Blame, close_all, declared
from minutiae.control.environments.spaces import action_codec, check_observation, observation_codec
from minutiae.errors import UnsupportedEnvironment

_FLAGS = (False, True)


def time_limit_of(environment: gymnasium.Env) -> int | None:
    """The limit of the outermost `TimeLimit` wrapper, else the one registered with the environment's id."""
    inner = environment
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, gymnasium.wrappers.TimeLimit):
            return int(inner._max_episode_steps)
        inner = inner.env
    limit = environment.spec.max_episode_steps if environment.spec is not None else None
    return None if limit is None else int(limit)


class GymnasiumPool(BasePool):
    """R environments in a list.

    A plain loop rather than `gymnasium.vector.SyncVectorEnv`: nothing is reset by itself, no information
    dictionaries are merged, no observation is deep-copied and no class-level metadata is touched.

    Args:
        build: makes one environment; called once per seed.
        seeds: R whole numbers from 0, given to the first `reset` of each environment.
        name: how messages call the environment.
    """

    def __init__(self, build: Callable[[], gymnasium.Env], seeds: Sequence[int], name: str = "the environment") -> None:
        self._name = name
        self._environments = [build() for _ in seeds]
        self._seeds: list[int | None] = [int(seed) for seed in seeds]
        one = self._environments[0]
        if not isinstance(one, gymnasium.Env):
            raise UnsupportedEnvironment(
                f"{name} built something of type {type(one).__name__}; allowed: a gymnasium.Env, or a "
                "gymnasium.vector.VectorEnv from a factory that takes num_envs"
            )
        if len({id(environment.unwrapped) for environment in self._environments}) < len(seeds):
            # Each step of one row would move the others, and nobody would notice.
            raise UnsupportedEnvironment(
                f"{name} built the same environment for several rows; allowed: a new one at each call; "
                "create it inside of the factory"
            )
        self._space = declared(one, "observation_space", name)
        observations = observation_codec(self._space, name)
        actions = action_codec(declared(one, "action_space", name), name)
        super().__init__(len(seeds), observations.flat_space, actions.flat_space, time_limit_of(one))
        self._resetting, self._stepping = Blame(name, "reset"), Blame(name, "stepped")
        self._vector = isinstance(self._space, gymnasium.spaces.Box) and len(self._space.shape) == 1
        self._size = observations.flat_space.shape[0]
        self._split = actions.split

    def _flatten(self, observation: Any) -> Any:
        # Assigned to a row as it is, a scalar or a single number would be repeated over all of it.
        if not self._vector or np.shape(observation) != self._space.shape:
            check_observation(self._space, observation, self._name)
            return np.asarray(gymnasium.spaces.flatten(self._space, observation))
        return observation

    def _reset(self, rows: np.ndarray) -> np.ndarray:
        first = np.empty((len(rows), self._size))
        with self._resetting:
            for index, row in enumerate(rows.tolist()):
                observation, _ = self._environments[row].reset(seed=self._seeds[row])
                self._seeds[row] = None
                first[index] = self._flatten(observation)
        return first

    def _step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        observations, rewards = np.empty((self.rows, self._size)), np.empty(self.rows)
        terminated, truncated = np.empty(self.rows, np.bool_), np.empty(self.rows, np.bool_)
        with self._stepping:
            for row, action in enumerate(self._split(actions)):
                observation, rewards[row], ended, cut, _ = self._environments[row].step(action)
                if ended not in _FLAGS or cut not in _FLAGS:  # NaN and "False" are true where a bool is wanted
                    raise UnsupportedEnvironment(
                        f"the environment {self._name} gave terminated = {ended!r} and truncated = {cut!r}; "
                        "allowed: True, False, 1 or 0; mend its step"
                    )
                terminated[row], truncated[row] = ended, cut
                observations[row] = self._flatten(observation)
        return observations, rewards, terminated, truncated

    def render(self) -> np.ndarray:
        """The picture of row 0 now, [H, W, 3] uint8."""
        return np.asarray(self._environments[0].render())

    def _close(self) -> None:
        close_all(self._environments, self._name)
