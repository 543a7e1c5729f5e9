"""From a config to what acts: networks and the way to the environment. No parameters, no pool."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minutiae.control.environments import describe
from minutiae.control.policies.actions import ActionInterface, actions_of
from minutiae.control.policies.policy import Policy
from minutiae.details import Config


def policy_of(config: Config) -> tuple[Policy, ActionInterface]:
    """The networks of a config, and the way from its stored actions to the environment.

    Raises:
        UnsupportedEnvironment: as `describe`.
        ConfigError: an `action_bound` that the environment's actions do not have.
    """
    facts = describe(config.environment)
    distribution, interface = actions_of(facts.action_space, config.action_bound)
    policy = Policy(
        facts.observation_size,
        distribution,
        config.policy_hidden_sizes,
        config.value_hidden_sizes,
        config.activation,
    )
    return policy, interface


def normalized(observations: np.ndarray, normalizer: Mapping[str, np.ndarray]) -> np.ndarray:
    """What the networks see with frozen statistics: clip((o - shift) / deviation, -limit, limit).

    Args:
        observations: raw and flat, `[R, O]` float64.
        normalizer: `shift` `[O]`, `deviation` `[O]`, `limit` `[1]`, as `ObservationNormalizer.agent` gives them.

    Returns:
        `[R, O]` float32.
    """
    scaled = (observations - normalizer["shift"]) / normalizer["deviation"]
    return np.clip(scaled, -normalizer["limit"], normalizer["limit"]).astype(np.float32)
