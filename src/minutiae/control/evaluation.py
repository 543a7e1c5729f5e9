"""How good a trained policy is: episodes played with everything frozen, and statistics of their returns."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minutiae.control.environments import Pool, make_pool
from minutiae.control.seeding import Purpose, environment_seeds, stream
from minutiae.control.trained_policy import TrainedPolicy, load
from minutiae.errors import ConfigError, RunError

ROWS = 16
"""Environments stepped together; fewer when fewer episodes are asked for."""

LONGEST_EPISODE = 1_000_000
"""Steps after which an episode counts as endless."""

RESAMPLES = 10_000
CONFIDENCE = 0.95
INTERVAL_METHOD = f"{CONFIDENCE:.0%} percentile bootstrap of the mean, {RESAMPLES:,} resamples of episodes"
_NOISE_STEPS = 128


@dataclass(frozen=True)
class Evaluation:
    """The episodes of one policy.

    Attributes:
        run: path of the run.
        environment: played.
        deterministic: whether the mode was played, not samples.
        seed: of environments and actions.
        returns: sum of raw rewards of each episode, `[E]`.
        lengths: steps of each episode, `[E]`.
        interval: of the mean return, by `INTERVAL_METHOD`; `None` for a single episode.
        steps: environment steps the policy was trained for, when its run has not ended; `None` when it has.
        total_steps: those of the whole run.
    """

    run: str
    environment: str
    deterministic: bool
    seed: int
    returns: np.ndarray = field(repr=False)
    lengths: np.ndarray = field(repr=False)
    interval: tuple[float, float] | None
    steps: int | None = None
    total_steps: int | None = None

    @property
    def episodes(self) -> int:
        """E."""
        return len(self.returns)

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def median(self) -> float:
        """Median return."""
        return float(np.median(self.returns))

    @property
    def standard_deviation(self) -> float | None:
        """Of the returns, with ddof 1; `None` for a single episode."""
        return float(self.returns.std(ddof=1)) if self.episodes > 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON, with the method of the interval and each episode."""
        return {
            "run": self.run,
            "environment": self.environment,
            "deterministic": self.deterministic,
            "seed": self.seed,
            "unfinished_at_step": self.steps,
            "episodes": self.episodes,
            "mean": self.mean,
            "median": self.median,
            "standard_deviation": self.standard_deviation,
            "minimum": float(self.returns.min()),
            "maximum": float(self.returns.max()),
            "interval": None if self.interval is None else list(self.interval),
            "interval_method": INTERVAL_METHOD,
            "length_mean": float(self.lengths.mean()),
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
        }


def evaluate(
    path: str | os.PathLike[str], episodes: int = 100, deterministic: bool = False, seed: int = 0
) -> Evaluation:
    """Play `episodes` episodes with the policy of a run; the same arguments give the same numbers.

    Observation statistics are those of the policy's training and do not move. Every row of the pool plays a
    number of episodes that is fixed beforehand: taking whichever end first would favor short ones.

    Args:
        path: of the run, finished or not (see `load`).
        episodes: E, at least 1.
        deterministic: play the mode of the action distribution, not samples.
        seed: of environments and actions, at least 0; training never uses these streams.

    Raises:
        RunError: no policy is there, or an episode does not end.
        ConfigError: fewer than one episode, or a negative seed.
    """
    if episodes < 1:
        raise ConfigError(f"episodes is a whole number from 1, not {episodes}")
    if seed < 0:
        raise ConfigError(f"a seed is a whole number from 0, not {seed}")
    policy = load(path)
    rows = min(episodes, ROWS)
    seeds = environment_seeds(seed, Purpose.EVALUATION_ENVIRONMENTS, 0, rows)
    pool = make_pool(policy.environment, seeds)
    try:
        returns, lengths = play(policy, pool, episodes, None if deterministic else seed)
    finally:
        pool.close()
    generator = stream(seed, Purpose.EVALUATION_ACTIONS, 0)
    interval = bootstrap_interval(returns, generator) if episodes > 1 else None
    samples = policy.config.samples_per_iteration
    steps = None if policy.checkpoint is None else policy.checkpoint * samples
    total = policy.config.iterations * samples
    return Evaluation(str(path), policy.environment, deterministic, seed, returns, lengths, interval, steps, total)


def play(policy: TrainedPolicy, pool: Pool, episodes: int, action_seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths `[E]` of exactly `episodes` episodes, in the order of the rows' turns.

    Args:
        policy: that acts.
        pool: fresh, of at most `episodes` rows.
        episodes: E; row r plays episodes r, r + R, r + 2 R, ... below E.
        action_seed: of the sampled actions; `None` plays the mode.
    """
    rows = pool.rows
    quota = np.array([len(range(row, episodes, rows)) for row in range(rows)])
    returns, lengths = np.empty(episodes), np.empty(episodes, np.int64)
    total, steps, played = np.zeros(rows), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    observations = pool.reset()
    time = 0
    noise = None
    while (played < quota).any():
        if action_seed is not None:
            if time % _NOISE_STEPS == 0:
                generator = stream(action_seed, Purpose.EVALUATION_ACTIONS, 1 + time // _NOISE_STEPS)
                chunk = policy.noise(generator, (_NOISE_STEPS, rows))
            noise = chunk[time % _NOISE_STEPS]
        step = pool.step(policy.flat_actions(observations, noise))
        time += 1
        total += step.rewards
        steps += 1
        observations = step.observations
        finished = np.flatnonzero(step.terminated | step.truncated)
        if finished.size:
            counted = finished[played[finished] < quota[finished]]
            episode = counted + rows * played[counted]
            returns[episode], lengths[episode] = total[counted], steps[counted]
            played[finished] += 1
            total[finished], steps[finished] = 0.0, 0
            observations[finished] = pool.reset(finished)
        elif steps.max() >= LONGEST_EPISODE:
            raise RunError(
                f"an episode of {policy.environment} has not ended after {LONGEST_EPISODE:,} steps; "
                "give the environment a time limit, as gymnasium.wrappers.TimeLimit does"
            )
    return returns, lengths


def bootstrap_interval(
    values: np.ndarray,
    generator: np.random.Generator,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron & Tibshirani 1993, section 13.3).

    Args:
        values: `[E]`, independent.
        generator: of the resamples.
        confidence: of the interval, inside (0, 1).
        resamples: with replacement.
    """
    size = len(values)
    means = np.array([values[generator.integers(0, size, size)].mean() for _ in range(resamples)])
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
