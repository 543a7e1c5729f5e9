"""From one agent's rollout to the samples of its update: values, advantages, targets, old log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from minutiae.control.batch import Batch
from minutiae.control.custom import same_shape
from minutiae.control.learner.structure import Samples
from minutiae.control.policies.policy import Policy
from minutiae.details import CATALOGUE, Bound
from minutiae.objectives.advantages import bootstrap, generalized_advantages, normalize, rewards_to_go
from minutiae.objectives.levels import by_level

Numbers = dict[str, Any]

BATCH_ADVANTAGES = CATALOGUE["advantage_normalization"].encode("batch")


def split_static(distribution: dict[str, Any], samples: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Distribution parameters as (per sample, first axis `samples`; state-independent)."""
    batched = {name: value for name, value in distribution.items() if name != "log_std"}
    static = {name: value for name, value in distribution.items() if name == "log_std"}
    assert all(value.shape[0] == samples for value in batched.values())
    return batched, static


def flattened(array: Any) -> Any:
    """`[T, N, ...]` -> `[T * N, ...]`."""
    return array.reshape((array.shape[0] * array.shape[1], *array.shape[2:]))


def acting_distribution(
    policy: Policy, parameters: Any, observations: Any, actions: Any, parts: int
) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The acting distribution of samples `[B, ...]` (divided as by `split_static`) and their log-probabilities `[B]`.

    Computed in `parts` equal parts: a matrix product may round differently for another number of rows, so only parts of
    a minibatch's size give the very numbers that the first gradient step will compare them with.
    """

    def of_part(part: tuple[Any, Any]) -> tuple[Any, Any]:
        distribution = policy.distribution_of(parameters, part[0])
        return split_static(distribution, len(part[0])), policy.distribution.log_prob(distribution, part[1])

    divided = jax.tree.map(lambda x: x.reshape((parts, -1, *x.shape[1:])), (observations, actions))
    (batched, static), log_probs = jax.lax.map(of_part, divided)
    batched, log_probs = jax.tree.map(flattened, (batched, log_probs))
    return batched, {name: value[0] for name, value in static.items()}, log_probs


def prepare(
    policy: Policy,
    parameters: Any,
    batch: Batch,
    numbers: Numbers,
    parts: int = 1,
    custom_advantages: Sequence[Bound] = (),
) -> tuple[Samples, dict[str, Any]]:
    """Samples `[B, ...]` of one agent's batch `[T, N, ...]` under the parameters it acted with.

    Also returns the state-independent part of the acting distribution. Old log-probabilities are computed here and not
    while acting, in `parts` of as many samples as the first policy step will see, so the first ratio is exactly one.
    """
    steps, rows = batch.rewards.shape
    observations = flattened(batch.observations)
    values = policy.value(parameters["value"], observations).reshape(steps, rows)
    next_values = policy.value(parameters["value"], flattened(batch.next_observations)).reshape(steps, rows)
    rewards, next_values, terminated, delta_mask = bootstrap(
        values,
        next_values,
        batch.terminated,
        batch.truncated,
        batch.rewards,
        numbers["discount"],
        numbers["truncation_bootstrap"],
        numbers["final_state_bootstrap"],
    )
    ended = batch.terminated | batch.truncated
    advantages = generalized_advantages(
        rewards,
        values,
        next_values,
        terminated,
        batch.truncated,
        numbers["discount"],
        numbers["gae_lambda"],
        delta_mask,
    )
    targets = by_level(
        numbers["value_target"], [values + advantages, rewards_to_go(rewards, ended, numbers["discount"])]
    )
    for custom in custom_advantages:
        advantages = same_shape(custom, custom(advantages, batch), advantages)
    normalized = normalize(advantages, numbers["advantage_normalization_ddof"])
    by_batch = numbers["advantage_normalization"] == BATCH_ADVANTAGES
    # Steps that end an episode are never regressed on: MadryLab/implementation-matters, `value_step`
    masked = (numbers["value_target_terminal_mask"] > 0) & ended
    actions = flattened(batch.actions)
    old, old_static, old_log_probs = acting_distribution(policy, parameters["policy"], observations, actions, parts)
    samples = Samples(
        observations=observations,
        actions=actions,
        old_log_probs=old_log_probs,
        old=old,
        advantages=flattened(jnp.where(by_batch, normalized, advantages)),
        targets=flattened(targets),
        old_values=flattened(values),
        value_counts=flattened(~masked),
    )
    return jax.lax.stop_gradient(samples), jax.lax.stop_gradient(old_static)
