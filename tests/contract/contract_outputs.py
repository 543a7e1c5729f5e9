"""Everything named that one iteration of a config computes, from the functions and programs that train. No tests here.

The host's outputs come from a real `Population` whose learner is replaced by one that writes down what it was given.
The learner's come from the real program on one stored batch and stored parameters, so that nothing the host does
reaches it but the numbers and the random choices. Every output is an array; `changed` compares two sets bit by bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from contract_recording import RecordingPool, RecordingProgram
from jax.flatten_util import ravel_pytree

from minutiae.control import collector, population
from minutiae.control.batch import Batch
from minutiae.control.compilation import compile_now
from minutiae.control.learner.losses import policy_loss, policy_terms, stopping_kl, value_loss
from minutiae.control.learner.preparation import prepare
from minutiae.control.learner.program import compile_update
from minutiae.control.learner.structure import LearnerState, Structure
from minutiae.control.policies.initialization import initialize
from minutiae.control.policies.policy import Policy
from minutiae.control.population import Population
from minutiae.control.seeding import Purpose, environment_seeds
from minutiae.details import Config

Outputs = Mapping[str, np.ndarray]

SEED = 3
EPISODE_METRICS = ("episodes", "return_mean", "return_std", "return_min", "return_max", "length_mean")
ITERATIONS = 2
"""Of the host; the learner then computes the second one's update."""


class Host(NamedTuple):
    """What the host did: its outputs, and what it would have handed to the learner in the last iteration."""

    outputs: dict[str, np.ndarray]
    structure: Structure
    inputs: population.Inputs


@functools.cache
def host(config: Config) -> Host:
    """Two iterations of the host, with parameters that never move."""
    pools: list[RecordingPool] = []
    update = RecordingProgram(lambda state, *_: (state, {}, np.ones(1, bool)))
    measure = RecordingProgram(lambda *_: {})

    def make_pool(environment: str, seeds: list[int], threads: int | None) -> RecordingPool:
        pools.append(RecordingPool(make_real_pool(environment, seeds, threads), environment, list(seeds)))
        return pools[-1]

    with pytest.MonkeyPatch.context() as patch:
        make_real_pool = collector.make_pool
        patch.setattr(collector, "make_pool", make_pool)
        patch.setattr(population, "compile_update", lambda *_: update)
        patch.setattr(population, "compile_held_out", lambda *_: measure)
        agents = Population([config], [SEED], threads=1)
        reports = [agents.iterate()[0] for _ in range(ITERATIONS)]
        agents.close()
    inputs = [population.Inputs(*_agent(arguments)) for arguments in update.calls]
    held_out = {
        tuple(environment_seeds(SEED, Purpose.HELD_OUT_ENVIRONMENTS, iteration, config.environments)): iteration
        for iteration in range(ITERATIONS)
    }
    opened = [tuple(pool.seeds) for pool in pools]
    outputs = _of_pools([pool for pool, seeds in zip(pools, opened, strict=True) if seeds not in held_out])
    outputs |= _of_rollouts([each.batch for each in inputs])
    outputs |= _of_choices(inputs)
    outputs |= _of_state(inputs[0].state)
    outputs |= {
        "iterations": np.array(agents.iterations),
        "segment length": np.array(agents.segment),
        "logged episodes": np.array([[report.metrics[name] for name in EPISODE_METRICS] for report in reports], float),
        "held-out rollouts": _vector([arguments[2] for arguments in measure.calls]),
        "held-out iterations": np.array([held_out[seeds] for seeds in opened if seeds in held_out], int),
    }
    snapshot = agents.snapshot(0)
    outputs |= {f"{name[:-1]} statistics": _vector(snapshot[name]) for name in ("observations", "rewards")}
    return Host(outputs, agents.structure, inputs[-1])


def _agent(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[0], tree)


