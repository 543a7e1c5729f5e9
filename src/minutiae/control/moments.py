"""Running means and deviations in float64, for all agents of a population at once. Knows neither what nor why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Estimator:
    """How a standard deviation is estimated, per agent (arrays `[P]`).

    `population`: ddof 0, sqrt(variance + 1e-8), and a prior of 1e-4 samples with mean 0 and variance 1
    (OpenAI Baselines, `running_mean_std.py` and `vec_normalize.py`).
    `sample`: ddof 1, standard deviation + 1e-8, and the first sample's variance is its own mean squared
    (MadryLab/implementation-matters, `torch_utils.py`).
    """

    ddof: Array
    inside_epsilon: Array
    outside_epsilon: Array
    prior_count: Array

    @classmethod
    def of(cls, levels: Sequence[str]) -> Estimator:
        sample = np.array([level == "sample" for level in levels])
        return cls(
            ddof=np.where(sample, 1.0, 0.0),
            inside_epsilon=np.where(sample, 0.0, 1e-8),
            outside_epsilon=np.where(sample, 1e-8, 0.0),
            prior_count=np.where(sample, 0.0, 1e-4),
        )


class Moments:
    """Running moments of P agents: `count` `[P]`, `mean` and `squares` (summed squared deviations) `[P, K]`.

    This is the hot path of acting: few NumPy calls, and shortcuts where they give the same numbers.
    """

    def __init__(self, estimator: Estimator, size: int) -> None:
        prior = estimator.prior_count
        self.count = prior.copy()
        self.mean = np.zeros((len(prior), size))
        self.squares = np.repeat(prior[:, None], size, axis=1)
        self._settled = False
        self._ddof = estimator.ddof
        # Of two epsilons one is zero, and adding it would only take time.
        self._inside, self._outside = (
            epsilon[:, None] if epsilon.any() else None
            for epsilon in (estimator.inside_epsilon, estimator.outside_epsilon)
        )

    def update(self, samples: Array, which: Array | None = None) -> None:
        """Merge `samples` `[P, N, K]` into the agents where `which` `[P]` holds, or into all.

        The parallel update of Chan et al. 1979, with sums about `_pivot`.
        """
        pivot = self._pivot(samples, which)
        centered = samples - pivot[:, None]
        if samples.shape[1] == 1:
            first = centered[:, 0]
            second = first * first
        else:
            first = np.add.reduce(centered, axis=1)
            np.multiply(centered, centered, out=centered)
            second = np.add.reduce(centered, axis=1)
        if which is None:
            count = self.count + samples.shape[1]
        else:
            count = self.count + samples.shape[1] * which
            first, second = first * which[:, None], second * which[:, None]
        if pivot is not self.mean:
            first, second = self._with_past(pivot, first, second)
        # Before the first sample of an agent there is nothing to divide.
        offset = first / (count if self._settled else np.maximum(count, 1e-300))[:, None]
        second -= offset * first
        if pivot is self.mean:
            self.mean += offset
            # Equal samples have no spread, whatever rounding says.
            self.squares += np.maximum(second, 0.0, out=second)
        else:
            new = (count > self.count)[:, None]
            self.mean = np.where(new, pivot + offset, self.mean)
            self.squares = np.where(new, np.maximum(second, 0.0), self.squares)
        self.count = count

    def _pivot(self, samples: Array, which: Array | None) -> Array:
        """About what to sum `[P, K]`: the mean held, once there is one; for an agent's first samples their own.

        Sums about a point that is far from the samples lose the digits that the spread is made of.
        """
        if self._settled:
            return self.mean
        counted = self.count > 1
        self._settled = bool(counted.all())
        if self._settled or (which is not None and (counted | ~which).all()):
            return self.mean
        return np.where(counted[:, None], self.mean, samples.mean(axis=1))

    def _with_past(self, pivot: Array, first: Array, second: Array) -> tuple[Array, Array]:
        """Sums and squared sums about `pivot` of the samples counted before, added to those of new ones."""
        count, shift = self.count[:, None], self.mean - pivot
        return first + count * shift, second + self.squares + count * np.square(shift)

    def update_in_time(self, samples: Array, which: Array) -> tuple[Array, Array]:
        """Merge `samples` `[P, T, N]` of one quantity (K = 1) step by step -> mean and deviation after each, `[P, T]`.

        The same numbers, to rounding, as T calls of `update` and `deviation`.
        """
        _, steps, rows = samples.shape
        # Of the first step only: what comes later must not take digits from what was known by then.
        pivot = self._pivot(samples[:, 0, :, None], which)
        centered = samples - pivot[:, :, None]
        first = np.cumsum(centered.sum(axis=2), axis=1)
        second = np.cumsum(np.square(centered).sum(axis=2), axis=1)
        count = self.count[:, None] + rows * np.arange(1, steps + 1)
        first, second = self._with_past(pivot, first, second)
        offset = first / count
        mean = pivot + offset
        squares = np.maximum(second - offset * first, 0.0)
        deviation = self._deviation(count, mean, squares)
        self.count = np.where(which, count[:, -1], self.count)
        self.mean = np.where(which[:, None], mean[:, -1:], self.mean)
        self.squares = np.where(which[:, None], squares[:, -1:], self.squares)
        return mean, deviation

    def deviation(self) -> Array:
        """Standard deviations `[P, K]`, always positive and finite (1 before the first sample)."""
        return self._deviation(self.count[:, None], self.mean, self.squares)

    def _deviation(self, count: Array, mean: Array, squares: Array) -> Array:
        degrees = count - self._ddof[:, None]
        # More than one sample leaves at least one degree.
        if self._settled or degrees.min() > 0:
            variance = squares / degrees
        else:
            # A first sample has no spread of its own; the sample estimator takes its square (RunningStat.var).
            alone = np.where(count > 0, np.square(mean), 1.0)
            variance = np.where(degrees > 0, squares / np.where(degrees > 0, degrees, 1.0), alone)
        if self._inside is not None:
            variance += self._inside
        np.sqrt(variance, out=variance)
        if self._outside is not None:
            variance += self._outside
        return variance

    def state(self, agent: int) -> dict[str, Array]:
        return {
            "count": self.count[agent : agent + 1].copy(),
            "mean": self.mean[agent].copy(),
            "squares": self.squares[agent].copy(),
        }

    def restore(self, agent: int, state: dict[str, Array]) -> None:
        self._settled = False
        self.count[agent] = state["count"][0]
        self.mean[agent] = state["mean"]
        self.squares[agent] = state["squares"]
