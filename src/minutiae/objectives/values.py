"""Value losses per sample, and how well values explain their targets. No factor 1/2, no coefficient."""

from __future__ import annotations

from minutiae.objectives.arrays import Array, Scalar, namespace, require_equal_shapes
from minutiae.objectives.levels import by_level
from minutiae.objectives.reductions import mean, variance


def squared_error(values: Array, targets: Array) -> Array:
    """(V - target)^2, per sample; same shape as the inputs."""
    require_equal_shapes(values=values, targets=targets)
    return namespace(values, targets).square(values - targets)


def clipped_value_loss(
    values: Array, old_values: Array, targets: Array, clip_range: Scalar, level_code: Scalar
) -> Array:
    """Squared error of the values, with V_c = V_old + clip(V - V_old, -clip_range, clip_range), per sample.

        0 off           (V - G)^2
        1 max           max((V - G)^2, (V_c - G)^2)    Baselines ppo2; Engstrom et al. 2020, released code
        2 min           min((V - G)^2, (V_c - G)^2)    Engstrom et al. 2020, section 3, as printed
        3 clipped_only  (V_c - G)^2                    Stable-Baselines3
        4 max_signed    max(V - G, V_c - G)^2          Engstrom et al. 2020, code of November 2019

    Args:
        values: V, any shape, `[B]` or `[B, T]`.
        old_values: V_old at collection, same shape.
        targets: G, same shape.
        clip_range: greater than 0, in units of value; infinity makes every level the plain squared error.
        level_code: 0..4.

    Returns:
        Same shape.
    """
    require_equal_shapes(values=values, old_values=old_values, targets=targets)
    xp = namespace(values, old_values, targets, clip_range, level_code)
    clipped = old_values + xp.clip(values - old_values, -clip_range, clip_range)
    plain, bounded = squared_error(values, targets), squared_error(clipped, targets)
    signed = xp.square(xp.maximum(values - targets, clipped - targets))
    return by_level(level_code, (plain, xp.maximum(plain, bounded), xp.minimum(plain, bounded), bounded, signed))


def explained_variance(values: Array, targets: Array, mask: Array | None = None) -> Array:
    """1 - Var(target - V) / Var(target): 1 is perfect, 0 no better than a constant, negative worse.

    Targets that are constant (to the dtype's precision) have no variance to explain: 1 if the error is
    constant too, else 0.

    Args:
        values: any shape.
        targets: same shape.
        mask: same shape or `None`; only samples where it is true count.

    Returns:
        Shape [], at most 1.
    """
    require_equal_shapes(values=values, targets=targets)
    xp = namespace(values, targets, mask)
    unexplained, total = variance(targets - values, mask), variance(targets, mask)
    nothing = xp.finfo(total.dtype).eps ** 2 * mean(xp.square(targets), mask)
    constant = total <= nothing
    perfect = (unexplained <= nothing).astype(total.dtype)
    return xp.where(constant, perfect, 1 - unexplained / xp.where(constant, 1, total))
