"""`minutiae study`: what a person types and sees; wrong words and files are one line and train nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from minutiae.cli import study as command
from minutiae.cli.main import main
from minutiae.cli.study_display import StudyBoard, picture, show_study
from minutiae.control.progress import Progress
from minutiae.studies.study import Study
from minutiae.studies.study_file import study_to_toml
from small_runs import small

STUDY = Study(
    question="Does value clipping help?",
    environments="CartPole-v1",
    factors={"value_clipping": ["off", "max"], "reward_scaling": ["off", "returns"]},
    base={"steps": 4096},
    seeds=3,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(study_to_toml(STUDY))
    return tmp_path / "study.toml"


def test_the_plan_in_words(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "plan", str(file), "--quick", "--workers", "2", "--deviation", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Does value clipping help?"
    assert lines[1] == "factorial: 4 cells of 4 for 2 factors"
    assert "environments: CartPole-v1; outcomes: final_return" in lines
    assert "12 runs, 49,152 environment steps, in 2 populations of 6 agents, 2 at a time" in lines
    # Six runs an arm: 80 % power for 17.96 by a two-sample t test (noncentral t), the figure of any power table.
    assert lines[-1].startswith(
        "with a deviation of 10 over seeds, 80 % of such studies find a main effect of 17.96, or of "
    )


def test_a_plan_is_measured_unless_told_not_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], elsewhere: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JAX_COMPILATION_CACHE_DIR", "QUICK_COMPILATION"):
        monkeypatch.setenv(name, elsewhere[name])
    levels = {name: getattr(small(), name) for name in ("environments", "rollout_length", "minibatches", "steps")}
    study = Study(environments="training_probes:wander", factors={"discount": [0.9, 0.99]}, base=levels, seeds=1)
    (tmp_path / "study.toml").write_text(study_to_toml(study))
    assert main(["study", "plan", str(tmp_path / "study.toml"), "--workers", "1"]) == 0
    text = capsys.readouterr().out
    assert "about 0:0" in text
    assert "GiB of memory on this machine, as busy as it is now" in text
    assert "how small an effect it can find: give --deviation" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("study plan nowhere.toml", "nowhere.toml does not exist; check the path"),
        ("study run nowhere.toml", "nowhere.toml does not exist; check the path"),
        ("study report nowhere", "nowhere holds no study: it has no study.toml; run: minutiae study run FILE.toml"),
        ("study run", "STUDY is missing; run: minutiae study --help"),
        (
            "study rum x.toml",
            "unknown command 'rum'; did you mean 'run'? allowed: plan, run, report, archive; run: minutiae",
        ),
    ],
)
def test_wrong_words(words: str, text: str, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"minutiae: {text}")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_study_is_told_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text("environments = ['CartPole-v1']\n[factors]\nvalue_cliping = ['off', 'max']\n")
    assert main(["study", "run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out")]) == 2
    assert f"{tmp_path / 's.toml'}: unknown detail 'value_cliping'; did you mean" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def report(run: str, iteration: int, value: float | None, status: Any = "training") -> Progress:
    return Progress(run, Path(run), iteration, 2, 2048 * iteration, 4096, value, status)


def test_the_board_counts_runs_and_means_and_time() -> None:
    now = [0.0]
    runs = [run.id for run in STUDY.first_runs()]
    board = StudyBoard(STUDY, {runs[0]: 10.0}, lambda: now[0])
    assert board.line() == "1 of 12 runs done, 0 running"
    board.note(report(runs[4], 0, None, "starting"))
    now[0] = 5.0
    board.note(report(runs[4], 1, 30.0))
    assert board.line() == "1 of 12 runs done, 1 running"
    now[0] = 10.0
    board.note(report(runs[4], 2, None))
    # The second iteration took five seconds; ten runs of two iterations are left.
    assert board.line() == "1 of 12 runs done, 1 running, 0:01:40 left"
    assert board.cells()[0] == ("CartPole-v1", "value_clipping=off, reward_scaling=off", 1, 3, 20.0)
    board.note(report(runs[4], 2, None, "finished"))
    assert board.cells()[0][2:] == (2, 3, 20.0)
    assert board.line().startswith("2 of 12 runs done, 0 running")


def test_the_live_picture_and_plain_lines() -> None:
    from rich.console import Console

    board = StudyBoard(STUDY, {STUDY.first_runs()[0].id: 10.0}, lambda: 0.0)
    console = Console(file=io.StringIO(), width=100)
    console.print(picture(board))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "1 of 12 runs done" in text
    assert "value_clipping=off, reward_scaling=off" in text
    stream = io.StringIO()
    run = STUDY.first_runs()[0].id

    def action(listener: Any) -> int:
        listener(Progress(run, Path(run), 1, 2, 0, 0, None, "diverged", "the loss is not finite"))
        return 7

    assert show_study(STUDY, Path("folder"), action, stream) == 7
    assert stream.getvalue().splitlines() == [
        "folder: 0 of 12 runs done, 0 running",
        f"{run} diverged: the loss is not finite",
    ]


def test_ctrl_c_says_how_to_go_on(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("minutiae.studies.execution.run_study", interrupted)
    assert command.run(file, out=file.parent, name="x") == 130
    assert f"interrupted; go on with: minutiae study run {file.parent / 'x'}" in capsys.readouterr().err
