"""What a user can get wrong at `train` and `resume`: one line that names the remedy, before anything is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minutiae
from minutiae.control import training
from minutiae.control.progress import Progress
from minutiae.details import Config
from minutiae.errors import ConfigError, MinutiaeError, RunError, UnsupportedEnvironment
from minutiae.runs.directory import RunDirectory
from minutiae.runs.group import RunGroup
from small_runs import assert_same_bits, small

PATIENCE = 240.0


def refusal(out: Path, call: Callable[[], Any], kind: type[MinutiaeError] = ConfigError) -> str:
    """The error of a call that must leave `out` as it was."""

    def listed() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in out.rglob("*")}

    before = listed()
    with pytest.raises(kind) as caught:
        call()
    assert listed() == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"seed": -1}, "seed is a whole number of at least 0, not -1"),
        ({"seed": 1.5}, "seed is a whole number of at least 0, not 1.5"),
        ({"seed": True}, "seed is a whole number of at least 0, not True"),
        ({"seed": "3"}, "seed is a whole number of at least 0, not '3'"),
        ({"seed": None}, "seed is a whole number of at least 0, not None"),
        ({"seeds": 0}, "seeds is a whole number of at least 1, not 0"),
        ({"seeds": 2.0}, "seeds is a whole number of at least 1, not 2.0"),
        ({"workers": 0}, "workers is a whole number of at least 1, not 0"),
        ({"workers": 0, "seeds": 2}, "workers is a whole number of at least 1, not 0"),
        ({"name": "a/b"}, "'a/b' is no folder name; give one without slashes, and the place with out=..."),
        ({"name": ".."}, "'..' is no folder name; give one without slashes, and the place with out=..."),
        ({"name": ""}, "'' is no folder name; give one without slashes, and the place with out=..."),
        ({"name": "a\nb"}, "'a\\nb' is no folder name; give one without slashes, and the place with out=..."),
        ({"name": 3}, "3 is no folder name; give one without slashes, and the place with out=..."),
        ({"flavour": "paper-text"}, "a Config names its environment itself; leave out environment and flavour"),
        ({"environment": "Hopper-v5"}, "a Config names its environment itself; leave out environment and flavour"),
        (
            {"value_cliping": "max"},
            "unknown detail 'value_cliping'; did you mean 'value_clipping'? allowed: value_clipping, "
            "value_clipping_range, ",
        ),
        ({"sinks": ["wanbd"]}, "unknown sink 'wanbd'; did you mean 'wandb'? allowed: tensorboard, wandb, mlflow; "),
        ({"sinks": "wanbd"}, "unknown sink 'wanbd'; did you mean 'wandb'? allowed: tensorboard, wandb, mlflow; "),
        ({"sinks": [object()]}, "<object object at "),
    ],
)
def test_wrong_arguments_of_train(tmp_path: Path, arguments: dict[str, Any], error: str) -> None:
    told = refusal(tmp_path, lambda: minutiae.train(small(), out=tmp_path, **arguments))
    assert told.startswith(error)


@pytest.mark.parametrize(
    ("arguments", "kind", "error"),
    [
        (("ppo",), ConfigError, "the preset 'ppo' needs an environment, such as 'Hopper-v5'"),
        (("poo", "Hopper-v5"), ConfigError, "unknown preset 'poo'; did you mean 'ppo'? allowed: ppo, ppo-m, "),
        (("ppo", "hoper-v5"), UnsupportedEnvironment, "unknown environment 'hoper-v5'; did you mean 'Hopper-v5'? "),
        (
            ("ppo", "gymnasium:FrozenLake-v1", {"action_bound": "tanh"}),
            ConfigError,
            "action_bound = tanh would have no effect: gymnasium:FrozenLake-v1 has discrete actions; leave it out ",
        ),
        (
            ("ppo", "CartPole-v1", {"minibatches": 7}),
            ConfigError,
            "16 environments x 128 rollout_length = 2048 samples, and 2048 / 7 minibatches = 292.6 is not a whole ",
        ),
        (("ppo", "CartPole-v1", {"steps": 100}), ConfigError, "steps = 100 is less than one iteration: "),
    ],
)
def test_wrong_presets_and_environments(
    tmp_path: Path, arguments: tuple[Any, ...], kind: type[MinutiaeError], error: str
) -> None:
    details = arguments[-1] if isinstance(arguments[-1], dict) else {}
    names = [argument for argument in arguments if isinstance(argument, str)]
    told = refusal(tmp_path, lambda: minutiae.train(*names, out=tmp_path, **details), kind)
    assert told.startswith(error)


def test_what_is_neither_preset_nor_config(tmp_path: Path) -> None:
    told = refusal(tmp_path, lambda: minutiae.train(3, "Hopper-v5", out=tmp_path))  # type: ignore[arg-type]
    assert told == "the first argument is a preset's name or a Config, not 3; as in train('ppo', 'Hopper-v5')"


def test_a_rollout_that_no_machine_holds_is_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    config = small(rollout_length=10**12, steps=10**18)
    told = refusal(tmp_path, lambda: minutiae.train(config, out=tmp_path))
    assert re.fullmatch(
        r"\d+ environments x 1000000000000 rollout_length need about [\d,]+ bytes for each agent, more than the "
        r"[\d,]+ bytes of memory of this machine; lower environments or rollout_length, or the hidden sizes",
        told,
    )


def test_wrong_populations(tmp_path: Path) -> None:
    def told(agents: Any, kind: type[MinutiaeError] = ConfigError, **arguments: Any) -> str:
        call = {"name": "group", "out": tmp_path} | arguments
        return refusal(tmp_path, lambda: minutiae.train_population(agents, **call), kind)

    two = [(small(), 0), (small(), 1)]
    assert told([]) == "there are no agents to train; give at least one (config, seed) pair"
    assert told([small()]).startswith("an agent is a pair (Config, seed), not Config(")
    assert told([("ppo", 0)]) == (
        "an agent is a pair (Config, seed), not ('ppo', 0); as in (preset('ppo', 'Hopper-v5'), 0)"
    )
    assert told([(small(), 0), (small(), -2)]) == "seed is a whole number of at least 0, not -2"
    for names in (["a"], ["a", "b", "c"]):
        assert told(two, names=names) == f"there are {len(names)} names for 2 agents; give one for each, or none"
    assert told(two, RunError, names=["a", "../b"]).startswith(f"cannot make a group at {tmp_path / 'group'}: ")
    assert "two members have the same name" in told(two, RunError, names=["same", "same"])
    assert told(two, name="") == "'' is no folder name; give one without slashes, and the place with out=..."


class Recorder:
    """A sink of the user's own."""

    name = "recorder"

    def open(self, run: Any, config: Any, resume_from: Any) -> None: ...

    def log(self, iteration: int, step: int, metrics: Any) -> None: ...

    def close(self) -> None: ...


