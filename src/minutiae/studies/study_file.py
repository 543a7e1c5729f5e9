"""A study as text: `study.toml` to `Study` and back. Opens no store and trains nothing."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from minutiae.details import CATALOGUE
from minutiae.errors import ConfigError, unknown
from minutiae.runs.atomic import read_bytes, reason
from minutiae.runs.documents import MOST_TEXT
from minutiae.studies.designs import DESIGNS, Factor
from minutiae.studies.factors import is_number
from minutiae.studies.study import Study, Tuning

FILE = "study.toml"

KEYS = (
    "question",
    "preset",
    "flavour",
    "environments",
    "seeds",
    "first_seed",
    "design",
    "outcomes",
    "ranges",
    "population",
    "command",
    "results",
    "base",
    "factors",
    "tuning",
)
"""What may stand in the file; `steps` and every other detail stand under [base]."""

DESIGN_KEYS = ("name", "runs", "resolution", "orderings", "seed", "cells")
TUNING_KEYS = ("grid", "seeds", "protocol")


def load_study(path: str | Path, *, stored: bool = False) -> Study:
    """The study in a file; `stored` as `study_from_toml` has it.

    Raises:
        RunError: the file cannot be read.
        ConfigError: no TOML, an unknown key, or as `Study`; the text begins with the path.
    """
    path = Path(path)
    try:
        text = read_bytes(path, most=MOST_TEXT).decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text: {reason(error)}") from error
    try:
        return study_from_toml(text, stored=stored)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def study_from_toml(text: str, *, stored: bool = False) -> Study:
    """The study that `text` describes.

    Args:
        stored: it is read only, and so imports nobody's code: see `Study`.

    Raises:
        ConfigError: no TOML, an unknown key, or as `Study`.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this study is not valid TOML: {reason(error)}") from error
    _known(document, KEYS, "key")
    if "environments" not in document or "factors" not in document:
        raise ConfigError(
            "a study needs environments = [...] and a table [factors] with levels of the details to cross"
        )
    name, options = _design(document.get("design", "factorial"))
    plain = {
        key: document[key] for key in KEYS if key in document and key not in ("base", "factors", "tuning", "design")
    }
    return Study(
        **{
            **plain,
            "environments": _list(plain["environments"]),
            "outcomes": _list(plain.get("outcomes", "final_return")),
        },
        factors=_table(document, "factors"),
        base=_table(document, "base"),
        design=name,
        options=options,
        tuning=_tuning(document),
        stored=stored,
    )


def study_to_toml(study: Study) -> str:
    """The complete study as TOML, which `study_from_toml` reads back to an equal one."""
    lines = [f"question = {_quote(study.question)}", f"preset = {_quote(study.preset)}"]
    if study.flavour is not None:
        lines.append(f"flavour = {_quote(study.flavour)}")
    lines += [f"environments = {_quote(list(study.environments))}", f"outcomes = {_quote(list(study.outcomes))}"]
    lines += [f"seeds = {study.seeds}", f"first_seed = {study.first_seed}"]
    if study.population is not None:
        lines.append(f"population = {study.population}")
    if study.command is not None:
        lines += [f"command = {_quote(study.command)}", f"results = {_quote(study.results)}"]
    design = {"name": study.design, **{key: _option(study, key, value) for key, value in study.options.items()}}
    lines.append(f"design = {_value(design)}")
    if study.base:
        lines += ["", "[base]", *(f"{_key(name)} = {_level(study, name, level)}" for name, level in study.base.items())]
    # Levels that stand for several details are inline tables, so that factors keep their order: cells depend on it.
    if study.ranges:
        lines += ["", "[ranges]", *(f"{_key(name)} = {_value(list(pair))}" for name, pair in study.ranges.items())]
    lines += ["", "[factors]", *(_factor(study, factor) for factor in study.factors)]
    if study.tuning is not None:
        lines += ["", "[tuning]", f"seeds = {study.tuning.seeds}", f"protocol = {_quote(study.tuning.protocol)}"]
        lines += ["", "[tuning.grid]", *(_factor(study, factor) for factor in study.tuning.grid)]
    return "\n".join(lines) + "\n"


def _design(given: Any) -> tuple[str, dict[str, Any]]:
    """`design = "factorial"`, or a table with its options."""
    if isinstance(given, str):
        return given, {}
    if not isinstance(given, Mapping) or "name" not in given:
        raise ConfigError(f"design is a name or a table with one; allowed: {', '.join(DESIGNS)}")
    _known(given, DESIGN_KEYS, "key of design")
    return given["name"], {key: value for key, value in given.items() if key != "name"}


def _tuning(document: Mapping[str, Any]) -> Tuning | None:
    if "tuning" not in document:
        return None
    table = _table(document, "tuning")
    _known(table, TUNING_KEYS, "key of tuning")
    return Tuning(_table(table, "grid"), **{key: table[key] for key in ("seeds", "protocol") if key in table})


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = document.get(key, {})
    if not isinstance(table, Mapping):
        raise ConfigError(f"{key} is a table, as in [{key}]; not {table!r}")
    return table


def _known(given: Iterable[str], allowed: Iterable[str], kind: str) -> None:
    for key in given:
        if key not in allowed:
            remedy = "write it under [base]" if key in CATALOGUE and kind == "key" else None
            raise ConfigError(unknown(kind, key, allowed, remedy))


def _list(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else (given,)


def _option(study: Study, key: str, value: Any) -> Any:
    """An option of the design; the levels of explicit cells as text, for TOML has no word for off."""
    if key != "cells":
        return value
    return [
        {name: level if is_number(level) else study.written(name, level) for name, level in cell.items()}
        for cell in value
    ]


def _factor(study: Study, factor: Factor) -> str:
    if factor.name in study.bundles:
        levels = ", ".join(
            f"{_key(level)} = {_details(study, details)}" for level, details in study.bundles[factor.name].items()
        )
        return f"{_key(factor.name)} = {{ {levels} }}"
    return f"{_key(factor.name)} = [{', '.join(_level(study, factor.name, level) for level in factor.levels)}]"


def _details(study: Study, details: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{_key(name)} = {_level(study, name, level)}" for name, level in details.items()) + " }"


def _level(study: Study, name: str, level: Any) -> str:
    return repr(level) if is_number(level) else _quote(study.written(name, level))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return repr(value) if is_number(value) else _quote(value)


def _key(name: str) -> str:
    """A key of TOML; a dot in a bare one would make it two."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quote(name)


def _quote(value: Any) -> str:
    # A JSON string is a TOML string, but for the one control character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
