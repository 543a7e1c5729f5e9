"""Figures of a tuning grid: outcomes of every cell and setting, effects at every setting. Numbers come in ready."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from minutiae.reports.study import canvas
from minutiae.reports.study.canvas import INK, SERIES, SMALL, Picture
from minutiae.reports.study.sweeps import Sweep
from minutiae.reports.study.words import cell_words, clear, count, number, outcome_words
from minutiae.statistics import Effects, Interval

MOST_CELLS = 40
"""Rows of the surface; of more cells the table has all."""


def surface_picture(sweep: Sweep, name: str) -> Picture:
    """Mean outcome of every cell at every setting, the chosen one marked."""
    outcome = outcome_words(sweep.runs.outcome)
    caption = (
        f"The mean {outcome} in {sweep.environment} of every cell (row) at every setting of the grid (column), on the "
        "runs that chose the setting; brighter is higher. The frame is the setting that is reported."
    )
    if sweep.optimism is not None:
        caption += (
            f" Picking the best of these noisy means overstates it by about {number(sweep.optimism)} on average (each "
            "shared seed left out of the choice once), which is why other runs are reported unless the paper's own "
            "protocol is asked for."
        )
    title = f"Mean {outcome} of every cell and setting, {sweep.environment}"
    return Picture(name, title, caption, lambda width: _surface(width, sweep))


def _surface(width: float, sweep: Sweep) -> Figure:
    rows = list(range(len(sweep.cells)))
    values = np.array([[_value(found) for found in row] for row in sweep.means])
    if len(rows) > MOST_CELLS:
        best = np.nanmax(np.where(np.isfinite(values), values, -np.inf), axis=1)
        rows = sorted(np.argsort(-best, kind="stable")[:MOST_CELLS].tolist())
    sizes = [found.n for row in sweep.means for found in row if isinstance(found, Interval)] or [1]
    note = (
        f"Means of n = {min(sizes)}{f' to {max(sizes)}' if max(sizes) > min(sizes) else ''} runs each; their intervals "
        f"are in the table. Columns: {_explained(sweep.settings)}."
    )
    if len(rows) < len(sweep.cells):
        note += f" {len(sweep.cells) - len(rows)} cells with lower outcomes are in the table only."
    labels = [cell_words(sweep.cells[row], sweep.runs.factors[:-1]) for row in rows]
    columns = len(sweep.settings)
    left = min(0.5 * width, 0.15 + max(map(len, labels)) * 0.56 * SMALL / 72)
    texts = [canvas.wrapped(label, left - 0.1) for label in labels]
    high = max(0.28, 0.06 + 0.14 * max(text.count("\n") + 1 for text in texts))
    cell = min(1.2, (width - left - 0.1) / columns)
    figure, _, below = canvas.sheet(width, len(rows) * high + 0.42, note)
    axes = canvas.place(figure, left, below + 0.38, cell * columns, high * len(rows))
    low, top = np.nanmin(values), np.nanmax(values)
    for y, row in enumerate(rows):
        for x in range(columns):
            if np.isfinite(values[row, x]):
                _square(axes, x, y, values[row, x], (low, top), cell, sweep.chosen[row] == x)
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), texts)
    axes.set_xticks(range(columns), _short(sweep.settings, cell))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def _value(found: Interval | float | None) -> float:
    return np.nan if found is None else found.estimate if isinstance(found, Interval) else found


def _square(axes: Axes, x: int, y: int, value: float, limits: tuple[float, float], cell: float, chosen: bool) -> None:
    low, top = limits
    share = (value - low) / (top - low) if top > low else 0.5
    color = colormaps["cividis"](share)
    axes.add_patch(
        Rectangle(
            (x - 0.46, y - 0.42), 0.92, 0.84, facecolor=color, edgecolor=SERIES[1] if chosen else "none",
            linewidth=2.2 if chosen else 0,
        )
    )  # fmt: skip
    text = number(value, top - low)
    dark = float(np.dot(color[:3], (0.299, 0.587, 0.114))) < 0.5
    size = min(SMALL, cell * 72 / (0.62 * max(4, len(text))))
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color="#ffffff" if dark else "#1d2026")


def _explained(settings: Sequence[str]) -> str:
    """`learning_rate` when that is all there is to say, else every setting with its number."""
    if ", " not in settings[0] and len(settings) <= 6:
        return settings[0].split("=", 1)[0] + " " + ", ".join(text.split("=", 1)[1] for text in settings)
    return "; ".join(f"{place + 1}: {text}" for place, text in enumerate(settings))


def _short(settings: Sequence[str], cell: float) -> list[str]:
    """The settings without the detail's name when there is one, as numbers when even that does not fit."""
    texts = [text.split("=", 1)[1] if ", " not in text else text for text in settings]
    fits = max(map(len, texts)) * 0.56 * SMALL / 72 <= cell
    return texts if fits else [str(place + 1) for place in range(len(settings))]


def setting_effects_picture(sweep: Sweep, name: str) -> Picture | None:
    """Effect of every factor at every setting: signs may change along the grid."""
    if not sweep.effects:
        return None
    outcome = outcome_words(sweep.runs.outcome)
    caption = (
        f"What each factor does to the {outcome} in {sweep.environment} at each setting of the grid, on the tuning "
        "runs. Effects that change along the grid are why the grid is searched within every cell. Hollow: not told "
        "apart from zero."
    )
    title = f"Effect of every factor at every setting, {sweep.environment}"
    return Picture(name, title, caption, lambda width: _setting_effects(width, sweep, outcome))


def _setting_effects(width: float, sweep: Sweep, outcome: str) -> Figure:
    first = next(iter(sweep.effects.values()))
    note = (
        f"{first.level:.0%} intervals: {first.method}, within each panel. n = {count(first.n, 'run')}. "
        f"From left to right: {_explained(sweep.settings)}."
    )
    titles = [entry for effects in sweep.effects.values() for entry in _lines(effects)]
    figure, axes = canvas.panels(width, titles, note, least=1.3, up=f"change of {outcome}", across="setting")
    panel = 0
    shown = []
    for effects in sweep.effects.values():
        for entry, line in _lines(effects).items():
            one = axes[panel]
            panel += 1
            one.axhline(0, color=INK, linewidth=0.9)
            for setting, effect in line.items():
                x = sweep.settings.index(setting)
                one.plot([x, x], [effect.low, effect.high], color=SERIES[0], linewidth=2)
                fill = SERIES[0] if clear(effect) else "none"
                one.plot([x], [effect.estimate], "o", color=SERIES[0], markerfacecolor=fill, markersize=5)
                shown += [np.array([effect.low, effect.high])]
            del entry
    limits = canvas.span([*shown, np.zeros(1)], 0.08)
    if limits is not None:
        axes[0].set_ylim(*limits)
    axes[0].set_xlim(-0.5, len(sweep.settings) - 0.5)
    wide = axes[0].get_position().width * width / len(sweep.settings)
    axes[0].set_xticks(range(len(sweep.settings)), _short(sweep.settings, wide))
    return figure


def _lines(effects: Effects) -> dict[str, dict[str, Interval]]:
    """`factor` or `factor=level` to setting to effect."""
    lines: dict[str, dict[str, Interval]] = {}
    for effect in effects.effects:
        name, _, given = effect.name.partition(" | ")
        lines.setdefault(name, {})[given.partition("=")[2]] = effect
    return lines
