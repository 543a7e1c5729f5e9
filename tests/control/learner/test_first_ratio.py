"""Before the first gradient step nothing has moved: every probability ratio is exactly one, to the last bit."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from learner_cases import case_of, config_of

from minutiae.control import compilation
from minutiae.control.learner.preparation import prepare
from minutiae.control.policies.distributions import Bounds, Categorical, DiagonalGaussian, Distribution
from minutiae.control.population import Population
from small_runs import small

pytestmark = pytest.mark.usefixtures("quick_compilation")

GAUSSIAN = DiagonalGaussian(3)
SQUASHED = DiagonalGaussian(3, Bounds((-1.0, 0.0, -5.0), (1.0, 2.0, 5.0)))
DISCRETE = Categorical((4,))
SEVERAL = Categorical((4, 3))
SEPARATE = {"separate_optimizers": True, "value_epochs": 1}
# Narrow layers, many rows and many actions are where one matrix product or sum is rounded unlike another.
WIDE = {"policy_hidden_sizes": (64, 64), "rollout_length": 256, "minibatches": 16}


@pytest.mark.parametrize(
    ("distribution", "agents", "details"),
    [
        pytest.param(GAUSSIAN, 1, {}, id="gaussian"),
        pytest.param(GAUSSIAN, 3, SEPARATE, id="gaussian, separate optimizers, three agents"),
        pytest.param(SQUASHED, 3, {"action_bound": "tanh"}, id="tanh, three agents"),
        pytest.param(DISCRETE, 1, SEPARATE, id="discrete, separate optimizers"),
        pytest.param(SEVERAL, 3, {}, id="several discrete, three agents"),
    ],
)
def test_the_first_ratio_is_one(distribution: Distribution, agents: int, details: dict[str, Any]) -> None:
    configs = [config_of(**WIDE, **details) for _ in range(agents)]
    _, metrics, sound = case_of(configs, distribution, inputs=45).update()
    assert sound.all()
    np.testing.assert_array_equal(metrics["ratio_deviation_first_minibatch"], np.zeros(agents))
    # Not because nothing ever moves.
    assert (metrics["ratio_max_batch"] > 1.0001).all()


@pytest.mark.parametrize(("actions", "agents"), [(17, 1), (21, 3)])
def test_the_first_ratio_is_one_in_programs_as_they_train(
    monkeypatch: pytest.MonkeyPatch, actions: int, agents: int
) -> None:
    """Optimized, XLA may fuse a product into a sum in one program and not in another: from 17 actions on it did."""
    optimized = compilation.CPU_OPTIONS | {"xla_backend_optimization_level": 1}
    monkeypatch.setattr(compilation, "CPU_OPTIONS", optimized)
    _, metrics, _ = case_of([config_of(**WIDE)] * agents, DiagonalGaussian(actions), inputs=45).update()
    np.testing.assert_array_equal(metrics["ratio_deviation_first_minibatch"], np.zeros(agents))


def test_the_first_ratio_is_one_whenever_the_observation_statistics_move() -> None:
    rules = ("per_step", "per_iteration_before_update", "per_iteration_after_update")
    configs = [small(observation_normalization_update=rule) for rule in rules]
    population = Population(configs, [0, 1, 2], threads=1)
    for _ in range(3):
        for report in population.iterate():
            assert report is not None and report.sound
            assert report.metrics["ratio_deviation_first_minibatch"] == 0.0
    population.close()


@pytest.mark.parametrize("parts", [1, 3])
def test_old_probabilities_are_those_of_the_stored_actions(parts: int) -> None:
    """A ratio of one would say nothing if both of its terms were wrong."""
    config = config_of()
    case = case_of([config]).agent(0)
    program = jax.jit(prepare, static_argnums=(0, 4))
    samples, static = program(case.structure.policy, case.state.parameters, case.batch, case.numbers, parts)
    network = case.state.parameters["policy"]
    hidden = np.tanh(samples.observations @ network["hidden"][0]["weight"] + network["hidden"][0]["bias"])
    mean = hidden @ network["head"]["weight"] + network["head"]["bias"]
    deviation = np.exp(network["log_standard_deviation"])
    log_densities = -0.5 * ((samples.actions - mean) / deviation) ** 2 - np.log(deviation * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(samples.old_log_probs, log_densities.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(samples.old["mean"], mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(static["log_std"], network["log_standard_deviation"])
    # Step t of row n is sample t N + n.
    np.testing.assert_array_equal(samples.actions[5], case.batch.actions[2, 1])
