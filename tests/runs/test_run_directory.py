"""A run's folder says in which state it is; a foreign or damaged one gets one line and no code is run."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from minutiae.details import from_toml, preset, to_toml
from minutiae.errors import RunError
from minutiae.runs import Result, RunDirectory
from minutiae.runs.directory import is_run

TEXT = """# budget
environment = "Hopper-v5"
steps = 1000000  # a remark

# networks
policy_hidden_sizes = [64, 64]
"""
END = "# the end: without this line the file is truncated"


def message(call: object, *arguments: object, **options: object) -> str:
    with pytest.raises(RunError) as caught:
        call(*arguments, **options)  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_life_of_a_run(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "runs" / "hopper", TEXT, seed=3, about={"jax": "0.10.2"})
    assert os.listdir(run.path) == ["config.toml"]
    assert (run.name, run.status, run.finished, run.result) == ("hopper", "unfinished", False, None)
    assert run.latest_checkpoint() is None
    assert run.checkpoints() == []
    assert len(run.metrics()) == len(run.timing()) == 0

    log = run.metrics()
    log.append({"iteration": 1, "loss": 0.5})
    log.save()
    run.save_checkpoint(1, {"weight": np.ones(2)}, {"steps": 2048})

    again = RunDirectory.open(run.path)
    assert (again.config_text, again.seed, again.about) == (TEXT, 3, {"jax": "0.10.2"})
    assert list(again.metrics()) == [{"iteration": 1, "loss": 0.5}]
    checkpoint = again.latest_checkpoint()
    assert checkpoint is not None
    assert (checkpoint.iteration, checkpoint.metadata) == (1, {"steps": 2048})

    again.finish(summary={"outcome": np.float64(12.5), "worst": float("nan"), "returns": (1, 2)})
    assert run.finished
    assert run.status == "finished"
    assert run.result == Result("finished", (), {"outcome": 12.5, "worst": None, "returns": [1, 2]})
    assert json.loads((run.path / "result.json").read_text())["format"] == 1
    assert message(again.finish) == (
        f"{run.path} has ended before; train under another name, or delete its result.json"
    )


def test_the_file_is_toml_that_other_tools_read(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "a", TEXT, seed=3, about={'odd "key"': 'tab\t, quote", del\x7f, é, 😀, \\'})
    assert (run.path / "config.toml").read_text().startswith("format = 1\nseed = 3\n\n[about]\n")
    assert RunDirectory.open(run.path).about == {'odd "key"': 'tab\t, quote", del\x7f, é, 😀, \\'}


def test_a_real_config_comes_back(tmp_path: Path) -> None:
    config = preset("ppo", "Hopper-v5", value_clipping="max")
    RunDirectory.create(tmp_path / "a", to_toml(config), seed=0)
    assert from_toml(RunDirectory.open(tmp_path / "a").config_text) == config


def test_a_config_that_is_not_flat(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^the config text is not flat TOML; write every detail as one line"):
        RunDirectory.create(tmp_path / "a", "[networks]\nsizes = 3\n", seed=0)
    assert os.listdir(tmp_path / "a") == []


def test_divergence_needs_its_reasons(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "a", TEXT, seed=3)
    with pytest.raises(ValueError, match=r"^a diverged run needs its reasons, and a finished run has none$"):
        run.finish("diverged")
    with pytest.raises(ValueError, match="a finished run has none"):
        run.finish("finished", ["why?"])
    with pytest.raises(ValueError, match=r"^the status of a result is 'finished' or 'diverged', not 'lost'$"):
        run.finish("lost")  # type: ignore[arg-type]
    assert not run.finished
    run.finish("diverged", ["iteration 7: policy/head/bias is not finite"])
    assert run.status == "diverged"
    assert run.result == Result("diverged", ("iteration 7: policy/head/bias is not finite",), {})


def test_creating_where_something_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    RunDirectory.create(path, TEXT, seed=3)
    assert message(RunDirectory.create, path, TEXT, seed=3) == (
        f"{path} already holds a run; use 'minutiae resume {path}' or choose another name"
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").touch()
    assert message(RunDirectory.create, tmp_path / "b", TEXT, seed=3) == (
        f"{tmp_path / 'b'} holds other files (thesis.tex); choose another name for the run"
    )
    (tmp_path / "file").touch()
    assert message(RunDirectory.create, tmp_path / "file", TEXT, seed=3) == (
        f"cannot write {tmp_path / 'file'}: File exists; check the folder {tmp_path} and the disk"
    )


def test_creating_after_a_kill_before_the_first_file(tmp_path: Path) -> None:
    (tmp_path / ".config.toml.0a1b2c3d.unfinished").write_text("format = 1\nse")
    run = RunDirectory.create(tmp_path, TEXT, seed=3)
    # It might be another process's, which is making the same run at this moment: only who trains it may remove it.
    assert len(os.listdir(tmp_path)) == 2
    run.remove_unfinished()
    assert os.listdir(tmp_path) == ["config.toml"]


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path / "hopper-3", TEXT, seed=3)
    assert message(RunDirectory.open, tmp_path / "hoper-3") == (
        f"no run at {tmp_path}/hoper-3; did you mean '{tmp_path}/hopper-3'?"
    )
    assert message(RunDirectory.open, tmp_path / "x") == f"no run at {tmp_path}/x; {tmp_path} holds: hopper-3"
    assert message(RunDirectory.open, tmp_path / "x" / "y") == f"no run at {tmp_path}/x/y; check the path"


def test_opening_what_is_no_run(tmp_path: Path) -> None:
    assert message(RunDirectory.open, tmp_path) == (
        f"{tmp_path} is not a run: it has no config.toml; give the folder of a run"
    )
    RunDirectory.create(tmp_path / "a", TEXT, seed=3)
    assert message(RunDirectory.open, tmp_path) == (
        f"{tmp_path} is not a run: it has no config.toml; open one of the runs in it: a"
    )
    file = tmp_path / "a" / "config.toml"
    assert message(RunDirectory.open, file) == (
        f"{file} is a file; give the folder of the run, here perhaps {tmp_path}/a"
    )
    assert is_run(tmp_path / "a")
    assert not is_run(tmp_path)


def test_a_config_cut_anywhere(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "a", TEXT, seed=3, about={"jax": "0.10.2"})
    file = run.path / "config.toml"
    whole = file.read_bytes()
    for length in range(len(whole) - 1):  # without its last line break the file is still whole
        file.write_bytes(whole[:length])
        text = message(RunDirectory.open, run.path)
        assert text.startswith(str(file))
        assert text.endswith("; restore it from a copy, or train the run again in another folder")
    file.write_bytes(whole[:-1])
    assert RunDirectory.open(run.path).config_text == TEXT


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[tool]\nname = 'other'\n", "is not ours: it has no format number"),
        (
            "format = 1\nseed = 'three'\n[config]\n",
            "is damaged: a whole 'seed' and a table [config] are needed",
        ),
        ("format = 1\nseed = 3\nconfig = {}\n", "is damaged: a whole 'seed' and a table [config] are needed"),
        ("format = 1\nseed = 3\n[config]\na = 1\n", "is truncated: its last line is missing"),
        (f"format = 1\nseed = 3\n[config]\na = 1\n[more]\n{END}", "tables besides [about] and [config]"),
        (f"format = 1\nseed = 3\nabout = 1\n[config]\n{END}", "'about' must be a table"),
        ("a = " + "[" * 100_000, "is damaged: "),
        ("\x00", "is damaged: "),
    ],
)
def test_a_foreign_config(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    assert problem in message(RunDirectory.open, tmp_path)


def test_a_config_of_a_newer_version_or_no_text(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("format = 2\nseed = 3\n[config]\n")
    assert message(RunDirectory.open, tmp_path) == (
        f"{file} has format 2 and this minutiae reads formats up to 1; upgrade with 'pip install --upgrade minutiae'"
    )
    file.write_bytes(b"\xff\xfe")
    assert "is damaged: 'utf-8' codec" in message(RunDirectory.open, tmp_path)
    file.unlink()
    os.mkfifo(file)
    assert "is not a regular file" in message(RunDirectory.open, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 1}',
        '{"format": 1, "status": "lost", "reasons": [], "summary": {}}',
        '{"format": 1, "status": "diverged", "reasons": [], "summary": {}}',
        '{"format": 1, "status": "finished", "reasons": "none", "summary": {}}',
        '{"format": 1, "status": "finished", "reasons": [], "summary": 3}',
        "[" * 100_000,
    ],
)
def test_a_damaged_result(tmp_path: Path, text: str) -> None:
    run = RunDirectory.create(tmp_path / "a", TEXT, seed=3)
    (run.path / "result.json").write_text(text)
    told = message(lambda: run.status)
    assert told.startswith(f"{run.path}/result.json is ")
    assert told.endswith("; delete it and resume the run to write it again")


def test_unreadable_checkpoints_are_not_a_fresh_start(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "a", TEXT, seed=3)
    run.save_checkpoint(1, {}, {}).write_bytes(b"")
    assert run.checkpoints() == []
    assert "nothing readable is left" in message(run.latest_checkpoint)


def test_the_one_that_resumes_cleans_up(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "a", TEXT, seed=3)
    run.save_checkpoint(1, {}, {})
    for folder, name in ((run.path, "metrics.parquet"), (run.checkpoint_path, "000002.safetensors")):
        (folder / f".{name}.0a1b2c3d.unfinished").touch()
    RunDirectory.open(run.path)
    assert len(os.listdir(run.path)) == 3  # a mere reader touches nothing: the writer may be alive
    run.remove_unfinished()
    assert sorted(os.listdir(run.path)) == ["checkpoint", "config.toml"]
    assert os.listdir(run.checkpoint_path) == ["000001.safetensors"]
