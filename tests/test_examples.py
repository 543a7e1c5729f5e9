"""The examples run, at the size they have for this, and leave behind what they promise."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import polars
import pytest

import minutiae

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
MOST_LINES = 60


def run(name: str, out: Path, variables: dict[str, str]) -> str:
    """What an example prints when it is run as its text says, from another folder."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--quick", "--out", str(out)]
    done = subprocess.run(command, env=variables, cwd=out.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short_and_says_how_to_run_it(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < MOST_LINES
    assert text.startswith('"""')
    assert f"python examples/{path.name}" in text.split('"""')[1]


def test_there_are_five() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "ablation",
        "compare_two_groups",
        "custom_detail",
        "own_environment",
        "stable_baselines3_subject",
    }


def test_own_environment(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    said = run("own_environment", tmp_path / "runs", elsewhere)
    (trained,) = minutiae.open_runs(tmp_path / "runs")
    assert (trained.status, trained.config.environment) == ("finished", "own_environment:Courier")
    # An episode lasts 40 steps of 0.05, hands over for 0.1 each time, and earns 1 at best.
    assert -6.0 <= trained.result["final_return"] <= 1.0
    assert "seen {'place': array([2., 2.], dtype=float32), 'corner':" in said


def test_ablation(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    said = run("ablation", tmp_path / "study", elsewhere)
    frame = minutiae.open_study(tmp_path / "study").frame()
    assert frame["status"].to_list() == ["finished"] * 8
    assert (tmp_path / "study" / "report" / "index.html").is_file()
    returns = frame.filter(polars.col("cell") == frame["cell"][0])["final_return"]
    assert f"scaling off      normalization off        {returns.mean():8.1f} +- {returns.std():.1f}\n" in said


def test_compare_two_groups(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    said = run("compare_two_groups", tmp_path / "runs", elsewhere)
    ours, theirs = tmp_path / "runs" / "sb3-InvertedPendulum-v5", tmp_path / "runs" / "cleanrl-InvertedPendulum-v5"
    assert minutiae.compare(ours, theirs).sentence() in said
    assert minutiae.compare(ours, theirs).paired
    assert (ours / "curves.png").is_file()


def test_custom_detail(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    run("custom_detail", tmp_path / "study", elsewhere)
    results = minutiae.open_study
    sys.path.append(str(EXAMPLES))
    try:
        frame = results(tmp_path / "study").frame()
    finally:
        sys.path.remove(str(EXAMPLES))
    assert frame["custom_detail:mean_bound"].to_list() == ["off", "0.1", "off", "0.1"]
    assert frame["status"].to_list() == ["finished"] * 4
    customs = {run.config.custom for run in minutiae.open_runs(tmp_path / "study" / "runs")}
    assert customs == {(), (("custom_detail:mean_bound", 0.1),)}
    assert (tmp_path / "study" / "report" / "index.html").is_file()


@pytest.mark.skipif(importlib.util.find_spec("stable_baselines3") is None, reason="Stable-Baselines3 is not installed")
def test_stable_baselines3_subject(tmp_path: Path) -> None:
    run("stable_baselines3_subject", tmp_path / "study", dict(os.environ))
    frame = minutiae.open_study(tmp_path / "study").frame()
    assert frame["status"].to_list() == ["finished"] * 8
    assert frame["last_hundred"].is_between(8, 500).all()
