"""Pools served by EnvPool: C++ environments stepped by its threads. Only this module imports `envpool`."""

from __future__ import annotations

import functools
import importlib.util
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium import spaces

from minutiae.control.environments.base import BasePool
from minutiae.control.environments.protocol import EnvironmentFacts
from minutiae.control.environments.spaces import (
    ActionCodec,
    ObservationCodec,
    action_codec,
    observation_codec,
)
from minutiae.errors import UnsupportedEnvironment

# EnvPool reports a death in the very step of the time limit as a truncation (`core/env.h`, `Allocate`), so
# the two cannot be told apart. In these families the limit does nothing but end episodes: the pool asks
# EnvPool for one step more and counts the limit itself. Elsewhere an environment may end itself at its limit,
# or pay rewards that depend on it, and must be left alone.
_COUNTED_HERE = (
    "envpool.mujoco.gym",
    "envpool.mujoco.dmc",
    "envpool.mujoco.metaworld",
    "envpool.mujoco.myosuite",
    "envpool.mujoco.robotics",
    "envpool.classic_control",
    "envpool.box2d",
    "envpool.toy_text",
)


@dataclass(frozen=True)
class Specification:
    """What EnvPool says of one id: its own spaces, and the ways from and to flat ones."""

    observation_space: spaces.Space
    action_space: spaces.Space
    observations: ObservationCodec
    actions: ActionCodec
    nested: bool
    time_limit: int | None
    family: str


@functools.cache
def _envpool() -> ModuleType | None:
    if importlib.util.find_spec("envpool") is None:
        return None
    import envpool

    return envpool


def installed() -> bool:
    """Whether EnvPool can be imported here."""
    return _envpool() is not None


@functools.cache
def known_ids() -> tuple[str, ...]:
    """Every id that the installed EnvPool knows; empty without EnvPool."""
    library = _envpool()
    return () if library is None else tuple(library.list_all_envs())


def int32_seed(seed: int) -> int:
    """EnvPool's seeds have 32 bits: a smaller seed stays as it is, a larger one goes through `SeedSequence`.

    Args:
        seed: a whole number from 0, of any size.
    """
    if seed < 2**31:
        return int(seed)
    return int(np.random.SeedSequence(int(seed)).generate_state(1).view(np.int32)[0])


def usable_cores() -> int:
    """The number of cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def facts(environment: str, name: str) -> EnvironmentFacts:
    """Facts read from EnvPool's specification of `name`; no environment is built."""
    spec = specification(name)
    return EnvironmentFacts(
        environment=environment,
        backend="envpool",
        observation_size=spec.observations.flat_space.shape[0],
        observation_space=spec.observations.flat_space,
        action_space=spec.actions.flat_space,
        time_limit=spec.time_limit,
    )


@functools.cache
def specification(name: str) -> Specification:
    """Ask EnvPool what `name` is.

    Raises:
        UnsupportedEnvironment: EnvPool cannot make it here, it has several players or unsupported spaces.
    """
    library = _envpool()
    if library is None:
        raise UnsupportedEnvironment(f"{name} needs EnvPool, which is not installed; run: pip install envpool")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
        try:
            spec = library.make_spec(name)
        except (ImportError, RuntimeError) as error:
            raise UnsupportedEnvironment(f"EnvPool cannot make {name} here: {_one_line(error)}") from error
        if spec.config.max_num_players > 1:
            raise UnsupportedEnvironment(f"{name} is for several players; here one policy plays alone")
        observed, acted = spec.observation_space, spec.action_space
    if isinstance(acted, spaces.Dict) and len(acted.spaces) == 1:
        acted = next(iter(acted.spaces.values()))
    limit = int(spec.config.max_episode_steps)
    return Specification(
        observation_space=observed,
        action_space=acted,
        observations=observation_codec(observed, name),
        actions=action_codec(acted, name),
        nested=isinstance(observed, spaces.Dict),
        time_limit=limit if 0 < limit < 2**31 - 1 else None,
        family=str(library.registration.registry.specs[name][0]),
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


class EnvPoolPool(BasePool):
    """R environments of EnvPool in synchronous mode.

    EnvPool resets a finished row when it is next stepped, in a dummy transition. Resetting exactly the
    finished rows before that step means that it never happens.
    """

    autoreset = "next_step"

    def __init__(self, name: str, seeds: Sequence[int], threads: int | None = None, *, rendered: bool = False) -> None:
        spec = specification(name)
        super().__init__(len(seeds), spec.observations.flat_space, spec.actions.flat_space, spec.time_limit)
        library = _envpool()
        assert library is not None
        self._counts = spec.time_limit is not None and spec.family in _COUNTED_HERE
        self._limit = spec.time_limit if spec.time_limit is not None else np.iinfo(np.int32).max
        options: dict[str, Any] = {"render_mode": "rgb_array"} if rendered else {}
        if self._counts:
            options["max_episode_steps"] = self._limit + 1
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*precision lowered by casting.*")
            self._pool = library.make_gymnasium(
                name,
                num_envs=self.rows,
                num_threads=min(self.rows, threads or usable_cores()),
                seed=[int32_seed(seed) for seed in seeds],
                **options,
            )
        self._ids = np.arange(self.rows, dtype=np.int32)
        self._encode, self._flatten = spec.actions.batch, spec.observations.flatten
        # The public `step` spends some 45 us in Python on dictionaries that nobody here reads, about as much
        # as a step of Hopper takes. These three are what it calls.
        self._send, self._receive, self._restart = self._pool._send, self._pool._recv, self._pool._reset
        keys = list(self._pool._state_keys)
        self._done, self._trunc = keys.index("done"), keys.index("trunc")
        self._reward, self._elapsed = keys.index("reward"), keys.index("elapsed_step")
        self._observed = [index for index, key in enumerate(keys) if key.split(":")[0] == "obs"]
        self._paths = [keys[index].removeprefix("obs:").split(".") for index in self._observed] if spec.nested else []

    def _matrix(self, state: list[np.ndarray], rows: int) -> np.ndarray:
        """Observations [rows, O] out of EnvPool's list of arrays."""
        if not self._paths:
            return self._flatten(state[self._observed[0]], rows)
        tree: dict[str, Any] = {}
        for index, path in zip(self._observed, self._paths, strict=True):
            branch = tree
            for part in path[:-1]:
                branch = branch.setdefault(part, {})
            branch[path[-1]] = state[index]
        return self._flatten(tree, rows)

    def _reset(self, rows: np.ndarray) -> np.ndarray:
        self._restart(rows)
        return self._matrix(self._receive(), len(rows))

    def _step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        self._send([self._ids, self._ids, self._encode(actions)])
        state = self._receive()
        # Counted in every family: some of EnvPool's environments forget their own limit (`lane-keeping-v0`).
        terminated, truncated = state[self._done], state[self._elapsed] >= self._limit
        if not self._counts:
            terminated = np.greater(terminated, state[self._trunc])
            truncated = np.logical_or(truncated, state[self._trunc])
        return self._matrix(state, self.rows), state[self._reward].astype(np.float64), terminated, truncated

    def render(self) -> np.ndarray:
        """The picture of row 0 now, [H, W, 3] uint8; the pool must have been made with `rendered=True`."""
        return np.array(self._pool.render()[0])

    def _close(self) -> None:
        self._pool.close()
        del (
            self._pool,
            self._send,
            self._receive,
            self._restart,
        )  # EnvPool's threads end with the last reference
