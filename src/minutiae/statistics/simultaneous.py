"""Intervals and p-values that hold for several effects at once. What the effects are lives in `effects`."""

from __future__ import annotations

import numpy as np
import scipy

from minutiae.statistics.checks import require_share
from minutiae.statistics.resampling import chunks
from minutiae.statistics.results import Vector


def holm(p_values: Vector) -> Vector:
    """max over j <= i of (m - j + 1) p_(j), in the given order (Holm 1979): adjusted p-values `[m]`."""
    order = np.argsort(p_values)
    m = len(p_values)
    stepped = np.maximum.accumulate((m - np.arange(m)) * np.asarray(p_values, dtype=np.float64)[order])
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def bonferroni_quantile(count: int, degrees_of_freedom: Vector, level: float) -> Vector:
    """t quantile at which `count` intervals hold together: tail (1 - level) / (2 count) each (Dunn 1961)."""
    require_share(level, "level")
    return np.asarray(scipy.stats.t.ppf(1 - (1 - level) / (2 * count), degrees_of_freedom))


def symmetric_root(matrix: Vector) -> Vector:
    """The R = R^T with R R = `matrix` `[m, m]`, which is positive semidefinite.

    Of all roots this one alone does not depend on which eigenvectors a library picks where eigenvalues are equal, as
    those of a balanced design are: draws made with it are the same on every machine.
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def max_t_draws(correlation: Vector, degrees_of_freedom: float, draws: int, seed: int) -> Vector:
    """Draws of max |t_i| of a multivariate t distribution (Hothorn, Bretz and Westfall 2008, section 2): `[draws]`.

    Args:
        correlation: `[m, m]`, may be singular.
        degrees_of_freedom: of the common variance estimate, above 0; infinity gives the normal distribution.
        draws: number of draws; 50,000 fix a 95 % quantile to about 0.5 %.
        seed: makes them repeatable.
    """
    generator = np.random.default_rng(seed)
    root = symmetric_root(correlation)
    parts = []
    for part in chunks(draws, len(correlation)):
        largest = np.abs(generator.standard_normal((part, len(correlation))) @ root).max(axis=1)
        if np.isfinite(degrees_of_freedom):
            largest /= np.sqrt(generator.chisquare(degrees_of_freedom, part) / degrees_of_freedom)
        parts.append(largest)
    return np.concatenate(parts)


def adjusted_by(draws: Vector, statistics: Vector) -> Vector:
    """Share of draws of the maximum that reach each |t|, with the observed one counted: adjusted p-values `[m]`."""
    ordered = np.sort(draws)
    reached = len(draws) - np.searchsorted(ordered, np.abs(statistics), side="left")
    return (1 + reached) / (1 + len(draws))
