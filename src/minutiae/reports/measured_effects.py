"""What committed report pages say about one detail: reads `effects.csv` tables as text. Nothing is computed here."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minutiae.statistics import Interval

TABLE = "tables/effects.csv"
"""Where the folder of a report's page keeps the effects on its first outcome."""

Bundles = Mapping[str, Collection[str]]
"""The details that a factor turns together, by the factor's name."""


@dataclass(frozen=True)
class MeasuredEffect:
    """One row of a report's table of effects.

    Attributes:
        page: the folder of the report, with `index.html` inside.
        study: what the folder is called.
        question: that the study asked.
        effect: as the report names it: a factor, a level of it, or an interaction.
        together: what the factors of `effect` stand for, where that is several details.
        environment: one task or the words of several; empty where the report names none.
        levels: from which level to which; empty for interactions.
        outcome: what was measured, as in `final return`.
        change: of the outcome, in its own unit; its interval holds together with the others of the table.
    """

    page: Path
    study: str
    question: str
    effect: str
    together: Bundles
    environment: str
    levels: str
    outcome: str
    change: Interval


def pages_with_effects(folder: Path) -> list[Path]:
    """The folders of all report pages below `folder` that have a table of effects, in order of their paths."""
    return sorted(table.parents[1] for table in folder.rglob(TABLE))


def measured_effects(detail: str, pages: Iterable[Path], bundles: Bundles | None = None) -> list[MeasuredEffect]:
    """All effects of `detail` in these reports, its interactions included, in the order of the tables.

    Args:
        detail: a name of the catalogue.
        pages: folders as `pages_with_effects` finds them.
        bundles: factors that stand for several details, beside those that a `study.toml` next to a report has.

    Returns:
        Nothing where no report crossed the detail.
    """
    return [
        effect
        for page in pages
        for effect in _effects(page, bundles or {})
        if any(detail == factor or detail in effect.together.get(factor, ()) for factor in _factors(effect.effect))
    ]


def _factors(effect: str) -> list[str]:
    """The factors of `a`, `a=level` and `a x b`."""
    return [part.partition("=")[0] for part in effect.split(" x ")]


def _effects(page: Path, bundles: Bundles) -> Iterator[MeasuredEffect]:
    table = page / TABLE
    text = table.with_suffix(".md").read_text(encoding="utf-8")
    title = re.search(r"Effects on ([^*]+)\*\*", text)
    total = re.search(r"n = ([\d,]+) runs", text)
    asked = _asked(page)
    own = {
        factor: tuple(dict.fromkeys(name for details in levels.values() for name in details))
        for factor, levels in asked.get("factors", {}).items()
        if isinstance(levels, dict)
    }
    known = {**bundles, **own}
    environments = asked.get("environments", [])
    environments = [environments] if isinstance(environments, str) else environments
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if not row.get("change"):
                continue  # an effect that the design cannot estimate
            yield MeasuredEffect(
                page=page,
                study=page.parent.name if page.name == "report" else page.name,
                question=asked.get("question", ""),
                effect=row["effect"],
                together={factor: known[factor] for factor in _factors(row["effect"]) if factor in known},
                environment=row.get("environment") or (environments[0] if len(environments) == 1 else ""),
                levels=row.get("levels", ""),
                outcome=title[1] if title else "outcome",
                change=Interval(
                    estimate=float(row["change"]),
                    low=float(row["change_low"]),
                    high=float(row["change_high"]),
                    level=0.95,
                    method="see the report",
                    n=int(row.get("n") or (total[1].replace(",", "") if total else 0)),
                ),
            )


def _asked(page: Path) -> dict[str, Any]:
    """The study's file beside the report, or the heading of the page's text."""
    for file in (page.parent / "study.toml", page / "study.toml"):
        if file.is_file():
            return tomllib.loads(file.read_text(encoding="utf-8"))
    text = _text(page / "README.md")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    if heading is None:
        return {}
    named = re.findall(r"\b[A-Za-z]\w*-v\d+\b", text.split("\n\n**", 1)[0])
    return {"question": heading[1], "environments": list(dict.fromkeys(named))}


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""
