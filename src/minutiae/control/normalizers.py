"""Running statistics of observations and rewards, on the host in float64, for all agents of a population at once.

What may differ between agents (on or off, estimator, update rule, clip range) is an array over agents, so a population
mixes levels freely. Nothing here knows a network or an environment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minutiae.control.moments import Estimator, Moments
from minutiae.details import Config

Array = np.ndarray


def _limits(values: Sequence[float | None]) -> Array:
    """Clip ranges `[P]` with off as infinity."""
    return np.array([np.inf if value is None else value for value in values])


class ObservationNormalizer:
    """Observation normalization and clipping of P agents: o <- clip((o - mean) / deviation, -c, c).

    Off agents see their observations unchanged (clipped if they ask for it). Frozen while `frozen` is passed: used for
    held-out rollouts and evaluation.
    """

    def __init__(self, configs: Sequence[Config], size: int) -> None:
        self.enabled = np.array([bool(c.observation_normalization) for c in configs])
        updates = [c.observation_normalization_update for c in configs]
        self.per_step = self.enabled & np.array([u == "per_step" for u in updates])
        self.before_update = self.enabled & np.array([u == "per_iteration_before_update" for u in updates])
        self.after_update = self.enabled & np.array([u == "per_iteration_after_update" for u in updates])
        self.estimator = Estimator.of([c.observation_normalization_estimator for c in configs])
        self.moments = Moments(self.estimator, size)
        limit = _limits([c.observation_clipping for c in configs])
        self._clips = bool(np.isfinite(limit).any())
        self._limit = limit[:, None, None]
        self._least = -self._limit
        self._all, self._none = self.enabled.all(), not self.enabled.any()
        self._any_per_step, self._all_per_step = self.per_step.any(), self.per_step.all()
        self._refresh()

    def _refresh(self) -> None:
        if self._all:
            self._shift, self._deviation = self.moments.mean[:, None], self.moments.deviation()[:, None]
            return
        enabled = self.enabled[:, None]
        self._shift = np.where(enabled, self.moments.mean, 0.0)[:, None]
        self._deviation = np.where(enabled, self.moments.deviation(), 1.0)[:, None]

    def observe(self, observations: Array, which: Array | None = None) -> None:
        """Count new observations `[P, N, O]` of the agents that update at every step (and are in `which` `[P]`)."""
        if self._any_per_step:
            counted = self.per_step if which is None else self.per_step & which
            self.moments.update(observations, None if self._all_per_step and which is None else counted)
            self._refresh()

    def observe_rollout(self, observations: Array, which: Array) -> None:
        """Count a whole rollout `[P, T, N, O]` of the agents in `which` `[P]`."""
        if which.any():
            agents, steps, rows, size = observations.shape
            self.moments.update(observations.reshape(agents, steps * rows, size), which)
            self._refresh()

    def normalize(self, observations: Array) -> Array:
        """`[P, N, O]` raw, float64 -> normalized, float32."""
        scaled = observations.copy() if self._none else observations - self._shift
        if not self._none:
            scaled /= self._deviation
        if self._clips:
            np.minimum(scaled, self._limit, out=scaled)
            np.maximum(scaled, self._least, out=scaled)
        return scaled.astype(np.float32)

    def agent(self, agent: int) -> dict[str, Array]:
        """Shift, deviation and limit of one agent as arrays: all that acting needs (saved with the policy)."""
        return {
            "shift": self._shift[agent, 0].copy(),
            "deviation": self._deviation[agent, 0].copy(),
            "limit": np.array([self._limit[agent, 0, 0]]),
        }

    def state(self, agent: int) -> dict[str, Array]:
        return self.moments.state(agent)

    def restore(self, agent: int, state: dict[str, Array]) -> None:
        self.moments.restore(agent, state)
        self._refresh()


class RewardScaler:
    """Reward scaling and clipping of P agents (Engstrom et al. 2020, Algorithm 1, and its variants).

    `returns`: R <- discount R + r; r / deviation(R); the mean is not subtracted.
    `rewards`: (r - mean(r)) / deviation(r) + mean(r) (MadryLab/implementation-matters, `ZFilter`).
    When R is set back to zero is `reward_scaling_reset`.
    """

    def __init__(self, configs: Sequence[Config], rows: int) -> None:
        self.by_returns = np.array([c.reward_scaling == "returns" for c in configs])
        self.by_rewards = np.array([c.reward_scaling == "rewards" for c in configs])
        self.enabled = self.by_returns | self.by_rewards
        self.estimator = Estimator.of([c.reward_scaling_estimator for c in configs])
        self.moments = Moments(self.estimator, 1)
        self.discount = np.array([c.discount for c in configs])[:, None]
        self.limit = _limits([c.reward_clipping for c in configs])[:, None]
        resets = [c.reward_scaling_reset for c in configs]
        self._on_done = np.array([r == "on_done" for r in resets])[:, None]
        self._on_terminated = np.array([r == "on_terminated" for r in resets])[:, None]
        self._gymnasium = np.array([r == "gymnasium" for r in resets])[:, None]
        self._on_reset = np.array([r == "on_reset" for r in resets])[:, None]
        self.accumulated = np.zeros((len(configs), rows))

    def scale(self, rewards: Array, terminated: Array, truncated: Array) -> Array:
        """Rewards `[P, T, N]` of one rollout, in order of time -> scaled and clipped, float32.

        The reward of step t is scaled by the statistics of all rewards up to and including step t.
        """
        limit = self.limit[..., None]
        if not self.enabled.any():
            return np.clip(rewards, -limit, limit).astype(np.float32)
        returns = self._discounted(rewards, terminated, truncated)
        samples = np.where(self.by_returns[:, None, None], returns, rewards)
        mean, deviation = self.moments.update_in_time(samples, self.enabled)
        deviation = np.where(self.enabled[:, None], deviation, 1.0)[..., None]
        shift = np.where(self.by_rewards[:, None], mean, 0.0)[..., None]
        return np.clip((rewards - shift) / deviation + shift, -limit, limit).astype(np.float32)

    def _discounted(self, rewards: Array, terminated: Array, truncated: Array) -> Array:
        """R <- discount R + r at every step `[P, T, N]`, set back to zero where the level says so."""
        # Gymnasium multiplies by (1 - terminated) of the *current* step: its terminal step forgets the episode.
        kept = np.where(self._gymnasium[..., None] & terminated, 0.0, self.discount[..., None])
        ended = (self._on_done | self._on_reset)[..., None] & (terminated | truncated)
        going = ~(ended | (self._on_terminated[..., None] & terminated))
        returns = np.empty_like(rewards)
        accumulated = self.accumulated
        for t in range(rewards.shape[1]):
            accumulated = accumulated * kept[:, t] + rewards[:, t]
            returns[:, t] = accumulated
            accumulated = accumulated * going[:, t]
        self.accumulated = accumulated
        return returns

    def scale_frozen(self, rewards: Array) -> Array:
        """As `scale`, with the deviations of this moment and nothing learned: for held-out rollouts. `[P, T, N]`."""
        agents = len(self.enabled)
        deviation = np.where(self.enabled, self.moments.deviation()[:, 0], 1.0).reshape(agents, 1, 1)
        shift = np.where(self.by_rewards, self.moments.mean[:, 0], 0.0).reshape(agents, 1, 1)
        limit = self.limit[..., None]
        return np.clip((rewards - shift) / deviation + shift, -limit, limit).astype(np.float32)

    def environments_reset(self, which: Array, renewed: bool) -> None:
        """All rows of the agents in `which` `[P]` were reset from outside: forget running returns where told to.

        `renewed`: the pool itself is new (a segment began), which ends the episodes like a time limit.
        """
        forget = self._on_reset | self._on_done if renewed else self._on_reset
        self.accumulated = np.where(forget & which[:, None], 0.0, self.accumulated)

    def state(self, agent: int) -> dict[str, Array]:
        return {**self.moments.state(agent), "accumulated": self.accumulated[agent].copy()}

    def restore(self, agent: int, state: dict[str, Array]) -> None:
        self.moments.restore(agent, state)
        self.accumulated[agent] = state["accumulated"]
