"""Means and variances over samples, with an optional mask: how objectives are reduced. No objectives here."""

from __future__ import annotations

from minutiae.objectives.arrays import Array, Scalar, namespace


def count(x: Array, mask: Array | None = None) -> Array:
    """How many samples count: all of them, or those where `mask` is true. Shape []; dtype of `x`."""
    xp = namespace(x, mask)
    return xp.asarray(x.size, dtype=x.dtype) if mask is None else xp.sum(_as_mask(mask, x), dtype=x.dtype)


def mean(x: Array, mask: Array | None = None) -> Array:
    """Mean over all samples, or over those where `mask` is true.

    Masked samples are selected away, not multiplied by zero, so a NaN under the mask stays out. No sample
    at all gives 0, whose gradient is 0: a minibatch in which nothing counts asks for nothing.

    Args:
        x: any shape, `[B]` or `[B, T]`.
        mask: same shape, true (or nonzero) where the sample counts; `None` counts all.

    Returns:
        Shape [].
    """
    xp = namespace(x, mask)
    if mask is None:
        return xp.mean(x)
    total = xp.sum(xp.where(_as_mask(mask, x), x, 0))
    return total / xp.maximum(count(x, mask), 1)


def centered(x: Array, mask: Array | None = None) -> Array:
    """`x` less its mean, and 0 where the mask is false. Same shape; arguments as in `mean`."""
    deviations = _centered_once(x, mask)
    # A second pass removes the rounding of the first mean, so that equal samples come out as zero to the
    # square of the dtype's precision. Otherwise their deviations, all alike, would be "normalized" to plus
    # or minus one.
    return _centered_once(deviations, mask)


def variance(x: Array, mask: Array | None = None, ddof: Scalar = 0) -> Array:
    """Sum of squared deviations from the mean over `max(n - ddof, 1)`; 0 for one sample, whatever `ddof`.

    Args:
        x: any shape.
        mask: same shape or `None`, as in `mean`.
        ddof: 0 (population) or 1 (sample); may be traced.

    Returns:
        Shape [].
    """
    xp = namespace(x, mask, ddof)
    return xp.sum(xp.square(centered(x, mask))) / xp.maximum(count(x, mask) - ddof, 1)


def _centered_once(x: Array, mask: Array | None) -> Array:
    deviations = x - mean(x, mask)
    return deviations if mask is None else namespace(x, mask).where(_as_mask(mask, x), deviations, 0)


def _as_mask(mask: Array, x: Array) -> Array:
    xp = namespace(mask, x)
    return xp.broadcast_to(xp.asarray(mask) != 0, x.shape)
