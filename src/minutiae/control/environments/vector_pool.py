"""Pools over a vector environment of the user's own, whatever it does with finished episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from minutiae.control.environments.base import BasePool
from minutiae.control.environments.blame import Blame, close_all, declared
from minutiae.control.environments.gymnasium_pool import time_limit_of
from minutiae.control.environments.spaces import action_codec, check_observation, observation_codec
from minutiae.errors import UnsupportedEnvironment

_REMEDY = (
    "build it with autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED, or let the factory build one "
    "environment and leave the vectorizing to minutiae"
)


def autoreset_mode_of(vector: VectorEnv, name: str) -> AutoresetMode:
    """The mode a vector environment declares.

    Raises:
        UnsupportedEnvironment: it declares none, or next-step resets that nothing can forestall.
    """
    declared = (getattr(vector, "metadata", None) or {}).get("autoreset_mode")
    try:
        mode = declared if isinstance(declared, AutoresetMode) else AutoresetMode(declared)
    except ValueError:
        raise UnsupportedEnvironment(
            f"{name} does not say how it resets episodes: metadata['autoreset_mode'] is {declared!r}; "
            f"allowed: {', '.join(map(str, AutoresetMode))}; set it, or {_REMEDY}"
        ) from None
    # Gymnasium's own two forget a pending autoreset when `reset` names the row. Of others that is not known,
    # and a finished row could then only be reset by a dummy transition while its companions act.
    if mode is AutoresetMode.NEXT_STEP and not isinstance(vector.unwrapped, SyncVectorEnv | AsyncVectorEnv):
        raise UnsupportedEnvironment(
            f"{name} resets finished episodes at the next step, a dummy transition after each; {_REMEDY}"
        )
    return mode


def vector_time_limit_of(vector: VectorEnv) -> int | None:
    """The limit registered with the id, else that of the first environment inside, where there is one."""
    limit = vector.spec.max_episode_steps if vector.spec is not None else None
    inside = getattr(vector.unwrapped, "envs", None)
    if limit is None and inside:
        return time_limit_of(inside[0])
    return None if limit is None else int(limit)


class VectorPool(BasePool):
    """A `gymnasium.vector.VectorEnv` as a pool.

    | mode      | finished rows                                                           |
    |-----------|-------------------------------------------------------------------------|
    | DISABLED  | `reset` passes `options={"reset_mask": mask}`                           |
    | NEXT_STEP | the same, before the next step, so the dummy transition never happens   |
    | SAME_STEP | `step` takes the true successors from `infos["final_obs"]` and keeps    |
    |           | the first observations of the next episodes, which `reset` then returns |
    """

    def __init__(self, vector: VectorEnv, seeds: Sequence[int], name: str = "the vector environment") -> None:
        self._mode = autoreset_mode_of(vector, name)
        rows = getattr(vector, "num_envs", None)
        if rows != len(seeds):
            raise UnsupportedEnvironment(
                f"{name} has num_envs = {rows} where {len(seeds)} was asked for; build as many as num_envs says"
            )
        self._space = declared(vector, "single_observation_space", name)
        observations = observation_codec(self._space, name)
        actions = action_codec(declared(vector, "single_action_space", name), name)
        super().__init__(len(seeds), observations.flat_space, actions.flat_space, vector_time_limit_of(vector))
        self.autoreset = self._mode.name.lower()
        self._vector, self._name = vector, name
        self._resetting, self._stepping = Blame(name, "reset"), Blame(name, "stepped")
        self._seeds: Any = [int(seed) for seed in seeds]  # Gymnasium's type says int, its text a list too
        self._encode, self._flatten = actions.batch, observations.flatten
        self._next_first = np.empty((self.rows, observations.flat_space.shape[0]))

    def _reset(self, rows: np.ndarray) -> np.ndarray:
        if not self._started:
            return self._reset_vector(seed=self._seeds)[rows]
        if self._mode is AutoresetMode.SAME_STEP:
            if self._awaiting[rows].all():
                return self._next_first[rows]
            if len(rows) < self.rows:
                raise UnsupportedEnvironment(
                    f"{self._name} resets by itself, so running episodes can be cut in all of its rows only; give it "
                    "an autoreset mode that takes a reset_mask, or let all agents reset each iteration, or none"
                )
            return self._reset_vector()[rows]
        mask = np.zeros(self.rows, dtype=np.bool_)
        mask[rows] = True
        return self._reset_vector(options={"reset_mask": mask})[rows]

    def _reset_vector(self, **arguments: Any) -> np.ndarray:
        with self._resetting:
            native, _ = self._vector.reset(**arguments)
            check_observation(self._space, native, self._name, self.rows)
            return self._flatten(native, self.rows)

    def _step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        with self._stepping:
            native, rewards, terminated, truncated, infos = self._vector.step(self._encode(actions))
            # Copies, here and below: a vector environment may hand out its own buffers.
            check_observation(self._space, native, self._name, self.rows)
            observations = np.array(self._flatten(native, self.rows))
            terminated, truncated = self._flags(terminated, "terminated"), self._flags(truncated, "truncated")
            if self._mode is AutoresetMode.SAME_STEP:
                ended = np.flatnonzero(np.logical_or(terminated, truncated))
                if ended.size:
                    self._next_first[ended] = observations[ended]
                    observations[ended] = self._final(infos, ended)
            return observations, self._by_row(np.array(rewards, np.float64), "rewards"), terminated, truncated

    def _by_row(self, values: np.ndarray, what: str) -> np.ndarray:
        # One number for several rows would be broadcast to them all.
        if values.shape != (self.rows,):
            raise UnsupportedEnvironment(
                f"the environment {self._name} gave {what} of shape {values.shape}; allowed: one for each of its "
                f"{self.rows} rows, shape ({self.rows},); mend its step"
            )
        return values

    def _flags(self, values: Any, what: str) -> np.ndarray:
        flags = self._by_row(np.array(values), what)
        if flags.dtype == np.bool_:
            return flags
        if flags.dtype.kind not in "iuf" or not np.isin(flags, (0, 1)).all():
            raise UnsupportedEnvironment(
                f"the environment {self._name} gave {what} = {flags.tolist()!r}; allowed: True, False, 1 or 0 in each "
                "row; mend its step"
            )
        return flags.astype(np.bool_)

    def _final(self, infos: dict[str, Any], ended: np.ndarray) -> np.ndarray:
        """The true successors [len(ended), O] of the rows that ended."""
        if "final_obs" not in infos:
            raise UnsupportedEnvironment(
                f"{self._name} resets finished episodes in the same step and gives no infos['final_obs']; {_REMEDY}"
            )
        final = infos["final_obs"]
        return np.stack([self._flat_row(final, row) for row in ended.tolist()])

    def _flat_row(self, batched: Any, row: int) -> np.ndarray:
        one = _row_of(batched, row, self._space)
        check_observation(self._space, one, self._name)
        return np.asarray(gymnasium.spaces.flatten(self._space, one))

    def _close(self) -> None:
        close_all([self._vector], self._name)


def _row_of(batched: Any, row: int, space: gymnasium.Space) -> Any:
    """One row's observation out of `final_obs`: an array with an entry per row, or a structure of such."""
    if isinstance(batched, dict) and isinstance(space, gymnasium.spaces.Dict):
        return {key: _row_of(batched[key], row, part) for key, part in space.spaces.items()}
    if isinstance(batched, tuple) and isinstance(space, gymnasium.spaces.Tuple):
        return tuple(_row_of(batch, row, part) for batch, part in zip(batched, space.spaces, strict=True))
    return batched[row]
