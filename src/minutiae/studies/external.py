"""Anyone's trainer: a command line with the levels filled in, run once for each run, and its outcomes read from files.

Nothing of minutiae trains here, and no design or table knows the difference.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import secrets
import shlex
import shutil
import string
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np

from minutiae.errors import ConfigError, RunError, unknown
from minutiae.runs.atomic import read_bytes
from minutiae.runs.documents import MOST_TEXT
from minutiae.studies import launching
from minutiae.studies.factors import level_text

ALWAYS = ("environment", "seed", "folder")
"""What a command may name beside factors and tuned levels; `folder` is where a run may write."""

LOG = "output.txt"
ATTEMPT = "attempt-"
LAST_VALUES = 5
"""The outcome of a series, as of a column or a tag, is the mean of so many last values."""


class OutcomeMissing(RunError):
    """A command that went well left no outcome where the study looks: trying again would only repeat that."""


@dataclass(frozen=True)
class External:
    """One cell of a study over a command, in the place of a `Config`.

    Attributes:
        command: with a `{name}` for each of `levels`, and for any of `ALWAYS`.
        levels: by name.
        environment: one of the study's.
        results: the file, or the folder of TensorBoard's, in which the outcomes are, relative to the run's folder.
    """

    command: str
    levels: Mapping[str, Any] = field(hash=False)
    environment: str
    results: str

    def __post_init__(self) -> None:
        for name in self.levels:
            if name in (*ALWAYS, "command", "results") or not name.isidentifier():
                raise ConfigError(
                    f"a factor of a command cannot be called {name!r}; take letters, digits and underscores, and "
                    f"none of {', '.join(ALWAYS)}, command, results"
                )
        named = _named(self.command)
        for name in named:
            if name not in self.levels and name not in ALWAYS:
                raise ConfigError(unknown("name in the command", name, [*self.levels, *ALWAYS]))
        unused = [name for name in self.levels if name not in named]
        if unused:
            raise ConfigError(f"the command never uses {unused[0]}; write {{{unused[0]}}} where it belongs")
        if "seed" not in named:
            raise ConfigError("the command never uses {seed}; every run would be the same, write it where it belongs")
        if not isinstance(self.results, str) or not self.results or PurePath(self.results).is_absolute():
            raise ConfigError(f"results is a path within the run's folder, as in outcome.json, not {self.results!r}")

    @cached_property
    def text(self) -> str:
        """Flat TOML, as a run's `config.toml` has it."""
        whole = {"command": self.command, "environment": self.environment, "results": self.results}
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in whole.items()]
        lines += [f"{json.dumps(name)} = {json.dumps(level_text(level))}" for name, level in self.levels.items()]
        return "\n".join(lines) + "\n"

    def id(self, seed: int) -> str:
        """16 hexadecimal digits of all that decides a run."""
        return hashlib.sha256(f"{self.text}{seed}".encode()).hexdigest()[:16]

    def words(self, seed: int, folder: Path) -> list[str]:
        """The command as a list of words. Values are filled in after it was split, so none of them needs quotes."""
        values = {name: level_text(level) for name, level in self.levels.items()}
        values |= {"environment": self.environment, "seed": str(seed), "folder": str(folder)}
        return [word.format(**values) for word in shlex.split(self.command)]


def _named(command: Any) -> set[str]:
    """The names in braces of a command.

    Raises:
        ConfigError: it is no text, has a lone brace or an open quote, or a name with more than itself in its braces.
    """
    if not isinstance(command, str) or not command.strip():
        raise ConfigError(f"command is one text, as in 'python train.py --seed {{seed}}', not {command!r}")
    try:
        parts = [part[1:] for part in string.Formatter().parse(command) if part[1] is not None]
    except ValueError as error:
        raise ConfigError(f"the command {command!r} has a lone brace: {error}; double it to mean it") from error
    for name, form, conversion in parts:
        if form or conversion:
            raise ConfigError(f"the command has {{{name}:{form}}}; levels are filled in as text, write {{{name}}}")
    try:
        shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"the command {command!r} cannot be split into words: {error}; mend its quotes") from error
    return {name for name, _, _ in parts if name is not None}


