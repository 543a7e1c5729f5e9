"""An agent with a number that is not finite: it stays as it was, its first bad tensor is named, the others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from learner_cases import Case, bits, case_of, config_of

from minutiae.control.learner.program import autopsy

AGENTS = 4
BROKEN = 1


class Fault(NamedTuple):
    """What to spoil in the arrays of one agent, and the name that must come out."""

    spoil: Callable[[Case], None]
    name: str


def nan_at(find: Callable[[Case], Any]) -> Callable[[Case], None]:
    def spoil(case: Case) -> None:
        find(case)[BROKEN].flat[-1] = np.nan

    return spoil


def absurd_learning_rate(case: Case) -> None:
    for network in ("policy", "value"):
        for moment in ("", "_end"):
            case.numbers[f"{network}_learning_rate{moment}"][BROKEN] = 1e30


FAULTS = {
    "observations": Fault(nan_at(lambda case: case.batch.observations), "batch/observations"),
    "rewards": Fault(nan_at(lambda case: case.batch.rewards), "batch/rewards"),
    "successors": Fault(nan_at(lambda case: case.batch.next_observations), "batch/next_observations"),
    "actions": Fault(nan_at(lambda case: case.batch.actions), "samples/old_log_probs"),
    "policy weight": Fault(
        nan_at(lambda case: case.state.parameters["policy"]["hidden"][0]["weight"]),
        "acting_parameters/policy/hidden/0/weight",
    ),
    "value bias": Fault(
        nan_at(lambda case: case.state.parameters["value"]["head"]["bias"]), "acting_parameters/value/head/bias"
    ),
    "penalty": Fault(
        nan_at(lambda case: case.state.kl_coefficient[:, None]), "metrics/policy_gradient_norm_minibatch_max"
    ),
    "learning rate": Fault(absurd_learning_rate, "metrics/policy_gradient_norm_minibatch_max"),
}


def population() -> Case:
    return case_of([config_of(kl_penalty="fixed") for _ in range(AGENTS)])


@pytest.fixture(scope="module")
def healthy(quick_compilation: None) -> Any:
    state, _, sound = population().update()
    assert sound.all()
    return state


def of_agent(tree: Any, agent: int) -> list[bytes]:
    return bits(jax.tree.map(lambda leaf: leaf[agent], tree))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_agent_stays_as_it_was_and_harms_nobody(healthy: Any, fault: str) -> None:
    case = population()
    FAULTS[fault].spoil(case)
    state, _, sound = case.update()
    assert list(sound) == [agent != BROKEN for agent in range(AGENTS)]
    assert of_agent(state, BROKEN) == of_agent(case.state, BROKEN)
    for agent in range(AGENTS):
        if agent != BROKEN:
            assert of_agent(state, agent) == of_agent(healthy, agent) != of_agent(case.state, agent)


def test_what_is_seen_beyond_a_death_does_not_matter() -> None:
    """Simulators end an episode because their state is not finite, and tell that state."""
    cases = population(), population()
    for case, value in zip(cases, (0.0, np.nan), strict=True):
        case.batch.terminated[BROKEN, 2, 0] = True
        case.batch.next_observations[BROKEN, 2, 0] = value
    (expected, _, _), (state, _, sound) = (case.update() for case in cases)
    assert sound.all()
    assert of_agent(state, BROKEN) == of_agent(expected, BROKEN)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("quick_compilation")
def test_the_first_bad_tensor_is_named(fault: str) -> None:
    case = population()
    FAULTS[fault].spoil(case)
    assert autopsy(*case.agent(BROKEN)) == FAULTS[fault].name


@pytest.mark.usefixtures("quick_compilation")
def test_a_sound_agent_has_nothing_to_name() -> None:
    assert autopsy(*population().agent(0)) is None
