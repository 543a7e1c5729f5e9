"""The catalogue of details as Markdown, a page for each and one for all: for the documentation. No HTML, no files."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from minutiae.details import (
    CATALOGUE,
    IMPLEMENTATIONS,
    REFERENCES,
    THEMES,
    Detail,
    flavoured_names,
    preset,
    preset_names,
    preset_table,
)
from minutiae.reports.implementation import implementation
from minutiae.reports.markdown import plain
from minutiae.reports.measured_effects import MeasuredEffect
from minutiae.reports.study.words import capitalized, clear, interval

SYMBOLS = "../how-ppo-works.md#symbols"
"""Where a page of the documentation explains the letters of the equations."""

_ANY = "Hopper-v5"
"""Plain presets do not depend on the environment; a config needs one all the same."""

_WRITTEN = {
    "ppo2": "OpenAI Baselines ppo2",
    "implementation-matters": "MadryLab/implementation-matters",
    "sb3": "Stable-Baselines3 PPO",
    "cleanrl": "CleanRL ppo_continuous_action.py",
}


FIRST = (
    "learning_rate",
    "discount",
    "observation_normalization",
    "reward_scaling",
    "learning_rate_annealing",
    "initial_log_standard_deviation",
    "initialization_policy_head_gain",
    "policy_hidden_sizes",
    "epochs",
    "truncation_bootstrap",
)
"""The details whose published effects are largest: where a reader begins who does not know which of all to look at."""

UNMEASURED = "Unmeasured."
"""A finding of the catalogue that says no more than that there is none."""


def catalogue_page(effects: Mapping[str, Sequence[MeasuredEffect]]) -> str:
    """All details by theme: what each is called, its default, what presets set; then the sources.

    Args:
        effects: what studies measured, by name of the detail; those that have any are marked.
    """
    lines = [
        "# The catalogue of details",
        "",
        f"{len(CATALOGUE)} implementation details, each a switch. A page says what the levels of one do, who uses "
        "which, what was found about it, and which code implements it. All of it is generated from the catalogue in "
        "the code, which `minutiae details` prints.",
        "",
        "A *number* may differ between the agents that train together as one program. *Structure* may not. "
        f"**Measured** marks the details that a study in this repository has crossed, {_tally(effects)}.",
        "",
        "## Where to begin",
        "",
        "The details whose published effects are largest.",
        "",
        "| detail | what was found |",
        "|---|---|",
        *(f"| [`{name}`]({name}.md) | {prose(CATALOGUE[name].finding, '')} |" for name in FIRST),
    ]
    for theme in THEMES:
        lines += ["", f"## {capitalized(theme)}", "", "| detail | default | kind | |", "|---|---|---|---|"]
        for detail in CATALOGUE.values():
            if detail.theme == theme:
                default = "" if detail.name == "environment" else f"`{detail.format(detail.default)}`"
                measured = "**measured**" if effects.get(detail.name) else ""
                name = f"[`{detail.name}`]({detail.name}.md)"
                lines.append(f"| {name}<br>{plain(detail.title)} | {default} | {detail.kind} | {measured} |")
    lines += ["", "## Sources", ""]
    lines += [f"- **{plain(name)}**: {plain(full)}." for name, full in REFERENCES.items()]
    return "\n".join(lines) + "\n"


def _tally(effects: Mapping[str, Sequence[MeasuredEffect]]) -> str:
    """How many details were measured here, and of how many no measurement at all is known."""
    crossed = sum(bool(effects.get(name)) for name in CATALOGUE)
    unknown = sum(detail.finding.startswith("Unmeasured") for detail in CATALOGUE.values())
    return f"{crossed} so far; of {unknown} details no published measurement is known to us"


def detail_page(name: str, effects: Sequence[MeasuredEffect] = (), links: Sequence[str] = ()) -> str:
    """One detail in full.

    Args:
        name: in the catalogue.
        effects: what studies measured of it.
        links: to the report of each effect, as the page can reach it; as many as `effects`.

    Returns:
        Markdown; its links to other details are `OTHER.md`, beside it.
    """
    detail = CATALOGUE[name]
    sections = [
        f"---\ntitle: {name}\ndescription: {json.dumps(detail.title[0].upper() + detail.title[1:] + '.')}\n---",
        f"# `{name}`",
        f"{capitalized(plain(detail.title))}. Theme: {detail.theme}.",
        "## Rule",
        *(f"$$\n{part}\n$$" for part in detail.equation.split(r" \qquad ") if part),
        prose(detail.rule, name),
        f"Symbols: [how PPO works]({SYMBOLS})." if detail.equation else "",
        "## Levels",
        *_levels(detail),
        "## Who uses which",
        _users(detail),
        "## What was found",
        "No published measurement is known to us." if detail.finding == UNMEASURED else prose(detail.finding, name),
        "## Measured here",
        _measured(effects, links) if effects else _not_crossed(name),
        "## Source",
        prose(detail.source, name) + ".",
        "\n".join(f"- {plain(short)}: {plain(full)}." for short, full in REFERENCES.items() if _cites(detail, short)),
        "## The code",
        _code(detail),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def presets_table() -> str:
    """The plain presets and what each of them is, as a table."""
    rows = [f"| `{entry.name}` | {plain(entry.description)} |" for entry in preset_table() if entry.flavour is None]
    return "\n".join(["| preset | what it is |", "|---|---|", *rows])


def prose(text: str, page: str) -> str:
    """`text` with the details that it names (of several words, so that none is an ordinary word) as links."""
    names = sorted((name for name in CATALOGUE if "_" in name), key=len, reverse=True)
    parts = re.split(rf"\b({'|'.join(names)})\b", text)
    return "".join(
        plain(part) if place % 2 == 0 else f"`{part}`" if part == page else f"[`{part}`]({part}.md)"
        for place, part in enumerate(parts)
    )


def _cites(detail: Detail, short: str) -> bool:
    return short in detail.source or short in detail.finding


def _levels(detail: Detail) -> Iterable[str]:
    default = "none, it must be named" if detail.name == "environment" else f"`{detail.format(detail.default)}`"
    yield f"Allowed: {plain(detail.levels.describe())}. Default: {default}."
    if detail.applies:
        needs = " and ".join(condition.text() for condition in detail.applies)
        yield f"Without effect, and refused away from its default, unless {prose(needs, detail.name)}."
    shared = "may differ between the agents of one program" if detail.kind == "number" else "is shared by a population"
    yield f"Kind: {detail.kind}; it {shared}. Applied by the {detail.room}."
    option = detail.name.replace("_", "-")
    if detail.name != "environment":
        yield f"On the command line `--{option} LEVEL`; in Python and in files `{detail.name}`."


def _users(detail: Detail) -> str:
    rows = [(_WRITTEN[who], detail.who[who]) for who in IMPLEMENTATIONS if who in detail.who]
    if detail.name != "environment":
        for name in preset_names():
            config = preset(name, _ANY)
            text = detail.format(getattr(config, detail.name))
            rows.append((f"minutiae {name}", text if config.applies(detail.name) else "without effect"))
    if not rows:
        return "Every run names its own."
    lines = ["| | level |", "|---|---|"]
    lines += [f"| {plain(who)} | {level if ' ' in level else f'`{level}`'} |" for who, level in rows]
    return "\n".join(lines)


def _not_crossed(name: str) -> str:
    """For a detail without effects; the presets of the published study may differ in it all the same."""
    compared = [preset(entry, "Walker2d-v4", "paper-artifact") for entry in flavoured_names()]
    if len({getattr(config, name) for config in compared}) > 1:
        return (
            "No study in this repository has crossed it by itself. [The reproduction](../reproduction/README.md) "
            "compares presets that differ in it, and in other details as well."
        )
    return "No study in this repository has crossed it yet."


def _measured(effects: Sequence[MeasuredEffect], links: Sequence[str]) -> str:
    lines = ["| effect | levels | on | change, 95 % interval | runs | study |", "|---|---|---|---|---|---|"]
    asked = {}
    for effect, link in zip(effects, links, strict=True):
        change = interval(effect.change, sign=True).replace(" ", "&nbsp;")
        change = f"**{change}**" if clear(effect.change) else change
        on = ", ".join(filter(None, (effect.environment, effect.outcome)))
        study = f"[{effect.study}]({link})"
        bundles = [f"{factor}: {', '.join(names)}" for factor, names in effect.together.items()]
        name = plain(effect.effect) + "".join(f"<br>({plain(bundle)})" for bundle in bundles)
        cells = (name, plain(effect.levels), on, change, f"{effect.change.n:,}", study)
        lines.append(f"| {' | '.join(cells)} |")
        asked[study] = effect.question
    explained = (
        "Intervals hold together within a study's table; those that leave out zero are bold. A row `a x b` is an "
        "interaction: how much the effect of one changes when the other is turned."
    )
    questions = [f"- {study}: {plain(question)}" for study, question in asked.items() if question]
    return "\n".join([*lines, "", explained, "", *questions])


def _code(detail: Detail) -> str:
    found = implementation(detail)
    module = found.place.partition(":")[0].replace(".", "/")
    text = textwrap.dedent(found.text).rstrip("\n")
    return f'`{found.place}`\n\n``` {{ .py .annotate title="src/{module}.py" linenums="{found.line}" }}\n{text}\n```'
