"""Figures of runs: learning curves, trust region, survival plots, settings of a grid. All numbers come in ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from minutiae.reports.learning_curves import BAND, FEW_SEEDS
from minutiae.reports.study import canvas
from minutiae.reports.study.canvas import DASHES, FAINT, INK, NARROW, SERIES, Picture
from minutiae.reports.study.counted import Factor, Runs
from minutiae.reports.study.words import capitalized, cell_words, count, outcome_words
from minutiae.statistics import Band, performance_profile

if TYPE_CHECKING:
    from minutiae.reports.study.curves import CellCurve, EnvironmentCurves

FEW_LINES, MOST_PANELS = 4, 16
"""Cells drawn in one panel, and at most in panels of their own."""

STEPS = "environment steps"


@dataclass(frozen=True)
class Bound:
    """A value that curves are looked at against, and its name."""

    value: float
    name: str


def curves_picture(
    found: EnvironmentCurves, factors: Sequence[Factor], values: dict[tuple[int, ...], float], name: str,
    what: str, logarithmic: bool = False, singly: bool = True, bound: Bound | None = None,
) -> Picture:  # fmt: skip
    """A metric of every cell over training.

    Args:
        found: the curves.
        factors: to name the cells.
        values: outcome of each cell, which says whose lines stand out when there are many.
        name: of the files.
        what: the metric in words.
        logarithmic: for quantities over several magnitudes.
        singly: panels of their own for a moderate number of cells.
        bound: a value to look at the curves against, drawn where they share a panel.
    """
    cells = found.cells
    if len(cells) <= FEW_LINES:
        shown = list(cells)
        caption = f"{capitalized(what)} in each cell over training in {found.environment}; the mean over seeds."
    elif len(cells) <= MOST_PANELS and singly:
        caption = (
            f"{capitalized(what)} over training in {found.environment}, one panel for each cell, the mean over seeds. "
            "The thin lines are all other cells."
        )
        title = f"{capitalized(what)} over training per cell, {found.environment}"
        return Picture(name, title, caption, lambda width: _per_cell(width, found, factors, what, logarithmic))
    else:
        shown = _standing_out(cells, values)
        caption = (
            f"{capitalized(what)} over training in {found.environment}: every cell a thin line, the mean over seeds. "
            "In color: the first and the last cell of the design, and those with the highest and the lowest outcome."
        )
    title = f"{capitalized(what)} over training, {found.environment}"
    return Picture(
        name, title, caption, lambda width: _together(width, found, shown, factors, what, logarithmic, bound)
    )


def _standing_out(cells: Sequence[CellCurve], values: dict[tuple[int, ...], float]) -> list[CellCurve]:
    known = [cell for cell in cells if cell.codes in values]
    ranked = sorted(known, key=lambda cell: values[cell.codes])
    picked = [cells[0], cells[-1], *ranked[-1:], *ranked[:1]]
    return list({cell.codes: cell for cell in picked}.values())


def _note(found: EnvironmentCurves, shown: Sequence[CellCurve], logarithmic: bool, behind: str) -> str:
    """How to read the lines, for whoever has the figure alone."""
    parts = ["Line: mean over seeds."]
    if any(cell.n >= FEW_SEEDS for cell in shown):
        parts.append(f"Band: {BAND}{', on the scale of the axis' if logarithmic else ''}.")
    if any(1 < cell.n < FEW_SEEDS for cell in shown):
        parts.append("Thin lines in color: the seeds, too few for a band.")
    if len(found.cells) > 1 and behind:
        parts.append(f"Gray: {behind}.")
    return " ".join([*parts, f"n = {_range([cell.n for cell in found.cells])} per line."])


def _per_cell(
    width: float, found: EnvironmentCurves, factors: Sequence[Factor], what: str, logarithmic: bool
) -> Figure:
    titles = [cell_words(cell.codes, factors) for cell in found.cells]
    limits, logarithmic = _limits(found.cells, logarithmic)
    note = _note(found, found.cells, logarithmic, "the means of the other cells")
    figure, axes = canvas.panels(width, titles, note, least=_least(width), across=STEPS, up=what)
    for one, cell in zip(axes, found.cells, strict=True):
        one.add_collection(_thin_lines(found.steps, found.cells))
        _curve(one, found.steps, cell, SERIES[0], "-", 0.22, logarithmic)
    _look(axes[0], limits, logarithmic)
    return figure


def _together(
    width: float, found: EnvironmentCurves, shown: Sequence[CellCurve], factors: Sequence[Factor], what: str,
    logarithmic: bool, bound: Bound | None,
) -> Figure:  # fmt: skip
    names = [cell_words(cell.codes, factors) for cell in shown]
    most = int((width - 0.6) * 72 / (0.56 * canvas.SMALL))
    names = [name if len(name) <= most else f"{name[: most - 1]}…" for name in names]
    top = canvas.legend_height(names, width)
    limits, logarithmic = _limits(found.cells, logarithmic, bound)
    picked = {cell.codes for cell in shown}
    behind = [cell for cell in found.cells if cell.codes not in picked]
    note = _note(found, shown, logarithmic, "the means of all other cells" if behind else "")
    figure, (axes,) = canvas.panels(width, [""], note, tall=min(3.0, width * 0.6), top=top, across=STEPS, up=what)
    axes.add_collection(_thin_lines(found.steps, behind))
    entries = []
    for index, (cell, name) in enumerate(zip(shown, names, strict=True)):
        # Two lines have the colors that they have in survival plots: the first level orange, the last blue.
        place = 1 - index if len(shown) == 2 else index
        color, dashes = SERIES[place % len(SERIES)], DASHES[place % len(DASHES)]
        _curve(axes, found.steps, cell, color, dashes, 0.13, logarithmic)
        entries.append((name, color, dashes))
    if bound is not None:
        _mark(axes, bound)
    _look(axes, limits, logarithmic)
    canvas.legend(figure, entries, width)
    return figure


def _thin_lines(steps: np.ndarray, cells: Sequence[CellCurve]) -> LineCollection:
    """The means of cells that only stand behind; every second point, and the last, is enough for them."""
    kept = np.unique([*range(0, len(steps), 2), len(steps) - 1])
    lines = [np.column_stack([steps, cell.mean])[kept] for cell in cells]
    return LineCollection(lines, colors=FAINT, linewidths=0.6, alpha=0.6)


def _curve(
    axes: Axes, steps: np.ndarray, cell: CellCurve, color: str, dashes: Any, alpha: float, logarithmic: bool
) -> None:
    if cell.n >= FEW_SEEDS:
        axes.fill_between(steps, *cell.band(logarithmic), color=color, alpha=alpha, linewidth=0)
    elif cell.n > 1:
        axes.plot(steps, cell.values.T, color=color, alpha=0.45, linewidth=0.6)
    axes.plot(steps, cell.mean, color=color, linestyle=dashes, linewidth=1.6)


def _mark(axes: Axes, bound: Bound) -> None:
    axes.axhline(bound.value, color=INK, linewidth=0.9)
    axes.annotate(
        bound.name, (0.01, bound.value), (0, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
        fontsize=canvas.SMALL, color=INK,
    )  # fmt: skip


def _limits(
    cells: Sequence[CellCurve], logarithmic: bool, bound: Bound | None = None
) -> tuple[tuple[float, float] | None, bool]:
    """From the least to the greatest mean, or seed where these are drawn, and the bound; and whether on a log scale.

    Bands do not count: that of a few seeds would shrink the means to a line.
    """
    drawn = [cell.mean for cell in cells] + [cell.values.ravel() for cell in cells if 1 < cell.n < FEW_SEEDS]
    if bound is not None:
        drawn.append(np.array([bound.value]))
    if logarithmic:
        positive = np.concatenate([values[np.isfinite(values) & (values > 0)] for values in drawn])
        if len(positive) and positive.max() > 3 * positive.min():
            return (positive.min() / 1.3, positive.max() * 1.3), True
    return canvas.span(drawn, 0.15), False


def _look(axes: Axes, limits: tuple[float, float] | None, logarithmic: bool) -> None:
    if limits is not None and logarithmic:
        canvas.logarithmic_axis(axes, *limits)
    elif limits is not None:
        axes.set_ylim(*limits)


def survival_picture(runs: Runs, environment: str, name: str) -> Picture | None:
    """Share of runs above each outcome, for every level of every factor (Engstrom et al. 2020, Figure 1)."""
    part = runs.where(runs.environments == environment)
    at = np.linspace(*(canvas.span([part.values], 0.03) or (0.0, 1.0)), 200)
    profiles = {}
    for column, factor in enumerate(part.factors):
        groups = [part.values[part.codes[:, column] == code] for code in range(len(factor.levels))]
        if all(len(group) >= 2 for group in groups):
            profiles[factor] = [performance_profile(group, at) for group in groups]
    if not profiles:
        return None
    outcome = outcome_words(runs.outcome)
    caption = (
        f"For every factor, the share of runs in {environment} whose {outcome} is above the value on the axis, as in "
        "Figure 1 of Engstrom et al. 2020. The runs of all cells with a level are taken together, so a gap between the "
        "lines is what the factor does whatever the other factors are. The band counts runs as unrelated."
    )
    title = f"Share of runs above each {outcome} for each level of each factor, {environment}"
    return Picture(name, title, caption, lambda width: _survival(width, profiles, outcome))


def _survival(width: float, profiles: dict[Factor, list[Band]], outcome: str) -> Figure:
    first = next(iter(profiles.values()))[0]
    columns = 2 if width <= NARROW else 4
    room = (width - 0.7) / min(columns, len(profiles)) * 72 / (0.56 * canvas.SMALL)
    # Each name has a sample of its line before it, as wide as five letters.
    stacked = any(sum(len(level) + 5 for level in factor.levels) > room for factor in profiles)
    lines = max(len(factor.levels) for factor in profiles) if stacked else 1
    titles = [factor.name for factor in profiles]
    sizes = [band.n for bands in profiles.values() for band in bands]
    note = f"{first.level:.0%} band: {first.method}. n = {_range(sizes)} per line."
    figure, axes = canvas.panels(
        width, titles, note, least=_least(width), tall=1.4, across=outcome, up="share of runs above", under=lines
    )  # fmt: skip
    for one, (factor, bands) in zip(axes, profiles.items(), strict=True):
        for index, (level, band) in enumerate(zip(factor.levels, bands, strict=True)):
            color, dashes = SERIES[(1 - index) if index < 2 else index], DASHES[(1 - index) if index < 2 else index % 4]
            one.fill_between(band.at, band.low, band.high, color=color, alpha=0.13, linewidth=0, step="post")
            one.plot(
                band.at,
                band.estimate,
                color=color,
                linestyle=dashes,
                linewidth=1.6,
                label=level,
                drawstyle="steps-post",
            )
        # Between the title and the panel: inside, the curves leave no corner free.
        one.legend(
            loc="lower left", bbox_to_anchor=(0, 1), handlelength=1.4, handletextpad=0.4, columnspacing=0.8,
            borderaxespad=0.15, borderpad=0, labelspacing=0.15, ncols=1 if stacked else len(bands),
        )  # fmt: skip
        one.set_ylim(-0.03, 1.03)
    return figure


def _least(width: float) -> float:
    """Width of a panel: four columns on a page, two on a phone."""
    return 1.4 if width > NARROW else 1.2


def _range(sizes: Sequence[int]) -> str:
    """`5 seeds`, or `4 to 5 runs`."""
    return count(max(sizes), "run") if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes):,} runs"


__all__ = ["BAND", "INK", "Bound", "curves_picture", "survival_picture"]