def run_command(external: External, seed: int, run: Path, outcomes: Sequence[str]) -> tuple[str, dict[str, float]]:
    """Run the command and read its outcomes: the name of the attempt's folder in `run`, and the outcomes by name.

    Every attempt has a fresh folder, `{folder}` of the command, with what it prints in `output.txt`; earlier ones are
    removed. So nothing that a failed or killed attempt left, or still writes, can be taken for this one's.

    Raises:
        RunError: it cannot be started, ends with another code than 0, or an outcome is not where it should be.
    """
    for earlier in run.glob(f"{ATTEMPT}*"):
        shutil.rmtree(earlier, ignore_errors=True)
    folder = run.resolve() / f"{ATTEMPT}{secrets.token_hex(4)}"
    folder.mkdir()
    words = external.words(seed, folder)
    with open(folder / LOG, "wb") as log:
        code = _run_to_its_end(words, log)
    if code:
        said = (folder / LOG).read_text(errors="replace").strip().splitlines()
        raise RunError(f"the command ended with code {code}: {said[-1].strip() if said else 'it said nothing'}")
    try:
        return folder.name, {name: read_outcome(folder / external.results, name) for name in outcomes}
    except RunError as error:
        raise OutcomeMissing(str(error)) from error


def _run_to_its_end(words: Sequence[str], log: IO[bytes]) -> int:
    """The exit code of a command, which is ended when this process dies, see `launching`.

    Raises:
        RunError: it cannot be started.
    """
    launcher = [sys.executable, "-I", launching.__file__]
    pipe = subprocess.PIPE
    with subprocess.Popen([*launcher, *words], stdin=pipe, stdout=pipe, stderr=log) as process:
        assert process.stdout is not None
        # Its standard input stays open meanwhile: that this process lives is all that it says.
        said = process.stdout.read()
    ended = json.loads(said) if said else {"code": process.returncode}
    if "error" in ended:
        raise RunError(f"{words[0]} cannot be started: {ended['error']}; check the command of the study")
    return int(ended["code"])


def read_outcome(path: Path, name: str) -> float:
    """The outcome `name` of a finished command.

    | `path`     | outcome                                                            |
    |------------|--------------------------------------------------------------------|
    | `.json`    | the number, or mean of the last five of the list, at key `name`      |
    | `.csv`     | mean of the last five numbers of the column `name`                   |
    | a folder   | mean of the last five scalars of the tag `name` in TensorBoard's files |

    Raises:
        RunError: the file or name is missing, or no finite number is there.
    """
    if path.is_dir():
        tags = tensorboard_scalars(path)
        return _last(tags, name, path)
    text = read_bytes(path, most=MOST_TEXT).decode(errors="replace")
    if path.suffix == ".csv":
        rows = list(csv.DictReader(text.splitlines()))
        columns = {key: [row[key] for row in rows if row[key] not in (None, "")] for key in (rows[0] if rows else {})}
        return _last(columns, name, path)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise RunError(f"{path} is no JSON: {error}; write one object with the outcomes by name") from error
    if not isinstance(document, dict):
        raise RunError(f"{path} is no JSON object; write one with the outcomes by name")
    return _last({key: value if isinstance(value, list) else [value] for key, value in document.items()}, name, path)


def _last(series: Mapping[str, Sequence[Any]], name: str, path: Path) -> float:
    if name not in series:
        raise RunError(unknown(f"outcome in {path}", name, series))
    try:
        value = float(np.mean([float(number) for number in series[name][-LAST_VALUES:]])) if series[name] else math.nan
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise RunError(f"the outcome {name} in {path} is no finite number; look at {LOG} beside it")
    return value


def tensorboard_scalars(folder: Path) -> dict[str, list[float]]:
    """Every scalar of TensorBoard's event files in `folder`, however deep, by tag, in the order of their steps."""
    points: dict[str, list[tuple[int, float]]] = {}
    for file in sorted(folder.glob("**/*tfevents*")):
        for tag, step, value in _events(file.read_bytes()):
            points.setdefault(tag, []).append((step, value))
    return {tag: [value for _, value in sorted(found, key=lambda one: one[0])] for tag, found in points.items()}


def _events(data: bytes) -> Iterator[tuple[str, int, float]]:
    """Tag, step and value of each scalar: records of length, its checksum, an event, its checksum (TFRecord)."""
    from tensorboardX.proto.event_pb2 import Event

    start = 0
    while start + 12 <= len(data):
        (length,) = struct.unpack("<Q", data[start : start + 8])
        body = data[start + 12 : start + 12 + length]
        start += 12 + length + 4
        if len(body) < length:
            return  # cut off while it was being written
        event = Event.FromString(body)
        for value in event.summary.value:
            if value.HasField("simple_value"):
                yield value.tag, event.step, value.simple_value
            elif value.HasField("tensor") and value.tensor.dtype == 1:  # float32, as TensorFlow 2 and PyTorch write it
                number = value.tensor.float_val or struct.unpack("<f", value.tensor.tensor_content[:4])
                yield value.tag, event.step, number[0]
