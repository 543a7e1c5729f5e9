"""The trust-region step: conjugate gradient, Fisher-vector products, line search. Functions of vectors; no network.

Schulman et al. 2015 (TRPO), section 6 and appendix C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from minutiae.objectives.levels import by_level

Vector = Any


def fisher_vector_product(kl: Callable[[Vector], Any], parameters: Vector, vector: Vector, damping: Any) -> Vector:
    """(H + damping I) v with H the Hessian of `kl` at `parameters` `[D]`, forward over reverse. `[D]`."""
    return jax.jvp(jax.grad(kl), (parameters,), (vector,))[1] + damping * vector


def conjugate_gradient(
    product: Callable[[Vector], Vector], target: Vector, iterations: int, tolerance: float = 1e-10
) -> Vector:
    """Approximate solution x `[D]` of A x = `target` `[D]` after `iterations` steps from x = 0; A positive definite.

    Steps after the squared residual has fallen below `tolerance` times that of x = 0 leave x as it is. OpenAI Baselines
    (`cg.py`) stops at an absolute residual, so that there small gradients are followed less far; the direction sought
    does not depend on their size.
    """
    least = tolerance * (target @ target)

    def step(carry: tuple[Vector, Vector, Vector, Any], _: None) -> tuple[tuple[Vector, Vector, Vector, Any], None]:
        x, residual, direction, squared = carry
        image = product(direction)
        curvature = direction @ image
        going = (squared > least) & (curvature > 0)
        alpha = jnp.where(going, squared / jnp.where(going, curvature, 1.0), 0.0)
        x = x + alpha * direction
        residual = residual - alpha * image
        new_squared = residual @ residual
        beta = jnp.where(going, new_squared / jnp.where(going, squared, 1.0), 0.0)
        direction = jnp.where(going, residual + beta * direction, direction)
        return (x, residual, direction, jnp.where(going, new_squared, squared)), None

    start = (jnp.zeros_like(target), target, target, target @ target)
    return jax.lax.scan(step, start, None, length=iterations)[0][0]


def scaled_to_radius(direction: Vector, fisher_direction: Vector, max_kl: Any) -> tuple[Vector, Any]:
    """The step sqrt(2 max_kl / (s' F s)) s whose quadratic KL is `max_kl`; a zero step where s' F s is not positive."""
    curvature = direction @ fisher_direction
    usable = curvature > 0
    scale = jnp.where(usable, jnp.sqrt(2.0 * max_kl / jnp.where(usable, curvature, 1.0)), 0.0)
    return scale * direction, scale


class LineSearch(NamedTuple):
    """Outcome of a backtracking search. `fraction` is 0 when nothing was accepted."""

    accepted: Any
    fraction: Any
    backtracks: Any


def accepts(improvement: Any, expected: Any, kl: Any, max_kl: Any, ratio: Any, level: Any) -> Any:
    """Whether one candidate passes, by the levels of `line_search`. Bool scalar.

    `improvement_ratio`: improvement > 0, improvement / expected > ratio, KL <= max_kl (implementation-matters).
    `baselines`: improvement >= 0 and KL <= 1.5 max_kl (OpenAI Baselines, `trpo_mpi.py`).
    `strict`: improvement > 0 and KL < max_kl (Stable-Baselines3 contrib).
    """
    rules = [
        (improvement > 0) & (improvement > ratio * expected) & (kl <= max_kl),
        (improvement >= 0) & (kl <= 1.5 * max_kl),
        (improvement > 0) & (kl < max_kl),
    ]
    return by_level(level, [jnp.where(rule, 1.0, 0.0) for rule in rules]) > 0


def line_search(
    evaluate: Callable[[Vector], tuple[Any, Any]],
    start: Vector,
    step: Vector,
    slope: Any,
    max_kl: Any,
    ratio: Any,
    level: Any,
    backtracks: int,
) -> LineSearch:
    """Try `start` + 2^-k `step` for k = 0 ... `backtracks` - 1 and stop at the first that passes.

    `evaluate(parameters)` returns (surrogate, KL); `slope` is the expected improvement of the whole step, g' step.
    """
    before, _ = evaluate(start)

    def untried(carry: tuple[Any, Any]) -> Any:
        tries, accepted = carry
        return (tries < backtracks) & ~accepted

    def attempt(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        tries, _ = carry
        fraction = jnp.exp2(-tries.astype(step.dtype))
        surrogate, kl = evaluate(start + fraction * step)
        passed = accepts(surrogate - before, fraction * slope, kl, max_kl, ratio, level)
        return tries + 1, passed & jnp.isfinite(surrogate) & jnp.isfinite(kl)

    tries, accepted = jax.lax.while_loop(untried, attempt, (jnp.int32(0), jnp.bool_(False)))
    used = tries - 1
    fraction = jnp.where(accepted, jnp.exp2(-used.astype(step.dtype)), 0.0)
    return LineSearch(accepted=accepted, fraction=fraction, backtracks=jnp.where(accepted, used, tries))
