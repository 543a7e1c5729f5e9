"""Every block of code in the README and the documentation runs, as it is shown, only smaller."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from code_blocks import (
    PAGES,
    ROOT,
    STEPS,
    Block,
    blocks,
    commands,
    small_command,
    small_python,
    small_toml,
)

from minutiae.cli.main import main
from minutiae.studies.study_file import KEYS

SHOWN_ONLY = {"text", "mermaid", ""}
"""Languages of what is not code: outputs and pictures."""

RUN_ELSEWHERE = [
    r"python3 -m venv \.venv",
    r"pip install .*",
    r"source \.venv/bin/activate",
    r"bash scripts/reproduction",  # by the tests of the reproduction
    r"ray start .*",  # by tests/studies/test_ray.py
    r"bash scripts/(test|docs)( .*)?",
    r"(ruff|mypy)( .*)?",
    r"python benchmarks/throughput\.py .*",  # run small by tests/benchmarks
    r"python examples/\w+\.py( .*)?",  # run small by tests/test_examples.py
]
"""Commands of a shell that are not ours to test here: CI itself runs `scripts/test` and `scripts/docs`."""

ON_A_CLUSTER = {"docs/studies/cluster.md"}
"""Pages whose Python needs several machines: tests/studies/test_ray.py runs it, here its imports are."""

SCRIPTS = {"benchmarks/returns.py"}
"""Programs of the repository that pages tell people to run, and that nothing else tests."""

GIVEN: dict[str, dict[str, Any]] = {"README.md": {"observation": np.zeros(3)}}
"""Names that a page's Python takes from its reader."""

CODE = [page for page in PAGES if any(block.language not in SHOWN_ONLY for block in blocks(page))]


class Reader:
    """Somebody who types a page's blocks in order, in an empty folder that has the repository's docs beside it."""

    def __init__(self, page: Path, folder: Path, environment: dict[str, str]) -> None:
        self.page, self.folder, self.environment = page, folder, environment
        self.name = page.relative_to(ROOT).as_posix()
        self.names: dict[str, Any] = dict(GIVEN.get(self.name, {}))
        for study in ROOT.glob("docs/studies/*/study.toml"):
            self.write(study.relative_to(ROOT).as_posix(), small_toml(study.read_text(encoding="utf-8")))
        for block in blocks(ROOT / "README.md"):
            if block.title == "clipping.toml":  # which other pages go on with
                self.write(block.title, small_toml(block.text))

    def write(self, name: str, text: str) -> None:
        """A file of the reader's folder."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def follow(self, block: Block) -> None:
        """Do what the block says; an assertion names the line that failed."""
        where = f"{self.page.relative_to(ROOT)}:{block.line}"
        if block.language == "toml":
            if block.title:
                self.write(block.title, small_toml(block.text))
            else:  # a part of a study's file
                unknown = set(tomllib.loads(block.text)) - set(KEYS)
                assert not unknown, f'{where}: no part of a study has {unknown}; a whole file needs title="NAME.toml"'
        elif block.language == "python":
            self.python(block, where)
        elif block.language in ("console", "bash"):
            for words in commands(block):
                self.type(words, where)
        else:
            raise AssertionError(
                f"{where}: blocks of {block.language!r} are not run; use python, console, toml or text"
            )

    def python(self, block: Block, where: str) -> None:
        """Run it in the names of the page, or import it as the module that its title or first comment says it is."""
        text = small_python(block.text)
        part = re.search(r"# in a module that Python finds, here ([\w/]+)\.py", block.text)
        if part:
            self.write(f"{part[1]}.py", definitions(text))
        whole = re.match(r"# ([\w/]+)\.py\n", block.text)
        name = block.title.removesuffix(".py") or (whole[1] if whole else "")
        if name:
            self.write(f"{name}.py", text)
            importlib.invalidate_caches()
            importlib.import_module(name.replace("/", "."))
        elif self.name in ON_A_CLUSTER:
            imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
            exec(compile(ast.Module(imports, []), where, "exec"), self.names)
        else:
            exec(compile(text, where, "exec"), self.names)

    def type(self, words: list[str], where: str) -> None:
        """Run one command."""
        line = " ".join(words)
        for folder in (word for word in words if word == "docs/reproduction/runs"):
            shutil.copytree(ROOT / folder, self.folder / folder, dirs_exist_ok=True)
        if words[0] == "minutiae":
            assert main(small_command(words)[1:]) == 0, f"{where}: {line}"
        elif words[0] == "python" and words[1] in SCRIPTS:
            command = [sys.executable, str(ROOT / words[1]), *small_command(words)[2:]]
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{where}: {line}\n{done.stderr}"
        else:
            assert any(re.fullmatch(known, line) for known in RUN_ELSEWHERE), f"{where}: nothing runs {line!r}"


def definitions(text: str) -> str:
    """The imports, functions and classes of a module: what importing it again must not repeat is left out."""
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    return "\n".join(ast.unparse(node) for node in ast.parse(text).body if isinstance(node, kept))


@pytest.mark.parametrize("page", CODE, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.usefixtures("quick_compilation")
def test_blocks_run(page: Path, tmp_path: Path, elsewhere: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in [name for name in sys.modules if name.partition(".")[0] == "my_package"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", elsewhere["JAX_COMPILATION_CACHE_DIR"])
    reader = Reader(page, tmp_path, elsewhere | {"PYTHONPATH": f"{tmp_path}:{elsewhere['PYTHONPATH']}"})
    for block in blocks(page):
        if block.language not in SHOWN_ONLY:
            reader.follow(block)


def test_commands_are_scaled_and_not_changed() -> None:
    assert small_command(
        ["minutiae", "train", "ppo", "Hopper-v5", "--seeds", "5", "--steps", "200000", "--name", "a"]
    ) == (f"minutiae train ppo Hopper-v5 --seeds 2 --steps {STEPS} --name a --workers 1".split())
    assert small_command(["minutiae", "reproduce", "table2", "--agents", "10"]) == (
        f"minutiae reproduce table2 --agents 2 --steps {STEPS} --tasks hopper --workers 1".split()
    )
    assert small_command(["minutiae", "plot", "runs/with"]) == ["minutiae", "plot", "runs/with"]
    assert (
        small_python('minutiae.train("ppo", "A-v1", steps=200_000)') == f'minutiae.train("ppo", "A-v1", steps={STEPS})'
    )
    assert small_python('minutiae.preset("trpo", "A-v1")') == f'minutiae.preset("trpo", "A-v1", steps={STEPS})'
    assert small_toml("seeds = 5\n[base]\nsteps = 200_000\n") == f"seeds = 2\n[base]\nsteps = {STEPS}\n"


def test_blocks_are_found() -> None:
    found = blocks(ROOT / "README.md")
    assert [block.title for block in found if block.language == "toml"] == ["clipping.toml"]
    assert {block.language for block in found} == {"console", "python", "toml"}
