"""Pools served by EnvPool: C++ environments stepped by its threads. Only this module imports `envpool`."""

from __future__ import annotations

import functools
import importlib.util
import os
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium import spaces

from minutiae.control.environments.base import BasePool
from minutiae.control.environments.protocol import EnvironmentFacts
from minutiae.control.environments.spaces import action_codec, observation_codec
from minutiae.errors import ConfigError, UnsupportedEnvironment

# EnvPool reports a death in the last step of the time limit as a truncation only (`core/env.h`, `Allocate`).
# In these families the limit does nothing but end episodes, so the pool asks for one step more and counts itself.
# Elsewhere rewards may depend on the limit (MiniGrid's do) and EnvPool's own flag is taken.
_FAMILIES_COUNTED_HERE = (
    "envpool.mujoco.gym",
    "envpool.mujoco.dmc",
    "envpool.classic_control",
    "envpool.box2d",
    "envpool.toy_text",
)


@functools.cache
def _envpool() -> ModuleType | None:
    if importlib.util.find_spec("envpool") is None:
        return None
    import envpool

    return envpool


def installed() -> bool:
    """Whether EnvPool can be imported here."""
    return _envpool() is not None


def known_ids() -> tuple[str, ...]:
    """Every id that the installed EnvPool knows; empty without EnvPool."""
    library = _envpool()
    return () if library is None else tuple(library.list_all_envs())


def int32_seed(seed: int) -> int:
    """EnvPool's seeds are 32 bits: smaller ones as they are, larger ones through NumPy's `SeedSequence`."""
    if seed < 0:
        raise ConfigError(f"a seed is a whole number from 0, not {seed}")
    if seed < 2**31:
        return int(seed)
    return int(np.random.SeedSequence(seed).generate_state(1).view(np.int32)[0])


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def facts(environment: str, name: str) -> EnvironmentFacts:
    """Facts read from EnvPool's specification; no environment is built."""
    spec = _specification(name)
    return EnvironmentFacts(
        environment=environment,
        backend="envpool",
        observation_size=observation_codec(spec.observation_space, environment).flat_space.shape[0],
        action_space=action_codec(_single_action(spec.action_space), environment).flat_space,
        time_limit=_time_limit(spec),
    )


@functools.cache
def _specification(name: str) -> Any:
    library = _envpool()
    if library is None:
        raise UnsupportedEnvironment(
            f"{name} needs EnvPool, which is not installed; run: pip install envpool"
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
        spec = library.make_spec(name)
        if spec.config.max_num_players > 1:
            raise UnsupportedEnvironment(
                f"{name} is for several players; one policy learns in one-player environments"
            )
        _ = spec.observation_space, spec.action_space
    return spec


def _single_action(space: spaces.Space) -> spaces.Space:
    """The action space itself, also where EnvPool wraps a lone one in a dictionary."""
    if isinstance(space, spaces.Dict) and len(space.spaces) == 1:
        return next(iter(space.spaces.values()))
    return space


def _time_limit(spec: Any) -> int | None:
    limit = int(getattr(spec.config, "max_episode_steps", 0))
    return limit if 0 < limit < 2**31 - 1 else None


class EnvPoolPool(BasePool):
    """R environments of EnvPool in synchronous mode.

    EnvPool resets a finished row at its next step, with one dummy transition; resetting exactly the finished rows
    (`_reset` with their numbers) before that step means it never happens.
    """

    autoreset = "next_step"

    def __init__(self, name: str, seeds: Sequence[int], threads: int | None = None) -> None:
        spec = _specification(name)
        observations = observation_codec(spec.observation_space, name)
        actions = action_codec(_single_action(spec.action_space), name)
        super().__init__(len(seeds), observations, actions, _time_limit(spec))
        library = _envpool()
        assert library is not None
        self._limit = self.time_limit if _family(library, name) in _FAMILIES_COUNTED_HERE else None
        extra = {} if self._limit is None else {"max_episode_steps": self._limit + 1}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
            self._pool = library.make_gymnasium(
                name,
                num_envs=self.rows,
                num_threads=min(self.rows, threads or usable_cores()),
                seed=[int32_seed(seed) for seed in seeds],
                **extra,
            )
        self._ids = np.arange(self.rows, dtype=np.int32)
        # EnvPool's public `step` spends some 45 us in Python on dictionaries that nobody here reads.
        self._send, self._receive = self._pool._send, self._pool._recv
        keys = list(self._pool._state_keys)
        self._at = {name: keys.index(name) for name in ("done", "trunc", "reward", "elapsed_step")}
        self._nested = isinstance(spec.observation_space, spaces.Dict)
        self._observed = [index for index, key in enumerate(keys) if key.startswith("obs")]
        self._paths = [keys[index].replace("obs:", "").split(".") for index in self._observed]

    def _native(self, state: list[np.ndarray]) -> Any:
        if not self._nested:
            return state[self._observed[0]]
        tree: dict[str, Any] = {}
        for index, path in zip(self._observed, self._paths, strict=True):
            branch = tree
            for part in path[:-1]:
                branch = branch.setdefault(part, {})
            branch[path[-1]] = state[index]
        return tree

    def _reset(self, rows: np.ndarray) -> np.ndarray:
        self._pool._reset(rows)
        return self._observations.flatten(self._native(self._receive()), len(rows))

    def _step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        self._send([self._ids, self._ids, self._actions.batch(actions)])
        state = self._receive()
        at = self._at
        terminated = state[at["done"]]
        if self._limit is not None:
            truncated = state[at["elapsed_step"]] >= self._limit
        else:
            truncated = state[at["trunc"]]
            terminated = terminated & ~truncated
        observations = self._observations.flatten(self._native(state), self.rows)
        return observations, state[at["reward"]].astype(np.float64), terminated, truncated

    def _close(self) -> None:
        self._pool.close()


def _family(library: ModuleType, name: str) -> str:
    return str(library.registration.registry.specs[name][0])
