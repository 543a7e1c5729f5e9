"""The static facts of an update program and the state it carries. No equation lives here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from minutiae.control.policies.policy import Policy
from minutiae.details import Bound, Config, bound


@dataclass(frozen=True)
class Structure:
    """Everything that shapes the compiled program; agents of one population share it."""

    policy: Policy
    algorithm: str
    rows: int
    rollout_length: int
    minibatches: int
    epochs: int
    value_epochs: int
    separate_optimizers: bool
    update_order: str
    optimizer: str
    fisher_size: int
    conjugate_gradient_iterations: int
    line_search_backtracks: int
    custom_advantages: tuple[Bound, ...] = ()
    custom_policy_loss: tuple[Bound, ...] = ()

    @property
    def batch(self) -> int:
        """B = T * N transitions per iteration."""
        return self.rows * self.rollout_length

    @property
    def joint(self) -> bool:
        """One optimizer for both networks: PPO unless `separate_optimizers`; TRPO never."""
        return self.algorithm == "ppo" and not self.separate_optimizers

    @property
    def policy_parts(self) -> int:
        """Into how many parts the samples are cut for a step of the policy: TRPO's one step sees them all."""
        return 1 if self.algorithm == "trpo" else self.minibatches

    @classmethod
    def of(cls, config: Config, policy: Policy) -> Structure:
        return cls(
            policy=policy,
            algorithm=config.algorithm,
            rows=config.environments,
            rollout_length=config.rollout_length,
            minibatches=config.minibatches,
            epochs=config.epochs if config.algorithm == "ppo" else 0,
            value_epochs=config.value_epochs,
            separate_optimizers=bool(config.separate_optimizers),
            update_order=config.update_order,
            optimizer=config.optimizer,
            fisher_size=config.fisher_samples if config.algorithm == "trpo" else 0,
            conjugate_gradient_iterations=config.conjugate_gradient_iterations,
            line_search_backtracks=config.line_search_backtracks,
            custom_advantages=bound(config.custom, "advantages"),
            custom_policy_loss=bound(config.custom, "policy_loss"),
        )


class LearnerState(NamedTuple):
    """One agent's learning state: parameters `{"policy", "value"}`, optimizer state, adaptive KL coefficient `[]`."""

    parameters: Any
    optimizer: Any
    kl_coefficient: Any


class Samples(NamedTuple):
    """A prepared batch, flattened to `[B, ...]`: what minibatches are drawn from.

    `old` holds the per-sample parameters of the acting distribution (mean or logits), `value_counts` is
    false where a sample takes no part in the value loss.
    """

    observations: Any
    actions: Any
    old_log_probs: Any
    old: Any
    advantages: Any
    targets: Any
    old_values: Any
    value_counts: Any
