"""`config.toml`, the first file of a run: seed, origin and config text. Knows no detail and no level."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from minutiae.errors import RunError
from minutiae.runs.atomic import read_bytes, reason, write_new
from minutiae.runs.documents import FORMAT, MOST_TEXT, check_format

FILE = "config.toml"
_REMEDY = "restore it from a copy, or train the run again in another folder"
_END = "# the end: without this line the file is truncated\n"
_START = re.compile(r"^\[config\][ \t]*\r?\n", re.MULTILINE)


class ConfigFile(NamedTuple):
    """What defines a run (`config_text`, `seed`) and where it was made (`about`: versions, machine)."""

    config_text: str
    seed: int
    about: dict[str, str]


def write_config(folder: Path, contents: ConfigFile) -> None:
    """Write `folder/config.toml`: `format`, `seed`, `[about]`, then `[config]` with the config text below it.

    The config text is flat TOML, so that all of it belongs to `[config]` and the file is one TOML document.

    Raises:
        FileExistsError: the folder has one already, perhaps made at this moment by another process.
    """
    about = "".join(f"{_quote(key)} = {_quote(value)}\n" for key, value in contents.about.items())
    config_text = contents.config_text if contents.config_text.endswith("\n") else contents.config_text + "\n"
    head = f"format = {FORMAT}\nseed = {contents.seed}\n\n[about]\n{about}\n[config]\n"
    text = head + config_text + _END
    if _parse(folder / FILE, text).get("config") != tomllib.loads(contents.config_text):
        raise ValueError("the config text is not flat TOML; write every detail as one line 'name = level'")
    write_new(folder / FILE, text.encode())


def read_config(folder: Path) -> ConfigFile:
    """Read `folder/config.toml`.

    Raises:
        RunError: it is missing, truncated, no TOML, or not written by minutiae.
    """
    path = folder / FILE
    try:
        text = read_bytes(path, most=MOST_TEXT).decode()
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is damaged: {reason(error)}; {_REMEDY}") from error
    document = _parse(path, text)
    check_format(path, document.get("format"), _REMEDY)
    seed, config, about = document.get("seed"), document.get("config"), document.get("about", {})
    start, end = _START.search(text), text.rfind(_END.strip())
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0 or not isinstance(config, dict) or start is None:
        raise RunError(f"{path} is damaged: a whole 'seed' and a table [config] are needed; {_REMEDY}")
    if end < start.end():
        # A config cut off between two lines would be valid and mean the defaults of all the details below.
        raise RunError(f"{path} is truncated: its last line is missing; {_REMEDY}")
    if not isinstance(about, dict):
        raise RunError(f"{path} is damaged: 'about' must be a table; {_REMEDY}")
    config_text = text[start.end() : end]
    if _parse(path, config_text) != config:
        raise RunError(f"{path} is damaged: tables besides [about] and [config]; {_REMEDY}")
    return ConfigFile(config_text, seed, {key: str(value) for key, value in about.items()})


def _parse(path: Path, text: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged: {reason(error)}; {_REMEDY}") from error


def _quote(text: str) -> str:
    # A JSON string is a TOML string, but for the one control character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
