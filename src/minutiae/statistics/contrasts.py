"""Weighted sums of cell means and their intervals: what effects, attributions and decompositions have in common.

A contrast is a sum over strata of the mean of its units' contributions. A unit is what is drawn together: a seed with
all its cells when seeds are shared, else one run. Everything here is linear, so resampled values are products of counts
and contributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from minutiae.statistics.checks import require_count, require_name, require_share
from minutiae.statistics.resampling import (
    acceleration,
    basic_bounds,
    bca_bounds,
    draw_counts,
    percentile_bounds,
    studentized_bounds,
)
from minutiae.statistics.results import Interval, Vector

CONTRAST_METHODS = ("student", "percentile", "basic", "bca", "studentized")
"""Every way to an interval of a contrast."""


@dataclass(frozen=True)
class Contrasts:
    """M contrasts of the same runs.

    Attributes:
        contributions: per stratum `[units, M]`; the estimate is the sum over strata of the mean over units.
        n: number of runs.
        words: what is drawn, for the `method` of results.
    """

    contributions: tuple[Vector, ...]
    n: int
    words: str

    @property
    def estimates(self) -> Vector:
        """`[M]`."""
        return np.asarray(sum(z.mean(axis=0) for z in self.contributions))

    @property
    def errors(self) -> Vector:
        """Standard errors `[M]`: root of the sum over strata of var / units. Strata may differ in variance."""
        return np.sqrt(np.sum([z.var(axis=0, ddof=1) / len(z) for z in self.contributions], axis=0))

    @property
    def covariance(self) -> Vector:
        """Of the estimates, `[M, M]`."""
        return np.asarray(sum(np.atleast_2d(np.cov(z, rowvar=False)) / len(z) for z in self.contributions))

    @property
    def degrees_of_freedom(self) -> Vector:
        """`[M]`, (sum v)^2 / sum v^2 / (units - 1) with v the variance of each stratum's mean (Welch 1947)."""
        parts = np.stack([z.var(axis=0, ddof=1) / len(z) for z in self.contributions])
        freedom = np.array([len(z) - 1 for z in self.contributions])[:, None]
        total = parts.sum(axis=0)
        least = np.full(total.shape, float(freedom.min()))
        denominator = (parts**2 / freedom).sum(axis=0)
        return np.divide(total**2, denominator, out=least, where=denominator > 0)

    def draws(self, resamples: int, generator: np.random.Generator) -> tuple[Vector, Vector]:
        """Resampled estimates and the standard error of each resample, both `[M, resamples]`."""
        estimate = np.zeros((resamples, self.contributions[0].shape[1]))
        variance = np.zeros_like(estimate)
        for z in self.contributions:
            counts = draw_counts(generator, len(z), resamples)
            # Centered first: the variance is a difference of squares.
            centre = z.mean(axis=0)
            drawn = counts @ (z - centre) / len(z)
            squares = counts @ (z - centre) ** 2 / len(z)
            estimate += centre + drawn
            variance += np.maximum(squares - drawn**2, 0) / (len(z) - 1)
        return estimate.T, np.sqrt(variance.T)

    def bounds(self, method: str, level: float, resamples: int, generator: np.random.Generator) -> Vector:
        """`[M, 2]`, each contrast on its own."""
        if method == "student":
            half = scipy.stats.t.ppf((1 + level) / 2, self.degrees_of_freedom) * self.errors
            return np.stack([self.estimates - half, self.estimates + half], axis=-1)
        draws, errors = self.draws(resamples, generator)
        if method == "studentized":
            return studentized_bounds(draws, errors, self.estimates, self.errors, level)
        if method == "bca":
            # For a mean, (n - 1)(mean of the leave-one-out means - each) is the distance to the mean.
            influences = [(z - z.mean(axis=0)).T for z in self.contributions]
            return bca_bounds(draws, self.estimates, level, acceleration(influences))
        if method == "basic":
            return basic_bounds(draws, self.estimates, level)
        return percentile_bounds(draws, level)

    def intervals(self, method: str, level: float, resamples: int, seed: int) -> tuple[Interval, ...]:
        """One interval per contrast.

        Raises:
            StatisticsError: an unknown method, a level outside (0, 1), or fewer than 100 resamples.
        """
        require_name("interval method", method, CONTRAST_METHODS)
        require_share(level, "level")
        require_count(resamples, "resamples", 100)
        bounds = self.bounds(method, level, resamples, np.random.default_rng(seed))
        if method == "student":
            words = f"Student t interval, {self.words}"
        else:
            name = {"bca": "BCa"}.get(method, method)
            words = f"{name} bootstrap, {self.words}, {resamples:,} resamples, seed {seed}"
        return tuple(
            Interval(float(e), float(low), float(high), level, words, self.n)
            for e, (low, high) in zip(self.estimates, bounds, strict=True)
        )
