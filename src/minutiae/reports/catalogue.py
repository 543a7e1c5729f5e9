"""The catalogue of details and the presets as plain text. No detail and no preset is defined here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from minutiae.details import (
    CATALOGUE,
    FLAVOURS,
    IMPLEMENTATIONS,
    THEMES,
    Config,
    Detail,
    differences,
    entry_of,
    flavoured_names,
    preset,
    preset_names,
    preset_table,
)
from minutiae.errors import ConfigError, unknown
from minutiae.reports.implementation import implementation

_WIDTH = 100
_ANY = "Hopper-v5"
"""Plain presets do not depend on the environment; a config needs one all the same."""


def details_text(only_preset: str | None = None) -> str:
    """Every detail by theme: kind, default and, where presets differ from it, their levels.

    Args:
        only_preset: show this preset's level and all allowed levels instead.

    Raises:
        ConfigError: no preset has this name.
    """
    configs = _configs() if only_preset is None else {only_preset: _preset(only_preset)}
    heading = ("detail", "kind", "default", "other presets")
    if only_preset is not None:
        heading = ("detail", "kind", only_preset, "allowed")
    rows = [heading] + [_row(detail, configs, only_preset) for detail in CATALOGUE.values()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [_aligned(heading, widths)]
    for theme in THEMES:
        lines += ["", theme]
        lines += [_aligned(row, widths) for row in rows[1:] if CATALOGUE[row[0]].theme == theme]
    lines += [
        "",
        "(in parentheses: without effect there)   kind: numbers may differ within one population, structure not",
        "minutiae details NAME explains a detail, and with --code shows the code that implements it",
        "Details of your own are named module:detail, here as everywhere",
    ]
    return "\n".join(lines) + "\n"


def detail_text(name: str, code: bool = False) -> str:
    """One detail in full: levels, rule, source, finding, levels per preset and elsewhere, place of the code.

    Args:
        name: of the detail, dashes counting as underscores; or `module:detail`, which imports that module.
        code: append the text of the code.

    Raises:
        ConfigError: no detail has this name.
        MinutiaeError: the code is not installed.
    """
    detail = entry_of(name.replace("-", "_"))
    name = detail.name
    found = implementation(detail)
    needs = " and ".join(condition.text() for condition in detail.applies)
    entries = {
        "levels": detail.levels.describe(),
        "kind": f"{detail.kind}, applied by the {detail.room}",
        "presets": ", ".join(_per_preset(detail, _configs())) if name in CATALOGUE and name != "environment" else "",
        "needs": needs,
        "rule": detail.rule,
        "finding": detail.finding,
        "source": detail.source,
        "elsewhere": ", ".join(f"{who} {detail.who[who]}" for who in IMPLEMENTATIONS if who in detail.who),
        "code": f"{found.path}:{found.line}  ({found.place})",
    }
    lines = [f"{name}: {detail.title}", ""]
    for label, text in entries.items():
        if text:
            lines += _paragraph(label, text)
    return "\n".join(lines) + "\n" + (f"\n{found.text}" if code else "")


def presets_text(name: str | None = None) -> str:
    """Every preset with what it sets away from the defaults, or one with all its flavours and tasks.

    Raises:
        ConfigError: no preset has this name.
    """
    if name is not None:
        _preset(name)
    lines: list[str] = []
    for entry in preset_table():
        if (name is None and entry.flavour is not None) or (name is not None and entry.name != name):
            continue
        title = entry.name if entry.flavour is None else f"{entry.name} --flavour {entry.flavour} on {entry.task}"
        config = preset(entry.name, _ANY if entry.task is None else f"{entry.task}-v5", entry.flavour)
        levels = ", ".join(
            f"{detail} {CATALOGUE[detail].format(level)}" for detail, level in differences(config).items()
        )
        lines += [title, *_indented(entry.description), *_indented(levels or "all defaults")]
        for gap in entry.mismatches if name is not None else ():
            lines += _indented(f"not matched: {gap.topic}. There {gap.theirs}; here {gap.ours}. Remedy: {gap.remedy}.")
        if entry.mismatches and name is None:
            topics = ", ".join(gap.topic for gap in entry.mismatches)
            lines += _indented(f"not matched: {topics}; minutiae presets {entry.name} says more")
        lines.append("")
    if name is None:
        lines += [
            f"{', '.join(flavoured_names())} also have the flavours {' and '.join(FLAVOURS)}: minutiae presets NAME",
            "The complete config: minutiae train NAME ENVIRONMENT --show-config",
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _preset(name: str) -> Config:
    if name not in preset_names():
        raise ConfigError(unknown("preset", name, preset_names()))
    return preset(name, _ANY)


def _configs() -> dict[str, Config]:
    # What other trainers do stands in its own line of a detail's page.
    return {name: preset(name, _ANY) for name in flavoured_names()}


def _level(detail: Detail, config: Config) -> str:
    text = detail.format(getattr(config, detail.name))
    return text if config.applies(detail.name) else f"({text})"


def _row(detail: Detail, configs: dict[str, Config], only_preset: str | None) -> tuple[str, str, str, str]:
    if only_preset is not None:
        level = "" if detail.name == "environment" else _level(detail, configs[only_preset])
        return detail.name, detail.kind, level, detail.levels.describe()
    if detail.name == "environment":
        return detail.name, detail.kind, "", ""
    default = _level(detail, configs["ppo"])
    others = [text for text in _per_preset(detail, configs) if not text.endswith((f": {default}", ")"))]
    return detail.name, detail.kind, default, ", ".join(others)


def _per_preset(detail: Detail, configs: dict[str, Config]) -> Iterator[str]:
    """`trpo trpo+: batch` for each level that presets have."""
    by_level: dict[str, list[str]] = {}
    for name, config in configs.items():
        by_level.setdefault(_level(detail, config), []).append(name)
    for level, names in by_level.items():
        yield f"{' '.join(names)}: {level}"


def _aligned(cells: Iterable[str], widths: list[int]) -> str:
    *fixed, last = cells
    aligned = [cell.ljust(width) for cell, width in zip(fixed, widths, strict=True)]
    return "  ".join([*aligned, last]).rstrip()


def _paragraph(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=f"{label:<11}",
        subsequent_indent=" " * 11,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
