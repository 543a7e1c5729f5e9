"""Draws with replacement and the bounds that are read off them. What is estimated lives elsewhere.

Efron and Tibshirani 1993, "An Introduction to the Bootstrap" (ET93); Davison and Hinkley 1997, "Bootstrap Methods and
their Application" (DH97). SciPy's bootstrap resamples its samples one by one and cannot keep the cells of one seed
together in each of several environments, which is what a study needs; the tests hold these bounds to SciPy's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from minutiae.statistics.results import Vector

METHODS = ("percentile", "basic", "bca", "studentized")
"""How bounds are read off a bootstrap distribution."""

_NUMBERS_AT_ONCE = 2_000_000
"""How many resampled numbers are held at once: 16 MB."""


def chunks(resamples: int, numbers_each: int) -> Iterator[int]:
    """Parts of `resamples` that are small enough to hold when each takes `numbers_each` numbers."""
    most = max(1, _NUMBERS_AT_ONCE // max(1, numbers_each))
    for start in range(0, resamples, most):
        yield min(most, resamples - start)


def draw_indices(generator: np.random.Generator, sizes: tuple[int, ...], resamples: int) -> NDArray[np.intp]:
    """Indices into strata that lie one after the other, drawn within each: `[resamples, sum(sizes)]`."""
    starts = np.cumsum((0, *sizes[:-1]))
    drawn = [start + generator.integers(0, size, (resamples, size)) for start, size in zip(starts, sizes, strict=True)]
    return np.concatenate(drawn, axis=1)


def draw_counts(generator: np.random.Generator, size: int, resamples: int) -> Vector:
    """How often each of `size` units was drawn: `[resamples, size]`, rows sum to `size`.

    Multiplying by counts gives resampled means without gathering the data.
    """
    return generator.multinomial(size, np.full(size, 1 / size), size=resamples).astype(np.float64)


def quantiles_of_each(draws: Vector, shares: Vector) -> Vector:
    """The quantile `shares[..., j]` of `draws[..., :]`, linearly interpolated, for every j.

    Args:
        draws: `[..., R]`.
        shares: `[..., J]`, each in [0, 1]; every row of draws has shares of its own.

    Returns:
        `[..., J]`.
    """
    ordered = np.sort(draws, axis=-1)
    position = shares * (draws.shape[-1] - 1)
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, draws.shape[-1] - 1)
    low = np.take_along_axis(ordered, below, axis=-1)
    high = np.take_along_axis(ordered, above, axis=-1)
    return np.asarray(low + (position - below) * (high - low))


def percentile_bounds(draws: Vector, level: float) -> Vector:
    """Quantiles of the bootstrap distribution `[..., R]` (ET93, section 13.3): `[..., 2]`."""
    tail = (1 - level) / 2
    return np.moveaxis(np.quantile(draws, [tail, 1 - tail], axis=-1), 0, -1)


def basic_bounds(draws: Vector, estimate: Vector, level: float) -> Vector:
    """2 estimate - quantiles, also called pivotal (DH97, equation 5.6): `[..., 2]`."""
    return np.asarray(2 * np.asarray(estimate)[..., None] - percentile_bounds(draws, level)[..., ::-1])


def acceleration(influences: list[Vector]) -> Vector:
    """sum U^3 / n^3 over 6 (sum U^2 / n^2)^1.5 (ET93, equation 14.15; several samples: DH97, section 5.3).

    Args:
        influences: one `[..., n]` per stratum: (n - 1)(mean of the leave-one-out estimates - each of them).

    Returns:
        `[...]`; 0 where nothing varies.
    """
    cubes = sum((u**3).sum(-1) / u.shape[-1] ** 3 for u in influences)
    squares = np.asarray(sum((u**2).sum(-1) / u.shape[-1] ** 2 for u in influences))
    return np.asarray(cubes / (6 * np.where(squares > 0, squares, np.inf) ** 1.5))


def bca_bounds(draws: Vector, estimate: Vector, level: float, accelerations: Vector) -> Vector:
    """Bias-corrected and accelerated bounds (ET93, equations 14.9 to 14.14): `[..., 2]`."""
    resamples = draws.shape[-1]
    centre = np.asarray(estimate)[..., None]
    # Ties count half: medians of few runs are full of them, and sums of the same runs differ in their last bits.
    difference = draws - centre
    slack = 1e-10 * np.abs(difference).max(axis=-1, keepdims=True)
    below = ((difference < -slack).mean(-1) + (difference <= slack).mean(-1)) / 2
    bias = ndtri(np.clip(below, 0.5 / resamples, 1 - 0.5 / resamples))[..., None]
    shifted = bias + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    # Far beyond what real data give, 1 - a (z0 + z) could reach 0; the bound then is the end of the draws.
    shares = ndtr(bias + shifted / np.maximum(1 - np.asarray(accelerations)[..., None] * shifted, 1e-6))
    return quantiles_of_each(draws, shares)


def studentized_bounds(draws: Vector, errors: Vector, estimate: Vector, error: Vector, level: float) -> Vector:
    """estimate - error x quantiles of (draw - estimate) / its own error (ET93, section 12.5): `[..., 2]`.

    Args:
        draws: `[..., R]`.
        errors: `[..., R]`, the standard error computed anew within each resample.
        estimate: `[...]`.
        error: `[...]`, its standard error.
        level: in (0, 1).
    """
    difference = draws - np.asarray(estimate)[..., None]
    flat = errors <= 1e-12 * np.asarray(error)[..., None]
    # A resample of one run repeated has no spread: its ratio is infinite, unless nothing varies at all.
    infinite = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    ratios = np.where(flat, infinite, difference / np.where(flat, 1.0, errors))
    tail = (1 - level) / 2
    high = np.quantile(ratios, 1 - tail, axis=-1, method="higher")
    low = np.quantile(ratios, tail, axis=-1, method="lower")
    scale = np.asarray(error)
    # Zero error times an infinite ratio would be NaN.
    widths = [np.where(scale > 0, np.where(scale > 0, scale, 1.0) * q, 0.0) for q in (high, low)]
    return np.stack([estimate - widths[0], estimate - widths[1]], axis=-1)
