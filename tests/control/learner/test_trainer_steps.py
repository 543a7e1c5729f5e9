"""The preset `sb3` is what Stable-Baselines3 does: its advantages and one of its updates, reproduced in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import reference_vectors as vectors
from minutiae.control.batch import Batch
from minutiae.control.learner.epochs import policy_epochs
from minutiae.control.learner.optimizers import initial_optimizer
from minutiae.control.learner.preparation import prepare
from minutiae.control.learner.structure import LearnerState, Structure
from minutiae.control.policies.distributions import DiagonalGaussian
from minutiae.control.policies.policy import Policy
from minutiae.control.schedules import scheduled, stacked_numbers
from minutiae.details import Config, preset


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def networks(vector: dict[str, np.ndarray], prefix: str) -> dict[str, Any]:
    """SB3's parameters as our tree; its layers are `[out, in]`, ours `[in, out]`."""

    def layer(name: str) -> dict[str, np.ndarray]:
        return {"weight": vector[f"{prefix}{name}_weight"].T, "bias": vector[f"{prefix}{name}_bias"]}

    def network(name: str, head: str) -> dict[str, Any]:
        return {"hidden": [layer(f"mlp_extractor_{name}_net_{i}") for i in (0, 2)], "head": layer(head)}

    policy = network("policy", "action_net") | {"log_standard_deviation": vector[f"{prefix}log_std"]}
    return {"policy": policy, "value": network("value", "value_net")}


def numbers_of(config: Config) -> dict[str, Any]:
    """As training passes them, but exactly: float32 would round the learning rate."""
    numbers = {name: float(value[0]) for name, value in scheduled(stacked_numbers([config]), 0, 1).items()}
    numbers |= {name: getattr(config, name) for name in numbers if isinstance(getattr(config, name, None), float)}
    for network in ("policy", "value"):
        numbers[f"{network}_learning_rate"] = numbers[f"{network}_learning_rate_end"] = config.learning_rate
    return {name: jnp.asarray(value, jnp.float64) for name, value in numbers.items()}


def update(**overrides: Any) -> tuple[dict[str, np.ndarray], Any, Any]:
    """The vector, our samples and our parameters after the update, by `sb3` at the size of the vector."""
    vector = vectors.load("sb3_step")
    small = {"rollout_length": 32, "minibatches": 4, "epochs": 2, "steps": 32}
    config = preset("sb3", "Hopper-v5", **(small | overrides))
    policy = Policy(3, DiagonalGaussian(2), config.policy_hidden_sizes, config.value_hidden_sizes, config.activation)
    tree = jax.tree.map(jnp.asarray, networks(vector, "before_"))
    optimizer = {name: initial_optimizer("adam", ravel_pytree(network)[0]) for name, network in tree.items()}
    structure, state = Structure.of(config, policy), LearnerState(tree, optimizer, jnp.float64(0.0))
    batch = Batch(
        *(
            jnp.asarray(vector[name])[:, None]
            for name in ("observations", "next_observations", "actions", "rewards", "terminated", "truncated")
        )
    )
    numbers = numbers_of(config)
    samples, static = prepare(policy, state.parameters, batch, numbers, structure.policy_parts)
    after, _ = policy_epochs(structure, state, samples, static, jnp.asarray(vector["permutations"]), numbers)
    return vector, samples, after.parameters


def distance(parameters: Any, vector: dict[str, np.ndarray]) -> float:
    """The largest difference between our parameters and SB3's after the update, as a share of the largest step."""
    after, before = (ravel_pytree(networks(vector, prefix))[0] for prefix in ("after_", "before_"))
    return float(np.abs(ravel_pytree(parameters)[0] - after).max() / np.abs(after - before).max())


def test_one_rollout_and_one_update() -> None:
    vector, samples, parameters = update()
    # The rollout has a termination and five truncations; SB3 keeps these arrays in float32.
    assert (vector["terminated"].sum(), vector["truncated"].sum()) == (1, 5)
    np.testing.assert_allclose(samples.old_values, vector["values"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(samples.old_log_probs, vector["log_probs"], rtol=1e-6)
    np.testing.assert_allclose(samples.advantages, vector["advantages"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(samples.targets, vector["returns"], rtol=1e-5, atol=1e-6)
    assert distance(parameters, vector) < 1e-5


@pytest.mark.parametrize(
    "detail",
    [
        {"advantage_normalization_ddof": 0},
        {"advantage_normalization": "batch"},
        {"truncation_bootstrap": "terminal"},
        {"value_loss_coefficient": 0.25},
        {"value_clipping": "max", "value_clipping_range": 1e-3},
        {"gradient_clipping": None},
        {"adam_epsilon_style": "before_correction"},
        {"entropy_coefficient": 0.01},
    ],
    ids=lambda detail: next(iter(detail)),
)
def test_another_level_would_be_seen(detail: dict[str, Any]) -> None:
    vector, _, parameters = update(**detail)
    assert distance(parameters, vector) > 1e-3
