"""Tables of a report, as CSV with full numbers, and as Markdown and HTML for people. Nothing is computed here."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from minutiae.reports.study.words import clear, interval, number, p_value
from minutiae.statistics import Interval

MOST_SHOWN = 60
"""Rows of a table on the page; the CSV file has all."""


UNFOLDED = 18
"""Rows up to which a table stands open on the page."""


@dataclass(frozen=True)
class Table:
    """Rows of raw values.

    Attributes:
        name: of its files.
        title: what it holds.
        columns: their headings; that of an interval becomes three columns of the CSV file.
        rows: of texts, numbers, `Interval`s and `None`.
        note: interval method and n.
        signed: headings whose numbers are differences and carry their sign.
        spare: headings that only the files have.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    signed: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()

    def csv(self) -> str:
        """Full numbers; intervals as estimate, `low` and `high`."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        spread = [any(isinstance(row[place], Interval) for row in self.rows) for place in range(len(self.columns))]
        heads: list[str] = []
        for name, wide in zip(self.columns, spread, strict=True):
            heads += [name, f"{name} low", f"{name} high"] if wide else [name]
        writer.writerow([head.replace(" ", "_") for head in heads])
        for row in self.rows:
            cells: list[Any] = []
            for value, wide in zip(row, spread, strict=True):
                if isinstance(value, Interval):
                    cells += [value.estimate, value.low, value.high]
                else:
                    cells += ["" if value is None else value, *([""] * (2 if wide else 0))]
            writer.writerow(cells)
        return out.getvalue()

    def markdown(self) -> str:
        """For a README or an issue."""
        lines = [f"**{self.title}**", "", _line(self.columns), _line(["---:" if n else "---" for n in self._numeric()])]
        lines += [_line([text.replace("|", "\\|") for text in self._texts(row)]) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else [])]) + "\n"

    def html(self) -> str:
        """For the page, in a box that scrolls by itself where the page is narrow; folded when it is long."""
        kept = [place for place, name in enumerate(self.columns) if name not in self.spare]
        numeric = self._numeric()
        head = "".join(
            f"<th{' class=number' if numeric[place] else ''}>{html.escape(self.columns[place])}</th>" for place in kept
        )
        body = "".join(f"<tr>{self._cells(row, numeric, kept)}</tr>\n" for row in self.rows[:MOST_SHOWN])
        left = len(self.rows) - MOST_SHOWN
        note = " ".join(
            [html.escape(self.note), f"{left:,} more rows are in the CSV file." if left > 0 else ""]
        ).strip()
        files = f'<a href="tables/{self.name}.csv">CSV</a>, <a href="tables/{self.name}.md">Markdown</a>'
        title = html.escape(self.title, quote=True)
        table = (
            f'<div class="table" tabindex="0" role="region" aria-label="{title}"><table><caption>{title}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>"
            f'<p class="note">{note} <span class="files">{files}</span></p>'
        )
        if len(self.rows) <= UNFOLDED:
            return table
        return f"<details><summary>{title}: {len(self.rows):,} rows</summary>{table}</details>"

    def without_empty_columns(self) -> Table:
        """Columns without any value left out."""
        kept = [place for place in range(len(self.columns)) if any(row[place] not in (None, "") for row in self.rows)]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in kept), rows=rows)

    def _numeric(self) -> list[bool]:
        return [
            any(isinstance(row[place], int | float | Interval) for row in self.rows)
            and not any(isinstance(row[place], str) for row in self.rows)
            for place in range(len(self.columns))
        ]

    def _texts(self, row: Sequence[Any]) -> list[str]:
        return [self._text(name, value) for name, value in zip(self.columns, row, strict=True)]

    def _text(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, Interval):
            return interval(value, sign=name in self.signed)
        if isinstance(value, float) and name.startswith("p "):
            return p_value(value)
        if isinstance(value, float):
            return number(value, sign=name in self.signed)
        whole = isinstance(value, int) and not isinstance(value, bool)
        return f"{value:,}".replace("-", "−") if whole else str(value)

    def _cells(self, row: Sequence[Any], numeric: Sequence[bool], kept: Sequence[int]) -> str:
        texts, cells = self._texts(row), []
        for place in kept:
            value = row[place]
            inner = " ".join(_word(word) for word in texts[place].split(" "))
            if isinstance(value, Interval) and self.columns[place] in self.signed and clear(value):
                inner = f"<b>{inner}</b>"
            cells.append(f"<td{' class=number' if numeric[place] else ''}>{inner}</td>")
        return "".join(cells)


def _word(word: str) -> str:
    """Long names may break after an underscore, on narrow pages only."""
    escaped = html.escape(word)
    return f"<span class=name>{escaped.replace('_', '_<wbr>')}</span>" if "_" in word else escaped


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
