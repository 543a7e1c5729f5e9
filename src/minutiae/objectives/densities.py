"""Log densities, exact divergences and entropies, as equations on distribution parameters. No sampling."""

from __future__ import annotations

import math

from minutiae.objectives.arrays import Array, namespace

LOG_TWO_PI = math.log(2 * math.pi)
LOG_TWO = math.log(2)


def gaussian_log_density(x: Array, mean: Array, log_std: Array) -> Array:
    """log N(x; mean, exp(log_std)^2) of a diagonal Gaussian, summed over the last axis.

    Args:
        x: `[..., A]`.
        mean: `[..., A]`.
        log_std: broadcasts against `mean`.

    Returns:
        `[...]`.
    """
    xp = namespace(x, mean, log_std)
    standardized = (x - mean) * xp.exp(-log_std)
    # Summed last: a compiler may or may not fuse a bare square into the sum, and would so round it differently from
    # program to program, which shows as a first ratio that is not quite one.
    return xp.sum(-0.5 * standardized * standardized - log_std - 0.5 * LOG_TWO_PI, -1)


def gaussian_divergence(old_mean: Array, old_log_std: Array, new_mean: Array, new_log_std: Array) -> Array:
    """KL(old || new) of two diagonal Gaussians, summed over the last axis; exactly 0 for equal parameters.

    Args:
        old_mean: `[..., A]`.
        old_log_std: broadcasts against `old_mean`.
        new_mean: `[..., A]`.
        new_log_std: broadcasts against `new_mean`.

    Returns:
        `[...]`, at least 0 (beyond rounding).
    """
    xp = namespace(old_mean, old_log_std, new_mean, new_log_std)
    # (var_old / var_new - 1 - log(var_old / var_new)) / 2 + (mean_old - mean_new)^2 / (2 var_new)
    log_variance_ratio = 2 * (old_log_std - new_log_std)
    shift = (old_mean - new_mean) * xp.exp(-new_log_std)
    return 0.5 * xp.sum(xp.expm1(log_variance_ratio) - log_variance_ratio + shift * shift, -1)


def gaussian_entropy(log_std: Array) -> Array:
    """Entropy of a diagonal Gaussian in nats: sum(log_std) + A (1 + log 2 pi) / 2; `[..., A]` -> `[...]`."""
    return namespace(log_std).sum(log_std, -1) + 0.5 * log_std.shape[-1] * (1 + LOG_TWO_PI)


def tanh_log_derivative(x: Array) -> Array:
    """log(d tanh(x) / dx) = log(1 - tanh(x)^2), per element, finite for every finite x.

    Written as 2 (log 2 - x - softplus(-2 x)): the direct form is log(0) from |x| = 9 on in float32
    (TensorFlow Probability, Tanh bijector).
    """
    xp = namespace(x)
    return 2 * (LOG_TWO - x - xp.logaddexp(xp.zeros_like(x), -2 * x))


def log_softmax(logits: Array) -> Array:
    """log of the probabilities that finite `logits` stand for, over the last axis; same shape."""
    xp = namespace(logits)
    shifted = logits - xp.max(logits, -1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), -1, keepdims=True))


def categorical_log_probability(index: Array, logits: Array) -> Array:
    """log probability of the categories `index`, whole numbers `[...]`, under `logits` `[..., n]`."""
    xp = namespace(index, logits)
    chosen = xp.arange(logits.shape[-1]) == xp.asarray(index)[..., None]
    return xp.sum(xp.where(chosen, log_softmax(logits), 0), -1)


def categorical_divergence(old_logits: Array, new_logits: Array) -> Array:
    """KL(old || new) of two categorical distributions, `[..., n]` -> `[...]`; exactly 0 for equal logits."""
    xp = namespace(old_logits, new_logits)
    old, new = log_softmax(old_logits), log_softmax(new_logits)
    return xp.sum(xp.exp(old) * (old - new), -1)


def categorical_entropy(logits: Array) -> Array:
    """Entropy in nats, `[..., n]` -> `[...]`, between 0 and log n."""
    xp = namespace(logits)
    log_probabilities = log_softmax(logits)
    return -xp.sum(xp.exp(log_probabilities) * log_probabilities, -1)
