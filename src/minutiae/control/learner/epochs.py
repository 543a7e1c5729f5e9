"""Epochs of minibatches: the gradient steps of PPO's policy, of the value network, and of both under one optimizer.

Every loop here is a scan over minibatches inside a scan over epochs; what the steps compute is in `losses`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from minutiae.control.custom import added_loss
from minutiae.control.learner.losses import policy_loss, policy_terms, stopping_kl, value_loss
from minutiae.control.learner.optimizers import clip_scales, optimizer_step
from minutiae.control.learner.structure import LearnerState, Samples, Structure
from minutiae.details import CATALOGUE

Numbers = dict[str, Any]
Metrics = dict[str, Any]

PER_EPOCH = CATALOGUE["target_kl_stop_check"].encode("per_epoch")
STOP_BOTH = CATALOGUE["target_kl_stop_networks"].encode("both")


class Progress(NamedTuple):
    """What a scan carries: parameter vector `[D]` and optimizer state of each network, gradient steps done, stopped.

    Networks travel as vectors because an optimizer is elementwise: one kernel for all of a network's tensors instead
    of one for each halves the time XLA takes to compile the program.
    """

    parameters: Any
    optimizer: Any
    step: Any
    stopped: Any


def run_epochs(
    step: Callable[[Progress, Samples], tuple[Progress, Metrics]],
    progress: Progress,
    samples: Samples,
    permutations: Any,
    minibatches: int,
    after_epoch: Callable[[Progress, Metrics], Progress] = lambda progress, _: progress,
) -> tuple[Progress, Metrics]:
    """Run `step` on every minibatch of every epoch: `permutations` `[epochs, B]`, metrics `[epochs, M]`."""

    def epoch(progress: Progress, permutation: Any) -> tuple[Progress, Metrics]:
        # Shuffled transitions without replacement: Huang et al. 2022, core detail 6
        shuffled = jax.tree.map(lambda x: x[permutation].reshape((minibatches, -1, *x.shape[1:])), samples)
        progress, metrics = jax.lax.scan(step, progress, shuffled)
        return after_epoch(progress, metrics), metrics

    return jax.lax.scan(epoch, progress, permutations)


def learning_rate(numbers: Numbers, network: str, step: Any, steps: int) -> Any:
    """The rate of gradient step `step` in [0, `steps`): constant in an iteration unless annealed by gradient step."""
    start, end = numbers[f"{network}_learning_rate"], numbers[f"{network}_learning_rate_end"]
    return start + (end - start) * (step / steps)


class Vectors:
    """The networks of one agent as vectors, and the way back."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        raveled = {network: ravel_pytree(tree) for network, tree in parameters.items()}
        self.start = {network: vector for network, (vector, _) in raveled.items()}
        self._unravel = {network: unravel for network, (_, unravel) in raveled.items()}

    def trees(self, vectors: dict[str, Any]) -> dict[str, Any]:
        """Vectors `[D]` -> parameter trees of the same networks."""
        return {network: self._unravel[network](vector) for network, vector in vectors.items()}


def _stepped(
    structure: Structure,
    progress: Progress,
    gradients: dict[str, Any],
    scales: dict[str, Any],
    frozen: dict[str, Any],
    steps: int,
    numbers: Numbers,
) -> Progress:
    """One optimizer step of every network in `gradients`; a network that is `frozen` keeps everything bit for bit."""
    parameters, optimizer = dict(progress.parameters), dict(progress.optimizer)
    for network, gradient in gradients.items():
        previous = (parameters[network], optimizer[network])
        rate = learning_rate(numbers, network, progress.step, steps)
        updated = optimizer_step(structure.optimizer, *previous, gradient * scales[network], rate, numbers)
        held = frozen.get(network)
        if held is not None:
            updated = jax.tree.map(lambda new, old, held=held: jnp.where(held, old, new), updated, previous)
        parameters[network], optimizer[network] = updated
    return Progress(parameters, optimizer, progress.step + 1, progress.stopped)


