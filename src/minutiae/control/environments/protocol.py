"""What a pool is: the protocol every kind of environment is served through. No backend is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

ActionSpace: TypeAlias = Box | Discrete | MultiDiscrete
"""The action spaces a pool speaks: a flat `Box` [A], `Discrete` from 0, or a flat `MultiDiscrete` from 0."""


class Step(NamedTuple):
    """One real transition of every row of a pool.

    | field        | shape  | type    | meaning                                                              |
    |--------------|--------|---------|----------------------------------------------------------------------|
    | observations | [R, O] | float64 | the true successors: never the first observation of the next episode |
    | rewards      | [R]    | float64 | raw rewards                                                          |
    | terminated   | [R]    | bool    | the episode ended inside the problem                                 |
    | truncated    | [R]    | bool    | the episode was cut from outside; never true where `terminated` is   |
    """

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


@runtime_checkable
class Pool(Protocol):
    """R environments of one kind, stepped together.

    The caller resets a row exactly when it has finished; nothing resets by itself and every call of `step`
    is one real transition in every row. `minutiae.control.environments.testing.PoolConformance` checks it.
    """

    rows: int
    """R, the number of environments."""
    observation_space: Box
    """Space of one row's flattened observation, shape (O,), float64."""
    action_space: ActionSpace
    """Space of one row's action, as `step` takes it."""
    time_limit: int | None
    """Steps after which an episode is truncated, `None` where that is not known."""
    autoreset: str
    """What the library below does with finished episodes: `disabled`, `next_step` or `same_step`."""

    def reset(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Start a new episode in the named rows (all of them by default) and return their first observations.

        The first call resets all rows from their seeds; later episodes continue each row's own random stream.

        Args:
            rows: distinct row numbers [K], or a boolean mask [R].

        Returns:
            First observations [K, O] float64, in the order of `rows`.
        """
        ...

    def step(self, actions: np.ndarray) -> Step:
        """Act once in every row.

        Args:
            actions: [R, A] float for a `Box`, [R] whole numbers for `Discrete`, [R, K] for `MultiDiscrete`.

        Raises:
            RuntimeError: a finished row has not been reset.
        """
        ...

    def close(self) -> None:
        """Release everything; harmless when repeated."""
        ...


@dataclass(frozen=True, kw_only=True)
class EnvironmentFacts:
    """What a policy and a budget need to know of an environment before a pool of it exists."""

    environment: str
    """The name as the user wrote it."""
    backend: str
    """`envpool`, `gymnasium` or `factory`."""
    observation_size: int
    """O, the length of a flattened observation."""
    observation_space: Box
    """Space of one row's flattened observation, shape (O,), float64."""
    action_space: ActionSpace
    """Space of one row's action, as `Pool.step` takes it."""
    time_limit: int | None
    """Steps after which an episode is truncated, `None` where that is not known."""


def row_numbers(rows: np.ndarray | Sequence[int] | None, count: int) -> np.ndarray:
    """Row numbers [K] int32 from row numbers, a boolean mask or `None` for all `count` rows.

    Raises:
        ValueError: a row that does not exist, or is named twice.
    """
    if rows is None:
        return np.arange(count, dtype=np.int32)
    named = np.asarray(rows)
    if named.dtype == np.bool_:
        if named.shape != (count,):
            raise ValueError(f"a mask of rows has shape ({count},), not {named.shape}")
        return np.flatnonzero(named).astype(np.int32)
    numbers = named.astype(np.int32).reshape(-1)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count or np.unique(numbers).size < numbers.size):
        raise ValueError(f"rows are distinct numbers from 0 to {count - 1}, not {numbers.tolist()}")
    return numbers