def _vector(tree: Any) -> np.ndarray:
    leaves = [np.ravel(np.asarray(leaf)).astype(np.float64) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([np.empty(0), *leaves])


def _of_pools(pools: list[RecordingPool]) -> dict[str, np.ndarray]:
    steps = [step for pool in pools for step in pool.transitions]
    before, actions, after, rewards, terminated, truncated = (np.stack(part) for part in zip(*steps, strict=True))
    return {
        "environment": np.array(sorted({pool.environment for pool in pools})),
        "pool seeds": np.array([pool.seeds for pool in pools]),
        "environment actions": actions,
        "raw observations": before,
        "raw successors": after,
        "raw rewards": rewards,
        "raw ends": np.stack([terminated, truncated]),
    }


def _of_rollouts(batches: list[Batch]) -> dict[str, np.ndarray]:
    whole = Batch(*(np.concatenate(parts) for parts in zip(*batches, strict=True)))
    return {
        "observations": whole.observations,
        "next observations": whole.next_observations,
        "stored actions": whole.actions,
        "rewards": whole.rewards,
        "episode ends": np.stack([whole.terminated, whole.truncated]),
    }


def _of_choices(inputs: list[population.Inputs]) -> dict[str, np.ndarray]:
    def scheduled(*names: str) -> np.ndarray:
        return np.array([[each.numbers[name] for name in names] for each in inputs])

    return {
        "policy minibatches": np.stack([each.indices.policy for each in inputs]),
        "value minibatches": np.stack([each.indices.value for each in inputs]),
        "fisher states": np.stack([each.indices.fisher for each in inputs]),
        "policy learning rate": scheduled("policy_learning_rate", "policy_learning_rate_end"),
        "value learning rate": scheduled("value_learning_rate", "value_learning_rate_end"),
        "clip range": scheduled("ratio_clipping"),
        "radius": scheduled("max_kl"),
    }


def _of_state(state: LearnerState) -> dict[str, np.ndarray]:
    policy, value = state.parameters["policy"], state.parameters["value"]
    return {
        "initial policy hidden layers": _vector([layer["weight"] for layer in policy["hidden"]]),
        "initial policy head": _vector(policy["head"]["weight"]),
        "initial policy biases": _vector([layer["bias"] for layer in (*policy["hidden"], policy["head"])]),
        "initial log standard deviation": _vector(policy["log_standard_deviation"]),
        "initial value hidden layers": _vector([layer["weight"] for layer in value["hidden"]]),
        "initial value head": _vector(value["head"]["weight"]),
        "initial value biases": _vector([layer["bias"] for layer in (*value["hidden"], value["head"])]),
        "initial KL coefficient": np.asarray(state.kl_coefficient),
    }


class Stored(NamedTuple):
    """What the learner is given, the same for all configs of one shape: a batch, who acted, and who has moved since."""

    batch: Batch
    acting: Any
    moved: Any


@functools.cache
def stored(policy: Policy, steps: int, rows: int) -> Stored:
    """The first `steps` steps of `rows` rows of one batch, and parameters for these networks."""
    draws = np.random.default_rng(11)
    most = (8, 3)
    terminated, truncated = np.zeros(most, bool), np.zeros(most, bool)
    terminated[1, 0] = terminated[3, 1] = truncated[2, 1] = truncated[0, 2] = True
    whole = Batch(
        observations=draws.normal(size=(*most, 3)).astype(np.float32),
        next_observations=draws.normal(size=(*most, 3)).astype(np.float32),
        actions=draws.normal(size=(*most, 2)).astype(np.float32),
        rewards=draws.normal(0, 2, size=most).astype(np.float32),
        terminated=terminated,
        truncated=truncated,
    )
    plain = Config(environment="any", initialization_policy_head_gain=1, initial_log_standard_deviation=-0.3)
    acting = initialize(np.random.default_rng(12), policy, plain)
    moved = {name: _moved(network, np.random.default_rng(13)) for name, network in acting.items()}
    return Stored(Batch(*(part[:steps, :rows] for part in whole)), acting, moved)


def _moved(network: Any, draws: np.random.Generator) -> Any:
    return jax.tree.map(lambda leaf: (leaf + 0.2 * draws.standard_normal(leaf.shape)).astype(np.float32), network)


@functools.cache
def updated(config: Config) -> dict[str, np.ndarray]:
    """A whole update, by the program that trains."""
    given = host(config)
    state, _, indices, numbers = given.inputs
    case = stored(given.structure.policy, config.rollout_length, config.environments)
    return _update(given.structure, state._replace(parameters=case.acting), case.batch, indices, numbers)


def _update(structure: Structure, *arguments: Any) -> dict[str, np.ndarray]:
    one_agent = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], arguments)
    state, metrics, sound = _agent(jax.device_get(compile_update(structure, one_agent).result()(*one_agent)))
    assert sound
    of_value = {name: value for name, value in metrics.items() if name.startswith(("value_", "explained"))}
    of_policy = {name: value for name, value in metrics.items() if name not in of_value}
    return {
        "policy parameters": _vector(state.parameters["policy"]),
        "value parameters": _vector(state.parameters["value"]),
        "policy optimizer": _vector(state.optimizer["policy"]),
        "value optimizer": _vector(state.optimizer["value"]),
        "KL coefficient": np.asarray(state.kl_coefficient),
        "policy metrics": _vector(of_policy),
        "value metrics": _vector(of_value),
    }


