"""The losses of one minibatch, assembled from `minutiae.objectives`. No optimizer and no loop lives here."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from minutiae.control.learner.structure import Samples
from minutiae.control.policies.policy import Policy
from minutiae.details import CATALOGUE
from minutiae.objectives.advantages import normalize
from minutiae.objectives.divergences import kl_k1, kl_k2, kl_k3
from minutiae.objectives.levels import by_level
from minutiae.objectives.ratios import clipped_surrogate, ratio
from minutiae.objectives.reductions import mean
from minutiae.objectives.values import clipped_value_loss

Numbers = dict[str, Any]

MINIBATCH_ADVANTAGES = CATALOGUE["advantage_normalization"].encode("minibatch")


class PolicyTerms(NamedTuple):
    """What the policy loss is made of, each a scalar mean over the minibatch; `log_probs` is `[B]`.

    `distribution` is the policy's: `mean` `[B, A]` and `log_std` `[A]`, or `logits`.
    """

    surrogate: Any
    entropy: Any
    kl: Any
    log_probs: Any
    distribution: dict[str, Any]


def with_static(batched: dict[str, Any], static: dict[str, Any]) -> dict[str, Any]:
    """Distribution parameters from their per-sample part (mean, logits) and their state-independent part."""
    return {**batched, **static}


def policy_terms(
    policy: Policy, parameters: Any, samples: Samples, old_static: dict[str, Any], numbers: Numbers
) -> PolicyTerms:
    """Surrogate, entropy and exact KL(old || new) of one minibatch under `parameters`."""
    distribution = policy.distribution_of(parameters, samples.observations)
    log_probs = policy.distribution.log_prob(distribution, samples.actions)
    # Advantages are centred and scaled within the minibatch: OpenAI Baselines, ppo2/model.py; not named in the paper
    advantages = jnp.where(
        numbers["advantage_normalization"] == MINIBATCH_ADVANTAGES,
        normalize(samples.advantages, numbers["advantage_normalization_ddof"]),
        samples.advantages,
    )
    surrogate = clipped_surrogate(
        ratio(log_probs, samples.old_log_probs),
        advantages,
        numbers["ratio_clipping"],
        numbers["dual_clipping"],
    )
    old = with_static(samples.old, old_static)
    return PolicyTerms(
        surrogate=surrogate.mean(),
        entropy=policy.distribution.entropy(distribution).mean(),
        kl=policy.distribution.kl(old, distribution).mean(),
        log_probs=log_probs,
        distribution=distribution,
    )


def policy_loss(terms: PolicyTerms, kl_coefficient: Any, numbers: Numbers) -> Any:
    """-surrogate - c_entropy H + beta KL(old || new): Schulman et al. 2017, equations 7 to 9. Scalar."""
    return -terms.surrogate - numbers["entropy_coefficient"] * terms.entropy + kl_coefficient * terms.kl


def value_loss(policy: Policy, parameters: Any, samples: Samples, numbers: Numbers) -> Any:
    """Mean value loss over the samples that count (`value_target_terminal_mask`); 0 when none does. Scalar."""
    values = policy.value(parameters, samples.observations)
    losses = clipped_value_loss(
        values,
        samples.old_values,
        samples.targets,
        numbers["value_clipping_range"],
        numbers["value_clipping"],
    )
    return mean(losses, samples.value_counts)


def stopping_kl(terms: PolicyTerms, samples: Samples, numbers: Numbers) -> Any:
    """The KL estimate that `target_kl_stop` compares with its limit. Scalar."""
    new, old = terms.log_probs, samples.old_log_probs
    estimates = [kl_k1(new, old).mean(), kl_k2(new, old).mean(), kl_k3(new, old).mean(), terms.kl]
    return by_level(numbers["target_kl_stop_estimator"], estimates)
