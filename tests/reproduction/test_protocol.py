"""What each item trains: the article's cells, sizes and settings; and what it publishes adds up."""

from __future__ import annotations

import pytest

from minutiae.details import preset
from minutiae.errors import ConfigError
from minutiae.reproduction.costs import hours, hours_text, needs, needs_text
from minutiae.reproduction.protocol import ITEMS, item_named, protocol_of
from minutiae.reproduction.published import AAI, ACLI, FINAL_RETURNS, check_sums
from minutiae.studies.study import Study

MILLION = 488 * 2048


def study_of(name: str, **options: object) -> Study:
    item = item_named(name)
    assert item.study is not None
    return item.study(protocol_of(item, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "cells", "runs"),
    [
        ("table2", 5, 5 * 3 * 10),
        ("table3", 5, 5 * 3 * 10),
        ("figure1", 16, 16 * 2 * 4 * 5),
        ("figure2", 5, 5 * 10),
        ("figure3", 5, 5 * 2 * 10),
        ("figure4", 5, 5 * 3 * 10),
        ("nine", 32, 32 * 3),
        ("halfcheetah", 4, 4 * 10),
    ],
)
def test_every_item_has_its_cells_and_runs(name: str, cells: int, runs: int) -> None:
    study = study_of(name)
    assert len(study.layout.cells) == cells
    planned = study.first_runs()
    assert len(planned) == len({run.id for run in planned}) == runs
    assert {run.own.iterations * run.own.samples_per_iteration for run in planned} == {MILLION}


def test_tables_and_later_figures_share_their_runs() -> None:
    ids = {
        name: {run.id for run in study_of(name, tasks=["hopper"], agents=2).first_runs()}
        for name in ("table2", "table3", "figure3", "figure4")
    }
    assert len(set(map(frozenset, ids.values()))) == 1
    more = {run.id for run in study_of("table2", tasks=["hopper"], agents=3).first_runs()}
    assert ids["table2"] < more


def test_cells_are_the_presets_but_for_the_probe() -> None:
    study = study_of("table2", tasks=["Walker2d"], agents=1)
    for run in study.first_runs():
        expected = preset(str(run.cell[0]), "Walker2d-v4", "paper-artifact")
        assert run.own.replace(held_out_diagnostics=None) == expected


def test_figure_1_ends_at_the_presets() -> None:
    """All four on is PPO, all four off is PPO-M, but for learning rates (and what PPO-M does not clip)."""
    study = study_of("figure1", tasks=["walker2d"], agents=1, learning_rates=[4e-4])
    runs = {run.cell: run.own for run in study.first_runs()}
    ppo = preset("ppo", "Walker2d-v4", "paper-artifact")
    assert runs["max", "returns", "orthogonal", "linear"] == ppo
    minimal = preset("ppo-m", "Walker2d-v4", "paper-artifact")
    changed = runs[None, "off", "xavier", None].replace(
        learning_rate=minimal.learning_rate,
        value_learning_rate=minimal.value_learning_rate,
        observation_clipping=minimal.observation_clipping,
    )
    assert changed == minimal


def test_the_nine_are_crossed_clear_of_two_way_interactions() -> None:
    study = study_of("nine")
    assert len(study.factors) == 9
    assert study.layout.resolution == 4
    last = tuple(factor.levels[-1] for factor in study.factors)
    full = study.config("Hopper-v4", last)
    assert (full.gradient_clipping, full.reward_clipping, full.activation) == (0.5, 10.0, "tanh")  # type: ignore[union-attr]


def test_the_text_flavour_clips_values_as_the_article_prints_it() -> None:
    study = study_of("figure1", flavour="paper-text")
    assert study.factors[0].levels == (None, "min")


def test_published_effects_are_those_of_the_published_means() -> None:
    sums = check_sums()
    for task in FINAL_RETURNS:
        assert sums[task][0] == AAI[task]
        # The article prints 421 for Hopper; its means give 423.
        assert abs(sums[task][1] - ACLI[task]) <= 2
    assert sum(len(row) for row in FINAL_RETURNS.values()) == 15


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tasks": ["hoper"]}, "unknown task 'hoper'; did you mean 'hopper'? allowed: hopper, walker2d, humanoid"),
        ({"flavour": "paper"}, "unknown flavour 'paper'"),
        ({"version": "v1"}, "unknown version 'v1'"),
        ({"agents": 0}, "agents is a whole number of at least 1, not 0"),
        ({"tasks": []}, "tasks names at least one of hopper"),
    ],
)
def test_wrong_choices_are_told(options: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as error:
        study_of("table2", **options)
    assert text in str(error.value)


def test_an_unknown_item_is_told() -> None:
    with pytest.raises(ConfigError, match=r"unknown table or figure 'table4'; did you mean 'table"):
        item_named("table4")


def test_costs_add_up() -> None:
    found = needs([*ITEMS], agents=2)
    by_name = {need.name: need for need in found}
    assert by_name["table1"].runs == 0
    assert by_name["figure2"].steps == 5 * 2 * MILLION
    told: list[str] = []
    taken = hours(
        found,
        workers=2,
        speed=lambda _, environment: 1e-3 if "Humanoid" in environment else 1e-4,
        told=told.append,
    )
    assert taken["table1"] == 0
    assert taken["figure2"] == pytest.approx(10 * MILLION * 1e-3 / 2 / 3600)
    assert taken["table2"] == pytest.approx(10 * MILLION * (1e-3 + 2e-4) / 2 / 3600)
    assert told == ["Hopper-v4", "Walker2d-v4", "Humanoid-v4", "HalfCheetah-v4"]
    text = needs_text(found)
    assert "table1" in text
    assert "needs no runs" in text
    assert "figure2      Humanoid" in text
    assert hours_text({"table1": 0.0, "figure2": 1.25, "table2": None}) == (
        "Hours on this machine, as busy as it is now, all cores: figure2 1.2, table2 unknown.\n"
    )
    assert hours_text({"table1": 0.0}) == ""
