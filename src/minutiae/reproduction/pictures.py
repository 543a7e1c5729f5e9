"""Figures that only a reproduction has: ours beside the article's, and the trust region of three algorithms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from minutiae.reports.study import canvas
from minutiae.reports.study.analysis import mean_interval
from minutiae.reports.study.canvas import BLUE, ORANGE, Picture
from minutiae.reports.study.curves import cell_curves
from minutiae.reports.study.effect_figures import mark_interval, row_axes, show_all
from minutiae.reports.study.run_figures import curves_picture
from minutiae.reports.study.words import interval, outcome_words
from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.published import ALGORITHMS, FINAL_RETURNS
from minutiae.statistics import Interval

TRUST_REGION = ("ppo", "ppo-m", "trpo")
"""The algorithms of Figures 2 to 4."""


def beside_picture(evidence: Evidence, presets: Sequence[str], name: str) -> Picture | None:
    """Mean of every algorithm and task with its interval, and the published one under it."""
    rows = []
    for task in evidence.tasks:
        for algorithm in presets:
            sample = evidence.returns(task, algorithm)
            ours = mean_interval(sample) if len(sample) >= 2 else None
            rows.append((f"{task}, {ALGORITHMS[algorithm]}", ours, FINAL_RETURNS.get(task, {}).get(algorithm)))
    if not any(ours for _, ours, _ in rows):
        return None
    words = outcome_words(evidence.outcome)
    caption = (
        f"Mean {words} with its 95% interval: ours in blue (the numbers on the right), the article's in orange. The "
        "article's agents were trained on other versions of the simulator, so heights may differ; the order within a "
        "task is what its claims are about."
    )
    title = f"Mean {words} of every algorithm, ours and the article's"
    return Picture(name, title, caption, lambda width: _beside(width, rows, words))


def _beside(width: float, rows: Sequence[tuple[str, Interval | None, Interval | None]], words: str) -> Figure:
    texts = [(name, interval(ours) if ours else "no runs yet") for name, ours, _ in rows]
    known = next(ours for _, ours, _ in rows if ours is not None)
    note = f"95% intervals, each alone. Ours: {known.method}. The article's: percentile bootstrap, at least 80 agents."
    names = ["ours", "published"]
    top = canvas.legend_height(names, width)
    figure, axes = row_axes(width, texts, note, words, tall=0.24, top=top)
    for place, (_, ours, published) in enumerate(rows):
        for found, color, at in ((ours, BLUE, -0.16), (published, ORANGE, 0.16)):
            if found is not None:
                mark_interval(axes, place + at, found, color, size=4.5)
    ends = [(found.low, found.high) for row in rows for found in row[1:] if found is not None]
    show_all(axes, [np.array(ends)])
    canvas.legend(figure, [("ours", BLUE, "-"), ("published", ORANGE, "-")], width)
    return figure


def training_pictures(
    evidence: Evidence, tasks: Sequence[str], metrics: Sequence[tuple[str, str]], presets: Sequence[str] = TRUST_REGION
) -> Iterator[Picture]:
    """Metrics of algorithms over training, one picture each; nothing for tasks without runs.

    Args:
        metrics: columns of the curves, and what they are in words.
    """
    for task in tasks:
        if task not in evidence.tasks:
            continue
        runs = evidence.runs(task, tuple(presets))
        runs = replace(
            runs,
            factors=tuple(
                replace(factor, name="", levels=tuple(ALGORITHMS[level] for level in factor.levels))
                for factor in runs.factors
            ),
        )
        for metric, words in metrics:
            for found in cell_curves(evidence.data.curves, runs, metric):
                name = f"{metric}_{task.lower()}"
                logarithmic = metric != "return_mean"
                yield curves_picture(found, runs.factors, {}, name, words, logarithmic=logarithmic)
