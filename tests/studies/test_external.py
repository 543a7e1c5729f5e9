"""A study over somebody else's command: the same designs, store and tables; outcomes from JSON, CSV and TensorBoard."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minutiae
from minutiae.errors import ConfigError, RunError
from minutiae.studies import launching
from minutiae.studies.external import External, read_outcome
from minutiae.studies.study_file import study_from_toml, study_to_toml

TRAINER = """
import json, sys
rate, clip, seed, folder = float(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
print("training", rate, clip, seed)
if clip == "broken":
    sys.exit("no such clip")
open(folder + "/outcome.json", "w").write(json.dumps({"score": 100 * rate + 10 * (clip == "0.2") + seed}))
"""


@pytest.fixture
def command(tmp_path: Path) -> str:
    (tmp_path / "train it.py").write_text(TRAINER)
    return f"{sys.executable} '{tmp_path / 'train it.py'}' {{lr}} {{clip}} {{seed}} {{folder}}"


def study_of(command: str, **changes: Any) -> minutiae.Study:
    plain: dict[str, Any] = {
        "environments": "theirs",
        "factors": {"lr": [0.1, 0.2], "clip": ["off", 0.2]},
        "outcomes": "score",
        "seeds": 3,
        "command": command,
    }
    return minutiae.Study(**(plain | changes))


def test_a_study_over_a_command(command: str, tmp_path: Path) -> None:
    study = study_of(command)
    assert study_from_toml(study_to_toml(study)) == study
    results = minutiae.run_study(study, tmp_path / "study", workers=2)
    frame = results.frame()
    assert set(frame["status"]) == {"finished"}
    assert frame.select("lr", "clip", "seed", "score").rows() == [
        (str(lr), str(clip), seed, pytest.approx(100 * lr + 10 * (clip == 0.2) + seed))
        for seed in range(3)
        for lr in (0.1, 0.2)
        for clip in ("off", 0.2)
    ]
    heard: list[Any] = []
    minutiae.run_study(study, tmp_path / "study", listener=heard.append)
    assert heard == []
    (log,) = (results.path / "runs" / frame["run_id"][0]).glob("attempt-*/output.txt")
    assert log.read_text() == "training 0.1 off 0\n"


def test_its_report_says_what_mattered(command: str, tmp_path: Path) -> None:
    results = minutiae.run_study(study_of(command), tmp_path / "study")
    page = minutiae.write_report(results).read_text()
    assert "from the preset" not in page
    assert "as the command left it in outcome.json" in page
    assert minutiae.write_report(tmp_path / "study", tmp_path / "again").read_text() == page


def test_a_report_says_of_what_it_is_silent(command: str, tmp_path: Path) -> None:
    study = study_of(command, factors={"lr": [0.1, 0.2], "clip": ["off", "broken"]})
    page = minutiae.write_report(minutiae.run_study(study, tmp_path / "study")).read_text()
    assert "6 of 12 runs failed and are left out." in page
    assert "No run of clip=broken has an outcome, so nothing is said of it." in page


def test_tuning_over_a_command(command: str, tmp_path: Path) -> None:
    study = study_of(command, factors={"clip": ["off", 0.2]}, tuning=minutiae.Tuning({"lr": [0.1, 0.3]}, seeds=1))
    frame = minutiae.run_study(study, tmp_path / "study").frame()
    assert set(frame.filter(frame["stage"] == "report")["lr"]) == {"0.3"}


def test_a_command_that_fails_is_told_and_sinks_nothing(command: str, tmp_path: Path) -> None:
    study = study_of(command, factors={"lr": [0.1, 0.2], "clip": ["off", "broken"]}, seeds=1)
    frame = minutiae.run_study(study, tmp_path / "study").frame()
    assert frame["status"].to_list() == ["finished", "failed", "finished", "failed"]
    assert frame["reason"][1] == "the command ended with code 1: no such clip (3 times)"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("train {lr} {seed}", "the command never uses clip; write {clip} where it belongs"),
        ("train {lr} {clip}", "the command never uses {seed}; every run would be the same"),
        ("train {lr} {clp} {seed}", "unknown name in the command 'clp'; did you mean 'clip'?"),
        ("train {lr} {clip} {seed} {", "has a lone brace: "),
        ("train {lr:d} {clip} {seed}", "the command has {lr:d}; levels are filled in as text, write {lr}"),
        ("train {lr} {clip} '{seed}", "cannot be split into words: No closing quotation; mend its quotes"),
    ],
)
def test_wrong_commands(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        study_of(text)
    assert error in str(caught.value)
    with pytest.raises(ConfigError, match="preset, flavour and population are of our own trainer"):
        study_of("train {lr} {clip} {seed}", population=3)


@pytest.mark.parametrize("name", ["folder", "results", "lr.max", "two-words"])
def test_names_that_a_command_cannot_have(name: str) -> None:
    with pytest.raises(ConfigError, match=f"a factor of a command cannot be called '{name}'; take letters, digits"):
        study_of(f"train {{{name}}} {{seed}}", factors={name: [1, 2]})


def test_a_factor_may_be_called_like_one_of_our_details(command: str, tmp_path: Path) -> None:
    """And have levels that our detail does not."""
    command = command.replace("{lr}", "{learning_rate}").replace("{clip}", "{value_clipping}")
    factors = {"learning_rate": [0.1, 0.2], "value_clipping": ["none", "0.2"]}
    study = study_of(command, factors=factors, seeds=1)
    assert study_from_toml(study_to_toml(study)) == study
    frame = minutiae.run_study(study, tmp_path / "study").frame()
    assert set(frame["value_clipping"]) == {"none", "0.2"}
    assert set(frame["status"]) == {"finished"}


SLEEPER = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1] + "/started", "w").write(f"{os.getpid()} {child.pid}\\n")
time.sleep(600)
"""


def _runs(process: int) -> bool:
    """Whether a process runs, and is no zombie that nobody has asked for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _soon(found: Callable[[], Any]) -> Any:
    """What `found` gives as soon as it is true."""
    deadline = time.monotonic() + 60
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return value


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_dies_with_the_process_that_started_it(number: int, tmp_path: Path) -> None:
    """And so does what the command has started."""
    (tmp_path / "sleep.py").write_text(SLEEPER)
    study = study_of(f"{sys.executable} {tmp_path / 'sleep.py'} {{folder}} {{lr}} {{seed}}", factors={"lr": [1, 2]})
    (tmp_path / "study.toml").write_text(study_to_toml(study))
    words = [sys.executable, "-m", "minutiae", "study", "run", str(tmp_path / "study.toml"), "--workers", "2"]
    log = tmp_path / "log"
    with open(log, "wb") as out:
        parent = subprocess.Popen([*words, "--out", str(tmp_path), "--name", "s"], stdout=out, stderr=out)
    try:
        files = _soon(lambda: len(found := list(tmp_path.glob("s/runs/*/attempt-*/started"))) == 2 and found)
        _soon(lambda: all(file.read_text().endswith("\n") for file in files))
        started = [int(word) for file in files for word in file.read_text().split()]
        assert len(started) == 4 and all(map(_runs, started)), log.read_text()
    finally:
        parent.send_signal(number)
        parent.wait()
    _soon(lambda: not any(map(_runs, started)))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_a_launcher_passes_ctrl_c_on_and_tells_of_the_signal(tmp_path: Path) -> None:
    (tmp_path / "sleep.py").write_text(SLEEPER)
    words = [sys.executable, "-I", launching.__file__, sys.executable, str(tmp_path / "sleep.py"), str(tmp_path)]
    launcher = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    file = tmp_path / "started"
    _soon(lambda: file.exists() and file.read_text().endswith("\n"))
    launcher.send_signal(signal.SIGINT)
    assert launcher.stdout is not None
    assert launcher.stdout.read() == b'{"code": -2}'
    assert b"KeyboardInterrupt" in launcher.communicate()[1]
    _soon(lambda: not any(_runs(int(word)) for word in file.read_text().split()))


def test_a_command_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    frame = minutiae.run_study(study_of("./nowhere {lr} {clip} {seed}", seeds=1), tmp_path / "study").frame()
    expected = "./nowhere cannot be started: No such file or directory; check the command of the study (3 times)"
    assert set(frame["reason"]) == {expected}


def test_ctrl_c_starts_no_further_command(command: str, tmp_path: Path) -> None:
    started: list[str] = []

    def interrupt(progress: Any) -> None:
        started.append(progress.run)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minutiae.run_study(study_of(command), tmp_path / "study", workers=1, listener=interrupt)
    assert len(started) < 12
    assert not list((tmp_path / "study" / "claims").glob("[!.]*"))


def test_values_need_no_quotes(tmp_path: Path) -> None:
    external = External("run --name {name} --seed={seed} 'a b'", {"name": "x y; z"}, "e", "outcome.json")
    assert external.words(3, tmp_path) == ["run", "--name", "x y; z", "--seed=3", "a b"]


def test_outcomes_in_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"score": 3, "curve": [0, 1, 2, 3, 4, 5], "none": null}')
    (tmp_path / "a.csv").write_text("step,score\n1,1.0\n2,\n3,2.0\n")
    assert read_outcome(tmp_path / "a.json", "score") == 3.0
    assert read_outcome(tmp_path / "a.json", "curve") == 3.0
    assert read_outcome(tmp_path / "a.csv", "score") == 1.5
    for name, text in (
        ("scor", "unknown outcome in .* 'scor'; did you mean 'score'"),
        ("none", "the outcome none in .* is no finite number; look at output.txt beside it"),
    ):
        with pytest.raises(RunError, match=text):
            read_outcome(tmp_path / "a.json", name)
    (tmp_path / "b.json").write_text("[1")
    with pytest.raises(RunError, match="is no JSON: "):
        read_outcome(tmp_path / "b.json", "score")
    with pytest.raises(RunError, match="does not exist; check the path"):
        read_outcome(tmp_path / "c.json", "score")


def test_outcomes_in_tensorboard_files(tmp_path: Path) -> None:
    from tensorboardX import SummaryWriter

    with SummaryWriter(str(tmp_path / "logs" / "one")) as writer:
        for step in range(10):
            writer.add_scalar("eval/return", float(step), step)
    assert read_outcome(tmp_path / "logs", "eval/return") == 7.0
    (file,) = (tmp_path / "logs").glob("*/*tfevents*")
    file.write_bytes(file.read_bytes()[:-5])  # cut off in the last record
    assert read_outcome(tmp_path / "logs", "eval/return") == 6.0


def test_levels_of_every_kind_are_the_same_runs_after_the_file(command: str, tmp_path: Path) -> None:
    import numpy as np

    factors = {"lr": np.geomspace(1e-4, 1e-2, 3).tolist(), "clip": [None, True, (64, 64), "é", np.int64(3)]}
    study = study_of(command, factors=factors, question="what\x7f?")
    again = study_from_toml(study_to_toml(study))
    assert again == study
    assert [run.id for run in again.first_runs()] == [run.id for run in study.first_runs()]
    words = study.first_runs()[1].config.words(0, tmp_path)  # type: ignore[union-attr]
    assert words == again.first_runs()[1].config.words(0, tmp_path)  # type: ignore[union-attr]


def test_what_a_failed_attempt_left_is_nobodys_outcome(tmp_path: Path) -> None:
    """The first attempt writes an outcome and fails; the second writes none and succeeds."""
    (tmp_path / "train.py").write_text(
        "import pathlib, sys\n"
        "folder = pathlib.Path(sys.argv[2]); mark = folder.parent / 'tried'\n"
        "if not mark.exists():\n"
        "    mark.write_text(''); (folder / 'outcome.json').write_text('{\"score\": -999}'); sys.exit('no')\n"
    )
    study = study_of(
        f"{sys.executable} {tmp_path / 'train.py'} {{clip}} {{folder}} {{seed}}", factors={"clip": ["a", "b"]}, seeds=1
    )
    frame = minutiae.run_study(study, tmp_path / "study").frame()
    assert frame["status"].to_list() == ["failed", "failed"]
    assert "outcome.json does not exist" in frame["reason"][0]
    assert "times)" not in frame["reason"][0]  # a command that went well is not run again


def test_an_outcome_asked_for_later_is_looked_up(command: str, tmp_path: Path) -> None:
    (tmp_path / "train it.py").write_text(TRAINER.replace('{"score"', '{"other": 7 + seed, "score"'))
    minutiae.run_study(study_of(command), tmp_path / "study")
    heard: list[Any] = []
    results = minutiae.run_study(
        study_of(command, outcomes=["score", "other"]), tmp_path / "study", listener=heard.append
    )
    assert heard == []
    assert set(results.frame()["other"]) == {7.0, 8.0, 9.0}


def test_an_outcome_cannot_be_a_factor_too(command: str) -> None:
    for name in ("lr", "seed", "status"):
        with pytest.raises(ConfigError, match=f"{name} is a column of the study's tables and cannot be a factor"):
            study_of(command, factors={name: [1, 2]}, outcomes=["lr"])
