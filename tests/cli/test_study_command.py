"""`minutiae study`: what a person types and sees; wrong words and files are one line and train nothing."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import minutiae
from minutiae.cli import study as command
from minutiae.cli.main import main
from minutiae.cli.study_display import StudyBoard, picture, show_study
from minutiae.control.progress import Progress
from minutiae.errors import ConfigError
from minutiae.studies.revisions import uncounted_words
from minutiae.studies.store import Store
from minutiae.studies.study import Study, Tuning
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


TRAINER = """
import json, sys
rate, seed, folder = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
open(folder + "/outcome.json", "w").write(json.dumps({"score": 100 * rate + seed}))
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes `theirs.toml` in the current folder, a study over a command that takes no time: rates by seeds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAINER)
    command = f"{sys.executable} {tmp_path / 'train.py'} {{lr}} {{seed}} {{folder}}"
    plain = {"environments": "theirs", "factors": {"lr": [0.1, 0.2]}, "outcomes": "score", "command": command}

    def write(**changes: Any) -> Path:
        (tmp_path / "theirs.toml").write_text(study_to_toml(Study(**(plain | {"seeds": 3} | changes))))
        return Path("theirs.toml")

    return write


def test_a_plan_counts_what_is_done(theirs: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    file = str(theirs())
    assert main(["study", "plan", file, "--workers", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "6 runs of a command, 1 at a time",
        "how small an effect it can find: give --deviation, that of the outcome over seeds",
    ]
    assert main(["study", "run", file, "--workers", "1"]) == 0
    for named in (file, "studies/theirs"):
        capsys.readouterr()
        assert main(["study", "plan", named]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "6 of 6 runs are done in studies/theirs; next: minutiae study report studies/theirs" in lines
        # Seeds 0, 1, 2 add themselves to the score: a deviation of 1.
        assert lines[-1].startswith("with a deviation of 1 over seeds, ")
    theirs(seeds=4)
    assert main(["study", "plan", file, "--workers", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:-1] == ["6 of 8 runs are done in studies/theirs", "left: 2 runs of a command, 2 at a time"]
    assert main(["study", "plan", file, "--name", "other"]) == 0
    assert "8 runs of a command" in capsys.readouterr().out


def test_a_plan_counts_the_reported_runs_of_tuning(
    theirs: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(TRAINER.replace("100 * rate", "100 * rate * float(sys.argv[4])"))
    tuned = {
        "command": f"{sys.executable} {tmp_path / 'train.py'} {{lr}} {{seed}} {{folder}} {{clip}}",
        "factors": {"clip": [1, 2]},
        "tuning": Tuning({"lr": [0.1, 0.2]}, seeds=2),
    }
    file = str(theirs(**tuned))
    assert main(["study", "plan", file]) == 0
    assert "14 runs of a command" in capsys.readouterr().out
    assert main(["study", "run", file]) == 0
    assert "studies/theirs: 0 of 14 runs done, 0 running" in capsys.readouterr().out
    assert main(["study", "plan", file]) == 0
    assert "14 of 14 runs are done" in capsys.readouterr().out
    assert main(["study", "run", file]) == 0
    assert "studies/theirs: 14 of 14 runs done, 0 running" in capsys.readouterr().out


def test_runs_of_an_earlier_form_are_told_before_any_new_one(theirs: Callable[..., Path]) -> None:
    file = str(theirs())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["study", "run", file]) == 0
        theirs(seeds=4)
        assert main(["study", "run", file]) == 0  # every earlier run is counted
    theirs(environments="others")
    with pytest.warns(UserWarning) as told:  # one line on stderr
        assert main(["study", "run", file]) == 0
    (text,) = (str(one.message) for one in told)
    assert text.startswith(
        "8 of the 8 runs in studies/theirs are of an earlier form of this study (environments were theirs and are "
        "others; seeds changed): "
    )
    assert text.endswith(" and 5 more are kept and not counted; give the study another name to go on with both")
    # It is told again, but not what changed: study.toml is the new one now.
    with pytest.warns(UserWarning, match="8 of the 14 runs in studies/theirs are of an earlier form of this study: "):
        assert main(["study", "run", file]) == 0


def test_what_changed_in_the_base_is_told(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "study", STUDY)
    for run in STUDY.first_runs()[:2]:
        store._make(run)
    longer = replace(STUDY, base={"steps": 8192, "discount": 0.9}, preset="trpo", factors=STUDY.factors[1:])
    words = uncounted_words(longer, store.path)
    assert words is not None
    assert "2 of the 2 runs" in words
    assert (
        "(preset was ppo and is trpo; base.steps was 4096 and is 8192; base.discount was the preset's and is" in words
    )
    assert words.count(" and 1 more changes") == 1
    assert uncounted_words(replace(STUDY, seeds=1), store.path) is None


def test_a_python_caller_names_the_folder_or_the_file(theirs: Callable[..., Path]) -> None:
    results = minutiae.run_study(theirs())
    assert results.path == Path("studies/theirs")
    assert minutiae.run_study("studies/theirs").path == results.path
    with pytest.raises(ConfigError, match="a Study has no name of its own; say where to train it: run_study"):
        minutiae.run_study(results.study)


def test_a_plan_tells_of_steps_that_are_not_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = replace(STUDY, base={"steps": 5000}, factors=STUDY.factors[:1], seeds=1, population=2)
    (tmp_path / "study.toml").write_text(study_to_toml(study))
    assert main(["study", "plan", str(tmp_path / "study.toml"), "--quick", "--workers", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "steps = 5,000 are 2 iterations of 2,048: 4,096" in lines
    assert "2 runs, 8,192 environment steps, in 1 population of 2 agents, 1 at a time" in lines


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


@pytest.mark.parametrize("words", ["study plan {}", "study run {}", "reproduce table2"])
@pytest.mark.parametrize("workers", ["0", "-1"])
def test_without_workers_nothing_is_begun_or_said(words: str, workers: str, file: Path, capsys: Any) -> None:
    assert main([*words.format(file).split(), "--workers", workers]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"minutiae: workers is a whole number of at least 1, not {workers}\n"


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
    assert board.line() == "1 of 12 runs done, 1 running, 12% of all iterations"
    now[0] = 10.0
    board.note(report(runs[4], 2, None))
    # The second iteration took five seconds; ten runs of two iterations are left.
    assert board.line() == "1 of 12 runs done, 1 running, 17% of all iterations, 0:01:40 left"
    assert board.cells()[0] == ("CartPole-v1", "value_clipping=off, reward_scaling=off", 1, 3, 20.0)
    board.note(report(runs[4], 2, None, "finished"))
    assert board.cells()[0][2:] == (2, 3, 20.0)
    assert board.line().startswith("2 of 12 runs done, 0 running")


def test_the_board_counts_runs_of_an_archive_which_take_no_time() -> None:
    now = [0.0]
    runs = [run.id for run in STUDY.first_runs()]
    board = StudyBoard(STUDY, {}, lambda: now[0])
    for run in (runs[0], runs[4]):
        board.note(report(run, 2, 10.0, "finished"))
    assert board.line() == "2 of 12 runs done, 0 running"
    assert board.cells()[0][2:] == (2, 3, 10.0)
    board.note(report(runs[8], 1, 30.0))
    now[0] = 5.0
    board.note(report(runs[8], 2, 30.0))
    # One iteration took five seconds, and nine runs of two are left.
    assert board.line() == "2 of 12 runs done, 1 running, 25% of all iterations, 0:01:30 left"


def test_the_board_counts_what_tuning_has_yet_to_choose() -> None:
    """Four cells of two settings, then of three seeds: 20 runs of two iterations, 8 of which are known by name."""
    now = [0.0]
    study = replace(STUDY, tuning=Tuning({"learning_rate": [1e-4, 3e-4]}, seeds=1))
    board = StudyBoard(study, {}, lambda: now[0])
    first = study.first_runs()[0].id
    board.note(report(first, 1, 30.0))
    now[0] = 5.0
    board.note(report(first, 2, 30.0))
    # One iteration took five seconds, and 38 are left.
    assert board.line() == "0 of 20 runs done, 1 running, 5% of all iterations, 0:03:10 left"
    board.note(report(first, 2, 30.0, "finished"))
    chosen = study.final_runs(dict.fromkeys(study.places, study.settings[0]))[0].id
    board.note(report(chosen, 1, 30.0))
    now[0] = 10.0
    board.note(report(chosen, 2, 30.0, "finished"))
    # Two iterations took ten seconds, and 36 are left.
    assert board.line() == "2 of 20 runs done, 0 running, 0:03:00 left"


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
