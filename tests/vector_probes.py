"""Vector environments in each autoreset mode, well behaved and not. Factories only, no tests here."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

import probes


def _vector(factory: Any, num_envs: int, mode: AutoresetMode) -> VectorEnv:
    return SyncVectorEnv([factory] * num_envs, copy=False, autoreset_mode=mode)


def counter_disabled(num_envs: int) -> VectorEnv:
    return _vector(probes.counter, num_envs, AutoresetMode.DISABLED)


def counter_next_step(num_envs: int) -> VectorEnv:
    return _vector(probes.counter, num_envs, AutoresetMode.NEXT_STEP)


def counter_same_step(num_envs: int) -> VectorEnv:
    return _vector(probes.counter, num_envs, AutoresetMode.SAME_STEP)


_cart_pole = functools.partial(gymnasium.make, "CartPole-v1")


def cart_pole_disabled(num_envs: int) -> VectorEnv:
    return _vector(_cart_pole, num_envs, AutoresetMode.DISABLED)


def cart_pole_next_step(num_envs: int) -> VectorEnv:
    return _vector(_cart_pole, num_envs, AutoresetMode.NEXT_STEP)


def cart_pole_same_step(num_envs: int) -> VectorEnv:
    return _vector(_cart_pole, num_envs, AutoresetMode.SAME_STEP)


def cart_pole_processes(num_envs: int) -> VectorEnv:
    return gymnasium.vector.AsyncVectorEnv([_cart_pole] * num_envs, autoreset_mode=AutoresetMode.NEXT_STEP)


class Blackjack(gymnasium.Wrapper):
    """Tuple observations; a dictionary when asked, to try both shapes of `final_obs`."""

    def __init__(self, named: bool = False) -> None:
        super().__init__(gymnasium.make("Blackjack-v1"))
        self.named = named
        if named:
            self.observation_space = gymnasium.spaces.Dict(
                {"player": Discrete(32), "dealer": Discrete(11), "ace": Box(0, 1, (1,), np.float32)}
            )

    def _seen(self, observation: tuple[int, int, int]) -> Any:
        player, dealer, ace = observation
        return {"player": player, "dealer": dealer, "ace": np.array([ace], np.float32)} if self.named else observation

    def reset(self, **options: Any) -> tuple[Any, dict]:
        observation, info = self.env.reset(**options)
        return self._seen(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._seen(observation), float(reward), terminated, truncated, info


def blackjack() -> gymnasium.Env:
    return Blackjack()


def blackjack_named() -> gymnasium.Env:
    return Blackjack(named=True)


def blackjack_same_step(num_envs: int) -> VectorEnv:
    return _vector(blackjack, num_envs, AutoresetMode.SAME_STEP)


def blackjack_named_same_step(num_envs: int) -> VectorEnv:
    return _vector(blackjack_named, num_envs, AutoresetMode.SAME_STEP)


class Native(VectorEnv):
    """A vector environment of its own making, whose episodes last one step; it ignores `reset_mask`."""

    def __init__(self, num_envs: int, metadata: dict[str, Any]) -> None:
        self.num_envs = num_envs
        self.metadata = metadata
        self.single_observation_space = Box(-1.0, 1.0, (1,), np.float32)
        self.single_action_space = Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict]:
        return np.zeros((self.num_envs, 1), np.float32), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        flags = np.ones(self.num_envs, bool)
        return np.zeros((self.num_envs, 1), np.float32), np.ones(self.num_envs), flags, ~flags, {}


def native_next_step(num_envs: int) -> VectorEnv:
    return Native(num_envs, {"autoreset_mode": AutoresetMode.NEXT_STEP})


def native_silent(num_envs: int) -> VectorEnv:
    return Native(num_envs, {})


def native_without_final(num_envs: int) -> VectorEnv:
    return Native(num_envs, {"autoreset_mode": AutoresetMode.SAME_STEP})


def not_a_vector(num_envs: int) -> gymnasium.Env:
    return probes.counter()


def not_an_environment() -> object:
    return object()


def fails_at_the_third_step() -> gymnasium.Env:
    class Failing(probes.Probe):
        length = 10

        def pay(self, action: float) -> float:
            if self.time == 2:
                raise ValueError("the wheel came off")
            return 1.0

    return Failing()


def dies_at_the_third_step() -> gymnasium.Env:
    import os

    class Dying(probes.Probe):
        length = 10

        def pay(self, action: float) -> float:
            if self.time == 2:
                os._exit(3)
            return 1.0

    return Dying()


def not_finite() -> gymnasium.Env:
    class NotFinite(probes.Probe):
        length = 3

        def see(self) -> np.ndarray:
            return np.array([[0.0, np.nan, np.inf, -np.inf][self.time]])

    return NotFinite()


def both_flags() -> gymnasium.Env:
    """Three steps that end in a death at the very limit: both flags are up."""

    class Both(probes.Probe):
        length = 3

    return gymnasium.wrappers.TimeLimit(Both(), 3)
