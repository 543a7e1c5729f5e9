"""The door of the command line: cheap to open, one line for every error, and the right exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from minutiae import __all__ as exported
from minutiae import __version__
from minutiae.cli import main as door
from minutiae.cli.main import COMMANDS, main
from minutiae.errors import RunError

HEAVY = {"jax", "jaxlib", "numpy", "polars", "gymnasium", "envpool", "matplotlib", "scipy", "optax"}


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "statement",
    [
        "import minutiae",
        "import minutiae; minutiae.MinutiaeError",
        "import minutiae; minutiae.preset('ppo', 'Hopper-v5')",
        "from minutiae.cli.main import main; main(['--help'])",
        "from minutiae.cli.main import main; main(['--version'])",
        "from minutiae.cli.main import main; main(['details', 'value_clipping', '--code'])",
        "from minutiae.cli.main import main; main(['presets'])",
        "from minutiae.cli.main import main; main(['metrics'])",
    ],
)
def test_nothing_heavy_is_imported(statement: str) -> None:
    result = python(f"import sys; {statement}; sys.exit(repr(sorted({HEAVY!r} & set(sys.modules))))")
    assert result.stderr.strip() == "[]"


def test_statistics_import_only_the_light_parts_of_scipy() -> None:
    heavy = {"scipy.stats", "scipy.optimize", "jax", "polars"}
    result = python(f"import sys, minutiae.statistics; sys.exit(repr(sorted({heavy!r} & set(sys.modules))))")
    assert result.stderr.strip() == "[]"


def test_public_names() -> None:
    import minutiae

    for name in exported:
        assert getattr(minutiae, name) is not None
    assert set(exported) <= set(dir(minutiae))
    with pytest.raises(AttributeError, match="module 'minutiae' has no attribute 'trian'"):
        _ = minutiae.trian


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"], ["-h"], ["help"]):
        assert main(words) == 0
        text = capsys.readouterr().out
        for name, command in COMMANDS.items():
            assert f"  {name:<10}{command.summary}\n" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"minutiae {name}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"minutiae {__version__}\n"


def test_module_can_be_run() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "minutiae", "--version"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, f"minutiae {__version__}\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            "trian",
            "unknown command 'trian'; did you mean 'train'? allowed: train, resume, evaluate, watch, plot, "
            "compare, study, reproduce, details, presets, metrics; run: minutiae --help",
        ),
        (
            "plot runs/a --outptu b.png",
            "unknown option '--outptu'; did you mean '--output'? allowed: --output, --metric, --x; "
            "run: minutiae plot --help",
        ),
        ("presets --x", "unknown option '--x'; this command has none; run: minutiae presets --help"),
        ("plot", "RUNS is missing; run: minutiae plot --help"),
        ("evaluate", "RUN is missing; run: minutiae evaluate --help"),
        ("evaluate a b", "unexpected 'b'; run: minutiae evaluate --help"),
        ("evaluate a --seed", "--seed needs a value; run: minutiae evaluate --help"),
        (
            "evaluate a --episodes ten",
            "--episodes is 'ten', which is not a whole number; run: minutiae evaluate --help",
        ),
        ("watch a --seed 1 --seed 2", "--seed is given twice; run: minutiae watch --help"),
        ("evaluate nowhere/at/all", "no run at nowhere/at/all; check the path"),
        ("resume nowhere/at/all", "no run at nowhere/at/all; check the path"),
        ("details --code", "--code needs the name of a detail, as in: minutiae details value_clipping --code"),
        (
            "presets pro",
            "unknown preset 'pro'; did you mean 'ppo'? allowed: ppo, ppo-m, ppo-noclip, trpo, trpo+, sb3, cleanrl, "
            "baselines",
        ),
    ],
)
def test_errors_are_one_line(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.err == f"minutiae: {text}\n"
    assert captured.out == ""


def test_error_of_many_lines_becomes_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(words: list[str]) -> int:
        raise RunError("one\n  two\nthree")

    monkeypatch.setattr(door, "_dispatch", fail)
    assert main([]) == 2
    assert capsys.readouterr().err == "minutiae: one two three\n"


def test_interrupt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(door, "_dispatch", interrupt)
    assert main([]) == 130
    assert capsys.readouterr().err == "minutiae: interrupted\n"


def test_warnings_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def warn(words: list[str]) -> int:
        shown.append(warnings.formatwarning("two\nlines", UserWarning, "file.py", 1))
        return 0

    before = warnings.formatwarning
    monkeypatch.setattr(door, "_dispatch", warn)
    assert main([]) == 0
    assert shown == ["minutiae: warning: two lines\n"]
    assert warnings.formatwarning is before


def test_reader_that_leaves_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        result = subprocess.run(
            [sys.executable, "-m", "minutiae", "details"], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("words", ["details", "presets", "--help", "train ppo CartPole-v1 --show-config"])
def test_output_that_cannot_be_written_is_one_line(words: str) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "minutiae", *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (result.returncode, result.stderr) == (
        2,
        "minutiae: the output could not be written: No space left on device; make room, or send it elsewhere\n",
    )


def test_an_error_that_is_none_of_the_output_is_not_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(words: list[str]) -> int:
        raise FileNotFoundError("a mistake of ours")

    monkeypatch.setattr(door, "_dispatch", fail)
    with pytest.raises(FileNotFoundError):
        main([])


def test_an_environment_of_the_folder_is_found_and_the_path_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "environments_of_this_folder.py").write_text("def make(): raise ValueError('called')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = list(sys.path)
    assert main(["train", "ppo", "environments_of_this_folder:make"]) == 2
    assert "ValueError: called (at " in capsys.readouterr().err
    assert sys.path == before


def test_two_groups_of_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from minutiae.details import Config
    from saved_runs import save_run

    for group, clipping, shift in (("a", "max", 5.0), ("b", None, 0.0)):
        for seed in range(4):
            rows = [{"iteration": 1, "steps": 2048, "return_mean": 10.0 * seed + shift}]
            save_run(
                tmp_path / group / str(seed),
                Config(environment="CartPole-v1", value_clipping=clipping),
                seed,
                rows=rows,
            )
    words = ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(tmp_path / "page.html")]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "paired" in text
    assert "pools" not in text
    assert text.endswith(f"{tmp_path / 'page.html'}\n")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert main([*words[:-1], "page.pdf"]) == 2
    assert "the page is an .html file, and page.pdf is none; change its ending" in capsys.readouterr().err
    assert main(["compare", str(tmp_path), str(tmp_path / "b")]) == 2
    assert "minutiae: 4 runs of A are in B too; name two groups without a run in common" in capsys.readouterr().err
    for seed in range(4):
        (tmp_path / "pooled").mkdir(exist_ok=True)
        shutil.move(tmp_path / ("b" if seed % 2 else "a") / str(seed), tmp_path / "pooled")
    assert main(["compare", str(tmp_path / "pooled"), str(tmp_path / "b")]) == 0
    assert "A pools 2 configs, which differ in value_clipping; name folders of one config" in capsys.readouterr().out
