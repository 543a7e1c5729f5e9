"""The whole update of a population as one compiled program, and the program that measures held-out rollouts.

`update_agent` is the update of one agent, a pure function; `compile_update` vmaps it over the population.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from minutiae.control.batch import Batch, Indices
from minutiae.control.compilation import compile_in_background
from minutiae.control.learner.diagnostics import finite_flags, minibatch_summary, trust_region_diagnostics
from minutiae.control.learner.epochs import policy_epochs, value_epochs
from minutiae.control.learner.optimizers import initial_optimizer
from minutiae.control.learner.preparation import prepare
from minutiae.control.learner.structure import LearnerState, Samples, Structure
from minutiae.control.learner.trust_region import trust_region_step
from minutiae.details import CATALOGUE

Numbers = dict[str, Any]
Metrics = dict[str, Any]

KL_FIXED = CATALOGUE["kl_penalty"].encode("fixed")
KL_ADAPTIVE = CATALOGUE["kl_penalty"].encode("adaptive")

LEAST_KL_COEFFICIENT = float(np.finfo(np.float32).tiny)
"""Where halving stops: half of it is 0 to a processor without subnormal numbers, and 0 can never be doubled again."""


def initial_state(structure: Structure, parameters: Any, numbers: Numbers) -> LearnerState:
    """The state of one agent before its first update, as NumPy arrays; `parameters` is `{"policy", "value"}`."""
    parameters = jax.tree.map(np.asarray, parameters)
    vectors = {
        network: np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(parameters[network])])
        for network in ("policy", "value")
    }
    optimizer = {network: initial_optimizer(structure.optimizer, vector) for network, vector in vectors.items()}
    coefficient = np.float32(numbers["kl_penalty_coefficient"] if numbers["kl_penalty"] > 0 else 0.0)
    return LearnerState(parameters, optimizer, coefficient)


def adapted_kl_coefficient(coefficient: Any, kl: Any, numbers: Numbers) -> Any:
    """Halve beta when KL < target / 1.5, double it when KL > 1.5 target (Schulman et al. 2017, section 4)."""
    target = numbers["kl_penalty_target"]
    moved = jnp.where(
        kl < target / 1.5, coefficient / 2.0, jnp.where(kl > target * 1.5, coefficient * 2.0, coefficient)
    )
    moved = jnp.maximum(moved, LEAST_KL_COEFFICIENT)
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


def _update(
    structure: Structure, state: LearnerState, batch: Batch, indices: Indices, numbers: Numbers
) -> tuple[LearnerState, Metrics, Samples]:
    samples, old_static = prepare(
        structure.policy, state.parameters, batch, numbers, structure.policy_parts, structure.custom_advantages
    )
    updated, metrics = _optimize(structure, state, samples, old_static, indices, numbers)
    measured = trust_region_diagnostics(structure, updated.parameters, samples, old_static, numbers, "batch")
    metrics |= measured
    metrics["kl_penalty_coefficient"] = state.kl_coefficient
    coefficient = adapted_kl_coefficient(state.kl_coefficient, measured["kl_exact_batch"], numbers)
    return updated._replace(kl_coefficient=coefficient), metrics, samples


def update_agent(
    structure: Structure, state: LearnerState, batch: Batch, indices: Indices, numbers: Numbers
) -> tuple[LearnerState, Metrics, Any]:
    """One agent's update from one rollout `[T, N, ...]` -> (new state, metrics, whether all is finite).

    When anything is not finite the state comes back as it went in; `autopsy` then names the first bad tensor.
    """
    updated, metrics, samples = _update(structure, state, batch, indices, numbers)
    everything = [updated.parameters, list(metrics.values()), samples, _followed(batch)]
    sound = jnp.isfinite(ravel_pytree(everything)[0]).all()
    kept = jax.tree.map(lambda new, old: jnp.where(sound, new, old), updated, state)
    return kept, metrics, sound


def _followed(batch: Batch) -> Any:
    """Next observations `[T, N, O]`, and zeros where the episode terminated: what is beyond a death does not matter."""
    return jnp.where(batch.terminated[..., None], 0.0, batch.next_observations)


def autopsy(structure: Structure, state: LearnerState, batch: Batch, indices: Indices, numbers: Numbers) -> str | None:
    """The name of the first tensor that is not finite in this update of one agent, causes before consequences."""

    def flags(state: LearnerState, batch: Batch, indices: Indices, numbers: Numbers) -> OrderedDict[str, Any]:
        updated, metrics, samples = _update(structure, state, batch, indices, numbers)
        found = finite_flags(
            [
                ("batch", {"observations": batch.observations, "rewards": batch.rewards}),
                ("batch", {"next_observations": _followed(batch)}),
                ("acting_parameters", state.parameters),
                ("samples", {"old_values": samples.old_values}),
                ("samples", {"advantages": samples.advantages, "targets": samples.targets}),
                ("samples", {"old_log_probs": samples.old_log_probs}),
                ("metrics", {name: value for name, value in metrics.items() if "minibatch" in name}),
                ("parameters", updated.parameters),
                ("metrics", metrics),
            ]
        )
        return OrderedDict(found)  # a plain dictionary would come out of the program in alphabetical order

    arguments = (state, batch, indices, numbers)
    program = compile_in_background(("autopsy", structure), flags, arguments).result()
    finite = jax.device_get(program(*arguments))
    return next((name for name, sound in finite.items() if not sound), None)


def compile_update(structure: Structure, arguments: tuple[Any, ...]) -> Future[Callable[..., Any]]:
    """The update of a population, compiling: `(state, batch, indices, numbers)`, all with a leading axis `P`."""

    def update(
        state: LearnerState, batch: Batch, indices: Indices, numbers: Numbers
    ) -> tuple[LearnerState, Metrics, Any]:
        return update_agent(structure, state, batch, indices, numbers)

    return compile_in_background(("update", structure), over_agents(update, arguments), arguments)


def compile_held_out(structure: Structure, arguments: tuple[Any, ...]) -> Future[Callable[..., Any]]:
    """The measurement of a held-out rollout, compiling: `(acting parameters, new parameters, batch, numbers)`."""

    def measure(acting: Any, parameters: Any, batch: Batch, numbers: Numbers) -> Metrics:
        samples, old_static = prepare(
            structure.policy, acting, batch, numbers, custom_advantages=structure.custom_advantages
        )
        return trust_region_diagnostics(structure, parameters, samples, old_static, numbers, "held_out")

    return compile_in_background(("held_out", structure), over_agents(measure, arguments), arguments)


def over_agents(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """`function` of one agent over the leading axis `P` of all arguments: a vmap, but for an agent alone.

    An axis of length one costs XLA a twentieth of the program's speed, and more of its compilation.
    """
    if jax.tree.leaves(arguments)[0].shape[0] > 1:
        return jax.vmap(function)

    def alone(*arguments: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[None], function(*jax.tree.map(lambda leaf: leaf[0], arguments)))

    return alone
