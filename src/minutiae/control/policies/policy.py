"""A policy: static facts that turn parameters and observations into distributions and values. No state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minutiae.control.policies.distributions import DiagonalGaussian, Distribution
from minutiae.control.policies.networks import forward
from minutiae.objectives.arrays import Array


@dataclass(frozen=True)
class Policy:
    """Separate networks for action distribution and value; hashable: a static argument of jitted functions.

    Parameters are `{"policy": {"hidden", "head", "log_standard_deviation": [A]}, "value": {"hidden",
    "head"}}`, float32, with an optional leading P on every array; the log standard deviation exists for
    Gaussians only.

    Args:
        observation_size: O, numbers in a flat observation.
        distribution: of the actions.
        policy_hidden_sizes: width of each hidden layer; empty for a linear policy.
        value_hidden_sizes: the same of the value network.
        activation: a name in `networks.ACTIVATIONS`.
    """

    observation_size: int
    distribution: Distribution
    policy_hidden_sizes: tuple[int, ...]
    value_hidden_sizes: tuple[int, ...]
    activation: str

    def output(self, parameters: Mapping[str, Any], observations: Array) -> Array:
        """What the policy's head gives for `observations` `[..., B, O]`; `parameters` is the entry "policy"."""
        return forward(parameters, observations, self.activation)

    def distribution_of(self, parameters: Mapping[str, Any], observations: Array) -> dict[str, Array]:
        """The action distribution at `observations`.

        Args:
            parameters: the entry "policy" of the policy's parameters.
            observations: `[..., B, O]`, normalized.

        Returns:
            What `distribution`'s methods take.
        """
        output = self.output(parameters, observations)
        if isinstance(self.distribution, DiagonalGaussian):
            return {"mean": output, "log_std": parameters["log_standard_deviation"]}
        return {"logits": output}

    def value(self, parameters: Mapping[str, Any], observations: Array) -> Array:
        """The value of `observations` `[..., B, O]` -> `[..., B]`; `parameters` is the entry "value"."""
        return forward(parameters, observations, self.activation)[..., 0]
