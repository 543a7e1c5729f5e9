"""What pages point to exists: functions, tests, files and versions."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace

import pytest
import yaml
from code_blocks import PAGES, ROOT

import minutiae
from minutiae.details import CATALOGUE
from minutiae.reports.detail_pages import presets_table
from minutiae.reports.implementation import implementation
from minutiae.reports.metric_pages import metrics_table

PROSE = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
POINTERS = sorted(
    {pointer for text in PROSE.values() for pointer in re.findall(r"`(minutiae(?:\.\w+)+:[\w.]+)`", text)}
)
TESTS = sorted({test for text in PROSE.values() for test in re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", text)})


@pytest.mark.parametrize("pointer", POINTERS)
def test_code_that_pages_name_exists(pointer: str) -> None:
    found = implementation(replace(CATALOGUE["discount"], where=pointer))
    assert found.text.lstrip().startswith(("def ", "class ", "@"))


def test_the_table_of_presets_is_that_of_the_code() -> None:
    assert presets_table() in PROSE["docs/presets.md"]


def test_the_tables_of_metrics_are_those_of_the_code() -> None:
    assert metrics_table() in PROSE["docs/metrics.md"]


def test_equations_stand_beside_code() -> None:
    for page, least in (("docs/how-ppo-works.md", 15), ("docs/how-trpo-works.md", 7)):
        assert PROSE[page].count("\nCode: `") >= least


@pytest.mark.parametrize("test", TESTS)
def test_tests_that_pages_name_exist(test: str) -> None:
    path, _, name = test.partition("::")
    assert (ROOT / path).is_file()
    assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_versions_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert version == minutiae.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version
    assert f"{len(CATALOGUE)} implementation details" in (ROOT / "CHANGELOG.md").read_text()


def test_issues_ask_for_the_run() -> None:
    for name in ("fault", "question"):
        form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
        (asked,) = (part for part in form["body"] if part["id"] == "run")
        assert "runs/NAME" in asked["attributes"]["description"]
        assert asked.get("validations", {}).get("required", False) == (name == "fault")


def test_citation_has_what_the_format_requires() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["references"][0]["year"] == 2020


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PROSE:
        if page.startswith("docs/") and page != "docs/returns/returns.md":
            assert page.removeprefix("docs/") in navigation, page
