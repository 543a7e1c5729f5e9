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
from minutiae.reports.study.run_figures import Bound, curves_picture
from minutiae.reports.study.words import interval, outcome_words
from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.published import ALGORITHMS, FINAL_RETURNS
from minutiae.statistics import Interval

METRICS = {
    "return_mean": "mean return",
    "ratio_max_batch": "largest ratio of a batch",
    "kl_exact_batch": "mean KL on training samples",
    "ratio_max_held_out": "largest ratio on fresh samples",
    "kl_exact_held_out": "mean KL on fresh samples",
}
"""What is drawn over training, in words."""


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
    caption, title = f"Mean {words} with its 95% interval.", f"Mean {words} of every algorithm"
    if any(published for _, _, published in rows):
        caption = (
            f"Mean {words} with its 95% interval: ours in blue (the numbers on the right), the article's in orange. "
            "The article's agents were trained on other versions of the simulator, so heights may differ; the order "
            "within a task is what its claims are about."
        )
        title += ", ours and the article's"
    return Picture(name, title, caption, lambda width: _beside(width, rows, words))


def _beside(width: float, rows: Sequence[tuple[str, Interval | None, Interval | None]], words: str) -> Figure:
    texts = [(name, interval(ours) if ours else "no runs yet") for name, ours, _ in rows]
    # Few agents have another interval than many.
    methods = sorted({ours.method for _, ours, _ in rows if ours is not None})
    note = f"95% intervals, each alone. Ours: {'; '.join(methods)}."
    entries = []
    if any(published for _, _, published in rows):
        note += " The article's: percentile bootstrap, at least 80 agents."
        entries = [("ours", BLUE, "-"), ("published", ORANGE, "-")]
    top = canvas.legend_height([name for name, _, _ in entries], width)
    figure, axes = row_axes(width, texts, note, words, tall=0.24, top=top)
    for place, (_, ours, published) in enumerate(rows):
        for found, color, at in ((ours, BLUE, -0.16), (published, ORANGE, 0.16)):
            if found is not None:
                mark_interval(axes, place + at, found, color, size=4.5)
    ends = [(found.low, found.high) for row in rows for found in row[1:] if found is not None]
    show_all(axes, [np.array(ends)])
    canvas.legend(figure, entries, width)
    return figure


def training_pictures(
    evidence: Evidence, tasks: Sequence[str], metrics: Sequence[str], presets: Sequence[str]
) -> Iterator[Picture]:
    """Metrics of algorithms over training, one picture each; nothing for tasks without runs.

    Args:
        metrics: of `METRICS`.
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
        for metric in metrics:
            for found in cell_curves(evidence.data.curves, runs, metric):
                name = f"{metric}_{task.lower()}"
                logarithmic = metric != "return_mean"
                yield curves_picture(
                    found, runs.factors, {}, name, METRICS[metric], logarithmic=logarithmic,
                    bound=_bound(evidence, task, metric),
                )  # fmt: skip


def _bound(evidence: Evidence, task: str, metric: str) -> Bound | None:
    """What an algorithm is told to stay within; the ratio's is PPO's, the divergence's TRPO's."""
    if metric.startswith("ratio_max"):
        clipping = evidence.config(task, "ppo").ratio_clipping
        return None if clipping is None else Bound(1.0 + clipping, f"PPO's bound {1.0 + clipping:g}")
    if metric.startswith("kl_exact"):
        radius = evidence.config(task, "trpo").max_kl
        return Bound(radius, f"TRPO's bound {radius:g}")
    return None