def test_one_sink_object_cannot_serve_several_agents(tmp_path: Path) -> None:
    call = lambda: minutiae.train(small(), seeds=2, out=tmp_path, sinks=[Recorder()])  # noqa: E731
    assert refusal(tmp_path, call) == (
        "the sink object 'recorder' serves one run and 2 are trained together; pass a function that makes one for "
        "each, such as sinks=[Recorder]"
    )


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Stop at the door: what would have been trained, population by population, is only noted."""
    noted: list[list[str]] = []

    def note(chunks: Any, *_: Any) -> None:
        noted.extend([run.name for run in chunk] for chunk in chunks)

    class NotedWorkers:
        def __init__(self, chunks: Any, count: int, sinks: Any, listener: Any) -> None:
            note(chunks)

        def train(self) -> None: ...

    monkeypatch.setattr(training, "_train_here", note)
    monkeypatch.setattr(training, "Workers", NotedWorkers)
    return noted


def test_taken_names(tmp_path: Path, untrained: list[list[str]]) -> None:
    minutiae.train(small(), name="run", out=tmp_path)
    minutiae.train(small(), name="group", seeds=2, out=tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").touch()
    (tmp_path / "file").touch()

    def told(name: str, seeds: int = 1) -> str:
        call = lambda: minutiae.train(small(), name=name, seeds=seeds, out=tmp_path)  # noqa: E731
        return refusal(tmp_path, call, RunError)

    run, group = tmp_path / "run", tmp_path / "group"
    assert told("run") == f"{run} already holds a run; use 'minutiae resume {run}' or choose another name"
    assert told("run", seeds=2).startswith(f"{run} holds other files (config.toml)")
    assert (
        told("group", seeds=2) == f"{group} already holds a group; use 'minutiae resume {group}' or choose another name"
    )
    assert told("group").startswith(f"{group} holds other files (group.json, seed-0, seed-1); choose another name")
    for seeds in (1, 2):
        assert told("notes", seeds).startswith(f"{tmp_path / 'notes'} holds other files (thesis.tex); choose another")
        assert told("file", seeds).startswith(f"cannot write {tmp_path / 'file'}: ")


def test_names_that_nobody_chose_are_free_ones(tmp_path: Path, untrained: list[list[str]]) -> None:
    names = [minutiae.train("ppo", "CartPole-v1", out=tmp_path)[0].name for _ in range(3)]
    names += [minutiae.train("trpo", "gymnasium:Hopper-v5", flavour="paper-text", out=tmp_path)[0].name for _ in "a"]
    names += [minutiae.train(small(), out=tmp_path)[0].name]
    assert names == [
        "ppo-CartPole-v1",
        "ppo-CartPole-v1-2",
        "ppo-CartPole-v1-3",
        "trpo-paper-text-gymnasium-Hopper-v5",
        "ppo-training_probes-wander",
    ]


def test_the_layout_of_runs_and_groups(tmp_path: Path, untrained: list[list[str]]) -> None:
    (run,) = minutiae.train(small(), seed=4, name="one", out=tmp_path)
    assert (run.path, run.seed, run.config, run.status) == (tmp_path / "one", 4, small(), "unfinished")
    group = minutiae.train(small(), seed=np.int64(4), seeds=np.int32(3), name="three", out=tmp_path, workers=2)
    assert [one.path for one in group] == [tmp_path / "three" / f"seed-{seed}" for seed in (4, 5, 6)]
    assert [one.seed for one in group] == [4, 5, 6]
    wide = small(policy_hidden_sizes=(4,))
    mixed = [(small(), 0), (wide, 0), (small(discount=0.5), 0)]
    named = minutiae.train_population(mixed, name="mixed", out=tmp_path, workers=1)
    assert [one.name for one in named] == ["agent-0", "agent-1", "agent-2"]
    own = minutiae.train_population(mixed[:1], name="own", names=["alpha"], out=tmp_path)
    assert own[0].path == tmp_path / "own" / "alpha"
    assert untrained == [["one"], ["seed-4", "seed-5"], ["seed-6"], ["agent-0", "agent-2"], ["agent-1"], ["alpha"]]
    assert RunGroup.open(tmp_path / "mixed").chunks == (("agent-0", "agent-2"), ("agent-1",))
    # Where it was made, for whoever compares bits.
    assert {"minutiae", "jax", "jaxlib", "numpy", "python", "machine"} <= RunDirectory.open(run.path).about.keys()
    assert [one.name for one in minutiae.open_runs(tmp_path / "three")] == ["seed-4", "seed-5", "seed-6"]
    assert len(minutiae.open_runs(tmp_path)) == 8


def test_a_group_that_cannot_be_made_is_not_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create = RunDirectory.create
    made: list[Path] = []

    def fail_at_the_third(path: Path, *arguments: Any, **options: Any) -> RunDirectory:
        made.append(path)
        if len(made) == 3:
            raise RunError("cannot write: the disk is full; make room")
        return create(path, *arguments, **options)

    monkeypatch.setattr(RunDirectory, "create", fail_at_the_third)
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / ".hidden").write_text("the user's own")
    with pytest.raises(RunError, match="the disk is full"):
        minutiae.train(small(), seeds=4, name="group", out=tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["group", ".hidden"]
    with pytest.raises(RunError, match="the disk is full"):
        made.clear()
        minutiae.train(small(), seeds=4, name="other", out=tmp_path)
    assert not (tmp_path / "other").exists()


def test_a_group_stopped_before_all_its_runs_were_made_says_so(tmp_path: Path, untrained: list[list[str]]) -> None:
    minutiae.train(small(), seeds=3, name="group", out=tmp_path)
    (tmp_path / "group" / "seed-2" / "config.toml").unlink()
    path = tmp_path / "group"
    assert refusal(tmp_path, lambda: minutiae.resume(path), RunError) == (
        f"{path} was stopped before all of its runs were made (1 of 3 are missing); nothing was trained yet: delete it "
        "and train again"
    )


def test_resuming_what_is_no_run(tmp_path: Path) -> None:
    def told(path: Path) -> str:
        return refusal(tmp_path, lambda: minutiae.resume(path), RunError)

    assert told(tmp_path / "nothing") == f"no run at {tmp_path / 'nothing'}; check the path"
    (tmp_path / "file").touch()
    assert (
        told(tmp_path / "file") == f"{tmp_path / 'file'} is a file; give the folder of the run, here perhaps {tmp_path}"
    )
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "config.toml").write_text("[model]\nsize = 3\n")
    assert told(tmp_path / "foreign").startswith(f"{tmp_path / 'foreign' / 'config.toml'} ")
    (tmp_path / "empty").mkdir()
    assert told(tmp_path / "empty").startswith(f"{tmp_path / 'empty'} is not a run: it has no config.toml")


def test_a_config_of_another_version_is_refused_in_one_line(tmp_path: Path, untrained: list[list[str]]) -> None:
    minutiae.train(small(), name="run", out=tmp_path)
    file = tmp_path / "run" / "config.toml"
    file.write_text(file.read_text().replace("value_clipping =", "value_cliping ="))
    with pytest.raises(MinutiaeError) as caught:
        minutiae.open_run(tmp_path / "run")
    assert "value_cliping" in str(caught.value) and "\n" not in str(caught.value)


def test_progress_survives_the_pipe() -> None:
    for value in (None, -1.5):
        progress = Progress("run", Path("runs/run"), 1, 2, 3, 4, value, "retrying", "why")
        assert Progress.from_json(json.loads(progress.to_json())) == progress


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
from minutiae.cli.main import main
sys.exit(main({words!r}))
"""


