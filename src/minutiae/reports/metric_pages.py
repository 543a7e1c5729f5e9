"""The list of metrics, for the terminal and for the documentation. What they are is said in `control.metrics`."""

from __future__ import annotations

import re
import textwrap
from itertools import groupby

from minutiae.control.metrics import METRICS, Metric
from minutiae.details import CATALOGUE
from minutiae.errors import ConfigError, unknown
from minutiae.reports.markdown import plain


def metrics_text(name: str | None = None) -> str:
    """Every metric with its meaning and unit, or one of them, for a terminal.

    Raises:
        ConfigError: no metric has this name.
    """
    if name is not None:
        if name not in METRICS:
            raise ConfigError(unknown("metric", name, METRICS, "run: minutiae metrics"))
        return "\n".join(_entry(name, METRICS[name])) + "\n"
    lines = []
    for theme, members in _themes():
        lines += [theme, *(line for entry in members for line in _entry(*entry, indent="  ")), ""]
    lines += ["Columns of metrics.parquet: minutiae plot RUN --metric NAME, minutiae compare --outcome NAME."]
    return "\n".join(lines) + "\n"


def metrics_table() -> str:
    """Every metric in a table for each theme, as Markdown."""
    parts = []
    for theme, members in _themes():
        rows = [f"| `{name}` | {_marked(metric.meaning)} | {metric.unit} |" for name, metric in members]
        parts.append("\n".join([f"## {theme}", "", "| metric | meaning | unit |", "|---|---|---|", *rows]))
    return "\n\n".join(parts)


def _marked(text: str) -> str:
    """`text` as Markdown, the details that it names as code."""
    words = re.split(r"\b([a-z]+(?:_[a-z]+)+)\b", text)
    return "".join(f"`{word}`" if word in CATALOGUE else plain(word) for word in words)


def _themes() -> list[tuple[str, list[tuple[str, Metric]]]]:
    grouped = groupby(METRICS.items(), key=lambda entry: entry[1].theme)
    return [(theme, list(members)) for theme, members in grouped]


def _entry(name: str, metric: Metric, indent: str = "") -> list[str]:
    unit = "" if metric.unit == "1" else f" [{metric.unit}]"
    text = textwrap.wrap(metric.meaning, 100, initial_indent=f"{indent}  ", subsequent_indent=f"{indent}  ")
    return [f"{indent}{name}{unit}", *text]
