"""The distribution function of noncentral t, in all its tails. Powers and effect sizes are built on it elsewhere.

SciPy's (1.17, `scipy.stats.nct`) is NaN where the answer is within 1e-16 of 0 or 1, where root finders go.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincc, gammainccinv, gammaincinv, ndtr

from minutiae.statistics.results import Vector

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_TAIL = 1e-14
_FURTHEST = 8.0


def noncentral_t_cdf(t: float, degrees_of_freedom: float, shift: float) -> float:
    """P((Z + shift) / S < t), Z standard normal and S the root of an independent chi-squared over its degrees.

    Integrated over whichever of Z and S makes the other's distribution function the smoother integrand; right to
    about 1e-9.

    Args:
        t: finite.
        degrees_of_freedom: at least 1.
        shift: the noncentrality, finite.
    """
    half = degrees_of_freedom / 2
    if abs(t) < 2 * half**0.5:
        # P(Z < t s - shift) over s.
        ends = [np.sqrt(gammaincinv(half, _TAIL) / half), np.sqrt(gammainccinv(half, _TAIL) / half)]
        at, weights = _nodes(ends)
        weights = weights * np.exp((2 * half - 1) * np.log(at) - half * (at**2 - 1))
        values = ndtr(t * at - shift)
    else:
        # P(S > (z + shift) / t) over z, or P(S < ...) for negative t; it has a corner where z + shift is 0.
        corner = min(_FURTHEST, max(-_FURTHEST, -shift))
        at, weights = _nodes([-_FURTHEST, corner, _FURTHEST])
        weights = weights * np.exp(-(at**2) / 2)
        above = gammaincc(half, half * np.maximum((at + shift) / t, 0) ** 2)
        values = above if t > 0 else 1 - above
    return float(weights @ values / weights.sum())


def _nodes(ends: list[float]) -> tuple[Vector, Vector]:
    """Gauss-Legendre nodes and weights of each piece between `ends`."""
    widths = np.diff(ends)[:, None]
    at = np.array(ends[:-1])[:, None] + widths * (1 + _NODES) / 2
    return at.reshape(-1), (widths * _WEIGHTS).reshape(-1)
