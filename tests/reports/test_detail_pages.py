"""Pages of details for the documentation: text that Markdown leaves alone, effects as the reports have them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from minutiae.details import CATALOGUE, preset_names
from minutiae.reports.detail_pages import FIRST, catalogue_page, detail_page, presets_table, prose
from minutiae.reports.markdown import plain
from minutiae.reports.measured_effects import measured_effects, pages_with_effects

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def test_plain_text_stays_plain() -> None:
    assert plain("A_t <- a * b | c") == r"A\_t &lt;- a \* b \| c"


def test_details_in_prose_are_links_and_ordinary_words_are_not() -> None:
    text = prose("With max_kl_final, max_kl and epochs.", "max_kl")
    assert text == "With [`max_kl_final`](max_kl_final.md), `max_kl` and epochs."


@pytest.mark.parametrize("name", CATALOGUE)
def test_pages_have_every_section(name: str) -> None:
    page = detail_page(name)
    for section in ("Rule", "Levels", "Who uses which", "What was found", "Measured here", "Source", "The code"):
        assert page.count(f"\n## {section}\n") == 1
    assert page.count("\n$$\n") == 2 * page.count("Symbols: ") * len(CATALOGUE[name].equation.split(r" \qquad "))


def test_who_uses_which() -> None:
    page = detail_page("value_clipping")
    assert "| OpenAI Baselines ppo2 | `max` |\n" in page
    assert "| minutiae trpo+ | `max` |" in page
    assert "| minutiae ppo | without effect |" in detail_page("max_kl")


def test_every_preset_is_in_the_table() -> None:
    lines = presets_table().splitlines()[2:]
    assert [line.split("`")[1] for line in lines] == list(preset_names())
    assert lines[0].startswith("| `ppo` | PPO as we recommend it")


def test_the_catalogue_has_every_detail_and_marks_what_was_measured() -> None:
    page = catalogue_page({"discount": measured_effects("value_clipping", pages_with_effects(DOCS))})
    lines = page[page.index("\n## Budget\n") :].splitlines()
    for name in CATALOGUE:
        assert sum(line.startswith(f"| [`{name}`]({name}.md)<br>") for line in lines) == 1
    (line,) = (line for line in lines if "](discount.md)" in line)
    assert line.endswith("| `0.99` | number | **measured** |")
    assert page.count("**measured**") == 1
    assert "**Measured** marks the details that a study in this repository has crossed, 1 so far" in page
    unknown = [name for name in CATALOGUE if "\nUnmeasured" in f"\n{CATALOGUE[name].finding}"]
    assert f"of {len(unknown)} details no published measurement is known to us" in page
    for name in FIRST:
        assert f"| [`{name}`]({name}.md) | {prose(CATALOGUE[name].finding, '')} |" in page
        assert name not in unknown


def test_a_finding_that_is_none_is_a_sentence() -> None:
    assert "\n\nNo published measurement is known to us.\n\n## Measured here" in detail_page("value_target")


def study(folder: Path, rows: str, note: str, environments: str = '["A-v1"]') -> Path:
    """The files of a report that are read here; the folder of its page."""
    tables = folder / "report" / "tables"
    tables.mkdir(parents=True)
    (folder / "study.toml").write_text(f'question = "Why?"\nenvironments = {environments}\n')
    (tables / "effects.csv").write_text(rows)
    (tables / "effects.md").write_text(f"**Effects on final return**\n\n{note}\n")
    return folder / "report"


def test_effects_with_n_in_the_note(tmp_path: Path) -> None:
    rows = "effect,change,change_low,change_high,levels\na,1,-1,3,off → on\nb,5,4,6,0 → 1\na x b,,,,\nb x a,2,1,3,\n"
    study(tmp_path / "one", rows, "95% intervals. n = 1,280 runs.")
    assert pages_with_effects(tmp_path) == [tmp_path / "one" / "report"]
    first, second = measured_effects("a", pages_with_effects(tmp_path))
    assert (first.effect, first.levels, first.environment, first.outcome) == ("a", "off → on", "A-v1", "final return")
    assert (first.change.estimate, first.change.low, first.change.high, first.change.n) == (1, -1, 3, 1280)
    assert (second.effect, second.change.estimate, second.question) == ("b x a", 2, "Why?")


def test_effects_of_levels_in_several_environments(tmp_path: Path) -> None:
    rows = (
        "environment,effect,change,change_low,change_high,levels,n\nB-v1,a=0.2,1,0,2,0.1 → 0.2,9\nB-v1,ab,1,0,2,x,9\n"
    )
    (found,) = measured_effects("a", [study(tmp_path / "two", rows, "n = 18 runs.", '["A-v1", "B-v1"]')])
    assert (found.effect, found.environment, found.change.n) == ("a=0.2", "B-v1", 9)


def test_factors_that_turn_several_details(tmp_path: Path) -> None:
    rows = "effect,change,change_low,change_high,levels\nnet,1,0,2,a → b\nnet x c,3,1,5,\n"
    page = study(tmp_path / "four", rows, "n = 8 runs.")
    with (tmp_path / "four" / "study.toml").open("a") as file:
        file.write("[factors.net]\na = { initialization = 'orthogonal' }\nb = { epochs = 3 }\n")
    found = measured_effects("epochs", [page])
    assert [effect.effect for effect in found] == ["net", "net x c"]
    assert found[0].together == {"net": ("initialization", "epochs")}
    assert "| net<br>(net: initialization, epochs) | a → b |" in detail_page("epochs", found, ["a", "a"])


def test_a_reproduction_has_its_page_and_no_study_file(tmp_path: Path) -> None:
    study(tmp_path / "nine", "effect,change,change_low,change_high\nscaling,1,0,2\n", "n = 8 runs.").rename(
        tmp_path / "9"
    )
    text = "# The nine\n\n32 cells, 3 seeds in each, on Hopper-v4. 96 runs.\n\n**Claims**\n\nnot on Ant-v4\n"
    (tmp_path / "9" / "README.md").write_text(text)
    assert pages_with_effects(tmp_path) == [tmp_path / "9"]
    (found,) = measured_effects("reward_scaling", [tmp_path / "9"], {"scaling": ["reward_scaling", "reward_clipping"]})
    assert (found.study, found.question, found.environment, found.change.n) == ("9", "The nine", "Hopper-v4", 8)
    assert measured_effects("reward_scaling", [tmp_path / "9"]) == []


def test_effects_on_a_page(tmp_path: Path) -> None:
    rows = "effect,change,change_low,change_high,levels\ndiscount,-412.3,-604.2,-220.4,0.9 → 0.99\n"
    found = measured_effects("discount", [study(tmp_path / "three", rows, "n = 80 runs.")])
    page = detail_page("discount", found, ["../studies/three/report/index.html"])
    assert (
        "| discount | 0.9 → 0.99 | A-v1, final return | **−412&nbsp;[−604,&nbsp;−220]** | 80 "
        "| [three](../studies/three/report/index.html) |" in page
    )
    assert "- [three](../studies/three/report/index.html): Why?\n" in page
    assert "No study in this repository has crossed it yet." in detail_page("discount")
    # The algorithms of the reproduction differ in it.
    assert "presets that differ in it" in detail_page("ratio_clipping")


def test_committed_studies_are_found() -> None:
    with (DOCS / "studies/four-details/report/tables/effects.csv").open(newline="") as lines:
        expected = {row["effect"]: float(row["change"]) for row in csv.DictReader(lines)}
    found = [
        effect
        for effect in measured_effects("reward_scaling", pages_with_effects(DOCS))
        if effect.study == "four-details"
    ]
    assert len(found) == 4 and {effect.effect: effect.change.estimate for effect in found}.items() <= expected.items()
    assert {effect.change.n for effect in found} == {80}