def policy_epochs(
    structure: Structure,
    state: LearnerState,
    samples: Samples,
    old_static: dict[str, Any],
    permutations: Any,
    numbers: Numbers,
) -> tuple[LearnerState, Metrics]:
    """PPO's gradient steps: of both networks at once when the optimizer is joint, else of the policy alone."""
    joint = structure.joint
    trained = ("policy", "value") if joint else ("policy",)
    steps = permutations.shape[0] * structure.minibatches
    limit = numbers["target_kl_stop"]
    per_epoch = numbers["target_kl_stop_check"] == PER_EPOCH

    def loss(parameters: Any, minibatch: Samples) -> tuple[Any, Metrics]:
        terms = policy_terms(structure.policy, parameters["policy"], minibatch, old_static, numbers)
        total = policy_loss(terms, state.kl_coefficient, numbers)
        if structure.custom_policy_loss:
            total = total + added_loss(structure.custom_policy_loss, terms, minibatch)
        metrics = {
            "surrogate": terms.surrogate,
            "policy_loss": total,
            "stopping_kl": stopping_kl(terms, minibatch, numbers),
            "ratio_deviation": jnp.abs(jnp.exp(terms.log_probs - minibatch.old_log_probs) - 1.0).max(),
        }
        if joint:
            of_values = value_loss(structure.policy, parameters["value"], minibatch, numbers)
            metrics["value_loss"] = of_values
            total = total + numbers["value_loss_coefficient"] * of_values
        return total, metrics

    vectors = Vectors(state.parameters)

    def step(progress: Progress, minibatch: Samples) -> tuple[Progress, Metrics]:
        chosen = {network: progress.parameters[network] for network in trained}
        trees, metrics = jax.grad(loss, has_aux=True)(vectors.trees(chosen), minibatch)
        gradients = {network: ravel_pytree(trees[network])[0] for network in trained}
        norms = {network: jnp.linalg.norm(gradients[network]) for network in trained}
        metrics |= {f"{network}_gradient_norm": norm for network, norm in norms.items()}
        stopped = progress.stopped | (~per_epoch & (metrics["stopping_kl"] > limit))
        policy_scale, value_scale = clip_scales(norms["policy"], norms.get("value", 0.0), numbers, joint)
        frozen = {"policy": stopped, "value": stopped & (numbers["target_kl_stop_networks"] == STOP_BOTH)}
        scales = {"policy": policy_scale, "value": value_scale}
        progress = progress._replace(stopped=stopped)
        metrics["stepped"] = ~stopped
        return _stepped(structure, progress, gradients, scales, frozen, steps, numbers), metrics

    def after_epoch(progress: Progress, metrics: Metrics) -> Progress:
        # The last minibatch's estimate, as in CleanRL's ppo_continuous_action.py
        beyond = per_epoch & (metrics["stopping_kl"][-1] > limit)
        return progress._replace(stopped=progress.stopped | beyond)

    start = Progress(vectors.start, state.optimizer, jnp.int32(0), jnp.bool_(False))
    progress, metrics = run_epochs(step, start, samples, permutations, structure.minibatches, after_epoch)
    return state._replace(parameters=vectors.trees(progress.parameters), optimizer=progress.optimizer), metrics


def value_epochs(
    structure: Structure, state: LearnerState, samples: Samples, permutations: Any, numbers: Numbers
) -> tuple[LearnerState, Metrics]:
    """Gradient steps of the value network under its own optimizer, `[value_epochs, B]` permutations of the batch."""
    steps = permutations.shape[0] * structure.minibatches
    vectors = Vectors(state.parameters)

    def step(progress: Progress, minibatch: Samples) -> tuple[Progress, Metrics]:
        parameters = vectors.trees({"value": progress.parameters["value"]})["value"]
        loss, tree = jax.value_and_grad(
            lambda parameters: value_loss(structure.policy, parameters, minibatch, numbers)
        )(parameters)
        gradient = ravel_pytree(tree)[0]
        norm = jnp.linalg.norm(gradient)
        scales = {"value": clip_scales(0.0, norm, numbers, joint=False)[1]}
        progress = _stepped(structure, progress, {"value": gradient}, scales, {}, steps, numbers)
        return progress, {"value_loss": loss, "value_gradient_norm": norm}

    start = Progress(vectors.start, state.optimizer, jnp.int32(0), jnp.bool_(False))
    progress, metrics = run_epochs(step, start, samples, permutations, structure.minibatches)
    return state._replace(parameters=vectors.trees(progress.parameters), optimizer=progress.optimizer), metrics
