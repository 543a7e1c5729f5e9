"""`minutiae train` and `resume`: every detail is an option, nothing wrong trains, and Ctrl-C tells how to go on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minutiae
from minutiae.cli.main import main
from minutiae.cli.train import MOST_USED, parse_levels, prepare, read_config
from minutiae.control import training
from minutiae.control.progress import Progress
from minutiae.details import CATALOGUE, Config, from_toml, preset, to_toml
from minutiae.errors import ConfigError, MinutiaeError
from minutiae.runs.group import RunGroup
from saved_runs import save_run

TINY = ("--environments", "2", "--rollout-length", "16", "--minibatches", "2", "--epochs", "1")


@pytest.mark.parametrize("dashes", [True, False])
def test_every_detail_is_an_option(dashes: bool, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "ppo"]
    for name, detail in CATALOGUE.items():
        option = name.replace("_", "-") if dashes else name
        level = "Hopper-v5" if name == "environment" else detail.format(detail.default)
        words.append(f"--{option}={level}")
    assert main([*words, "--show-config"]) == 0
    assert capsys.readouterr().out == to_toml(preset("ppo", "Hopper-v5"))


def test_shown_config_is_accepted_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "trpo", "Hopper-v5", "--value-clipping", "max", "--max_kl=0.05", "--separate-optimizers"]
    assert main([*words[:-1], "--show-config"]) == 0
    shown = capsys.readouterr().out
    assert from_toml(shown) == preset("trpo", "Hopper-v5", value_clipping="max", max_kl=0.05)
    (tmp_path / "config.toml").write_text(shown)
    assert main(["train", "--config", str(tmp_path / "config.toml"), "--show-config"]) == 0
    assert capsys.readouterr().out == shown
    assert main(["train", "--config", str(tmp_path / "config.toml"), "--max-kl", "0.1", "--show-config"]) == 0
    assert from_toml(capsys.readouterr().out).max_kl == 0.1


def test_config_of_a_run_brings_its_seed(tmp_path: Path) -> None:
    config = Config(environment="CartPole-v1", steps=4096)
    run = save_run(tmp_path / "run", config, seed=7)
    assert read_config(run.path / "config.toml") == (config, 7)
    assert read_config(run.path) == (config, 7)


def test_flags_may_stand_alone() -> None:
    assert prepare(["ppo", "Hopper-v5", "--separate-optimizers", "--seed", "3"]) == [
        "ppo",
        "Hopper-v5",
        "--separate-optimizers=on",
        "--seed",
        "3",
    ]
    assert prepare(["ppo", "--entropy-coefficient", "-0.01", "--show-config"]) == [
        "ppo",
        "--entropy-coefficient",
        "-0.01",
        "--show-config",
    ]


def test_help_page_shows_details_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(MOST_USED) <= set(CATALOGUE)
    assert main(["train", "--help"]) == 0
    text = capsys.readouterr().out
    for name in MOST_USED:
        assert f"--{name.replace('_', '-')} " in text
    assert f"All {len(CATALOGUE)} details are options, with dashes or underscores: minutiae details" in text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("", "PRESET and ENVIRONMENT missing, as in: minutiae train ppo Hopper-v5"),
        ("ppo", "ENVIRONMENT missing, as in: minutiae train ppo Hopper-v5"),
        ("pro Hopper-v5", "unknown preset 'pro'; did you mean 'ppo'?"),
        ("ppo Hoper-v5", "unknown environment 'Hoper-v5'; did you mean 'Hopper-v5'?"),
        ("ppo Hopper-v5 --value-cliping max", "unknown option '--value-cliping'; did you mean '--value-clipping'?"),
        ("ppo Hopper-v5 --value-cliping", "unknown option '--value-cliping'; did you mean '--value-clipping'?"),
        ("ppo Hopper-v5 --worker 2", "unknown option '--worker'; did you mean '--workers'?"),
        ("ppo Hopper-v5 --value-clipping maxx", "unknown level of value_clipping 'maxx'; did you mean 'max'?"),
        ("ppo Hopper-v5 --discount 2", "discount = 2.0 is out of range; allowed: a number at least 0 and at most 1"),
        ("ppo Hopper-v5 --learning-rate", "--learning-rate needs a level; allowed: a number above 0"),
        ("ppo Hopper-v5 --discount 1 --discount=0", "--discount is given twice"),
        ("ppo Hopper-v5 --gae-lambda 1 --gae_lambda 0", "--gae_lambda is given twice"),
        ("ppo Hopper-v5 --environment Ant-v5", "the environment is given twice; leave out --environment"),
        ("ppo Hopper-v5 --config file.toml", "--config replaces preset, environment and flavour"),
        ("--config nowhere.toml", "nowhere.toml does not exist; check the path"),
        ("ppo Hopper-v5 --minibatches 3", "3 minibatches"),
        ("ppo Hopper-v5 --steps 10", "steps = 10 is less than one iteration"),
        ("ppo Hopper-v5 --seed -1", "--seed is at least 0 and --seeds at least 1, not -1 and 1"),
        ("ppo Hopper-v5 --seed -1 --show-config", "--seed is at least 0 and --seeds at least 1, not -1 and 1"),
        ("ppo Hopper-v5 --seeds 0", "--seed is at least 0 and --seeds at least 1, not 0 and 0"),
        ("ppo Hopper-v5 --name=", "'' is no folder name; give one without slashes"),
        ("ppo Hopper-v5 --flavour paper", "unknown flavour 'paper'; "),
        ("ppo Ant-v5 --flavour paper-text", "flavour 'paper-text' has no values for 'Ant-v5'; it has them for"),
    ],
)
def test_wrong_words_train_nothing(
    words: str,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *words.split()]) == 2
    error = capsys.readouterr().err
    assert error.startswith("minutiae: ")
    assert error.count("\n") == 1
    assert text in error
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_says_nothing_of_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "ppo", "Hoper-v5", "--steps", "5000"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("environment = ", "is not valid TOML"),
        ("environment = 'Hopper-v5'\nvalue_cliping = 'max'", "file.toml: unknown detail 'value_cliping'"),
        ("[config]\nenvironment = 'Hopper-v5'\ndiscount = 2", "discount = 2 is out of range"),
    ],
)
def test_damaged_config_files(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(ConfigError, match=error):
        read_config(tmp_path / "file.toml")


def test_custom_details_are_options(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "train",
        "ppo",
        "Hopper-v5",
        "--outside_details:pulled",
        "0.5",
        "--outside_details:negated",
        "--show-config",
    ]
    assert main(words) == 0
    assert capsys.readouterr().out.endswith('"outside_details:negated" = "on"\n"outside_details:pulled" = 0.5\n')
    # Dots within an option are cyclopts' own, but not here.
    assert prepare(["--a.b:c=0.5"]) == ["--a/b:c=0.5"]
    assert main(["train", "ppo", "Hopper-v5", "--no.such:detail", "0.5"]) == 2
    assert capsys.readouterr().err.startswith("minutiae: the detail 'no.such:detail' needs the module 'no.such', and ")
    assert main(["train", "ppo", "Hopper-v5", "--outside_details:pulled"]) == 2
    assert (
        capsys.readouterr().err
        == "minutiae: --outside_details:pulled needs a level; allowed: off or a number above 0\n"
    )


def test_levels_are_parsed_by_the_catalogue() -> None:
    assert parse_levels({"value-clipping": "off", "policy_hidden_sizes": "32,16", "steps": "1e5"}) == {
        "value_clipping": None,
        "policy_hidden_sizes": (32, 16),
        "steps": 100_000,
    }
    with pytest.raises(MinutiaeError, match="unknown option '--stesp'; did you mean '--steps'"):
        parse_levels({"stesp": "1"})


def test_train_evaluate_plot_watch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ("--out", str(tmp_path))
    assert main(["train", "ppo", "CartPole-v1", "--steps", "130", *TINY, *out]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "ppo-CartPole-v1"
    assert text.startswith("steps = 130 are 4 iterations of 32: 128\n")
    assert "ppo-CartPole-v1  100%  128 of 128 steps" in text
    assert f"{path}: finished, final return " in text
    assert f"next: minutiae evaluate {path}, minutiae plot {path}, minutiae watch {path}\n" in text
    assert minutiae.open_run(path).metrics()["steps"].to_list() == [32, 64, 96, 128]
    assert main(["resume", str(path)]) == 0
    assert f"{path}: finished" in capsys.readouterr().out
    assert main(["evaluate", str(path), "--episodes", "3"]) == 0
    assert f"{path}: CartPole-v1, 3 episodes, stochastic, seed 0\n" in capsys.readouterr().out
    figure = tmp_path / "curve.svg"
    assert main(["plot", str(path), "--output", str(figure), "--x", "iteration"]) == 0
    assert capsys.readouterr().out == f"{figure}\n"
    assert main(["watch", str(path), "--max-steps", "2"]) == 0
    assert f"{path / 'episode.gif'}  (2 frames, return 2.0)\n" in capsys.readouterr().out


def test_resume_asks_for_memory_as_train_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(environment="CartPole-v1", environments=8, rollout_length=2048)
    RunGroup.create(tmp_path / "group", ["seed-0", "seed-1"])
    for name in ("alone", "group/seed-0", "group/seed-1"):
        save_run(tmp_path / name, config, seed=int(name[-1] == "1"))
    monkeypatch.setattr("minutiae.control.chunks._machine_bytes", lambda: 10**6)
    for name in ("alone", "group"):
        assert main(["resume", str(tmp_path / name)]) == 0  # what has ended needs no memory
    for path in tmp_path.glob("**/result.json"):
        path.unlink()
    for name in ("alone", "group", "group/seed-1"):
        capsys.readouterr()
        assert main(["resume", str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("minutiae: 8 environments x 2048 rollout_length need about ")
        assert "more than the 1,000,000 bytes of memory of this machine; lower environments" in error


def _told(folder: Path, run: str) -> Progress:
    return Progress(run, folder, 1, 4, 32, 128, 10.0)


@pytest.mark.parametrize("several", [False, True])
def test_interrupted_training_tells_how_to_go_on(
    several: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "name"
    member = folder / "seed-0" if several else folder
    member.mkdir(parents=True)
    if several:
        (folder / "group.json").write_text("{}")

    def interrupted(*_: Any, listener: Any, **__: Any) -> None:
        listener(_told(member, member.name))
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupted)
    assert main(["train", "ppo", "CartPole-v1", "--seeds", "2" if several else "1"]) == 130
    point = "(from the start: no checkpoint was due yet)"
    assert capsys.readouterr().err == f"minutiae: interrupted; go on with: minutiae resume {folder} {point}\n"


@pytest.mark.parametrize("several", [False, True])
def test_a_name_that_was_taken_is_told(
    several: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = save_run(tmp_path / "ppo-paper-text-Hopper-v4-2", Config(environment="Hopper-v4"))
    if several:
        (run.path / "group.json").write_text("{}")

    def trained(*_: Any, listener: Any, **__: Any) -> list[Any]:
        for iteration in (1, 2):
            listener(Progress("run", run.path / "seed-0" if several else run.path, iteration, 2, iteration, 2, None))
        return [training.open_run(run.path)]

    monkeypatch.setattr(training, "train", trained)
    words = ["train", "ppo", "Hopper-v4", "--flavour", "paper-text", "--out", str(tmp_path)]
    assert main([*words, "--steps", "3000"]) == 0
    usual = tmp_path / "ppo-paper-text-Hopper-v4"
    assert capsys.readouterr().out.splitlines()[:2] == [
        "steps = 3,000 are 1 iteration of 2,048: 2,048",
        f"{usual} exists; this one is {run.path}",
    ]
    # Whoever chose the name knows it.
    assert main([*words, "--name", run.path.name]) == 0
    assert "exists" not in capsys.readouterr().out


def test_interrupt_before_anything_was_saved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupted)
    assert main(["train", "ppo", "CartPole-v1"]) == 130
    assert capsys.readouterr().err == "minutiae: interrupted; start it again\n"


def test_real_interrupt_leaves_a_run_to_resume(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "minutiae", "train", "ppo", "CartPole-v1", "--steps", "200000", *TINY]
    process = subprocess.Popen(
        [*words, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ppo-CartPole-v1 ")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    folder = tmp_path / "ppo-CartPole-v1"
    point = "(from the start: no checkpoint was due yet)"
    assert error == f"minutiae: interrupted; go on with: minutiae resume {folder} {point}\n"
    assert minutiae.open_run(tmp_path / "ppo-CartPole-v1").status == "unfinished"


def test_diverged_run_is_told_by_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = save_run(tmp_path / "run", Config(environment="CartPole-v1"))
    (run.path / "result.json").unlink()
    run.finish("diverged", ["policy/head/weight is not finite at iteration 3"])
    monkeypatch.setattr(training, "train", lambda *_, **__: [training.open_run(run.path)])
    assert main(["train", "ppo", "CartPole-v1"]) == 1
    expected = f"{run.path}: diverged: policy/head/weight is not finite at iteration 3\n"
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--seed", "--seeds", "--workers"])
@pytest.mark.parametrize("value", ["1.5", "1e3", "0x10", "two", ""])
def test_whole_numbers_are_never_rounded(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "ppo", "CartPole-v1", option, value]) == 2
    error = capsys.readouterr().err
    assert f"{option} is {value!r}, which is not a whole number" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("seed", ['"x"', "[1]", "1.7", "-5", "true"])
def test_seed_of_a_config_file_is_a_whole_number(seed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f'seed = {seed}\n[config]\nenvironment = "CartPole-v1"\n')
    assert main(["train", "--config", str(file)]) == 2
    assert "seed is a whole number of at least 0, not" in capsys.readouterr().err


def test_deeply_nested_config_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text("a = " + "[" * 5000 + "]" * 5000)
    assert main(["train", "--config", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
