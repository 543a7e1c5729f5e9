"""TRPO's policy update for one agent: surrogate gradient, natural direction, step to the KL bound, line search."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from minutiae.control.learner.losses import policy_terms, with_static
from minutiae.control.learner.natural_gradient import (
    conjugate_gradient,
    fisher_vector_product,
    line_search,
    scaled_to_radius,
)
from minutiae.control.learner.structure import LearnerState, Samples, Structure

Numbers = dict[str, Any]
Metrics = dict[str, Any]


def trust_region_step(
    structure: Structure,
    state: LearnerState,
    samples: Samples,
    old_static: dict[str, Any],
    fisher_rows: Any,
    numbers: Numbers,
) -> tuple[LearnerState, Metrics]:
    """One natural-gradient step (Schulman et al. 2015, appendix C); parameters stay bit for bit when the search fails.

    `fisher_rows` `[F]` names the states whose KL Hessian stands for the Fisher matrix.
    """
    policy = structure.policy
    before = state.parameters["policy"]
    start, unravel = ravel_pytree(before)
    # The surrogate is not clipped: infinity switches PPO's ranges off.
    numbers = {**numbers, "ratio_clipping": jnp.inf, "dual_clipping": jnp.inf}

    def evaluate(vector: Any) -> tuple[Any, Any]:
        terms = policy_terms(policy, unravel(vector), samples, old_static, numbers)
        return terms.surrogate, terms.kl

    chosen = samples.observations[fisher_rows]
    acting = with_static(jax.tree.map(lambda x: x[fisher_rows], samples.old), old_static)

    def kl(vector: Any) -> Any:
        return policy.distribution.kl(acting, policy.distribution_of(unravel(vector), chosen)).mean()

    def product(vector: Any) -> Any:
        return fisher_vector_product(kl, start, vector, numbers["conjugate_gradient_damping"])

    gradient = jax.grad(lambda vector: evaluate(vector)[0])(start)
    direction = conjugate_gradient(product, gradient, structure.conjugate_gradient_iterations)
    step, scale = scaled_to_radius(direction, product(direction), numbers["max_kl"])
    search = line_search(
        evaluate,
        start,
        step,
        slope=gradient @ step,
        max_kl=numbers["max_kl"],
        ratio=numbers["line_search_accept_ratio"],
        level=numbers["line_search"],
        backtracks=structure.line_search_backtracks,
    )
    moved = unravel(start + search.fraction * step)
    after = jax.tree.map(lambda new, old: jnp.where(search.accepted, new, old), moved, before)
    metrics = {
        "policy_gradient_norm": jnp.sqrt(gradient @ gradient),
        "step_scale": scale * search.fraction,
        "line_search_fraction": search.fraction,
        "line_search_accepted": search.accepted,
        "line_search_backtracks": search.backtracks,
    }
    return state._replace(parameters={**state.parameters, "policy": after}), metrics
