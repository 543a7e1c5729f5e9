"""Stand-ins that write down what passes through them: a pool and a compiled program. No tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


class RecordingPool:
    """A pool that remembers every transition, `[time, rows, ...]`."""

    def __init__(self, pool: Any, environment: str, seeds: list[int]) -> None:
        self._pool, self.environment, self.seeds = pool, environment, seeds
        self.transitions: list[tuple[np.ndarray, ...]] = []

    def reset(self, rows: np.ndarray | None = None) -> np.ndarray:
        first = self._pool.reset(rows)
        if rows is None:
            self._current = first.copy()
        else:
            self._current[rows] = first
        return first

    def step(self, actions: np.ndarray) -> Any:
        before = self._current.copy()
        step = self._pool.step(actions)
        self.transitions.append((before, actions.copy(), *step))
        self._current = step.observations.copy()
        return step

    def close(self) -> None:
        self._pool.close()


class RecordingProgram:
    """Stands for a compiled program: remembers its arguments and answers with `answer` of them."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self._answer = answer
        self.calls: list[tuple[Any, ...]] = []

    def result(self) -> Callable[..., Any]:
        def program(*arguments: Any) -> Any:
            self.calls.append(jax.tree.map(np.array, arguments))
            return self._answer(*arguments)

        return program
