"""Which phases an update has, and in which order they run. Nothing is compiled here, only traced."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from learner_cases import case_of, config_of

from minutiae.control.learner import program

PHASES = ("policy_epochs", "value_epochs", "trust_region_step")
SEPARATE = {"separate_optimizers": True}
TRPO = {"algorithm": "trpo"}
POLICY_FIRST = {"update_order": "policy_first"}


@pytest.mark.parametrize(
    ("details", "phases"),
    [
        ({}, ["policy_epochs"]),
        (SEPARATE, ["value_epochs", "policy_epochs"]),
        (SEPARATE | POLICY_FIRST, ["policy_epochs", "value_epochs"]),
        (TRPO, ["value_epochs", "trust_region_step"]),
        (TRPO | POLICY_FIRST, ["trust_region_step", "value_epochs"]),
    ],
)
def test_phases_in_order(monkeypatch: pytest.MonkeyPatch, details: dict[str, Any], phases: list[str]) -> None:
    ran = []
    for phase in PHASES:
        real = getattr(program, phase)

        def recorded(*arguments: Any, phase: str = phase, real: Any = real) -> Any:
            ran.append(phase)
            return real(*arguments)

        monkeypatch.setattr(program, phase, recorded)
    case = case_of([config_of(**details)]).agent(0)
    jax.eval_shape(lambda *arguments: program.update_agent(case.structure, *arguments), *case[1:])
    assert ran == phases
