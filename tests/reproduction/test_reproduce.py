"""The whole way on a real task, a few thousand steps long; and what the command line takes and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from minutiae.cli.main import main
from minutiae.control.progress import Progress
from minutiae.reproduction.reproduce import reproduce
from minutiae.studies.archive import Archive
from minutiae.studies.execution import in_this_process


@pytest.mark.usefixtures("quick_compilation")
def test_more_agents_keep_the_earlier_ones_even_in_another_folder(tmp_path: Path) -> None:
    heard: list[Progress] = []
    options = {"tasks": ["hopper"], "steps": 4096, "archive": tmp_path / "kept", "executor": in_this_process}
    first = reproduce("figure3", tmp_path / "one", agents=2, listener=heard.append, **options)  # type: ignore[arg-type]
    assert len({one.run for one in heard}) == 10
    assert "A trial of 4,096 steps, not the article's million." in first.about
    assert {verdict.task for verdict in first.verdicts} == {"Hopper"}
    assert len(Archive.open(tmp_path / "kept" / "tables").runs) == 10

    heard.clear()
    reproduce("table2", tmp_path / "two", agents=3, listener=heard.append, **options)  # type: ignore[arg-type]
    # Those of the archive are told as ended, and not trained.
    assert len({one.run for one in heard if one.status == "training"}) == 5
    assert len(Archive.open(tmp_path / "kept" / "tables").runs) == 15

    heard.clear()
    again = reproduce("table3", tmp_path / "two", agents=3, listener=heard.append, **options)  # type: ignore[arg-type]
    assert heard == []
    path = again.write_page(tmp_path / "page")
    assert "15 of 15 runs have ended" in path.read_text()


def test_table_1_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "table1", "--tasks", "hopper"]) == 0
    out = capsys.readouterr().out
    assert "| value_clipping | off | off | off | off | off |" in out
    assert out.splitlines()[-1] == "reproduction/table1/index.html"
    assert (tmp_path / "reproduction" / "table1" / "README.md").is_file()


def test_the_list_without_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "table1", "--list"]) == 0
    assert "needs no runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "name a table or figure: table1, table2, table3, figure1"),
        (["figure5"], "unknown table or figure 'figure5'; did you mean 'figure"),
        (["table2", "--tasks", "ant"], "unknown task 'ant'"),
        (["table2", "--flavour", "paper-txt"], "unknown flavour 'paper-txt'; did you mean 'paper-text'?"),
        (["figure1", "--learning-rates", "fast"], "--learning-rates is numbers with commas between, not 'fast'"),
        (["table2", "--agents", "many"], "--agents is 'many', which is not a whole number"),
        (["table2", "--judge"], "no run of table2 has ended yet"),
        (["table2", "--judge", "--archive", "runz"], "runz/tables holds no archive of table2"),
        (["table2", "--learning-rates", "1e-4"], "table2 sweeps no learning rates; leave them out"),
        (["table2", "--steps", "0"], "steps is a whole number of at least 1, not 0"),
        (["halfcheetah", "--tasks", "Ant-v4"], "name the task 'Ant-v4' without its version"),
        (["halfcheetah", "--flavour", "paper-text"], "halfcheetah has the plain presets and no flavour"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) == 2
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1
