"""The bookkeeping every pool shares: which rows await a reset, and that termination wins over truncation."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from gymnasium.spaces import Box

from minutiae.control.environments.protocol import ActionSpace, Step, row_numbers


class BasePool(ABC):
    """Turns `_reset` and `_step` of one backend into the two methods of a `Pool`."""

    autoreset = "disabled"

    def __init__(self, rows: int, observation_space: Box, action_space: ActionSpace, time_limit: int | None) -> None:
        self.rows = rows
        self.observation_space = observation_space
        self.action_space = action_space
        self.time_limit = time_limit
        self._awaiting = np.ones(rows, dtype=np.bool_)
        self._blocked = True  # whether any row awaits a reset: a plain bool, cheap to test at every step
        self._started = False
        self._closed = False

    def reset(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Start new episodes; see `Pool.reset`."""
        if self._closed:
            raise RuntimeError("this pool is closed")
        numbers = row_numbers(rows, self.rows)
        if not self._started and numbers.size < self.rows:
            raise RuntimeError("the first reset of a pool resets all of its rows")
        if not numbers.size:
            return np.empty((0, *self.observation_space.shape), dtype=np.float64)
        first = self._reset(numbers)
        self._started = True
        self._awaiting[numbers] = False
        self._blocked = bool(self._awaiting.any())
        return first

    def step(self, actions: np.ndarray) -> Step:
        """Act once in every row; see `Pool.step`."""
        if self._blocked:
            self._refuse_to_step()
        observations, rewards, terminated, truncated = self._step(actions)
        # Both flags may be up at once; a death at the time limit is still a death.
        truncated = np.greater(truncated, terminated)
        self._awaiting = np.logical_or(terminated, truncated)
        self._blocked = bool(self._awaiting.any())
        return Step(observations, rewards, terminated, truncated)

    def close(self) -> None:
        """Release everything; harmless when repeated."""
        if not self._closed:
            self._closed = True
            self._blocked = True
            self._close()

    def _refuse_to_step(self) -> None:
        if self._closed:
            raise RuntimeError("this pool is closed")
        waiting = np.flatnonzero(self._awaiting).tolist()
        raise RuntimeError(f"rows {waiting} have no running episode: call reset(rows) before the next step")

    @abstractmethod
    def _reset(self, rows: np.ndarray) -> np.ndarray:
        """First observations [K, O] of new episodes in `rows` [K] int32, K >= 1."""

    @abstractmethod
    def _step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Fresh arrays: observations [R, O], rewards [R] float64, terminated [R], truncated [R] bool."""

    @abstractmethod
    def _close(self) -> None:
        """Release what the backend holds."""
