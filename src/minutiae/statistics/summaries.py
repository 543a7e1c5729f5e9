"""Statistics of a sample of runs: one number each, along the last axis. No intervals live here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from minutiae.errors import StatisticsError, unknown
from minutiae.statistics.results import Vector

Statistic: TypeAlias = Callable[[Vector], Vector]
"""Takes `[..., n]`, gives `[...]`, along the last axis: the bootstrap hands it many samples at once."""


def mean(values: Vector) -> Vector:
    """The mean of `[..., n]` along the last axis: `[...]`."""
    return np.asarray(values.mean(axis=-1))


def median(values: Vector) -> Vector:
    """The median of all runs, `[..., n]` to `[...]`. (rliable's is the median of the environments' means.)"""
    return np.asarray(np.median(values, axis=-1))


def interquartile_mean(values: Vector) -> Vector:
    """The mean of the middle half, `[..., n]` to `[...]`: a quarter of the runs, rounded down, is dropped at each end.

    The rounding is that of `scipy.stats.trim_mean(values, 0.25)`, which rliable uses (Agarwal et al. 2021,
    section 4.3): 5 runs lose one at each end, 10 lose two, 3 lose none.
    """
    dropped = values.shape[-1] // 4
    return np.asarray(np.sort(values, axis=-1)[..., dropped : values.shape[-1] - dropped].mean(axis=-1))


def optimality_gap(values: Vector, target: float = 1.0) -> Vector:
    """target - mean(min(values, target)): by how much runs miss `target`, surplus not counted (Agarwal et al. 2021).

    Args:
        values: `[..., n]`, in the unit of `target` (normalize returns first when environments are pooled).
        target: the score that is good enough; finite.

    Returns:
        `[...]`, at least 0; smaller is better.
    """
    return np.asarray(target - np.minimum(values, target).mean(axis=-1))


def normalize_scores(returns: Any, zero: float, one: float) -> Vector:
    """(returns - zero) / (one - zero): returns of different environments on one scale, any shape.

    Args:
        returns: any shape.
        zero: the return that maps to 0 (a random policy's, say).
        one: the return that maps to 1 (an expert's, say); not `zero`.

    Raises:
        StatisticsError: `zero` and `one` are equal or not finite.
    """
    if not np.isfinite(one - zero) or one == zero:
        raise StatisticsError(
            f"zero is {zero} and one is {one}; they must be two different finite returns; "
            f"measure a random policy for the one and take a good score for the other"
        )
    return (np.asarray(returns, dtype=np.float64) - zero) / (one - zero)


STATISTICS: dict[str, Statistic] = {
    "mean": mean,
    "median": median,
    "interquartile_mean": interquartile_mean,
    "optimality_gap": optimality_gap,
}
"""Every statistic that has a name."""


def resolve_statistic(statistic: str | Statistic) -> tuple[Statistic, str]:
    """The function behind a name, and what to call it in words.

    Raises:
        StatisticsError: an unknown name.
    """
    if callable(statistic):
        return statistic, getattr(statistic, "__name__", "statistic").replace("_", " ").strip("<>")
    if statistic not in STATISTICS:
        raise StatisticsError(unknown("statistic", statistic, STATISTICS, "or pass a function of an array [..., n]"))
    return STATISTICS[statistic], statistic.replace("_", " ")


def mean_like(statistic: Statistic) -> Statistic | None:
    """Values `[..., n]` whose mean has the statistic's standard error, or `None` where no such values are known.

    The interquartile mean's are winsorized runs over the share that is kept (Tukey and McLaughlin 1963), the
    optimality gap's are the capped runs. The median has none: its error depends on the density at the median.
    """
    if statistic is mean:
        return lambda values: values
    if statistic is optimality_gap:
        return lambda values: np.minimum(values, 1.0)
    if statistic is interquartile_mean:
        return _winsorized
    return None


def _winsorized(values: Vector) -> Vector:
    n = values.shape[-1]
    dropped = n // 4
    ordered = np.sort(values, axis=-1)
    limited = np.clip(values, ordered[..., dropped, None], ordered[..., n - dropped - 1, None])
    return np.asarray(limited / (1 - 2 * dropped / n))
