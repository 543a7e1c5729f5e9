"""Pools of ordinary Gymnasium environments, stepped one after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import gymnasium
import numpy as np

from minutiae.control.environments.base import BasePool
from minutiae.control.environments.spaces import action_codec, observation_codec


def time_limit_of(environment: gymnasium.Env) -> int | None:
    """The limit of the outermost `TimeLimit` wrapper, else the one registered with the environment's id."""
    inner: gymnasium.Env | None = environment
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, gymnasium.wrappers.TimeLimit):
            return int(inner._max_episode_steps)
        inner = inner.env
    limit = environment.spec.max_episode_steps if environment.spec is not None else None
    return None if limit is None else int(limit)


class GymnasiumPool(BasePool):
    """R environments in a list.

    A plain loop, not `gymnasium.vector.SyncVectorEnv`: nothing is autoreset, no information dictionaries are merged,
    nothing is deep-copied and no class-level metadata is touched.
    """

    def __init__(
        self, build: Callable[[], gymnasium.Env], seeds: Sequence[int], name: str = "environment"
    ) -> None:
        self._environments = [build() for _ in seeds]
        self._seeds: Sequence[int | None] = [int(seed) for seed in seeds]
        one = self._environments[0]
        super().__init__(
            len(self._environments),
            observation_codec(one.observation_space, name),
            action_codec(one.action_space, name),
            time_limit_of(one),
        )
        self._size = self.observation_space.shape[0]
        self._plain = isinstance(one.observation_space, gymnasium.spaces.Box)

    def _write(self, out: np.ndarray, index: int, observation: object) -> None:
        if self._plain:
            out[index] = np.asarray(observation).reshape(-1)
        else:
            out[index] = gymnasium.spaces.flatten(self._environments[0].observation_space, observation)

    def _reset(self, rows: np.ndarray) -> np.ndarray:
        first = np.empty((len(rows), self._size))
        for index, row in enumerate(rows.tolist()):
            observation, _ = self._environments[row].reset(seed=self._seeds[row])
            self._write(first, index, observation)
        if not self._started:
            self._seeds = [None] * self.rows
        return first

    def _step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        observations = np.empty((self.rows, self._size))
        rewards = np.empty(self.rows)
        terminated = np.empty(self.rows, dtype=np.bool_)
        truncated = np.empty(self.rows, dtype=np.bool_)
        for row, (environment, action) in enumerate(
            zip(self._environments, self._actions.split(actions), strict=True)
        ):
            observation, rewards[row], terminated[row], truncated[row], _ = environment.step(action)
            self._write(observations, row, observation)
        return observations, rewards, terminated, truncated

    def _close(self) -> None:
        for environment in self._environments:
            environment.close()
