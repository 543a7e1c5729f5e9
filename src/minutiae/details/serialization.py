"""A config as text and back: TOML, plain mappings, and the hash that names a run. No file is opened here."""

from __future__ import annotations

import copy
import hashlib
import json
import tomllib
from collections.abc import Mapping
from typing import Any

from minutiae.details.conditions import first_unmet
from minutiae.details.config import CATALOGUE, Config, check_names, levels_of
from minutiae.details.custom import is_custom, stored_levels
from minutiae.details.detail import Detail
from minutiae.errors import ConfigError


def to_mapping(config: Config) -> dict[str, Any]:
    """Every level as JSON and TOML hold it: off and flags as text, numbers as they are, sizes as lists."""
    own = {name: _plain(CATALOGUE[name], level) for name, level in levels_of(config).items()}
    return own | {name: list(level) if isinstance(level, tuple) else level for name, level in config.custom}


def from_mapping(mapping: Mapping[str, Any]) -> Config:
    """The config whose levels, or their texts, `mapping` holds by name; those left out have their default.

    Levels of custom details are taken as they stand, and checked when somebody trains: to read what a stranger has
    trained must not run the stranger's code, nor need it.

    Raises:
        ConfigError: as `Config`.
    """
    check_names(mapping)
    config = Config(
        **{
            name: CATALOGUE[name].parse(level) if isinstance(level, str) else CATALOGUE[name].check(level)
            for name, level in mapping.items()
            if not is_custom(name)
        }
    )
    return with_stored_levels(config, {name: level for name, level in mapping.items() if is_custom(name)})


def with_stored_levels(config: Config, custom: Mapping[str, Any]) -> Config:
    """`config` with levels of custom details as they stand in a file, for reading: nothing is imported or checked.

    Raises:
        ConfigError: a name that is none.
    """
    found = copy.copy(config)
    object.__setattr__(found, "custom", stored_levels(dict(config.custom) | dict(custom)))
    return found


def to_toml(config: Config) -> str:
    """The complete config as flat TOML; comments name the themes and say which details have no effect.

    There are no tables in it, so that it can stand below any table header.
    """
    lines: list[str] = []
    theme = None
    custom = dict(config.custom)
    for name, value in to_mapping(config).items():
        if name in custom:
            continue
        if CATALOGUE[name].theme != theme:
            theme = CATALOGUE[name].theme
            lines += ["", f"# {theme}"]
        unmet = first_unmet(name, levels_of(config), CATALOGUE)
        remark = "" if unmet is None else f"  # no effect: needs {unmet.text()}"
        lines.append(f"{name} = {_toml(value)}{remark}")
    if custom:
        lines += ["", "# custom: from outside the package"]
        lines += [f"{json.dumps(name)} = {_toml(to_mapping(config)[name])}" for name in custom]
    return "\n".join(lines[1:]) + "\n"


def from_toml(text: str) -> Config:
    """The config in `text`, as `to_toml` writes it. Details left out have their default.

    Raises:
        ConfigError: no TOML, or as `Config`.
    """
    try:
        mapping = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"this config is not valid TOML: {error}") from error
    return from_mapping(mapping)


def config_hash(config: Config, seed: int) -> str:
    """16 hexadecimal digits of SHA-256 over levels and seed, whatever the order of the catalogue."""
    text = json.dumps({"config": to_mapping(config), "seed": int(seed)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(entry: Detail, level: Any) -> Any:
    if level is None or level is True:
        return entry.format(level)
    return list(level) if isinstance(level, tuple) else level


def _toml(value: Any) -> str:
    # JSON's strings are TOML's as long as the text is printable, and a level is never anything else.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, list)) else repr(value)
