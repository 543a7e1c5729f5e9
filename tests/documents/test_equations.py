"""Equations of the catalogue: each becomes MathML, names every level, and has the constants of the code."""

from __future__ import annotations

import re

import pytest

import hooks
from minutiae.details import CATALOGUE
from minutiae.details.levels import Choice

WITH_EQUATION = [name for name, detail in CATALOGUE.items() if detail.equation]

IN_WORDS = {
    "environment",
    "segment_iterations",
    "held_out_diagnostics",
    "environment_reset_each_iteration",
    "observation_normalization_update",
    "target_kl_stop_check",
    "target_kl_stop_networks",
    "separate_optimizers",
    "update_order",
    "learning_rate_annealing_networks",
}
"""Rules that say when or which, and compute nothing."""


def test_rules_that_are_equations_have_one() -> None:
    assert set(CATALOGUE) - set(WITH_EQUATION) == IN_WORDS


@pytest.mark.parametrize("name", WITH_EQUATION)
def test_equations_become_mathml(name: str) -> None:
    for part in CATALOGUE[name].equation.split(r" \qquad "):
        converted = hooks.mathml(part, block=True)
        assert converted.startswith("<math ") and 'display="block"' in converted
        assert part.count(r"\begin{cases}") == converted.count("<mtable>")


@pytest.mark.parametrize("name", [name for name in WITH_EQUATION if isinstance(CATALOGUE[name].levels, Choice)])
def test_equations_have_every_level(name: str) -> None:
    words = {
        word for text in re.findall(r"\\text\{([^}]*)\}", CATALOGUE[name].equation) for word in re.split(r"[ ,:]", text)
    }
    levels = {"off" if level is None else level for level in CATALOGUE[name].levels.order}
    assert {level.replace("_", r"\_") for level in levels} <= words


@pytest.mark.parametrize("latex", [r"\nosuch{x}", r"\begin{aligned} a &= b \\ c &= d \end{aligned}"])
def test_what_is_not_understood_is_refused(latex: str) -> None:
    with pytest.raises(ValueError, match="no MathML for"):
        hooks.mathml(latex, block=True)


def test_factors_of_the_reproduction_lead_to_their_details() -> None:
    bundles = hooks.reproduction_bundles()
    assert bundles["reward_normalization"] == ["reward_clipping", "reward_scaling"]
    assert "initialization_policy_head_gain" in bundles["network_initialization"]


def test_a_page_keeps_everything_but_its_equations() -> None:
    page = '<p>so <span class="arithmatex">\\(a &lt; b\\)</span> holds</p><div class="arithmatex">\\[x\\]</div>'
    converted = hooks.with_equations(page)
    assert converted.startswith("<p>so <math ") and "<mo>&#x0003C;</mo>" in converted and " holds</p>" in converted
    assert converted.endswith('display="block"><mrow><mi>x</mi></mrow></math></div>')


def test_the_constants_in_equations_are_those_of_the_code() -> None:
    from minutiae.control.learner import optimizers

    adam = CATALOGUE["optimizer"].equation
    assert f"{optimizers.ADAM_DECAY_1} m" in adam and f"{optimizers.ADAM_DECAY_2} v" in adam
    assert f"{optimizers.RMSPROP_DECAY} v" in adam and optimizers.RMSPROP_EPSILON == 1e-5 and "10^{-5}" in adam
    assert f"1 - {optimizers.ADAM_DECAY_2}^t" in CATALOGUE["adam_epsilon_style"].equation
