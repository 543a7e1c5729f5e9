"""Whole steps of the published study (PPO, value network, TRPO, conjugate gradient, filters), reproduced in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import reference_vectors as vectors
from minutiae.control.batch import Indices
from minutiae.control.learner.epochs import policy_epochs, value_epochs
from minutiae.control.learner.natural_gradient import conjugate_gradient
from minutiae.control.learner.optimizers import initial_optimizer
from minutiae.control.learner.preparation import split_static
from minutiae.control.learner.structure import LearnerState, Samples, Structure
from minutiae.control.learner.trust_region import trust_region_step
from minutiae.control.normalizers import ObservationNormalizer, RewardScaler
from minutiae.control.policies.distributions import DiagonalGaussian
from minutiae.control.policies.policy import Policy
from minutiae.control.schedules import scheduled, stacked_numbers
from minutiae.details import Config
from minutiae.objectives.ratios import ratio, surrogate
from minutiae.objectives.reductions import mean


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def close(actual: Any, expected: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=tolerance, atol=1e-12)


def close_trees(actual: Any, expected: Any, tolerance: float = 1e-6) -> None:
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    jax.tree.map(lambda a, e: close(a, e, tolerance), actual, expected)


def settings(config: Config) -> dict[str, Any]:
    """The numbers of the first of many iterations, as training passes them, for one agent."""
    stacked = scheduled(stacked_numbers([config]), 0, 1000)
    exact = {name: float(value[0]) for name, value in stacked.items()}
    # float32 is what training passes; the vectors were made in float64.
    levels = {name: getattr(config, name, None) for name in exact}
    exact |= {name: level for name, level in levels.items() if isinstance(level, float)}
    for network, base in (("policy", "learning_rate"), ("value", "value_learning_rate")):
        exact[f"{network}_learning_rate"] = exact[f"{network}_learning_rate_end"] = levels[base]
    return {name: jnp.asarray(value, jnp.float64) for name, value in exact.items()}


def agent(vector: dict[str, np.ndarray], config: Config, parameters: dict[str, Any]) -> tuple[Structure, LearnerState]:
    inputs = vector["states"].shape[1]
    outputs = vector["actions"].shape[1] if "actions" in vector else 1
    policy = Policy(inputs, DiagonalGaussian(outputs), (64, 64), (64, 64), "tanh")
    tree = jax.tree.map(jnp.asarray, parameters)
    optimizer = {name: initial_optimizer("adam", ravel_pytree(network)[0]) for name, network in tree.items()}
    return Structure.of(config, policy), LearnerState(tree, optimizer, jnp.float64(0.0))


def samples(vector: dict[str, np.ndarray], structure: Structure, state: LearnerState) -> tuple[Samples, dict[str, Any]]:
    size = len(vector["states"])
    distribution = structure.policy.distribution_of(state.parameters["policy"], jnp.asarray(vector["states"]))
    old, static = split_static(distribution, size)
    old_values = jnp.asarray(vector.get("old_values", np.zeros(size)))
    return (
        Samples(
            observations=jnp.asarray(vector["states"]),
            actions=jnp.asarray(vector.get("actions", np.zeros((size, 1)))),
            old_log_probs=jnp.asarray(vector.get("old_log_probs", np.zeros(size))),
            old=old,
            advantages=jnp.asarray(vector["advantages"]),
            targets=old_values + vector["advantages"],
            old_values=old_values,
            value_counts=jnp.asarray(vector.get("not_dones", np.ones(size))) != 0,
        ),
        static,
    )


def linear_network(inputs: int) -> dict[str, Any]:
    layer = {"weight": np.zeros((inputs, 64)), "bias": np.zeros(64)}
    return {
        "hidden": [layer, {"weight": np.zeros((64, 64)), "bias": np.zeros(64)}],
        "head": {"weight": np.zeros((64, 1)), "bias": np.zeros(1)},
    }


@pytest.mark.parametrize("name", vectors.names("ppo_step"))
def test_ppo_step(name: str) -> None:
    vector = vectors.load(name)
    size, clip = len(vector["states"]), float(vector["clip_eps"])
    norm, entropy = float(vector["clip_grad_norm"]), float(vector["entropy_coeff"])
    config = Config(
        environment="Hopper-v4",
        environments=1,
        rollout_length=size,
        minibatches=int(vector["num_minibatches"]),
        epochs=int(vector["epochs"]),
        separate_optimizers=True,
        ratio_clipping=None if clip > 1e6 else clip,
        entropy_coefficient=entropy if entropy != 0 else None,
        gradient_clipping=None if norm < 0 else norm,
        gradient_clipping_scope="policy_only" if norm >= 0 else "joint",
        learning_rate=float(vector["lr"]),
        adam_epsilon=float(vector["adam_eps"]),
        advantage_normalization_ddof=1,
    )
    before = vectors.parameters(vector, "before_")
    structure, state = agent(vector, config, {"policy": before, "value": linear_network(vector["states"].shape[1])})
    prepared, static = samples(vector, structure, state)
    after, metrics = policy_epochs(structure, state, prepared, static, vector["permutations"], settings(config))
    close_trees(after.parameters["policy"], vectors.parameters(vector, "after_"))
    close(metrics["policy_loss"][-1, -1], vector["final_loss"])
    close_trees(after.parameters["value"], state.parameters["value"], 0.0)


@pytest.mark.parametrize("name", vectors.names("value_step"))
def test_value_step(name: str) -> None:
    vector = vectors.load(name)
    config = Config(
        environment="Hopper-v4",
        environments=1,
        rollout_length=len(vector["states"]),
        minibatches=int(vector["num_minibatches"]),
        value_epochs=int(vector["epochs"]),
        separate_optimizers=True,
        gradient_clipping=None,
        value_learning_rate=float(vector["lr"]),
        adam_epsilon=float(vector["adam_eps"]),
        value_target_terminal_mask=True,
        **({"value_clipping": "max", "value_clipping_range": float(vector["clip_eps"])} if vector["clip"] else {}),
    )
    before = vectors.parameters(vector, "before_")
    unused = {**linear_network(vector["states"].shape[1]), "log_standard_deviation": np.zeros(1)}
    structure, state = agent(vector, config, {"policy": unused, "value": before})
    prepared, _ = samples(vector, structure, state)
    after, metrics = value_epochs(structure, state, prepared, vector["permutations"], settings(config))
    close_trees(after.parameters["value"], vectors.parameters(vector, "after_"))
    close(metrics["value_loss"][-1, -1], vector["final_loss"])


@pytest.mark.parametrize("name", vectors.names("trpo_step"))
def test_trpo_step(name: str) -> None:
    vector = vectors.load(name)
    config = Config(
        environment="Hopper-v4",
        algorithm="trpo",
        environments=1,
        rollout_length=len(vector["states"]),
        minibatches=1,
        gradient_clipping=None,
        max_kl=float(vector["max_kl"]),
        conjugate_gradient_iterations=int(vector["cg_steps"]),
        conjugate_gradient_damping=float(vector["damping"]),
        line_search_backtracks=int(vector["max_backtrack"]),
        line_search_accept_ratio=float(vector["accept_ratio"]),
        advantage_normalization="minibatch",
        advantage_normalization_ddof=1,
    )
    before = vectors.parameters(vector, "before_")
    structure, state = agent(vector, config, {"policy": before, "value": linear_network(vector["states"].shape[1])})
    prepared, static = samples(vector, structure, state)
    numbers = settings(config)
    after, metrics = trust_region_step(structure, state, prepared, static, vector["fisher_indices"], numbers)
    close_trees(after.parameters["policy"], vectors.parameters(vector, "after_"), 1e-5)
    assert bool(metrics["line_search_accepted"])

    distribution = structure.policy.distribution_of(after.parameters["policy"], prepared.observations)
    log_probs = structure.policy.distribution.log_prob(distribution, prepared.actions)
    advantages = (prepared.advantages - mean(prepared.advantages)) / (prepared.advantages.std(ddof=1) + 1e-8)
    close(
        surrogate(ratio(log_probs, prepared.old_log_probs), advantages).mean(),
        vector["surrogate_after"],
        1e-5,
    )
    divergence = structure.policy.distribution.kl({**prepared.old, **static}, distribution)
    close(divergence.mean(), vector["kl_after"], 1e-5)


def test_conjugate_gradient() -> None:
    vector = vectors.load("conjugate_gradient")
    matrix = jnp.asarray(vector["matrix"])
    for iterations in (5, 20):
        solution = conjugate_gradient(lambda x: matrix @ x, jnp.asarray(vector["b"]), iterations)
        close(solution, vector[f"x_{iterations}"])


def test_learning_rate_annealing() -> None:
    vector = vectors.load("learning_rate_annealing")
    start, iterations = float(vector["lr0"]), int(vector["iterations"])
    config = Config(environment="Hopper-v4", learning_rate=start, learning_rate_annealing="linear")
    numbers = {name: value.astype(np.float64) for name, value in stacked_numbers([config]).items()}
    numbers["learning_rate"] = np.array([start])
    rates = [float(scheduled(numbers, i, iterations)["policy_learning_rate"][0]) for i in range(iterations)]
    np.testing.assert_allclose(rates, vector["lrs"], rtol=1e-6)


@pytest.mark.parametrize("clip", [10, 1])
def test_observation_filter(clip: int) -> None:
    vector = vectors.load("observation_filter")
    config = Config(
        environment="Hopper-v4",
        observation_normalization_estimator="sample",
        observation_clipping=float(clip),
    )
    normalizer = ObservationNormalizer([config], vector["x"].shape[1])
    filtered = []
    for x in vector["x"]:
        normalizer.observe(x[None, None])
        filtered.append(normalizer.normalize(x[None, None])[0, 0])
    # Normalized observations are float32, whatever the statistics are.
    np.testing.assert_allclose(np.array(filtered), vector[f"y_clip{clip}"], rtol=1e-6, atol=1e-7)
    close(normalizer.moments.mean[0], vector["mean"])
    close(normalizer.moments.deviation()[0], vector["std"] + 1e-8)


@pytest.mark.parametrize(
    ("output", "mode", "clip"),
    [
        ("returns_clip10", "returns", 10.0),
        ("returns_clip1", "returns", 1.0),
        ("returns_noclip", "returns", None),
        ("rewards_mode_clip2_5", "rewards", 2.5),
    ],
)
def test_reward_filter(output: str, mode: str, clip: float | None) -> None:
    vector = vectors.load("reward_filter")
    resets = {"reward_scaling_reset": "on_reset"} if mode == "returns" else {}
    config = Config(
        environment="Hopper-v4",
        discount=float(vector["gamma"]),
        reward_scaling=mode,
        reward_scaling_estimator="sample",
        reward_clipping=clip,
        **resets,
    )
    scaler = RewardScaler([config], 1)
    dones = vector["dones"].astype(bool)
    # `on_reset` stands for the released code, where a done is followed by a reset of the environment.
    scaled = []
    for reward, done in zip(vector["rewards"], dones, strict=True):
        scaled.append(scaler.scale(np.array([[[reward]]]), np.array([[[False]]]), np.array([[[done]]]))[0, 0, 0])
    np.testing.assert_allclose(np.array(scaled), vector[output], rtol=1e-6, atol=1e-7)


def test_indices_have_one_field_for_each_random_choice() -> None:
    assert Indices._fields == ("policy", "value", "fisher")
