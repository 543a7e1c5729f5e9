"""Reports of worked studies that keep their runs are what those runs say. What reports compute is tested elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from code_blocks import ROOT

from minutiae.reports.study import write_report
from minutiae.studies.execution import run_study
from table_files import assert_alike, rows

STUDIES = sorted(path.parent for path in ROOT.glob("docs/studies/*/runs"))


def nothing_left(*_: Any) -> None:
    raise AssertionError("a run is missing from the archive; run: bash scripts/studies")


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.name)
def test_the_report_is_that_of_the_kept_runs(study: Path, tmp_path: Path) -> None:
    shutil.copy(study / "study.toml", tmp_path / f"{study.name}.toml")
    folder = tmp_path / "studies" / study.name
    results = run_study(tmp_path / f"{study.name}.toml", folder, archive=study / "runs", executor=nothing_left)
    report = write_report(results).parent
    names = sorted(path.name for path in report.glob("tables/*.csv"))
    assert names
    assert names == sorted(path.name for path in study.glob("report/tables/*.csv"))
    for name in names:
        assert_alike(rows(study / "report" / "tables" / name), rows(report / "tables" / name), name)
    figures = sorted(path.name for path in report.glob("figures/*.svg"))
    assert figures == sorted(path.name for path in study.glob("report/figures/*.svg"))


def test_there_is_one() -> None:
    assert "four-details" in [study.name for study in STUDIES]
