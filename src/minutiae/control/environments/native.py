"""Observations and actions as an environment itself has them, single or batched. Nothing is stepped here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from minutiae.control.environments import envpool_pool
from minutiae.control.environments.blame import close_all, declared
from minutiae.control.environments.pools import build_vector, builder, takes
from minutiae.control.environments.sources import resolve
from minutiae.control.environments.spaces import action_codec, observation_codec


@dataclass(frozen=True)
class NativeSpaces:
    """The spaces of one row as its environment declares them, and the ways between them and flat arrays."""

    environment: str
    observation_space: spaces.Space
    action_space: spaces.Space

    def flatten(self, observation: Any) -> tuple[np.ndarray, bool]:
        """Flat observations `[R, O]` float64, and whether `observation` was a batch.

        Args:
            observation: of the environment's own space, or a batch of them as a vector environment of
                Gymnasium returns it: every array has a leading axis R. A flat vector `[O]` is taken as well.

        Raises:
            ValueError: it has neither form; the text says which shapes are expected.
        """
        codec = observation_codec(self.observation_space, self.environment)
        size = codec.flat_space.shape[0]
        if _is_flat(observation, size) and not isinstance(self.observation_space, spaces.Discrete):
            return np.asarray(observation, np.float64)[None], False
        rows = _rows(self.observation_space, observation)
        try:
            batch = observation if rows is not None else _lift(self.observation_space, observation)
            return codec.flatten(batch, 1 if rows is None else rows), rows is not None
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise ValueError(
                f"this is no observation of {self.environment}, nor a batch of them: its space is "
                f"{self.observation_space} ({size} numbers when flat)"
            ) from error

    def unflatten(self, actions: np.ndarray, batched: bool) -> Any:
        """Actions of a pool `[R, ...]` -> a batch for a vector environment, or the one action of a single."""
        codec = action_codec(self.action_space, self.environment)
        return codec.batch(actions) if batched else codec.split(actions)[0]


@functools.lru_cache(maxsize=64)
def native_spaces(environment: str) -> NativeSpaces:
    """The environment's own spaces; remembered, so asking again costs nothing.

    Raises:
        UnsupportedEnvironment: as `make_pool`.
    """
    source = resolve(environment)
    if source.backend == "envpool":
        specification = envpool_pool.specification(source.name)
        return NativeSpaces(environment, specification.observation_space, specification.action_space)
    if takes(source.factory, "num_envs"):
        return _native(environment, build_vector(source, 1), "single_")
    return _native(environment, builder(source)(), "")


def _native(environment: str, built: gymnasium.Env | VectorEnv, prefix: str) -> NativeSpaces:
    try:
        observations = declared(built, f"{prefix}observation_space", environment)
        return NativeSpaces(environment, observations, declared(built, f"{prefix}action_space", environment))
    finally:
        close_all([built], environment)


def _first(space: spaces.Space, observation: Any) -> tuple[spaces.Space, Any]:
    """The first leaf of a space and of an observation."""
    while isinstance(space, spaces.Dict | spaces.Tuple) and len(space.spaces):
        key: Any = next(iter(space.spaces)) if isinstance(space, spaces.Dict) else 0
        space = space[key]
        named = isinstance(observation, Mapping)
        observation = observation[key] if named or isinstance(observation, tuple | list) else observation
    return space, observation


def _is_flat(observation: Any, size: int) -> bool:
    return isinstance(observation, np.ndarray) and observation.shape == (size,)


def _rows(space: spaces.Space, observation: Any) -> int | None:
    """R of a batch, `None` for a single observation."""
    leaf, first = _first(space, observation)
    shape = np.shape(first)
    return shape[0] if len(shape) == len(leaf.shape or ()) + 1 else None


def _lift(space: spaces.Space, observation: Any) -> Any:
    """A single observation as a batch of one."""
    if isinstance(space, spaces.Dict):
        return {key: _lift(part, observation[key]) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_lift(part, item) for part, item in zip(space.spaces, observation, strict=True))
    lifted = np.asarray(observation)
    if lifted.shape != (space.shape or ()):
        raise ValueError(f"shape {lifted.shape} is not {space.shape}")
    return lifted[None]
