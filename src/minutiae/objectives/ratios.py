"""Probability ratios and the surrogate objectives built on them, per sample. No reductions of losses here."""

from __future__ import annotations

import math

from minutiae.objectives.arrays import Array, Scalar, namespace, require_equal_shapes
from minutiae.objectives.reductions import mean


def bounded_log_ratio(new_log_prob: Array, old_log_prob: Array) -> Array:
    """log(new / old), bounded above a little below the point where its exponential leaves the dtype.

    The bound is 80.7 in float32 and 701.8 in float64. Beyond it the exponential would be infinite, and
    infinity times the zero derivative of a clipped branch is NaN in every weight (verl issue 891). Within
    it nothing changes.

    Args:
        new_log_prob: any shape, `[B]` or `[B, T]`.
        old_log_prob: same shape.

    Returns:
        Same shape.
    """
    require_equal_shapes(new_log_prob=new_log_prob, old_log_prob=old_log_prob)
    xp = namespace(new_log_prob, old_log_prob)
    difference = new_log_prob - old_log_prob
    # Eight below the largest exponent: room for an advantage and a sum over a batch.
    return xp.minimum(difference, math.log(float(xp.finfo(difference.dtype).max)) - 8)


def ratio(new_log_prob: Array, old_log_prob: Array) -> Array:
    """pi_new(a|s) / pi_old(a|s) from log probabilities (Schulman et al. 2017, section 3). Never infinite.

    Args:
        new_log_prob: any shape, `[B]` or `[B, T]`.
        old_log_prob: same shape.

    Returns:
        Same shape, at least 0.
    """
    return namespace(new_log_prob, old_log_prob).exp(bounded_log_ratio(new_log_prob, old_log_prob))


def surrogate(ratio: Array, advantages: Array) -> Array:
    """ratio x advantage, per sample: the unclipped surrogate (Schulman et al. 2015, equation 14)."""
    require_equal_shapes(ratio=ratio, advantages=advantages)
    return ratio * advantages


def clipped_surrogate(ratio: Array, advantages: Array, clip_range: Scalar, dual_clip: Scalar = float("inf")) -> Array:
    """min(ratio A, clip(ratio, 1 - clip_range, 1 + clip_range) A) (Schulman et al. 2017, equation 7).

    With `dual_clip` c, samples of negative advantage are bounded below by c A (Ye et al. 2020, arXiv
    1912.09729, equation 5).

    Args:
        ratio: any shape, `[B]` or `[B, T]`.
        advantages: same shape.
        clip_range: greater than 0; infinity is off.
        dual_clip: greater than 1; infinity is off.

    Returns:
        Same shape; larger is better.
    """
    xp = namespace(ratio, advantages, clip_range, dual_clip)
    pessimistic = xp.minimum(surrogate(ratio, advantages), xp.clip(ratio, 1 - clip_range, 1 + clip_range) * advantages)
    negative = advantages < 0
    # The inner selection keeps infinity x 0, which is NaN, out of the program.
    floor = xp.where(negative, dual_clip * xp.where(negative, advantages, -1), -xp.inf)
    return xp.maximum(pessimistic, floor.astype(pessimistic.dtype))


def clip_fraction(ratio: Array, clip_range: Scalar, mask: Array | None = None) -> Array:
    """Share of samples with a ratio outside [1 - clip_range, 1 + clip_range] (as Baselines and SB3 log it).

    Args:
        ratio: any shape.
        clip_range: greater than 0; infinity gives 0.
        mask: same shape or `None`; only samples where it is true count.

    Returns:
        Shape [], in [0, 1].
    """
    xp = namespace(ratio, clip_range)
    return mean((xp.abs(ratio - 1) > clip_range).astype(ratio.dtype), mask)
