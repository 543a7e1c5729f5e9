"""How large a difference is in deviations: Hedges' g and the exact interval behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from minutiae.errors import StatisticsError
from minutiae.statistics.checks import as_sample, require_equal_sizes, require_share
from minutiae.statistics.noncentral_t import noncentral_t_cdf
from minutiae.statistics.results import Interval


def small_sample_correction(degrees_of_freedom: float) -> float:
    """gamma(f / 2) / (sqrt(f / 2) gamma((f - 1) / 2)) (Hedges 1981, equation 6e): about 1 - 3 / (4 f - 1)."""
    f = degrees_of_freedom
    return float(np.exp(scipy.special.gammaln(f / 2) - scipy.special.gammaln((f - 1) / 2)) / np.sqrt(f / 2))


def hedges_g(first: Any, second: Any, *, paired: bool, level: float = 0.95) -> Interval:
    """(mean of first - mean of second) / deviation, corrected for few runs (Hedges 1981).

    Unpaired, the deviation is pooled over both arms. Paired, it is that of the seeds' differences: seeds that move both
    arms alike make it small, so do not set a paired figure beside an unpaired one. The interval is that of the true
    ratio, from the noncentral t distribution (Steiger and Fouladi 1997): exact for normal returns of equal variance.

    Args:
        first: `[m]`, at least 2 runs (3 when paired).
        second: `[n]`.
        paired: true when run i of both arms has the same seed.
        level: in (0, 1).

    Returns:
        A number without a unit; 0.2 is often called small and 0.8 large.

    Raises:
        StatisticsError: too few runs, or no spread at all.
    """
    least = 3 if paired else 2
    a, b = as_sample(first, "first", least), as_sample(second, "second", least)
    require_share(level, "level")
    if paired:
        require_equal_sizes([a], [b], ("first", "second"))
        freedom, deviation, scale = len(a) - 1, float((a - b).std(ddof=1)), len(a) ** -0.5
    else:
        freedom = len(a) + len(b) - 2
        deviation = float(np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / freedom))
        scale = (1 / len(a) + 1 / len(b)) ** 0.5
    # Differences that are all one number differ in their last bits.
    if deviation <= 1e-12 * max(np.abs(a).max(), np.abs(b).max()):
        raise StatisticsError("the runs have no spread, so their difference has no size in deviations; compare means")
    ratio = float(a.mean() - b.mean()) / deviation
    low, high = (scale * bound for bound in noncentrality_bounds(ratio / scale, freedom, level))
    words = "Hedges' g of paired differences" if paired else "Hedges' g"
    estimate = small_sample_correction(freedom) * ratio
    return Interval(estimate, low, high, level, f"{words}, noncentral t interval", len(a) + len(b))


def noncentrality_bounds(t: float, degrees_of_freedom: float, level: float) -> tuple[float, float]:
    """The noncentralities at which the observed t is the upper and the lower (1 - level) / 2 quantile."""
    tail = (1 - level) / 2

    # The noncentrality is about t times the root of a chi-squared over its degrees, give or take a normal quantile.
    width = 10 + abs(t) * (1 + float(np.sqrt(scipy.stats.chi2.isf(tail / 10, degrees_of_freedom) / degrees_of_freedom)))

    def bound(share: float) -> float:
        return float(
            scipy.optimize.brentq(
                lambda shift: noncentral_t_cdf(t, degrees_of_freedom, shift) - share, t - width, t + width
            )
        )

    return bound(1 - tail), bound(tail)
