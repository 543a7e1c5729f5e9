"""`Study` and `study.toml`: the same thing, and nothing wrong in either gets as far as training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minutiae.details import config_hash, preset
from minutiae.errors import ConfigError, RunError
from minutiae.studies.study import Study, Tuning
from minutiae.studies.study_file import load_study, study_from_toml, study_to_toml
from small_runs import small

PLAIN = """
question = "Does it?"
environments = ["Hopper-v5"]
seeds = 3
[factors]
value_clipping = ["off", "max"]
learning_rate_annealing = ["off", "linear"]
"""

RICH = """
question = "Which, \\"really\\"?"
preset = "trpo"
environments = ["Hopper-v5", "Walker2d-v5"]
outcomes = ["best_return", "kl_exact_batch"]
seeds = 4
first_seed = 7
population = 5
design = { name = "cells", cells = [{ max_kl = 0.01, whitening = "none" }, { max_kl = 0.02, whitening = "all" }] }
[base]
steps = 200000
policy_hidden_sizes = [32, 16]
[factors]
max_kl = [0.01, 0.02]
[factors.whitening.none]
reward_scaling = "off"
observation_normalization = "off"
[factors.whitening.all]
reward_clipping = 5
[tuning]
seeds = 2
protocol = "engstrom"
[tuning.grid]
value_learning_rate = [1e-4, 3e-4]
"""


def test_a_study_in_ten_lines_and_the_same_in_python() -> None:
    study = study_from_toml(PLAIN)
    same = Study(
        question="Does it?",
        environments="Hopper-v5",
        seeds=3,
        factors={"value_clipping": [None, "max"], "learning_rate_annealing": [None, "linear"]},
    )
    assert study == same
    assert study.layout.cells == ((None, None), (None, "linear"), ("max", None), ("max", "linear"))
    runs = study.first_runs()
    assert len(runs) == 12
    assert [run.seed for run in runs] == [0] * 4 + [1] * 4 + [2] * 4
    assert study.label(runs[1].cell) == "value_clipping=off, learning_rate_annealing=linear"
    assert runs[3].config == preset("ppo", "Hopper-v5", value_clipping="max", learning_rate_annealing="linear")
    assert runs[3].id == config_hash(runs[3].config, 0)
    assert len({run.id for run in runs}) == 12


@pytest.mark.parametrize("text", [PLAIN, RICH])
def test_text_and_back(text: str, tmp_path: Path) -> None:
    study = study_from_toml(text)
    assert study_from_toml(study_to_toml(study)) == study
    (tmp_path / "study.toml").write_text(study_to_toml(study))
    assert load_study(tmp_path / "study.toml") == study


def test_levels_that_stand_for_several_details_and_presets_as_a_factor() -> None:
    study = study_from_toml(RICH)
    config = study.config("Walker2d-v5", (0.01, "none"), (3e-4,))
    assert (config.max_kl, config.reward_scaling, config.observation_normalization) == (0.01, None, None)
    assert (config.value_learning_rate, config.steps, config.policy_hidden_sizes) == (3e-4, 200_000, (32, 16))
    assert study.config("Hopper-v5", (0.02, "all"), (1e-4,)).reward_clipping == 5.0
    crossed = Study(environments="Hopper-v5", factors={"preset": ["ppo", "trpo"], "discount": [0.99, 0.995]})
    assert crossed.config("Hopper-v5", ("trpo", 0.995)) == preset("trpo", "Hopper-v5", discount=0.995)


def test_tuning_takes_seeds_that_are_not_reported() -> None:
    grid = {"learning_rate": [1e-4, 3e-4, 1e-3]}
    study = Study(
        environments="Hopper-v5",
        factors={"value_clipping": ["off", "max"]},
        seeds=4,
        first_seed=10,
        tuning=Tuning(grid),
    )
    first = study.first_runs()
    assert [run.stage for run in first] == ["tuning"] * (2 * 3 * 3)
    assert {run.seed for run in first} == {10, 11, 12}
    assert {run.config.learning_rate for run in first} == {1e-4, 3e-4, 1e-3}
    chosen = {("Hopper-v5", (None,)): (1e-3,), ("Hopper-v5", ("max",)): (1e-4,)}
    final = study.final_runs(chosen)
    assert {run.seed for run in final} == {13, 14, 15, 16}
    assert {(run.cell, run.config.learning_rate) for run in final} == {((None,), 1e-3), (("max",), 1e-4)}
    # By name only: the paper's protocol reports the very runs that chose.
    paper = Study(**{**vars_of(study), "tuning": Tuning(grid, 3, "engstrom")})
    assert {run.id for run in paper.final_runs(chosen)} <= {run.id for run in paper.first_runs()}
    # How many there will be is known before tuning has chosen.
    assert study.run_count == len({run.id for run in [*first, *final]}) == 2 * 3 * 3 + 2 * 4
    assert paper.run_count == len(paper.first_runs()) == 2 * 3 * 3


def test_ranges_are_read_back(tmp_path: Path) -> None:
    study = Study(
        environments=["Hopper-v5", "my.module:make"],
        factors={"value_clipping": ["off", "max"]},
        ranges={"Hopper-v5": [0, 3000], "my.module:make": (-1.5, 2)},
    )
    assert study.ranges == {"Hopper-v5": (0.0, 3000.0), "my.module:make": (-1.5, 2.0)}
    assert study_from_toml(study_to_toml(study)) == study
    assert study_from_toml(
        study_to_toml(study).split("[ranges]")[0] + "[factors]\nvalue_clipping = ['off', 'max']"
    ) == (Study(environments=study.environments, factors={"value_clipping": ["off", "max"]}))


def test_a_study_takes_no_argument_without_its_name() -> None:
    with pytest.raises(ConfigError, match=r"a Study takes every argument by its name, and not \['Hopper-v5'\] alone"):
        Study(["Hopper-v5"])  # type: ignore[misc]


def vars_of(study: Study) -> dict[str, Any]:
    return {name: getattr(study, name) for name in study.__dataclass_fields__}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"factors": {"value_cliping": ["off", "max"]}},
            "unknown detail 'value_cliping'; did you mean 'value_clipping'?",
        ),
        (
            {"factors": {"value_clipping": ["off", "maxx"]}},
            "unknown level of value_clipping 'maxx'; did you mean 'max'?",
        ),
        (
            {"factors": {"value_clipping": "max"}},
            "value_clipping is a list of levels, not 'max'; as in value_clipping = ",
        ),
        ({"factors": {"value_clipping": ["max"]}}, "factor 'value_clipping' has 1 level and needs at least two"),
        (
            {"factors": {"discount": {"low": 0.9, "high": 1}}},
            "discount.low is a table of details and their levels, not 0.9",
        ),
        (
            {"factors": {"discount": {"low": {}, "high": {}}}},
            "the factor 'discount' is a detail; give it a list of levels",
        ),
        ({"factors": {"environment": ["a", "b"]}}, "the environment is no factor; list several under environments"),
        ({"factors": {"preset": ["ppo", "trop"]}}, "cell preset=trop: unknown preset 'trop'; did you mean 'trpo'?"),
        ({"base": {"stpes": 3}}, "unknown detail 'stpes'; did you mean 'steps'?"),
        ({"outcomes": "final_retrun"}, "unknown outcome 'final_retrun'; did you mean 'final_return'?"),
        ({"seeds": 0}, "seeds is a whole number of at least 1, not 0"),
        (
            {"seeds": [3, 4, 5]},
            "seeds is how many, not a list; they follow first_seed: write seeds = 3 and first_seed = 3",
        ),
        ({"first_seed": -1}, "first_seed is a whole number of at least 0, not -1"),
        ({"environment": "Hopper-v5"}, "unknown argument of Study 'environment'; did you mean 'environments'?"),
        ({"ranges": {"Hoper-v5": [0, 1]}}, "unknown environment in ranges 'Hoper-v5'; did you mean 'Hopper-v5'?"),
        (
            {"ranges": {"Hopper-v5": [1, 1]}},
            "the range of Hopper-v5 is two numbers, the lower one first, as in [0, 3000]",
        ),
        ({"ranges": [0, 1]}, "ranges is a table with a pair for each environment, not [0, 1]"),
        (
            {"environments": ["Hopper-v5", "Ant-v5"], "ranges": {"Ant-v5": [0, 1]}},
            "ranges has none for Hopper-v5; give one for every environment, or leave all out",
        ),
        ({"discount": 0.9}, "unknown argument of Study 'discount'; allowed: environments, factors, question, preset"),
        ({"population": 0}, "population is a whole number of at least 1, not 0"),
        ({"environments": []}, "environments is a list of at least one name, not []"),
        (
            {"environments": ["Hopper-v5", "Hopper-v5"]},
            "environments names one twice: Hopper-v5, Hopper-v5; leave it out",
        ),
        ({"design": "factorail"}, "unknown design 'factorail'; did you mean 'factorial'?"),
        (
            {"base": {"reward_scaling_reset": "never"}, "factors": {"reward_scaling": ["off", "returns"]}},
            "cell reward_scaling=off: reward_scaling_reset = never would have no effect: it needs reward_scaling",
        ),
        (
            {"tuning": Tuning({"value_clipping": ["off", "max"]})},
            "value_clipping is set by the factor value_clipping and by the tuned value_clipping; one would overwrite",
        ),
        (
            {"factors": {"value_clipping": ["off", "max"], "both": {"a": {"value_clipping": "off"}, "b": {}}}},
            "value_clipping is set by the factor value_clipping and by the factor both; one would overwrite the other",
        ),
        ({"base": {"value_clipping": "max"}}, "value_clipping is set by base and by the factor value_clipping; one"),
        (
            {"factors": {"pre": {"a": {"discount": 0.9}, "b": {"discount": 0.90}}}},
            "the cells pre=a and pre=b are the same run; let their levels differ in a detail",
        ),
        (
            {"factors": {"steps": [2048, 4096]}},
            "steps is a column of the study's tables and cannot be a factor; set it",
        ),
        ({"base": {"environment": "Hopper-v5"}}, "the environment is no detail of a cell; list it under environments"),
        ({"question": 3}, "question is text, not 3"),
        ({"preset": ["a"]}, "preset is text, not ['a']"),
        (
            {"design": "cells", "options": {"cells": [3]}},
            "cells is a list of tables, each with a level for every factor",
        ),
        ({"factors": {"preset": ["ppo", 3]}}, "cell preset=3: unknown preset '3'"),
    ],
)
def test_what_is_wrong_is_told_before_anything_trains(change: dict[str, Any], text: str) -> None:
    plain: dict[str, Any] = {"environments": "Hopper-v5", "factors": {"value_clipping": ["off", "max"]}}
    with pytest.raises(ConfigError) as caught:
        Study(**(plain | change))
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("seeds = ", "this study is not valid TOML: "),
        ("seeds = 3", "a study needs environments = [...] and a table [factors] with levels of the details to cross"),
        ("stpes = 3", "unknown key 'stpes'; did you mean 'seeds'?"),
        ("steps = 3", "unknown key 'steps'; "),
        (f"{PLAIN}[tuning]\nprotokol = 'x'", "unknown key of tuning 'protokol'; did you mean 'protocol'?"),
        (f"{PLAIN}[tuning.grid]", "tuning needs a grid; name at least one detail, as in learning_rate = [1e-4, 3e-4]"),
        (f"design = {{ nam = 'x' }}{PLAIN}", "design is a name or a table with one; allowed: factorial, fractional, "),
        (f"design = {{ name = 'factorial', x = 1 }}{PLAIN}", "unknown key of design 'x'; "),
        (f"base = 3{PLAIN}", "base is a table, as in [base]; not 3"),
    ],
)
def test_wrong_files(text: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_study(tmp_path / "study.toml")
    assert str(caught.value).startswith(f"{tmp_path / 'study.toml'}: {error}")
    if text == "steps = 3":
        assert str(caught.value).endswith("write it under [base]")


def test_files_that_are_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nowhere\.toml does not exist; check the path"):
        load_study(tmp_path / "nowhere.toml")
    (tmp_path / "study.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"study\.toml is no text: "):
        load_study(tmp_path / "study.toml")


def test_a_protocol_that_is_no_text() -> None:
    with pytest.raises(ConfigError, match="unknown tuning protocol"):
        Tuning({"discount": [0.9, 0.99]}, protocol=["x"])  # type: ignore[arg-type]


def test_every_metric_has_its_name_in_the_list(tmp_path: Path, quick_compilation: None) -> None:
    """Outcomes are checked before anything trains, so the names must be known without training."""
    import minutiae
    from minutiae.control.metrics import METRICS

    plain = small(held_out_diagnostics=2)
    seen: set[str] = set()
    for number, config in enumerate((plain, plain.replace(algorithm="trpo"))):
        (run,) = minutiae.train(config, name=str(number), out=tmp_path)
        seen |= set(run.metrics().columns)
    assert seen == set(METRICS)


def test_factors_keep_their_order_in_the_file_and_off_has_a_word_there() -> None:
    """Cells, and with them which runs train together, follow the order of the factors."""
    bundle = {"plain": {"reward_scaling": None}, "scaled": {"reward_scaling": "returns", "reward_clipping": 5}}
    study = Study(
        environments="Hopper-v5",
        factors={"rewards": bundle, "value_clipping": [None, "max"]},
        design="cells",
        options={
            "cells": [{"rewards": "plain", "value_clipping": None}, {"rewards": "scaled", "value_clipping": "max"}]
        },
        base={"segment_iterations": None},
    )
    again = study_from_toml(study_to_toml(study))
    assert [factor.name for factor in again.factors] == ["rewards", "value_clipping"]
    assert again.layout.cells == study.layout.cells
    assert [run.id for run in again.first_runs()] == [run.id for run in study.first_runs()]
