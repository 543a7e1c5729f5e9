"""What docs/reproduction says is what the committed runs say: pages are made again and compared, number by number."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from minutiae.cli.main import main
from minutiae.studies.archive import Archive
from table_files import assert_alike, rows

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reproduction"
COMMANDS = {
    path.parent.name: shlex.split(re.findall(r"^ {4}minutiae (reproduce .*)$", path.read_text(), re.MULTILINE)[0])
    for path in sorted(PAGES.glob("*/README.md"))
}


def test_the_tables_of_the_paper_are_there() -> None:
    assert {"table1", "table2", "table3", "figure3", "figure4"} <= set(COMMANDS)


@pytest.mark.parametrize("item", COMMANDS)
def test_a_page_is_what_the_committed_runs_say(item: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*COMMANDS[item], "--judge", "--archive", str(PAGES / "runs"), "--out", str(tmp_path)]
    assert main([*words, "--page", str(tmp_path / "page")]) == 0
    committed = {path.name: path for path in (PAGES / item / "tables").glob("*.csv")}
    made = {path.name: path for path in (tmp_path / "page" / "tables").glob("*.csv")}
    assert committed
    assert set(committed) == set(made)
    for name, path in committed.items():
        assert_alike(rows(path), rows(made[name]), f"{item}/{name}")
    figures = {path.name for path in (PAGES / item / "figures").glob("*.svg")}
    assert figures == {path.name for path in (tmp_path / "page" / "figures").glob("*.svg")}


def test_intervals_in_the_overview_stand_on_the_pages() -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*/README.md"))
    said = re.findall(r"[+−]?[\d.,]*\d \[[^\]]*\d[^\]]*\](?!\()", (PAGES / "README.md").read_text(encoding="utf-8"))
    assert said
    assert [one for one in said if " ".join(one.split()) not in pages] == []


@pytest.mark.parametrize("store", sorted(path.name for path in (PAGES / "runs").glob("*")))
def test_committed_runs_can_be_planned_by_this_version(store: str) -> None:
    """Else they would silently be trained again."""
    archive = Archive.open(PAGES / "runs" / store)
    assert len(archive.runs) == len(archive.rows) > 0
