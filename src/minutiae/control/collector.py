"""The host's side of a rollout: act, step the pool, normalize, and gather exactly T real transitions of every row.

One collector serves all agents of a population; agent p owns rows p N ... (p + 1) N - 1 of the pool. No learning here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minutiae.control.batch import Batch
from minutiae.control.custom import changed_rewards
from minutiae.control.environments import Pool, describe, make_pool
from minutiae.control.normalizers import ObservationNormalizer, RewardScaler
from minutiae.control.policies.actions import ActionInterface
from minutiae.control.policies.policy import Policy
from minutiae.control.seeding import Purpose, environment_seeds, stream
from minutiae.details import Config, bound

Array = np.ndarray

UNKNOWN_TIME_LIMIT = 1000
"""Steps taken for the time limit where an environment declares none."""


class Episodes(NamedTuple):
    """Episodes that ended and may be told (see `Collector.collect`), in order of time: arrays `[E]`."""

    agent: Array
    returns: Array
    lengths: Array


NO_EPISODES = Episodes(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


class Collector:
    """Rollouts of P agents with N rows each.

    Args:
        configs: one per agent, equal in structure.
        seeds: one per agent.
        policy: the networks that act.
        interface: from stored actions to the environment's.
        normalizer: shared with the population; frozen collectors read it and never update it.
        rewards: likewise.
        frozen: for held-out rollouts: nothing of the normalizers changes, streams are the held-out ones.
        threads: of the pool; `None` is one per usable core.
    """

    def __init__(
        self,
        configs: Sequence[Config],
        seeds: Sequence[int],
        policy: Policy,
        interface: ActionInterface,
        normalizer: ObservationNormalizer,
        rewards: RewardScaler,
        *,
        frozen: bool = False,
        threads: int | None = None,
    ) -> None:
        first = configs[0]
        self.agents, self.rows, self.steps = len(configs), first.environments, first.rollout_length
        self._environment = first.environment
        self._seeds = seeds
        self._policy, self._interface = policy, interface
        self._normalizer, self._rewards = normalizer, rewards
        self._frozen, self._threads = frozen, threads
        self._purposes = (
            (Purpose.HELD_OUT_ENVIRONMENTS, Purpose.HELD_OUT_ACTIONS)
            if frozen
            else (Purpose.ENVIRONMENTS, Purpose.ACTIONS)
        )
        self._custom_rewards = [bound(config.custom, "rewards") for config in configs]
        self._reset_each = np.array([bool(c.environment_reset_each_iteration) for c in configs])
        self._pool: Pool | None = None
        self._fresh = False
        size, total = policy.observation_size, self.agents * self.rows
        shape = (self.agents, self.steps, self.rows)
        integers = policy.distribution.actions_are_integers
        self._observations = np.zeros((*shape, size), np.float32)
        self._next_observations = np.zeros((*shape, size), np.float32)
        self._actions = np.zeros((*shape, policy.distribution.action_size), np.int32 if integers else np.float32)
        # What the pool says of its rows is kept as it comes, by time first.
        self._rewards_by_time = np.zeros((self.steps, total))
        self._terminated = np.zeros((self.steps, total), bool)
        self._truncated = np.zeros((self.steps, total), bool)
        keep_raw = normalizer.before_update.any() or normalizer.after_update.any()
        self._raw = np.zeros((2, *shape, size)) if keep_raw else None
        self._current = np.zeros((self.agents, self.rows, size), np.float32)
        self._current_raw = np.zeros((self.agents, self.rows, size))
        self._returns = np.zeros(total)
        self._started = np.zeros(total, np.int64)
        self._clock = 0
        self._held = NO_EPISODES
        self._time_limit = describe(self._environment).time_limit or UNKNOWN_TIME_LIMIT
        self._hold_until = 0
        self._first = np.zeros(total, bool)

    def renew(self, segment: int) -> None:
        """Replace the pool by one seeded from (agent seed, segment): running episodes are cut and forgotten."""
        self.close()
        seeds = [
            value for seed in self._seeds for value in environment_seeds(seed, self._purposes[0], segment, self.rows)
        ]
        self._pool = make_pool(self._environment, seeds, self._threads)
        self._begin(np.ones(self.agents, bool), renewed=True)

    def close(self) -> None:
        """Release the pool."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _begin(self, which: Array, renewed: bool) -> None:
        """Reset all rows of the agents in `which` `[P]` from outside."""
        assert self._pool is not None
        rows = np.flatnonzero(np.repeat(which, self.rows))
        if renewed:
            self._held, self._hold_until = NO_EPISODES, self._clock + self._time_limit
            self._first[:] = True
        self._returns[rows] = 0.0
        self._started[rows] = self._clock
        flat = self._current_raw.reshape(len(self._returns), -1)
        flat[rows] = self._pool.reset(rows if len(rows) < len(flat) else None)
        if not self._frozen:
            self._normalizer.observe(self._current_raw, which)
            self._rewards.environments_reset(which, renewed)
        self._current = self._normalizer.normalize(self._current_raw)
        self._fresh = True

    def shapes(self) -> Batch:
        """A batch of the right shapes and types, its contents meaningless."""
        return self._batch(np.zeros(self._actions.shape[:3], np.float32))

    def _batch(self, rewards: Array) -> Batch:
        return Batch(
            self._observations,
            self._next_observations,
            self._actions,
            rewards,
            self._by_agent(self._terminated),
            self._by_agent(self._truncated),
        )

    def _by_agent(self, by_time: Array) -> Array:
        """`[T, P N]` -> `[P, T, N]`, contiguous."""
        split = by_time.reshape(self.steps, self.agents, self.rows)
        return np.ascontiguousarray(split.transpose(1, 0, 2))

    def collect(
        self, parameters: Any, iteration: int, alive: Array, segment_ends: bool = False
    ) -> tuple[Batch, Episodes]:
        """One rollout with the policy `parameters` (NumPy, leading axis P) -> batch `[P, T, N, ...]` and its episodes.

        The arrays of the batch are reused by the next call. Rows of agents that are not `alive` `[P]` idle: they act
        with zeros, since a diverged agent's numbers must not reach a simulator.

        Just after a renewal, when all rows have begun an episode together, those that end first are the short ones, and
        their mean return would say little but that. So episodes are held back until every row's first one has ended,
        which is within a time limit, or the segment ends.
        """
        assert self._pool is not None, "renew() starts a segment"
        if not self._fresh and self._reset_each.any():
            self._begin(self._reset_each, renewed=False)
        self._fresh = False
        policy, distribution, interface = self._policy, self._policy.distribution, self._interface
        spread = distribution.spread(parameters, self._noise(iteration))
        idle = None if alive.all() else ~alive
        total = len(self._returns)
        ended: list[tuple[Array, Array, Array]] = []
        successors: list[tuple[int, Array, Array]] = []
        for t in range(self.steps):
            self._observations[:, t] = self._current
            stored = interface.to_stored(distribution.drawn(policy.output(parameters, self._current), spread[:, t]))
            if idle is not None:
                stored[idle] = 0
            if not np.isfinite(np.add.reduce(stored, axis=None)):
                # The agent ends with this rollout; its simulators must not be fed with it until then.
                stored = np.where(np.isfinite(stored), stored, 0).astype(stored.dtype)
            self._actions[:, t] = stored
            self._advance(t, interface.to_environment(stored.reshape(total, -1)), ended, successors)
        self._fill_next_observations(successors)
        batch = self._batch(self._scaled_rewards())
        if self._raw is not None and not self._frozen:
            batch = self._update_by_rollout(batch)
        return batch, self._released(ended, segment_ends)

    def _released(self, ended: list[tuple[Array, Array, Array]], segment_ends: bool) -> Episodes:
        """The episodes that may be told by now; whether an agent's may depends on its own rows alone."""
        if ended:
            rows, returns, lengths = (np.concatenate(part) for part in zip(*ended, strict=True))
            self._first[rows] = False
            parts = zip(self._held, Episodes(rows // self.rows, returns, lengths), strict=True)
            self._held = Episodes(*(np.concatenate(part) for part in parts))
        complete = np.asarray(~self._first.reshape(self.agents, self.rows).any(axis=1))
        ready = complete | (self._clock >= self._hold_until or segment_ends)
        told = ready[self._held.agent]
        released = Episodes(*(part[told] for part in self._held))
        self._held = Episodes(*(part[~told] for part in self._held))
        return released

    def _noise(self, iteration: int) -> Array:
        distribution = self._policy.distribution
        return np.stack(
            [
                distribution.noise(stream(seed, self._purposes[1], iteration), (self.steps, self.rows))
                for seed in self._seeds
            ]
        )

    def _advance(
        self,
        t: int,
        actions: Array,
        ended: list[tuple[Array, Array, Array]],
        successors: list[tuple[int, Array, Array]],
    ) -> None:
        """Step every row once and reset what finished; `ended` and `successors` grow by what ended at `t`."""
        assert self._pool is not None
        observations, rewards, terminated, truncated = self._pool.step(actions)
        self._rewards_by_time[t] = rewards
        self._terminated[t] = terminated
        self._truncated[t] = truncated
        self._returns += rewards
        self._clock += 1
        shape = self._current_raw.shape
        if self._raw is not None:
            self._raw[0, :, t] = self._current_raw
            self._raw[1, :, t] = observations.reshape(shape)
        done = terminated | truncated
        finished = np.flatnonzero(done) if done.any() else None
        if finished is not None:
            ended.append((finished, self._returns[finished], self._clock - self._started[finished]))
            self._returns[finished] = 0.0
            self._started[finished] = self._clock
            true_successors = observations.reshape(shape)
            observations = observations.copy()
            observations[finished] = self._pool.reset(finished)
        self._current_raw = observations.reshape(shape)
        if not self._frozen:
            self._normalizer.observe(self._current_raw)
        self._current = self._normalizer.normalize(self._current_raw)
        if finished is not None:
            # The true successor of a finished episode: seen by the value network, never by the statistics.
            seen = self._normalizer.normalize(true_successors).reshape(len(done), -1)
            successors.append((t, finished, seen[finished]))

    def _fill_next_observations(self, successors: list[tuple[int, Array, Array]]) -> None:
        """A step's successor is the next step's observation, but for the rollout's end and for episodes' ends."""
        self._next_observations[:, :-1] = self._observations[:, 1:]
        self._next_observations[:, -1] = self._current
        for t, rows, seen in successors:
            self._next_observations[rows // self.rows, t, rows % self.rows] = seen

    def _scaled_rewards(self) -> Array:
        rewards = self._by_agent(self._rewards_by_time)
        terminated, truncated = self._by_agent(self._terminated), self._by_agent(self._truncated)
        rewards = changed_rewards(self._custom_rewards, rewards, terminated, truncated)
        if self._frozen:
            return self._rewards.scale_frozen(rewards)
        scaled = self._rewards.scale(rewards, terminated, truncated)
        # Clipping would make an infinite reward an ordinary one, and the return of its episode would still be infinite.
        return scaled if np.isfinite(rewards).all() else np.where(np.isfinite(rewards), scaled, np.float32(np.nan))

    def _update_by_rollout(self, batch: Batch) -> Batch:
        """Count the rollout's observations for agents whose statistics move once per iteration."""
        assert self._raw is not None
        normalizer = self._normalizer
        normalizer.observe_rollout(self._raw[0], normalizer.before_update)
        if normalizer.before_update.any():
            renewed = [
                np.stack([normalizer.normalize(raw[:, t]) for t in range(self.steps)], axis=1) for raw in self._raw
            ]
            mine = normalizer.before_update[:, None, None, None]
            batch = batch._replace(
                observations=np.where(mine, renewed[0], batch.observations),
                next_observations=np.where(mine, renewed[1], batch.next_observations),
            )
        normalizer.observe_rollout(self._raw[0], normalizer.after_update)
        self._current = normalizer.normalize(self._current_raw)
        return batch
