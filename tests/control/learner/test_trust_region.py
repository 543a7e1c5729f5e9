"""TRPO's update by the program that trains: a refused step leaves the policy bit for bit, and only the policy."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from learner_cases import Case, bits, case_of, config_of

from minutiae.control.learner.structure import LearnerState

pytestmark = pytest.mark.usefixtures("quick_compilation")

ACCEPTED, REFUSED, INDIFFERENT, FARTHER = range(4)
PLAIN = {"algorithm": "trpo", "value_epochs": 1, "value_learning_rate": 0.01, "line_search_backtracks": 1}


@pytest.fixture(scope="module")
def case(quick_compilation: None) -> Case:
    """Four agents with one candidate each; the surrogate is concave, so none improves as much as its slope promises."""
    configs = [
        config_of(**PLAIN, max_kl=0.01),
        config_of(**PLAIN, max_kl=0.01, line_search_accept_ratio=1),
        config_of(**PLAIN, max_kl=0.01, line_search="strict"),
        config_of(**PLAIN, max_kl=0.02),
    ]
    case = case_of(configs)
    for leaf in jax.tree.leaves((case.state, case.batch, case.indices)):
        leaf[FARTHER] = leaf[ACCEPTED]
    # Without rewards and values no action is better than another.
    for leaf in jax.tree.leaves((case.batch.rewards, case.state.parameters["value"])):
        leaf[INDIFFERENT] = 0
    return case


@pytest.fixture(scope="module")
def updated(case: Case) -> tuple[LearnerState, dict[str, np.ndarray]]:
    state, metrics, sound = case.update()
    assert sound.all()
    return state, metrics


def test_a_refused_step_leaves_the_policy_bit_for_bit(
    case: Case, updated: tuple[LearnerState, dict[str, np.ndarray]]
) -> None:
    state, metrics = updated
    assert list(metrics["line_search_accepted"]) == [True, False, False, True]
    for agent in range(4):
        before, after = (
            bits(jax.tree.map(lambda leaf, agent=agent: leaf[agent], each.parameters["policy"]))
            for each in (case.state, state)
        )
        if agent in (REFUSED, INDIFFERENT):
            assert after == before
            assert metrics["line_search_fraction"][agent] == metrics["step_scale"][agent] == 0
            assert metrics["line_search_backtracks"][agent] == 1
            assert metrics["kl_exact_batch"][agent] < 1e-12
            assert metrics["ratio_max_batch"][agent] == pytest.approx(1, abs=1e-6)
        else:
            assert all(one != other for one, other in zip(after, before, strict=True))
            assert metrics["line_search_fraction"][agent] == 1
            assert metrics["line_search_backtracks"][agent] == 0
            assert metrics["step_scale"][agent] > 0


def test_the_step_reaches_for_the_radius(case: Case, updated: tuple[LearnerState, dict[str, np.ndarray]]) -> None:
    state, metrics = updated
    radii = case.numbers["max_kl"]
    # With damping the quadratic KL of a whole step is a little less than the radius.
    for agent in (ACCEPTED, FARTHER):
        assert 0.5 * radii[agent] < metrics["kl_exact_batch"][agent] <= radii[agent]
    # s ~ sqrt(2 delta), from the same place in the same direction.
    before = ravel_pytree(case.agent(ACCEPTED).state.parameters["policy"])[0]
    steps = [
        ravel_pytree(jax.tree.map(lambda leaf, agent=agent: leaf[agent], state.parameters["policy"]))[0] - before
        for agent in (ACCEPTED, FARTHER)
    ]
    np.testing.assert_allclose(steps[1], np.sqrt(2) * steps[0], rtol=1e-3, atol=1e-6)


def test_the_ranges_of_ppo_do_not_reach_trpo(case: Case, updated: tuple[LearnerState, dict[str, np.ndarray]]) -> None:
    _, metrics = updated
    assert metrics["ratio_max_batch"][FARTHER] > 1.05
    tight = {"ratio_clipping": np.full(4, 1e-3, np.float32), "dual_clipping": np.full(4, 1.001, np.float32)}
    state, _, _ = case._replace(numbers=case.numbers | tight).update()
    assert bits(state) == bits(updated[0])


def test_the_value_network_has_its_own_step_whatever_becomes_of_the_policy(
    case: Case, updated: tuple[LearnerState, dict[str, np.ndarray]]
) -> None:
    state, _ = updated
    for agent in (ACCEPTED, REFUSED, FARTHER):
        before, after = (
            jax.tree.map(lambda leaf, agent=agent: leaf[agent], each.parameters["value"])
            for each in (case.state, state)
        )
        assert bits(before) != bits(after)
    # Two minibatches each, whatever the policy did; the policy's own optimizer is never used.
    assert list(state.optimizer["value"].count) == [2, 2, 2, 2]
    assert bits(state.optimizer["policy"]) == bits(case.state.optimizer["policy"])
