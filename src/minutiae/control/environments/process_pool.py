"""Pools whose environments run in worker processes, a contiguous share of the rows in each."""

from __future__ import annotations

import itertools
import multiprocessing
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from minutiae.control.environments.base import BasePool
from minutiae.control.environments.protocol import ActionSpace, EnvironmentFacts, Pool, Step
from minutiae.errors import MinutiaeError, RunError

_RESET, _STEP, _CLOSE, _DONE, _FAILED = b"r", b"s", b"c", b"d", b"f"


class _Board:
    """Arrays that the pool and its workers share: actions one way, transitions the other."""

    def __init__(self, rows: int, size: int, action_space: ActionSpace, memory: Any = None) -> None:
        floats = np.issubdtype(action_space.dtype, np.floating)
        shape_of_one = action_space.shape or ()
        width = int(np.prod(shape_of_one))
        fields = {
            "actions": (
                (rows, *shape_of_one),
                np.dtype(np.float64 if floats else np.int64),
                rows * width * 8,
            ),
            "observations": ((rows, size), np.dtype(np.float64), rows * size * 8),
            "rewards": ((rows,), np.dtype(np.float64), rows * 8),
            "terminated": ((rows,), np.dtype(np.bool_), rows),
            "truncated": ((rows,), np.dtype(np.bool_), rows),
        }
        total = sum(length for _, _, length in fields.values())
        self.memory = memory if memory is not None else multiprocessing.get_context("spawn").RawArray("b", total)
        start = 0
        for name, (shape, dtype, length) in fields.items():
            array = np.frombuffer(self.memory, dtype, int(np.prod(shape)), start).reshape(shape)
            setattr(self, name, array)
            start += length

    actions: np.ndarray
    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    def write(self, share: slice, step: Step) -> None:
        self.observations[share], self.rewards[share] = step.observations, step.rewards
        self.terminated[share], self.truncated[share] = step.terminated, step.truncated


class ProcessPool(BasePool):
    """R environments over several processes; results are those of one process.

    Processes are started afresh (`spawn`), so nothing of this one, JAX above all, is copied into them. A
    script that starts them needs the usual `if __name__ == "__main__":`.

    Args:
        environment: its name, which each worker resolves for itself.
        seeds: R whole numbers from 0.
        processes: how many workers, from 1; never more than rows.
        facts: what `describe(environment)` says.
    """

    def __init__(self, environment: str, seeds: Sequence[int], processes: int, facts: EnvironmentFacts) -> None:
        super().__init__(len(seeds), facts.observation_space, facts.action_space, facts.time_limit)
        context = multiprocessing.get_context("spawn")
        self._environment = environment
        self._board = _Board(self.rows, facts.observation_size, facts.action_space)
        edges = np.linspace(0, self.rows, min(processes, self.rows) + 1).astype(int).tolist()
        self._shares = [slice(low, high) for low, high in itertools.pairwise(edges)]
        self._workers: list[tuple[Any, Connection]] = []
        for share in self._shares:
            ours, theirs = context.Pipe()
            arguments = (
                theirs,
                environment,
                [int(seed) for seed in seeds[share]],
                share,
                self.rows,
                facts.observation_size,
                facts.action_space,
                self._board.memory,
            )
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            theirs.close()  # so that a worker's death is an end of file here, not a wait without end
            self._workers.append((process, ours))
        self._gather(range(len(self._workers)))

    def _reset(self, rows: np.ndarray) -> np.ndarray:
        asked = []
        for index, share in enumerate(self._shares):
            inside = np.flatnonzero((rows >= share.start) & (rows < share.stop))
            if inside.size:
                local = (rows[inside] - share.start).astype(np.int32)
                self._tell(index, _RESET + local.tobytes())
                asked.append(index)
        self._gather(asked)
        return self._board.observations[rows]

    def _step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        board = self._board
        board.actions[...] = np.asarray(actions).reshape(board.actions.shape)
        everyone = range(len(self._workers))
        for index in everyone:
            self._tell(index, _STEP)
        self._gather(everyone)
        return (
            board.observations.copy(),
            board.rewards.copy(),
            board.terminated.copy(),
            board.truncated.copy(),
        )

    def _tell(self, index: int, message: bytes) -> None:
        try:
            self._workers[index][1].send_bytes(message)
        except OSError:
            self._report_death(index)

    def _gather(self, indices: Sequence[int]) -> None:
        for index in indices:
            try:
                answer = self._workers[index][1].recv_bytes()
            except (EOFError, OSError):
                self._report_death(index)
            if answer[:1] == _FAILED:
                self.close()
                raise RunError(f"{self._where(index)} failed: {answer[1:].decode()}")

    def _report_death(self, index: int) -> None:
        process = self._workers[index][0]
        process.join(timeout=5)
        self.close()
        raise RunError(
            f"{self._where(index)} died with exit code {process.exitcode}; if it never started, put the code "
            "that trains under: if __name__ == '__main__':"
        )

    def _where(self, index: int) -> str:
        share = self._shares[index]
        return f"the worker of rows {share.start} to {share.stop - 1} of {self._environment}"

    def _close(self) -> None:
        for _, connection in self._workers:
            try:
                connection.send_bytes(_CLOSE)
            except OSError:
                continue  # already gone
        for process, connection in self._workers:
            process.join(timeout=5)
            if process.is_alive():
                process.terminate()
                process.join()
            connection.close()


def _serve(
    connection: Connection,
    environment: str,
    seeds: list[int],
    share: slice,
    rows: int,
    size: int,
    action_space: ActionSpace,
    memory: Any,
) -> None:
    """A worker's life: build its share, then reset and step it as told until told to close."""
    try:
        from minutiae.control.environments.pools import make_pool

        board = _Board(rows, size, action_space, memory)
        pool = make_pool(environment, seeds)
        connection.send_bytes(_DONE)
        while (message := connection.recv_bytes())[:1] != _CLOSE:
            _obey(message, pool, board, share)
            connection.send_bytes(_DONE)
        pool.close()
    except (EOFError, KeyboardInterrupt):
        pass  # the pool is gone, and so is the reason to live
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        if isinstance(error, MinutiaeError):  # the user's own, told already with its place
            text = str(error)
        connection.send_bytes(_FAILED + text.encode())


def _obey(message: bytes, pool: Pool, board: _Board, share: slice) -> None:
    if message[:1] == _RESET:
        local = np.frombuffer(message, np.int32, offset=1)
        board.observations[share.start + local] = pool.reset(local)
    else:
        board.write(share, pool.step(board.actions[share]))
