"""The whole update of a population as one compiled program, and the program that measures held-out rollouts.

`update_agent` is the update of one agent, a pure function; `compile_update` vmaps it over the population.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from minutiae.control.batch import Batch, Indices
from minutiae.control.learner.diagnostics import finite_flags, minibatch_summary, trust_region_diagnostics
from minutiae.control.learner.epochs import policy_epochs, value_epochs
from minutiae.control.learner.optimizers import initial_optimizer
from minutiae.control.learner.preparation import prepare
from minutiae.control.learner.structure import LearnerState, Samples, Structure
from minutiae.control.learner.trust_region import trust_region_step
from minutiae.details import CATALOGUE

Numbers = dict[str, Any]
Metrics = dict[str, Any]
Flags = dict[str, Any]

KL_FIXED = CATALOGUE["kl_penalty"].encode("fixed")
KL_ADAPTIVE = CATALOGUE["kl_penalty"].encode("adaptive")


def initial_state(structure: Structure, parameters: Any, numbers: Numbers) -> LearnerState:
    """The state of one agent before its first update; `parameters` is `{"policy", "value"}`."""
    optimizer = {
        network: initial_optimizer(structure.optimizer, parameters[network]) for network in ("policy", "value")
    }
    penalized = numbers["kl_penalty"] > 0
    coefficient = jnp.where(penalized, numbers["kl_penalty_coefficient"], 0.0).astype(jnp.float32)
    return LearnerState(parameters, optimizer, coefficient)


def adapted_kl_coefficient(coefficient: Any, kl: Any, numbers: Numbers) -> Any:
    """Halve beta when KL < target / 1.5, double it when KL > 1.5 target (Schulman et al. 2017, section 4)."""
    target = numbers["kl_penalty_target"]
    moved = jnp.where(kl < target / 1.5, coefficient / 2.0, jnp.where(kl > target * 1.5, coefficient * 2.0, coefficient))
    return jnp.where(numbers["kl_penalty"] == KL_ADAPTIVE, moved, coefficient)


def _optimize(
    structure: Structure,
    state: LearnerState,
    samples: Samples,
    old_static: dict[str, Any],
    indices: Indices,
    numbers: Numbers,
) -> tuple[LearnerState, Metrics]:
    """The optimization phases in the configured order, and their metrics."""

    def update_policy(state: LearnerState) -> tuple[LearnerState, Metrics]:
        if structure.algorithm == "trpo":
            return trust_region_step(structure, state, samples, old_static, indices.fisher, numbers)
        state, metrics = policy_epochs(structure, state, samples, old_static, indices.policy, numbers)
        return state, minibatch_summary(metrics)

    def update_value(state: LearnerState) -> tuple[LearnerState, Metrics]:
        state, metrics = value_epochs(structure, state, samples, indices.value, numbers)
        return state, minibatch_summary(metrics)

    if structure.joint:
        return update_policy(state)
    phases = [update_value, update_policy]
    if structure.update_order == "policy_first":
        phases.reverse()
    collected: Metrics = {}
    for phase in phases:
        state, metrics = phase(state)
        collected |= metrics
    return state, collected


def update_agent(
    structure: Structure, state: LearnerState, batch: Batch, indices: Indices, numbers: Numbers
) -> tuple[LearnerState, Metrics, Flags]:
    """One agent's update from one rollout `[T, N, ...]` -> (new state, metrics, finite flags).

    When anything is not finite the state comes back as it went in.
    """
    samples, old_static = prepare(structure.policy, state.parameters, batch, numbers)
    updated, metrics = _optimize(structure, state, samples, old_static, indices, numbers)
    measured = trust_region_diagnostics(structure, updated.parameters, samples, old_static, numbers, "batch")
    metrics |= measured
    metrics["kl_penalty_coefficient"] = state.kl_coefficient
    coefficient = adapted_kl_coefficient(state.kl_coefficient, measured["kl_exact_batch"], numbers)
    updated = updated._replace(kl_coefficient=coefficient)
    flags = finite_flags(
        {
            "batch": {"observations": batch.observations, "rewards": batch.rewards},
            "next_observations": batch.next_observations,
            "samples": {"old_values": samples.old_values, "advantages": samples.advantages},
            "targets": samples.targets,
            "old_log_probs": samples.old_log_probs,
            "gradients": {name: value for name, value in metrics.items() if "gradient_norm" in name},
            "losses": {name: value for name, value in metrics.items() if "loss" in name or "surrogate" in name},
            "parameters": updated.parameters,
        }
    )
    sound = jnp.stack(list(flags.values())).all()
    kept = jax.tree.map(lambda new, old: jnp.where(sound, new, old), updated, state)
    return kept, metrics, flags


UpdateProgram = Callable[[LearnerState, Batch, Indices, Numbers], tuple[LearnerState, Metrics, Flags]]


def compile_update(structure: Structure) -> UpdateProgram:
    """The jitted update of a population: every argument and result has a leading axis `P`."""

    def update(
        state: LearnerState, batch: Batch, indices: Indices, numbers: Numbers
    ) -> tuple[LearnerState, Metrics, Flags]:
        return update_agent(structure, state, batch, indices, numbers)

    return jax.jit(jax.vmap(update))


def compile_held_out(structure: Structure) -> Callable[[Any, Any, Batch, Numbers], Metrics]:
    """The jitted measurement of a held-out rollout: (acting parameters, new parameters, batch, numbers) -> metrics."""

    def measure(acting: Any, parameters: Any, batch: Batch, numbers: Numbers) -> Metrics:
        samples, old_static = prepare(structure.policy, acting, batch, numbers)
        return trust_region_diagnostics(structure, parameters, samples, old_static, numbers, "held_out")

    return jax.jit(jax.vmap(measure))
