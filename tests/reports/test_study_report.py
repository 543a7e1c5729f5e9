"""The report of a study: it holds the truth of synthetic studies, its numbers are the statistics room's, and what is
missing is left out instead of empty."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from minutiae import statistics
from minutiae.errors import RunError
from minutiae.reports.study import write_report
from minutiae.reports.study.analysis import analyze
from minutiae.reports.study.counted import report_rows
from minutiae.reports.study.curves import cell_curves
from minutiae.reports.study.sweeps import sweeps
from minutiae.reports.study.words import interval
from minutiae.studies.results import StudyData
from minutiae.studies.study import Tuning
from synthetic_studies import ANNEALING, NORMALIZED, RATES, SCALING, VALUE_CLIPPING, make, study_data

THREE = (VALUE_CLIPPING, ANNEALING, SCALING)


def truth(environment: str, cell: dict[str, int], setting: dict[str, int]) -> float:
    """Scaling 400, annealing 150, both together 90 more, clipping nothing; the middle rate is best."""
    scaling, annealing = cell.get("reward_scaling", 0), cell.get("learning_rate_annealing", 0)
    rate = (0, 120, -50)[setting["learning_rate"]] if setting else 0
    return (2 if environment == "Acrobot-v1" else 1) * (
        1000 + 400 * scaling + 150 * annealing + 90 * scaling * annealing + rate
    )


class Page(HTMLParser):
    """What a page refers to, and whether its tags are closed."""

    VOID = ("meta", "br", "wbr", "path", "use", "image", "line", "rect")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def written(data: StudyData) -> tuple[Path, str]:
    path = write_report(data)
    assert path == data.folder / "report" / "index.html"
    return path.parent, path.read_text()


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def factorial(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyData, Path, str]:
    study = make(factors=THREE, seeds=5, question="What <matters>?")
    data = study_data(study, truth, tmp_path_factory.mktemp("factorial"))
    return (data, *written(data))


def test_effects_hold_the_truth(factorial: tuple[StudyData, Path, str]) -> None:
    rows = {row["effect"]: row for row in table(factorial[1], "effects")}
    # Averaged over the levels of the other: half of the interaction of 90 is in each main effect.
    expected = {"value_clipping": 0, "learning_rate_annealing": 195, "reward_scaling": 445}
    expected |= {"learning_rate_annealing x reward_scaling": 90, "value_clipping x reward_scaling": 0}
    for name, value in expected.items():
        assert float(rows[name]["change_low"]) < value < float(rows[name]["change_high"]), name


def test_attribution_holds_the_truth_and_sums_to_the_gain(factorial: tuple[StudyData, Path, str]) -> None:
    rows = {row["factor"]: row for row in table(factorial[1], "attribution")}
    for name, value in {"value_clipping": 0, "learning_rate_annealing": 195, "reward_scaling": 445}.items():
        assert float(rows[name]["Shapley_value_low"]) < value < float(rows[name]["Shapley_value_high"])
    gain = float(rows.pop("gain of all together")["Shapley_value"])
    assert sum(float(row["Shapley_value"]) for row in rows.values()) == pytest.approx(gain)
    assert float(rows["reward_scaling"]["left_out_of_all_on"]) > float(rows["reward_scaling"]["added_to_all_off"])


def test_numbers_are_those_of_the_statistics_room(factorial: tuple[StudyData, Path, str]) -> None:
    data, _, text = factorial
    names = [factor.name for factor in THREE]
    codes = np.stack([(data.frame[name] != "off").to_numpy().astype(int) for name in names], axis=1)
    values, seeds = data.frame["final_return"].to_numpy(), data.frame["seed"].to_numpy()
    effects = statistics.estimate_effects(codes, values, names, block=seeds)
    shared = statistics.attribute(codes, values, names, seed_of_run=seeds, method="student")
    analysis = analyze(data)[0]
    assert analysis.main.effects is not None and analysis.main.attribution is not None
    assert [effect.estimate for effect in analysis.main.effects.effects] == [e.estimate for e in effects.effects]
    assert [effect.low for effect in analysis.main.effects.effects] == pytest.approx([e.low for e in effects.effects])
    assert analysis.main.attribution.shapley == shared.shapley
    plain = re.sub(r"<[^>]+>", "", text)
    for found in (*effects.effects, *shared.shapley, shared.gain):
        assert interval(found, sign=True) in plain


def test_page_stands_alone(factorial: tuple[StudyData, Path, str]) -> None:
    folder, text = factorial[1:]
    page = Page(text)
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert (folder / link).is_file()
    assert not re.search(r"<script|<link|<iframe|@import|url\(http", text)
    assert {match for match in re.findall(r"https?://[^\"'<> ]+", text)} <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "prefers-color-scheme:dark" in text and "@media print" in text
    assert "<h1>What &lt;matters&gt;?</h1>" in text


def test_sections_stand_in_order_and_empty_ones_are_left_out(factorial: tuple[StudyData, Path, str]) -> None:
    assert Page(factorial[2]).headings == [
        "What made the difference",
        "Effects of each factor",
        "Factors that depend on each other",
        "Learning curves",
        "How reliably runs succeed",
        "How far updates go",
        "Every cell",
        "How this was computed",
        "How to repeat it",
    ]


def test_every_figure_and_table_is_a_file_and_says_its_method(factorial: tuple[StudyData, Path, str]) -> None:
    folder = factorial[1]
    figures = {path.stem for path in (folder / "figures").iterdir()}
    assert figures == {
        *("attribution", "effects", "interactions", "learning_curves", "survival", "kl_exact_batch", "ratio_max_batch")
    }
    for name in figures:
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        text = re.sub(r"<[^>]+>", "", (folder / "figures" / f"{name}.svg").read_text()).replace("\xa0", " ")
        assert re.search(r"n = \d", text), name
        assert re.search(r"interval|band", text), name
    assert (folder / "tables" / "effects.md").read_text().startswith("**Effects on final return**\n\n| effect |")
    assert {path.suffix for path in (folder / "tables").iterdir()} == {".csv", ".md"}


def test_answer_comes_first(factorial: tuple[StudyData, Path, str]) -> None:
    answer = re.sub(r"<[^>]+>", "", factorial[2].split('<div class="answer">')[1].split("</div>")[0])
    assert re.match(r"From all off to all on, final return goes from [\d,]+ to 1,6\d\d: a change of \+6\d\d \[", answer)
    assert "Of this change, reward_scaling +4" in answer
    assert "Not told apart from no contribution: value_clipping" in answer


def test_report_is_repeatable(factorial: tuple[StudyData, Path, str], tmp_path: Path) -> None:
    data, folder, text = factorial
    again = write_report(data, tmp_path / "again")
    assert again.read_text() == text
    first, second = (path / "figures" / "effects.svg" for path in (folder, tmp_path / "again"))
    assert first.read_bytes() == second.read_bytes()


def damaged(data: StudyData, **changes: dict[str, Any]) -> StudyData:
    """Rows by position get other values."""
    frame = data.frame.with_row_index("row")
    for name, values in changes.items():
        kind = data.frame.schema[name]
        places = [int(place) for place in values]
        frame = frame.with_columns(
            pl.col("row")
            .replace_strict(places, list(values.values()), default=pl.col(name), return_dtype=kind)
            .alias(name)
        )
    return replace(data, frame=frame.drop("row"))


def test_diverged_and_failed_runs_are_counted_and_listed(tmp_path: Path) -> None:
    data = study_data(make(factors=THREE[1:], seeds=5), truth, tmp_path)
    broken = damaged(
        data,
        status={"3": "failed", "8": "diverged", "9": "unfinished"},
        reason={"3": "killed by the system", "8": "policy/kernel is not finite after iteration 7"},
        final_return={"3": None, "9": None},
    )
    folder, text = written(broken)
    assert "20 runs: 17 finished, 1 diverged (counted with their last valid return), 1 failed (left out) and " in text
    assert "1 not finished yet (left out)" in text
    rows = table(folder, "diverged_and_failed")
    assert [(row["status"], row["cause"]) for row in rows] == [
        ("diverged", "policy/kernel is not finite after iteration 7"),
        ("failed", "killed by the system"),
    ]
    cells = table(folder, "cells")
    assert sum(int(row["diverged"]) for row in cells) == 1 and sum(int(row["failed"]) for row in cells) == 1
    assert sum(int(row["n"]) for row in cells) == 18
    assert "of seeds that some cell lacks stay out of the attribution" in text


def test_a_cell_whose_runs_all_died_has_a_row(tmp_path: Path) -> None:
    """Cells off-off, off-returns, linear-off, linear-returns, of three seeds each."""
    data = study_data(make(factors=THREE[1:], seeds=3), truth, tmp_path)
    last, second = ("3", "7", "11"), ("2", "6", "10")
    status = {**dict.fromkeys(last, "failed"), "11": "unfinished", **dict.fromkeys(second, "diverged")}
    lost = dict.fromkeys((*last, *second))
    folder, text = written(damaged(data, status=status, final_return=lost))
    rows = [
        (row["cell"], row["final_return"] == "", *(int(row[name]) for name in ("n", "diverged", "failed")))
        for row in table(folder, "cells")
    ]
    # No run of annealing has an outcome, so it is no factor of the effects; its cells are named all the same.
    assert rows == [
        ("reward_scaling", False, 3, 0, 0),
        ("all off", False, 3, 0, 0),
        ("learning_rate_annealing", True, 0, 3, 0),
        ("all on", True, 0, 0, 2),
    ]
    assert [row["not_finished"] for row in table(folder, "cells")] == ["0", "0", "0", "1"]
    assert "A cell with n = 0 has no run with an outcome, and no effect counts it." in text
    assert "not_finished" not in table(written(data)[0], "cells")[0]


def test_single_factor(tmp_path: Path) -> None:
    folder, text = written(study_data(make(factors=(SCALING,), seeds=12), truth, tmp_path))
    (row,) = table(folder, "effects")
    assert float(row["change_low"]) < 400 < float(row["change_high"])
    assert "What made the difference" not in Page(text).headings
    assert "Change of final return: reward_scaling (off → returns) +4" in text


def test_several_environments(tmp_path: Path) -> None:
    study = make(factors=THREE[1:], environments=("CartPole-v1", "Acrobot-v1"), seeds=5)
    folder, text = written(study_data(study, truth, tmp_path))
    rows = {(row["environment"], row["effect"]): row for row in table(folder, "effects")}
    for environment, value in {"CartPole-v1": 445, "Acrobot-v1": 890, "all environments": 667.5}.items():
        row = rows[environment, "reward_scaling"]
        assert float(row["change_low"]) < value < float(row["change_high"])
    assert {path.stem for path in (folder / "figures").glob("*.svg")} >= {
        *("effects_per_environment", "attribution_acrobot-v1", "learning_curves_cartpole-v1", "survival_acrobot-v1"),
    }
    assert "averaged over all environments" in text and "each environment counting the same" in text


@pytest.mark.parametrize("ranges", [{}, {"CartPole-v1": (0.0, 500.0), "Acrobot-v1": (0.0, 1000.0)}])
def test_several_environments_on_one_scale(ranges: dict[str, tuple[float, float]], tmp_path: Path) -> None:
    """Acrobot's effects are twice as large; its runs are spread as CartPole's. Ranges make both effects equal."""
    study = make(factors=THREE[1:], environments=("CartPole-v1", "Acrobot-v1"), seeds=9, ranges=ranges)
    data = study_data(study, truth, tmp_path, deviation=100.0)
    folder, text = written(data)
    found = analyze(data)[0].one_scale
    assert found is not None and found.stated == bool(ranges)
    rows = {row["effect"]: row for row in table(folder, "effects_on_one_scale")}
    # In deviations of sqrt(2) 100: 445 and 890 are 3.1 and 6.3; in ranges of 500 and 1000 both are 0.89.
    expected = 0.89 if ranges else (445 + 890) / 2 / np.sqrt(2) / 100
    assert float(rows["reward_scaling"]["change_low"]) < expected < float(rows["reward_scaling"]["change_high"])
    noun = "stated ranges" if ranges else "deviations"
    assert f"Counted in {noun}, so that environments with larger returns weigh no more, the change of final re" in text
    stated = "of the range that the study states for it: 1 is 500 in CartPole-v1 and 1,000 in Acrobot-v1."
    assert (stated in text) == bool(ranges)
    assert "<h3>All environments on one scale</h3>" in text
    assert (folder / "figures" / "effects_on_one_scale.svg").exists()
    alone = written(study_data(make(factors=THREE[1:], seeds=3), truth, tmp_path / "alone"))[1]
    assert "on one scale" not in alone.lower()


def test_tuning_grid(tmp_path: Path) -> None:
    study = make(factors=THREE[1:], seeds=5, tuning=Tuning((RATES,), seeds=3))
    data = study_data(study, truth, tmp_path)
    folder, text = written(data)
    assert "Settings of the tuning grid" in Page(text).headings
    assert "learning_rate was chosen among 3 settings on 3 seeds; the results are of other seeds" in text
    (sweep,) = sweeps(data)
    assert sweep.settings == ("learning_rate=0.0001", "learning_rate=0.0003", "learning_rate=0.001")
    assert sweep.chosen == (1, 1, 1, 1)
    rows = data.frame.filter(stage="tuning", learning_rate="0.001", reward_scaling="off", learning_rate_annealing="off")
    cell = sweep.means[sweep.cells.index((0, 0))][2]
    assert cell == statistics.student_interval(rows["final_return"].to_numpy())
    assert len(table(folder, "tuning")) == 12
    for effects in sweep.effects.values():
        assert len(effects.effects) == 3
    # 20 runs that are reported, not the 36 that chose.
    assert {row["n"] for row in table(folder, "cells")} == {"5"}


def test_protocol_of_the_paper_reports_the_runs_that_chose(tmp_path: Path) -> None:
    study = make(factors=(SCALING,), tuning=Tuning((RATES,), seeds=4, protocol="engstrom"))
    data = study_data(study, truth, tmp_path)
    data = replace(data, frame=data.frame.filter(stage="tuning"))
    rows = report_rows(data)
    assert rows["learning_rate"].unique().to_list() == ["0.0003"]
    assert len(rows) == 8
    assert "The runs that chose the settings are the runs that are reported" in written(data)[1]


def test_several_outcomes(tmp_path: Path) -> None:
    folder, text = written(study_data(make(seeds=4, outcomes=("final_return", "best_return")), truth, tmp_path))
    assert "Other outcomes" in Page(text).headings
    assert (folder / "tables" / "effects_best_return.csv").is_file()


def test_aliases_of_a_fraction_are_said(tmp_path: Path) -> None:
    factors = (*THREE, NORMALIZED)
    study = make(factors=factors, design="fractional", options={"runs": 8}, seeds=3)
    folder, text = written(study_data(study, truth, tmp_path))
    assert "resolution IV" in text
    assert {row["effect"] for row in table(folder, "aliases")} >= {"value_clipping x learning_rate_annealing"}


@pytest.mark.parametrize("design", ["leave_one_out", "add_one_in", "permutations"])
def test_other_designs(tmp_path: Path, design: str) -> None:
    data = study_data(make(factors=THREE, design=design, seeds=5), truth, tmp_path, deviation=3)
    scope = analyze(data)[0].main
    assert scope.effects is not None
    found = scope.effects["reward_scaling"]
    expected = {"leave_one_out": 490, "add_one_in": 400, "permutations": 445}[design]
    assert found.low < expected < found.high
    assert (scope.attribution is None) == (design != "permutations")
    assert ("separate errors" in found.method) == (design != "permutations")


def test_one_seed_has_no_intervals_and_says_so(tmp_path: Path) -> None:
    _, text = written(study_data(make(seeds=1), truth, tmp_path))
    assert "What could not be computed" in text
    assert "run the missing seeds" in text


def test_missing_cells_leave_the_attribution_out(tmp_path: Path) -> None:
    data = study_data(make(seeds=4), truth, tmp_path)
    data = replace(data, frame=data.frame.filter(~pl.col("cell").str.contains("max, learning_rate_annealing=off")))
    _, text = written(data)
    assert "What made the difference" not in Page(text).headings
    assert "every cell needs at least 2" in text or "0 runs" in text


def test_no_run_yet(tmp_path: Path) -> None:
    data = study_data(make(seeds=2), truth, tmp_path)
    frame = data.frame.with_columns(status=pl.lit("unfinished"), final_return=pl.lit(None, pl.Float64))
    with pytest.raises(RunError, match="no run of this study has a final_return yet; let some runs finish"):
        write_report(replace(data, frame=frame))


def test_no_curves_no_curve_sections(tmp_path: Path) -> None:
    data = study_data(make(seeds=3), truth, tmp_path)
    headings = Page(written(replace(data, curves=data.curves.clear()))[1]).headings
    assert "Learning curves" not in headings and "How far updates go" not in headings


def test_curves_are_binned_and_diverged_runs_stay(tmp_path: Path) -> None:
    data = study_data(make(factors=(SCALING,), seeds=2), truth, tmp_path, iterations=250)
    first = data.frame["run_id"][0]
    cut = data.curves.filter((pl.col("run_id") != first) | (pl.col("iteration") <= 100))
    runs = analyze(data)[0].runs
    (whole,), (found,) = (cell_curves(curves, runs, "return_mean") for curves in (data.curves, cut))
    assert len(found.steps) == 100 and np.all(np.diff(found.steps) > 0)
    cell = int(runs.codes[runs.ids == first][0, 0])
    # Up to the cut nothing changes; after it the run's last value stands in.
    np.testing.assert_allclose(found.cells[cell].mean[1:39], whole.cells[cell].mean[1:39])
    assert np.isfinite(found.cells[cell].mean).all()
    other = data.curves.filter(pl.col("run_id") == data.frame.filter(reward_scaling="off")["run_id"][0])
    assert len(other) == 250


def test_mean_and_band_of_a_bin_by_hand(tmp_path: Path) -> None:
    data = study_data(make(factors=(SCALING,), seeds=2), truth, tmp_path, iterations=3)
    runs = analyze(data)[0].runs
    ids = data.frame.filter(reward_scaling="off")["run_id"].to_list()
    curves = pl.DataFrame(
        {
            "run_id": [ids[0]] * 3 + [ids[1]] * 3,
            "iteration": [1, 2, 3] * 2,
            "steps": [10, 20, 30] * 2,
            "return_mean": [None, 2.0, 3.0, 3.0, 2.0, 7.0],
        }
    )
    (found,) = cell_curves(curves, runs, "return_mean")
    # Where the iterations ended, as in the progress of training.
    assert found.steps.tolist() == [10.0, 20.0, 30.0]
    cell = found.cells[0]
    assert (cell.n, cell.mean.tolist()) == (2, [3.0, 2.0, 5.0])
    np.testing.assert_array_equal(cell.values, [[np.nan, 2.0, 3.0], [3.0, 2.0, 7.0]])
    # Standard errors 0 and 2; Student's t of 1 degree is 12.7062.
    low, high = cell.band()
    np.testing.assert_allclose(low, [np.nan, 2.0, 5 - 2 * 12.7062], rtol=1e-5)
    np.testing.assert_allclose(high, [np.nan, 2.0, 5 + 2 * 12.7062], rtol=1e-5)
    # The derivative of log 5 is 1/5.
    low, high = cell.band(logarithmic=True)
    np.testing.assert_allclose(low, [np.nan, 2.0, 5 * math.exp(-2 * 12.7062 / 5)], rtol=1e-5)
    np.testing.assert_allclose(high, [np.nan, 2.0, 5 * math.exp(2 * 12.7062 / 5)], rtol=1e-5)