def with_limit(limit: int, words: list[str], elsewhere: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The command line where no file may have more than `limit` bytes, as on a full disk."""
    code = LIMITED.format(limit=limit, words=words)
    return subprocess.run([sys.executable, "-c", code], env=elsewhere, capture_output=True, text=True, timeout=PATIENCE)


def words_of(config: Config, out: Path) -> list[str]:
    from minutiae.details import to_toml

    file = out / "config.toml"
    file.write_text(to_toml(config))
    return ["train", "--config", str(file), "--name", "run", "--out", str(out / "runs"), "--seed", "10"]


def test_a_disk_too_full_to_begin_leaves_nothing(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    done = with_limit(1000, words_of(small(), tmp_path), elsewhere)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"minutiae: cannot write {tmp_path / 'runs' / 'run' / 'config.toml'}: the disk, quota or ")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "config.toml"]
    assert not (tmp_path / "runs" / "run" / "config.toml").exists()


def test_a_disk_that_fills_up_while_training_loses_nothing(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    # The config has 3 kB, the metrics of the first segment 10: the run begins, and its first save fails.
    words = words_of(small(), tmp_path)
    run = tmp_path / "runs" / "run"
    # No program that takes less than a year to compile is written to the cache, where it would be cut off.
    done = with_limit(6000, words, {**elsewhere, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "3e7"})
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"minutiae: cannot write {run}{os.sep}")
    assert "the disk, quota or file-size limit is full" in line and "make room and resume the run" in line
    assert "Traceback" not in done.stderr
    assert minutiae.open_run(run).status == "unfinished"
    assert not list(run.rglob("*.unfinished"))
    # With room again it goes on, to the bits of a run that always had room.
    code = f"import minutiae\nminutiae.resume({str(run)!r})\n"
    code += f"minutiae.train(minutiae.open_run({str(run)!r}).config, seed=10, name='roomy', out={str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], env=elsewhere, check=True, timeout=PATIENCE)
    assert_same_bits(run, tmp_path / "roomy")
