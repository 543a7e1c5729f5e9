"""Tuning: what each setting of the grid gave in each cell, and what each factor did at each setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from minutiae.errors import RunError, StatisticsError
from minutiae.reports.study.analysis import LEVEL, mean_interval
from minutiae.reports.study.counted import Runs, count_runs, report_rows
from minutiae.statistics import Effects, Interval, selection_optimism, simple_effects
from minutiae.studies.designs import Factor as StudyFactor

if TYPE_CHECKING:
    from minutiae.studies.results import StudyData

SETTING = "setting"


@dataclass(frozen=True)
class Sweep:
    """The tuning runs of one environment.

    Attributes:
        environment: its name.
        settings: the grid's settings as texts, in its order.
        cells: codes of each cell's level, `[C]` tuples.
        means: per cell and setting, `[C][S]`; `None` where nothing ran.
        chosen: per cell, the position of the setting that is reported; `None` where none is yet.
        effects: per factor, its effect at every setting; factors without an estimate are missing.
        optimism: mean over cells of what picking the best overstates; `None` where seeds are not shared.
        runs: their number.
    """

    environment: str
    settings: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    means: tuple[tuple[Interval | float | None, ...], ...]
    chosen: tuple[int | None, ...]
    effects: dict[str, Effects]
    optimism: float | None
    runs: Runs


def sweeps(data: StudyData) -> tuple[Sweep, ...]:
    """One for each environment; none without a tuning grid or before any tuning run has finished."""
    tuning = data.study.tuning
    if tuning is None:
        return ()
    grid = [factor.name for factor in tuning.grid]
    order = [data.study.setting_label(setting) for setting in tuning.settings]
    text = pl.concat_str([pl.format("{}={}", pl.lit(name), pl.col(name)) for name in grid], separator=", ")
    rows = data.frame.filter(pl.col("stage") == "tuning").with_columns(text.alias(SETTING))
    reported = report_rows(data).with_columns(text.alias(SETTING))
    extra = (StudyFactor(SETTING, tuple(order)),) if len(order) > 1 else ()
    try:
        runs = count_runs(data.study, rows, data.study.outcomes[0], extra)
    except RunError:
        return ()
    if SETTING not in runs.names:
        return ()
    return tuple(
        _sweep(name, runs.where(runs.environments == name), rows, reported.filter(pl.col("environment") == name))
        for name in runs.environment_names
    )


def _sweep(environment: str, runs: Runs, rows: pl.DataFrame, reported: pl.DataFrame) -> Sweep:
    settings = runs.factors[-1].levels
    cells, of_run = np.unique(runs.codes[:, :-1], axis=0, return_inverse=True)
    of_run = of_run.reshape(-1)
    setting_of_run = runs.codes[:, -1]
    means, optimism = [], []
    for cell in range(len(cells)):
        groups = [runs.values[(of_run == cell) & (setting_of_run == place)] for place in range(len(settings))]
        means.append(tuple(_mean(values) for values in groups))
        here = runs.where(of_run == cell)
        optimism.append(_optimism(here, len(settings)))
    known = [value for value in optimism if value is not None]
    labels = dict(zip(rows["run_id"].to_list(), rows["cell"].to_list(), strict=True))
    label_of_cell = [labels[runs.ids[of_run == cell][0]] for cell in range(len(cells))]
    picked = dict(zip(reported["cell"].to_list(), reported[SETTING].to_list(), strict=True))
    chosen = [settings.index(picked[label]) if picked.get(label) in settings else None for label in label_of_cell]
    return Sweep(
        environment,
        settings,
        tuple(tuple(codes) for codes in cells.tolist()),
        tuple(means),
        tuple(chosen),
        _effects(runs),
        float(np.mean(known)) if len(known) == len(cells) else None,
        runs,
    )


def _mean(values: np.ndarray) -> Interval | float | None:
    return None if not len(values) else mean_interval(values) or float(values[0])


def _optimism(runs: Runs, settings: int) -> float | None:
    """Of one cell whose settings share their seeds."""
    seeds, row = np.unique(runs.seeds, return_inverse=True)
    if len(seeds) < 2 or len(runs.values) != len(seeds) * settings:
        return None
    table = np.full((settings, len(seeds)), np.nan)
    table[runs.codes[:, -1], row.reshape(-1)] = runs.values
    try:
        return selection_optimism(table)
    except StatisticsError:
        return None


def _effects(runs: Runs) -> dict[str, Effects]:
    found = {}
    for name in runs.names[:-1]:
        try:
            found[name] = simple_effects(
                runs.codes, runs.values, runs.names, of=name, given=SETTING, labels=runs.labels,
                block=runs.blocks, level=LEVEL,
            )  # fmt: skip
        except StatisticsError:
            continue
    return {name: effects for name, effects in found.items() if effects.effects}
