"""What the README tells people to type is what the tests and the command line know."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

import minutiae
from minutiae.cli.main import COMMANDS, main
from minutiae.details import CATALOGUE
from minutiae.studies.designs import DESIGNS
from minutiae.studies.study_file import study_from_toml

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = [line for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
COMMAND_LINES = [line[line.index("minutiae ") :] for line in CONSOLE if "minutiae " in line]


def test_there_are_two_commands_before_anything_else() -> None:
    first, second = CONSOLE[:2]
    assert first.endswith(".venv/bin/minutiae train ppo Hopper-v5")
    assert second == "bash scripts/test"


def test_ci_runs_the_test_command() -> None:
    assert "bash scripts/test" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_count_of_details() -> None:
    assert f"the {len(CATALOGUE)} details" in README


@pytest.mark.parametrize("line", [line for line in COMMAND_LINES if line.split()[1] == "train"])
def test_training_commands_are_valid(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*shlex.split(line)[1:], "--show-config"]) == 0
    assert 'environment = "Hopper-v5"\n' in capsys.readouterr().out


@pytest.mark.parametrize("line", [line for line in COMMAND_LINES if line.split()[1] in ("details", "presets")])
def test_catalogue_commands_are_valid(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


def test_the_study_is_valid() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    study = study_from_toml(block)
    assert len(study.first_runs()) == 4 * 5
    for design in re.findall(r"Designs are (.*?);", README, re.DOTALL)[0].replace(" and ", ", ").split(","):
        assert design.strip().strip("`") in DESIGNS


def test_every_command_is_shown() -> None:
    assert {line.split()[1] for line in COMMAND_LINES} == set(COMMANDS)


def test_python_uses_public_names_only() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    used = {
        node.attr
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "minutiae"
    }
    assert used == {"train", "load", "preset", "train_population"}
    assert used <= set(minutiae.__all__)
