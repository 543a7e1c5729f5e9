"""Figures of effects and attribution: waterfall, forest plots, interaction heat map. All numbers come in ready."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from minutiae.reports.study import canvas
from minutiae.reports.study.analysis import OutcomeAnalysis, Scope
from minutiae.reports.study.canvas import BLUE, FAINT, INK, ORANGE, SERIES, SMALL, TEXT, Picture
from minutiae.reports.study.words import clear, count, interval, number, outcome_words
from minutiae.statistics import Attribution, Effect, Effects, Interval

DIVERGING = LinearSegmentedColormap.from_list("", ("#a85200", "#f0bd88", "#f3f4f6", "#a3c8e6", "#1c5c94"))
"""Orange down, blue up, nearly white between: told apart with any kind of color vision."""

MOST_ROWS = 24
"""Effects in a forest plot; the rest are in the table."""


def attribution_picture(scope: Scope, outcome: str, name: str) -> Picture | None:
    """Waterfall from the first cell to the last."""
    found = scope.attribution
    if found is None:
        return None
    caption = (
        f"How the gain from all first to all last levels is shared out ({scope.name}). Read from top to bottom: each "
        "bar starts where the one before it ended, and is one factor's Shapley value, its mean contribution over all "
        "orders in which the factors can be changed. The bars sum to the gain exactly. Thin lines are intervals of "
        "each contribution, drawn around the bar's end."
    )
    title = f"Waterfall of the gain in {outcome_words(outcome)} by factor, {scope.name}"
    return Picture(name, title, caption, lambda width: _waterfall(width, found, outcome))


def _waterfall(width: float, found: Attribution, outcome: str) -> Figure:
    order = sorted(range(len(found.names)), key=lambda f: -found.shapley[f].estimate)
    note = (
        f"{found.level:.0%} intervals, each alone: {found.method}. "
        f"n = {count(found.n, 'run')}. Start and end: their cells' means."
    )
    texts = [(found.names[f], interval(found.shapley[f], sign=True)) for f in order]
    texts = [("start", interval(found.start)), *texts, ("end", interval(found.end))]
    rows = len(texts)
    figure, axes = row_axes(width, texts, note, outcome_words(outcome))
    # On narrow pages the texts stand between the bars, where lines would strike them out.
    joined = width > canvas.NARROW
    mark_interval(axes, 0, found.start, INK)
    here = found.start.estimate
    ends = [found.start.low, found.start.high, found.end.low, found.end.high]
    for row, f in enumerate(order, start=1):
        value = found.shapley[f]
        color = BLUE if value.estimate >= 0 else ORANGE
        axes.barh(row, value.estimate, left=here, height=0.52 if joined else 0.28, color=color, linewidth=0)
        axes.plot([here + value.low, here + value.high], [row, row], color=INK, linewidth=1.6)
        if joined:
            axes.plot([here, here], [row - 1, row], color=FAINT, linewidth=0.8, zorder=0)
        ends += [here + value.low, here + value.high]
        here += value.estimate
    if joined:
        axes.plot([here, here], [rows - 2, rows - 1], color=FAINT, linewidth=0.8, zorder=0)
    mark_interval(axes, rows - 1, found.end, INK)
    show_all(axes, [np.array(ends)])
    return figure


def forest_picture(scope: Scope, outcome: str, name: str) -> Picture | None:
    """Every effect with its simultaneous interval."""
    found = scope.effects
    if found is None or not found.effects:
        return None
    caption = (
        f"What each factor does to the {outcome_words(outcome)} ({scope.name}), averaged over the levels of all "
        "others. A line that does not touch zero is an effect that this study shows: all lines together hold the truth "
        "with the stated confidence. Hollow: not told apart from zero."
    )
    if any(len(effect.factors) > 1 for effect in found.effects):
        caption += (
            " An interaction (a x b) is by how much the effect of one factor grows when the other is changed too."
        )
    if any(effect.confounded_with for effect in found.effects):
        caption += (
            " A star: the cells cannot tell this effect from interactions, which a table below names; it is the "
            "factor's own only if those are small."
        )
    title = f"Forest plot of effects on {outcome_words(outcome)}, {scope.name}"
    return Picture(name, title, caption, lambda width: _forest(width, found, outcome))


def _forest(width: float, found: Effects, outcome: str) -> Figure:
    mains = [effect for effect in found.effects if len(effect.factors) == 1]
    pairs = [effect for effect in found.effects if len(effect.factors) > 1]
    pairs = sorted(pairs, key=lambda effect: -abs(effect.estimate))
    hidden = len(mains) + len(pairs) - MOST_ROWS
    shown = (mains + pairs)[:MOST_ROWS]
    note = f"{found.level:.0%} intervals: {found.method}. n = {count(found.n, 'run')}."
    if hidden > 0:
        note += f" {count(hidden, 'smaller interaction')} in the table only."
    texts = [(effect.name + (" *" if effect.confounded_with else ""), interval(effect, sign=True)) for effect in shown]
    figure, axes = row_axes(width, texts, note, f"change of {outcome_words(outcome)}")
    _zero(axes, len(shown), 0.5 if width > canvas.NARROW else 0.2)
    for row, effect in enumerate(shown):
        mark_interval(axes, row, effect, SERIES[0] if len(effect.factors) == 1 else SERIES[5])
    show_all(axes, [np.array([0.0]), *(np.array([effect.low, effect.high]) for effect in shown)])
    return figure


def environments_picture(found: OutcomeAnalysis, name: str) -> Picture | None:
    """Main effects per environment, beside the pooled ones."""
    scopes = [scope for scope in found.scopes if scope.effects is not None]
    if len(scopes) < 3:
        return None
    outcome = found.runs.outcome
    caption = (
        f"The main effects on the {outcome_words(outcome)} in each environment, and over all of them. Each color's "
        "intervals hold together. Returns of different environments are averaged as they are, so one with larger "
        "returns counts for more in the pooled effect."
    )
    title = f"Main effects on {outcome_words(outcome)} per environment"
    return Picture(name, title, caption, lambda width: _per_environment(width, scopes, outcome))


def _per_environment(width: float, scopes: Sequence[Scope], outcome: str) -> Figure:
    tables = {scope.name: _mains(scope.effects) for scope in scopes}
    names = list(dict.fromkeys(name for table in tables.values() for name in table))
    labels = list(tables)
    total = sum(scope.effects.n for scope in scopes[1:] if scope.effects is not None)
    first = scopes[0].effects
    assert first is not None
    note = f"{first.level:.0%} intervals: {first.method}; the same per environment. n = {count(total, 'run')} in all."
    top = canvas.legend_height(labels, width)
    tall = 0.14 * len(labels) + 0.12
    texts = [(name, "") for name in names]
    figure, axes = row_axes(width, texts, note, f"change of {outcome_words(outcome)}", tall=tall, top=top)
    apart = 0.14 / tall * (1 if width > canvas.NARROW else tall / (tall + 0.27))
    _zero(axes, len(names), 0.5 if width > canvas.NARROW else 0.2)
    used = []
    for row, name in enumerate(names):
        for index, label in enumerate(labels):
            effect = tables[label].get(name)
            if effect is not None:
                at = row + (index - (len(labels) - 1) / 2) * apart
                mark_interval(axes, at, effect, SERIES[index % len(SERIES)], size=4)
                used.append(np.array([effect.low, effect.high]))
    show_all(axes, [np.array([0.0]), *used])
    canvas.legend(figure, [(label, SERIES[i % len(SERIES)], "-") for i, label in enumerate(labels)], width)
    return figure


def _mains(found: Effects | None) -> dict[str, Effect]:
    return {effect.name: effect for effect in found.effects if len(effect.factors) == 1} if found else {}


def interactions_picture(scope: Scope, outcome: str, name: str) -> Picture | None:
    """Main effects on the diagonal, interactions beside it."""
    found = scope.effects
    if found is None or not any(len(effect.factors) == 2 for effect in found.effects):
        return None
    caption = (
        f"On the diagonal, what each factor does alone on average ({scope.name}); below it, by how much the effect of "
        "one grows when the other is changed too. Blue raises the outcome, orange lowers it. Bold with a star: its "
        "simultaneous interval leaves out zero. A dash: these cells cannot tell it."
    )
    title = f"Heat map of interactions on {outcome_words(outcome)}, {scope.name}"
    return Picture(name, title, caption, lambda width: _heat_map(width, found))


def _heat_map(width: float, found: Effects) -> Figure:
    table = {effect.name: effect for effect in found.effects}
    names = list(dict.fromkeys(part for name in _all_names(found) for part in name.split(" x ")))
    size = len(names)
    labels = [f"{i + 1}  {name}" if size > 1 else name for i, name in enumerate(names)]
    left = min(0.5 * width, 0.2 + max(map(len, labels)) * 0.56 * SMALL / 72)
    cell = min(1.05, (width - left - 0.1) / size)
    high = max(0.34, min(0.5, cell))
    note = f"{found.level:.0%} intervals: {found.method}. n = {count(found.n, 'run')}. Columns as rows."
    figure, _, below = canvas.sheet(width, size * high + 0.3, note)
    axes = canvas.place(figure, left, below + 0.25, cell * size, high * size)
    largest = max(abs(effect.estimate) for effect in found.effects) or 1.0
    for row in range(size):
        for column in range(row + 1):
            key = names[row] if row == column else f"{names[column]} x {names[row]}"
            _square(axes, row, column, table.get(key) or table.get(f"{names[row]} x {names[column]}"), largest, cell)
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5))
    axes.spines[:].set_visible(False)
    axes.set_yticks(range(size), labels)
    axes.set_xticks(range(size), [str(i + 1) for i in range(size)])
    axes.tick_params(length=0)
    return figure


def _all_names(found: Effects) -> list[str]:
    return [*(effect.name for effect in found.effects), *(entry.name for entry in found.aliased)]


def _square(axes: Axes, row: int, column: int, effect: Effect | None, largest: float, cell: float) -> None:
    if effect is None:
        axes.text(column, row, "–", ha="center", va="center", fontsize=SMALL)
        return
    color = DIVERGING(0.5 + 0.5 * effect.estimate / largest)
    axes.add_patch(_rectangle(column, row, color, outlined=row == column))
    dark = float(np.dot(color[:3], (0.299, 0.587, 0.114))) < 0.5
    text = number(effect.estimate, largest, sign=True) + ("*" if clear(effect) else "")
    axes.text(
        column, row, text, ha="center", va="center", color="#ffffff" if dark else "#1d2026",
        fontsize=min(SMALL, cell * 72 / (0.62 * max(4, len(text)))), fontweight="bold" if clear(effect) else "normal",
    )  # fmt: skip


def _rectangle(column: int, row: int, color: Any, outlined: bool) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (column - 0.47, row - 0.46), 0.94, 0.92, facecolor=color, edgecolor=INK if outlined else "none", linewidth=1.2
    )


def row_axes(
    width: float, texts: Sequence[tuple[str, str]], note: str, across: str, tall: float = 0.0, top: float = 0.0
) -> tuple[Figure, Axes]:
    """Axes for one item a row, row i at y = i: name on its left and number on its right, or above it on narrow pages.

    Args:
        width: inches.
        texts: name and number of each row.
        note: below all.
        across: what the axis shows.
        tall: inches of a mark; that of one interval by default.
        top: room above.
    """
    letter = 0.56 * TEXT / 72
    names, values = (max((len(text) for text in column), default=0) * letter for column in zip(*texts, strict=True))
    rows, wide = len(texts), width > canvas.NARROW
    left, right = (min(names, 0.36 * width) + 0.12, values + 0.12) if wide else (0.1, 0.1)
    labels = [canvas.wrapped(name, left - 0.08, TEXT) if wide else name for name, _ in texts]
    # A name and a number that do not fit one line stand on two, in all rows alike.
    lines = max(text.count("\n") for text in labels) + 1 if wide else 2 if names + values + 0.2 > width else 1
    step = max(tall, 0.17 * lines + 0.1) if wide else max(tall, 0.13) + 0.17 * lines + 0.1
    figure, _, below = canvas.sheet(width, rows * step + 0.62, note, top)
    axes = canvas.place(figure, left, below + 0.48, width - left - right, rows * step + 0.05)
    # Where in its row, from -1 to 0, the mark stands: in the middle, or below the text.
    below_mark = 0.5 if wide else (0.07 + max(tall, 0.13) / 2) / step
    axes.set_ylim(rows - 1 + below_mark, -1 + below_mark - 0.05 / step)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(across)
    canvas.number_axis(axes.xaxis, 5)
    axes.grid(axis="x", color=FAINT, alpha=0.3, linewidth=0.5)
    axes.set_axisbelow(True)
    transform = axes.get_yaxis_transform()
    inside = axes.get_window_extent().width / figure.dpi
    for row, ((_, value), label) in enumerate(zip(texts, labels, strict=True)):
        first = row if wide else row - 1 + below_mark + 0.12 / step
        second = row if wide else first + (0.17 * (lines - 1)) / step
        style: dict[str, Any] = {"transform": transform, "fontsize": TEXT, "va": "center", "linespacing": 1.1}
        axes.text(-(left - 0.04) / inside if wide else 0, first, label, ha="left", **style)
        axes.text(1 + (right - 0.04) / inside if wide else 1, second, value, ha="right", **style)
    return figure, axes


def _zero(axes: Axes, rows: int, reach: float = 0.28) -> None:
    """The line of no effect, beside the marks only: it strikes out no text."""
    for row in range(rows):
        axes.plot([0, 0], [row - reach, row + reach], color=INK, linewidth=1)


def mark_interval(axes: Axes, row: float, found: Interval, color: str, size: float = 6) -> None:
    """An estimate and its interval in a row; hollow when zero lies in it."""
    solid = clear(found)
    axes.plot([found.low, found.high], [row, row], color=color, linewidth=2, solid_capstyle="butt")
    axes.plot(
        [found.estimate], [row], marker="o", markersize=size, color=color, markerfacecolor=color if solid else "none",
        markeredgewidth=1.5, linestyle="none",
    )  # fmt: skip


def show_all(axes: Axes, values: Sequence[np.ndarray]) -> None:
    """Let the axis span all values."""
    limits = canvas.span(values, 0.04)
    if limits is not None:
        axes.set_xlim(*limits)
