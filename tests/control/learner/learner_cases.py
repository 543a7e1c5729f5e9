"""Small cases of an update: networks, a batch, numbers, and the program that trains. No tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from minutiae.control.batch import Batch, Indices
from minutiae.control.learner.program import compile_update, initial_state
from minutiae.control.learner.structure import LearnerState, Structure
from minutiae.control.policies.distributions import DiagonalGaussian, Distribution
from minutiae.control.policies.initialization import initialize
from minutiae.control.policies.policy import Policy
from minutiae.control.schedules import scheduled, stacked_numbers
from minutiae.details import Config

OBSERVATION = 3


class Case(NamedTuple):
    """Arguments of an update: one agent's, or a population's with a leading axis P."""

    structure: Structure
    state: LearnerState
    batch: Batch
    indices: Indices
    numbers: dict[str, Any]

    def update(self) -> tuple[LearnerState, dict[str, np.ndarray], np.ndarray]:
        """Of a population, by the very program that trains."""
        program = compile_update(self.structure, self[1:]).result()
        result: tuple[LearnerState, dict[str, np.ndarray], np.ndarray] = jax.device_get(program(*self[1:]))
        return result

    def agent(self, index: int) -> Case:
        """One agent of a population."""
        return Case(self.structure, *jax.tree.map(lambda leaf: leaf[index], self[1:]))


def config_of(**details: Any) -> Config:
    """One epoch of two minibatches of six samples, small networks, constant rates, nothing clipped."""
    plain: dict[str, Any] = {
        "environment": "any",
        "environments": 2,
        "rollout_length": 6,
        "minibatches": 2,
        "epochs": 1,
        "policy_hidden_sizes": (4,),
        "value_hidden_sizes": (3,),
        "learning_rate_annealing": None,
        "gradient_clipping": None,
        "initialization_policy_head_gain": 1.0,
    }
    if details.get("algorithm") == "trpo":
        del plain["epochs"]
    return Config(**(plain | details))


def policy_of(config: Config, distribution: Distribution | None = None, inputs: int = OBSERVATION) -> Policy:
    """Networks for two continuous actions, unless told otherwise."""
    chosen = DiagonalGaussian(2) if distribution is None else distribution
    return Policy(inputs, chosen, config.policy_hidden_sizes, config.value_hidden_sizes, config.activation)


def numbers_of(configs: Sequence[Config]) -> dict[str, np.ndarray]:
    """The numbers of a population in its first iteration."""
    return scheduled(stacked_numbers(configs), 0, 10)


def batch_of(policy: Policy, config: Config, parameters: Any, seed: int) -> Batch:
    """A rollout `[T, N, ...]` that `parameters` might have gathered; a few episodes end in it."""
    draws = np.random.default_rng(seed)
    shape = (config.rollout_length, config.environments)
    observations, following = draws.standard_normal((2, *shape, policy.observation_size)).astype(np.float32)
    distribution = policy.distribution_of(parameters, observations.reshape(-1, policy.observation_size))
    noise = policy.distribution.noise(draws, (shape[0] * shape[1],))
    actions = policy.distribution.sample(distribution, noise).reshape(*shape, -1)
    ends = draws.random(shape)
    return Batch(
        observations=observations,
        next_observations=following,
        actions=actions.astype(np.int32 if policy.distribution.actions_are_integers else np.float32),
        rewards=draws.standard_normal(shape).astype(np.float32),
        terminated=ends < 0.1,
        truncated=ends > 0.9,
    )


def case_of(configs: Sequence[Config], distribution: Distribution | None = None, inputs: int = OBSERVATION) -> Case:
    """A population's first update, each agent with parameters and a batch of its own."""
    first = configs[0]
    policy = policy_of(first, distribution, inputs)
    structure = Structure.of(first, policy)
    numbers = numbers_of(configs)
    agents = []
    for index, config in enumerate(configs):
        parameters = initialize(np.random.default_rng(index), policy, config)
        own = {name: value[index] for name, value in numbers.items()}
        draws = np.random.default_rng(100 + index)
        size = structure.batch
        indices = Indices(
            policy=orders(draws, structure.epochs, size),
            value=orders(draws, 0 if structure.joint else structure.value_epochs, size),
            fisher=draws.permutation(size)[: structure.fisher_size].astype(np.int32),
        )
        state = initial_state(structure, parameters, own)
        agents.append((state, batch_of(policy, config, parameters["policy"], index), indices))
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *agents)
    return Case(structure, *stacked, numbers)


def orders(draws: np.random.Generator, epochs: int, size: int) -> np.ndarray:
    """One permutation for each epoch, int32 `[epochs, size]`."""
    return np.array([draws.permutation(size) for _ in range(epochs)], np.int32).reshape(epochs, size)


def bits(tree: Any) -> list[bytes]:
    """Every array of a tree, byte by byte."""
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]
