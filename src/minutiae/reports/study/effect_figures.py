"""Figures of effects and attribution: waterfall, forest plots, interaction heat map. All numbers come in ready."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minutiae.reports.study import canvas
from minutiae.reports.study.analysis import OutcomeAnalysis, Scope
from minutiae.reports.study.canvas import BLUE, FAINT, INK, ORANGE, SERIES, SMALL, TEXT, Picture
from minutiae.reports.study.words import clear, count, interval, number, outcome_words
from minutiae.statistics import Attribution, Effect, Effects, Interval

ROW = 0.46
MOST_ROWS = 24
"""Effects in a forest plot; the rest are in the table."""


def attribution_picture(scope: Scope, outcome: str, name: str) -> Picture | None:
    """Waterfall from the first cell to the last."""
    found = scope.attribution
    if found is None:
        return None
    caption = (
        f"How the gain from all first to all last levels is shared out ({scope.name}). Read from top to bottom: each bar "
        "starts where the one before it ended, and is one factor's Shapley value, its mean contribution over all orders "
        "in which the factors can be changed. The bars sum to the gain exactly. Thin lines are intervals of each "
        "contribution, drawn around the bar's end."
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
    figure, axes = _rows(width, texts, note, outcome_words(outcome))
    _point(axes, 0, found.start, INK)
    here = found.start.estimate
    ends = [found.start.low, found.start.high, found.end.low, found.end.high]
    for row, f in enumerate(order, start=1):
        value = found.shapley[f]
        color = BLUE if value.estimate >= 0 else ORANGE
        axes.barh(row, value.estimate, left=here, height=0.3, color=color, linewidth=0)
        axes.plot([here + value.low, here + value.high], [row, row], color=INK, linewidth=1.6)
        axes.plot([here, here], [row - 1 + 0.15, row + 0.15], color=FAINT, linewidth=0.8)
        ends += [here + value.low, here + value.high]
        here += value.estimate
    axes.plot([here, here], [rows - 2 + 0.15, rows - 1 + 0.15], color=FAINT, linewidth=0.8)
    _point(axes, rows - 1, found.end, INK)
    _view(axes, [np.array(ends)])
    return figure


def forest_picture(scope: Scope, outcome: str, name: str) -> Picture | None:
    """Every effect with its simultaneous interval."""
    found = scope.effects
    if found is None or not found.effects:
        return None
    caption = (
        f"What each factor does to the {outcome_words(outcome)} ({scope.name}), averaged over the levels of all others. "
        "A line that does not touch zero is an effect that this study shows: all lines together hold the truth with the "
        "stated confidence. An interaction (a x b) is by how much the effect of one factor grows when the other is "
        "changed too. Hollow: not told apart from zero."
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
    figure, axes = _rows(width, texts, note, f"change of {outcome_words(outcome)}")
    axes.axvline(0, color=INK, linewidth=0.9)
    for row, effect in enumerate(shown):
        _point(axes, row, effect, SERIES[0] if len(effect.factors) == 1 else SERIES[5])
    if 0 < len(mains) < len(shown):
        axes.axhline(len(mains) - 0.62, color=FAINT, linewidth=0.8, dashes=(2, 2))
    _view(axes, [np.array([0.0]), *(np.array([effect.low, effect.high]) for effect in shown)])
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
    note = f"{first.level:.0%} intervals: {first.method}; the same within each environment. n = {count(total, 'run')} in all."
    top = canvas.legend_height(labels, width)
    tall = 0.3 + 0.13 * len(labels)
    texts = [(name, "") for name in names]
    figure, axes = _rows(width, texts, note, f"change of {outcome_words(outcome)}", tall=tall, top=top)
    axes.axvline(0, color=INK, linewidth=0.9)
    used = []
    for row, name in enumerate(names):
        for index, label in enumerate(labels):
            effect = tables[label].get(name)
            if effect is not None:
                at = row - 0.12 + (index * 0.13 / tall)
                _point(axes, at, effect, SERIES[index % len(SERIES)], size=4)
                used.append(np.array([effect.low, effect.high]))
    _view(axes, [np.array([0.0]), *used])
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
    left = min(0.5 * width, 0.12 + max(len(name) for name in names) * 0.56 * SMALL / 72)
    cell = min(1.05, (width - left - 0.1) / size)
    high = max(0.34, min(0.5, cell))
    note = (
        f"{found.level:.0%} intervals: {found.method}. n = {count(found.n, 'run')}. Columns in the order of the rows."
    )
    figure, _, below = canvas.sheet(width, size * high + 0.3, note)
    axes = canvas.place(figure, left, below + 0.25, cell * size, high * size)
    largest = max(abs(effect.estimate) for effect in found.effects) or 1.0
    for row in range(size):
        for column in range(row + 1):
            key = names[row] if row == column else f"{names[column]} x {names[row]}"
            _square(axes, row, column, table.get(key) or table.get(f"{names[row]} x {names[column]}"), largest, cell)
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5))
    axes.spines[:].set_visible(False)
    axes.set_yticks(range(size), [f"{i + 1}  {name}" if size > 1 else name for i, name in enumerate(names)])
    axes.set_xticks(range(size), [str(i + 1) for i in range(size)])
    axes.tick_params(length=0)
    return figure


def _all_names(found: Effects) -> list[str]:
    return [entry.name for entry in (*found.effects, *found.aliased)]


def _square(axes: Axes, row: int, column: int, effect: Effect | None, largest: float, cell: float) -> None:
    if effect is None:
        axes.text(column, row, "–", ha="center", va="center", fontsize=SMALL)
        return
    # Blue up, orange down, white between: told apart with any kind of color vision.
    color = colormaps["PuOr"](0.5 + 0.45 * effect.estimate / largest)
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


def _rows(
    width: float, texts: Sequence[tuple[str, str]], note: str, across: str, tall: float = ROW, top: float = 0.0
) -> tuple[Figure, Axes]:
    """Axes for one item a row, its name and number above its mark, so that names of any length fit any width.

    Row i is at y = i; where some name and number do not fit one line, all rows get two.
    """
    letters = (width - 0.2) * 72 / (0.58 * TEXT)
    both = any(len(name) + len(value) + 3 > letters for name, value in texts)
    line = 0.17
    tall += line if both else 0
    rows = len(texts)
    figure, total, below = canvas.sheet(width, rows * tall + 0.62, note, top)
    axes = canvas.place(figure, 0.1, below + 0.48, width - 0.2, rows * tall + 0.1)
    mark = 0.13 / tall
    axes.set_ylim(rows - 1 + mark + 0.05 / tall, -1 + mark - 0.05 / tall)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(across)
    canvas.number_axis(axes.xaxis, 5 if width < 5 else 8)
    axes.grid(axis="x", color=FAINT, alpha=0.3, linewidth=0.5)
    axes.set_axisbelow(True)
    transform = axes.get_yaxis_transform()
    first = -1 + mark + 0.12 / tall
    for row, (name, value) in enumerate(texts):
        axes.text(0, row + first, name, transform=transform, fontsize=TEXT, va="center", ha="left")
        lower = row + first + (line / tall if both else 0)
        axes.text(1, lower, value, transform=transform, fontsize=TEXT, va="center", ha="right")
    return figure, axes


def _point(axes: Axes, row: float, found: Interval, color: str, size: float = 6) -> None:
    solid = clear(found)
    axes.plot([found.low, found.high], [row, row], color=color, linewidth=2, solid_capstyle="butt")
    axes.plot(
        [found.estimate], [row], marker="o", markersize=size, color=color, markerfacecolor=color if solid else "none",
        markeredgewidth=1.5, linestyle="none",
    )  # fmt: skip


def _view(axes: Axes, values: Sequence[np.ndarray]) -> None:
    limits = canvas.span(values, 0.04)
    if limits is not None:
        axes.set_xlim(*limits)