@functools.cache
def losses(config: Config) -> dict[str, np.ndarray]:
    """Samples as prepared, and losses with their gradients over all samples at parameters that have moved."""
    given = host(config)
    case = stored(given.structure.policy, config.rollout_length, config.environments)
    arguments = jax.tree.map(jnp.asarray, (case, given.inputs.state.kl_coefficient, given.inputs.numbers))
    key = (given.structure.policy, config.rollout_length, config.environments)
    if key not in _losses_programs:
        _losses_programs[key] = compile_now(functools.partial(_losses, given.structure.policy), arguments)
    samples, values, gradients = jax.device_get(_losses_programs[key](*arguments))
    return {
        "advantages": samples.advantages,
        "value targets": samples.targets,
        "value samples": samples.value_counts,
        "old values": samples.old_values,
        "old log probabilities": samples.old_log_probs,
        "policy loss": values[0],
        "value loss": values[1],
        "stopping KL": values[2],
        "policy gradient": _vector(gradients[0]),
        "value gradient": _vector(gradients[1]),
    }


_losses_programs: dict[Any, Callable[..., Any]] = {}


def _losses(policy: Policy, case: Stored, kl_coefficient: Any, numbers: dict[str, Any]) -> Any:
    samples, static = prepare(policy, case.acting, case.batch, numbers)

    def of_policy(parameters: Any) -> Any:
        terms = policy_terms(policy, parameters, samples, static, numbers)
        return policy_loss(terms, kl_coefficient, numbers), stopping_kl(terms, samples, numbers)

    def of_value(parameters: Any) -> Any:
        return value_loss(policy, parameters, samples, numbers)

    (loss, estimate), policy_gradient = jax.value_and_grad(of_policy, has_aux=True)(case.moved["policy"])
    error, value_gradient = jax.value_and_grad(of_value)(case.moved["value"])
    return samples, (loss, error, estimate), (ravel_pytree(policy_gradient)[0], ravel_pytree(value_gradient)[0])


def of(config: Config, update: bool = True) -> dict[str, np.ndarray]:
    """All outputs of a config by name; those of the update only if asked for."""
    return host(config).outputs | losses(config) | (updated(config) if update else {})


def changed(one: Outputs, other: Outputs) -> set[str]:
    """The outputs that differ in any bit."""
    assert one.keys() == other.keys()
    return {
        name for name in one if one[name].shape != other[name].shape or one[name].tobytes() != other[name].tobytes()
    }
