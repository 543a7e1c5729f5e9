"""`config.toml`, the first file of a run: seed, origin and config text. Knows no detail; the text is the catalogue's."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from minutiae.errors import RunError
from minutiae.runs.atomic import read_bytes, reason, write_atomic
from minutiae.runs.documents import FORMAT, MOST_TEXT, check_format

FILE = "config.toml"
_REMEDY = "restore it from a copy, or train the run again in another folder"
_TABLE = re.compile(r"^\[([^\[\]\n]+)\][ \t]*$", re.MULTILINE)
_START = re.compile(r"^\[config\][ \t]*\n", re.MULTILINE)


class ConfigFile(NamedTuple):
    """What defines a run: `config_text` as the catalogue wrote it, `seed`, and `about`, where it was made (versions, ...)."""

    config_text: str
    seed: int
    about: dict[str, str]


def write_config(folder: Path, contents: ConfigFile) -> None:
    """Write `folder/config.toml`: `format`, `seed`, `[about]`, then `[config]` with the config text below it.

    Tables of the config text become tables of `config`, so the whole file is one TOML document that any tool reads.
    """
    about = "".join(f"{_quote(key)} = {_quote(value)}\n" for key, value in contents.about.items())
    below = _TABLE.sub(r"[config.\1]", contents.config_text)
    text = f"format = {FORMAT}\nseed = {contents.seed}\n\n[about]\n{about}\n[config]\n{below}"
    if _parse(folder / FILE, text).get("config") != tomllib.loads(contents.config_text):
        raise ValueError("the config text holds TOML that cannot be moved under [config]; use plain tables and values")
    write_atomic(folder / FILE, text.encode())


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
    start = _START.search(text)
    if not isinstance(seed, int) or isinstance(seed, bool) or not isinstance(config, dict) or start is None:
        raise RunError(f"{path} is truncated: a whole 'seed' and a table [config] are needed; {_REMEDY}")
    if not isinstance(about, dict):
        raise RunError(f"{path} is damaged: 'about' must be a table; {_REMEDY}")
    config_text = re.sub(r"^\[config\.", "[", text[start.end() :], flags=re.MULTILINE)
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
