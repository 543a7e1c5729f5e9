"""What committed study reports say about one detail: reads `effects.csv` tables as text. Nothing is computed here."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from minutiae.statistics import Interval

TABLE = "report/tables/effects.csv"
"""Where the folder of a study keeps the effects on its first outcome."""


@dataclass(frozen=True)
class MeasuredEffect:
    """One row of a report's table of effects.

    Attributes:
        study: the folder of the study, with `report/index.html` inside.
        question: of the study.
        effect: as the report names it: a detail, a level of it, or an interaction.
        environment: one task or the words of several; empty where the study has one and its table names none.
        levels: from which level to which; empty for interactions.
        outcome: what was measured, as in `final return`.
        change: of the outcome, in its own unit; its interval holds together with the others of the table.
    """

    study: Path
    question: str
    effect: str
    environment: str
    levels: str
    outcome: str
    change: Interval


def studies_under(folder: Path) -> list[Path]:
    """The folders of all studies below `folder` whose report has a table of effects, in order of their paths."""
    return sorted(table.parents[2] for table in folder.rglob(TABLE))


def measured_effects(detail: str, studies: Iterable[Path]) -> list[MeasuredEffect]:
    """All effects of `detail` in the reports of these studies, its interactions included, in the order of the tables.

    Args:
        detail: a name of the catalogue.
        studies: folders as `studies_under` finds them.

    Returns:
        Nothing where no study crossed the detail.
    """
    return [effect for study in studies for effect in _effects(study) if detail in _names(effect.effect)]


def _names(effect: str) -> set[str]:
    """The details of `a`, `a=level` and `a x b`."""
    return {part.partition("=")[0] for part in effect.split(" x ")}


def _effects(study: Path) -> Iterator[MeasuredEffect]:
    table = study / TABLE
    page = table.with_suffix(".md").read_text(encoding="utf-8")
    title = re.search(r"Effects on ([^*]+)\*\*", page)
    total = re.search(r"n = ([\d,]+) runs", page)
    question, environments = _asked(study)
    with table.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if not row.get("change"):
                continue  # an effect that the design cannot estimate
            yield MeasuredEffect(
                study=study,
                question=question,
                effect=row["effect"],
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


def _asked(study: Path) -> tuple[str, list[str]]:
    path = study / "study.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    environments = document.get("environments", [])
    return document.get("question", study.name), [environments] if isinstance(environments, str) else environments
