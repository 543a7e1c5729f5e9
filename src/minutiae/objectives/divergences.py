"""Estimators of KL(old || new) from samples of the old policy, per sample. No exact divergence here.

Schulman 2020, "Approximating KL Divergence" (joschu.net/blog/kl-approx.html). The exact divergences of the
distributions are in `densities`; reductions over samples are the caller's.
"""

from __future__ import annotations

from minutiae.objectives.arrays import Array, namespace
from minutiae.objectives.ratios import bounded_log_ratio


def kl_k1(new_log_prob: Array, old_log_prob: Array) -> Array:
    """-log(new / old): unbiased, of either sign, high variance.

    Args:
        new_log_prob: log probability under the new policy of actions drawn from the old one, any shape.
        old_log_prob: the same under the old policy, same shape.

    Returns:
        Same shape.
    """
    return old_log_prob - new_log_prob


def kl_k2(new_log_prob: Array, old_log_prob: Array) -> Array:
    """log(new / old)^2 / 2: biased, never negative (`approxkl` of Baselines ppo2). Arguments: see `kl_k1`."""
    return 0.5 * namespace(new_log_prob, old_log_prob).square(new_log_prob - old_log_prob)


def kl_k3(new_log_prob: Array, old_log_prob: Array) -> Array:
    """(new / old - 1) - log(new / old): unbiased, never negative (beyond rounding). Arguments: see `kl_k1`.

    The exponential is bounded as in `ratio`, so the estimate is finite (up to 1e35 in float32) where
    log(new / old)
    is: an absurd divergence reads as absurdly large and stops what watches it, instead of turning into NaN.
    """
    log_ratio = bounded_log_ratio(new_log_prob, old_log_prob)
    return namespace(log_ratio).expm1(log_ratio) - log_ratio
