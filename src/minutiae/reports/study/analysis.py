"""The numbers of a report: effects, attribution and cells of each outcome. No figure and no sentence is made here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from minutiae.errors import StatisticsError
from minutiae.reports.study.counted import Runs, count_runs, report_rows
from minutiae.reports.study.words import outcome_words
from minutiae.statistics import (
    Attribution,
    Effects,
    Interval,
    Unit,
    attribute,
    attribute_orderings,
    bootstrap_interval,
    deviation_unit,
    estimate_effects,
    pool_effects,
    range_unit,
    student_interval,
)

if TYPE_CHECKING:
    from minutiae.studies.designs import Design
    from minutiae.studies.results import StudyData

LEVEL = 0.95
POOLED = "all environments"
ENOUGH_TO_RESAMPLE = 10
"""Runs of a cell from which a bootstrap has resamples enough; fewer get Student's t, which covers about as often."""


@dataclass(frozen=True)
class CellMean:
    """One cell in one environment.

    Attributes:
        environment: its name.
        codes: the level of each varying factor.
        n: runs.
        mean: with its interval; `None` for a single run, whose value is `value`.
        value: the mean.
    """

    environment: str
    codes: tuple[int, ...]
    n: int
    mean: Interval | None
    value: float


@dataclass(frozen=True)
class Scope:
    """What the runs of one environment say, or of all together.

    Attributes:
        name: an environment, or `POOLED`.
        effects: main effects and interactions; `None` where there are too few runs.
        attribution: of the gain from all first to all last levels; `None` where those cells were not run.
        dropped: runs that the attribution leaves out since other cells lack their seed.
    """

    name: str
    effects: Effects | None
    attribution: Attribution | None
    dropped: int = 0


@dataclass(frozen=True)
class OneScale:
    """Effects averaged over environments that each count in a unit of their own.

    Attributes:
        effects: in units.
        units: of each environment.
        stated: whether the units are the ranges of the study, or deviations.
    """

    effects: Effects
    units: dict[str, Unit]
    stated: bool


@dataclass(frozen=True)
class OutcomeAnalysis:
    """Everything about one outcome.

    Attributes:
        runs: that have it.
        scopes: the pooled one first, then each environment where there are several.
        one_scale: the pooled effects once more, whatever the size of each environment's returns; `None` for one
            environment, or where there are too few runs.
        cells: in the order of codes, environment by environment.
        problems: what could not be computed, and why.
    """

    runs: Runs
    scopes: tuple[Scope, ...]
    one_scale: OneScale | None
    cells: tuple[CellMean, ...]
    problems: tuple[str, ...]

    @property
    def main(self) -> Scope:
        """The scope of the answer."""
        return self.scopes[0]


def analyze(data: StudyData) -> tuple[OutcomeAnalysis, ...]:
    """One analysis for each outcome of the study, the first of which is the report's.

    Raises:
        RunError: no run has the first outcome.
    """
    rows, study = report_rows(data), data.study
    return tuple(
        analyze_outcome(
            count_runs(study, rows, outcome), study.layout, study.ranges if outcome == study.outcomes[0] else {}
        )
        for outcome in study.outcomes
    )


def analyze_outcome(
    runs: Runs, design: Design, ranges: Mapping[str, tuple[float, float]] = MappingProxyType({})
) -> OutcomeAnalysis:
    """Effects, attribution and cell means of one outcome.

    Args:
        runs: that have it.
        design: of the study.
        ranges: of the outcome in each environment; without them several environments are counted in deviations.
    """
    problems: list[str] = []
    names = runs.environment_names
    several = len(names) > 1
    parts = [(POOLED if several else names[0], runs)]
    if several:
        parts += [(name, runs.where(runs.environments == name)) for name in names]
    scopes = tuple(_scope(name, part, design, problems) for name, part in parts)
    one_scale = _one_scale(runs, scopes[1:], ranges, problems)
    return OutcomeAnalysis(runs, scopes, one_scale, tuple(_cells(runs)), tuple(dict.fromkeys(problems)))


def _one_scale(
    runs: Runs, scopes: tuple[Scope, ...], ranges: Mapping[str, tuple[float, float]], problems: list[str]
) -> OneScale | None:
    """The mean of the environments' effects in their units."""
    effects = {scope.name: scope.effects for scope in scopes if scope.effects is not None}
    if len(effects) < len(scopes) or not effects:
        return None
    units = {}
    try:
        for name in effects:
            if ranges:
                units[name] = range_unit(*ranges[name])
                continue
            part = runs.where(runs.environments == name)
            cells = np.unique(part.codes, axis=0, return_inverse=True)[1].reshape(-1)
            units[name] = deviation_unit(part.values, cells, part.seeds)
        return OneScale(pool_effects(effects, units, level=LEVEL), units, bool(ranges))
    except StatisticsError as error:
        problems.append(f"effects on {outcome_words(runs.outcome)} on one scale: {error}")
        return None


def _scope(name: str, runs: Runs, design: Design, problems: list[str]) -> Scope:
    if not runs.factors:
        problems.append("no factor varies among the runs that have an outcome, so there are no effects yet")
        return Scope(name, None, None)
    subject = f"{outcome_words(runs.outcome)}, {name}"
    effects = attribution = None
    dropped = 0
    try:
        effects = effects_of(runs, design)
    except StatisticsError as error:
        problems.append(f"effects on {subject}: {error}")
    if len(runs.factors) > 1 and all(factor.complete for factor in runs.factors) and has_ends(runs):
        try:
            attribution, dropped = attribution_of(runs, design)
        except StatisticsError as error:
            problems.append(f"attribution of {subject}: {error}")
    return Scope(name, effects, attribution, dropped)


def effects_of(runs: Runs, design: Design) -> Effects:
    """Main effects, and interactions where they cost no main effect; blocked on seed and environment.

    Designs in which every effect rests on two cells get separate errors with Holm's correction where seeds suffice, as
    `estimate_effects` advises; all others pooled errors and max t.

    Raises:
        StatisticsError: too few runs.
    """
    few = design.name in ("leave_one_out", "add_one_in")
    block: np.ndarray | None = runs.blocks
    if len(np.unique(runs.blocks)) == len(runs.blocks):
        # No two runs share a seed: blocks would take up every degree of freedom.
        block = runs.environments if len(runs.environment_names) > 1 else None
    for errors, simultaneous in (("separate", "holm"), ("pooled", "max_t"))[0 if few else 1 :]:
        for interactions in (False,) if few else (True, False):
            try:
                found = estimate_effects(
                    runs.codes,
                    runs.values,
                    runs.names,
                    labels=runs.labels,
                    interactions=interactions,
                    block=block,
                    errors=errors,
                    simultaneous=simultaneous,
                    level=LEVEL,
                )
            except StatisticsError as error:
                refused = error
                continue
            lost = any(" x " not in entry.name for entry in found.aliased)
            if not (interactions and lost):
                return found
    raise refused


def has_ends(runs: Runs) -> bool:
    """Whether the cell of all first levels and that of all last levels have runs, in every environment."""
    last = np.array([len(factor.levels) - 1 for factor in runs.factors])
    for name in runs.environment_names:
        codes = runs.codes[runs.environments == name]
        if not ((codes == 0).all(axis=1).any() and (codes == last).all(axis=1).any()):
            return False
    return True


def attribution_of(runs: Runs, design: Design) -> tuple[Attribution, int]:
    """Shapley values, exact from all cells between the ends or sampled by the design's orderings, and runs left out.

    Paired by seed over the seeds that all needed cells have, where those are most; else runs count as unrelated.

    Raises:
        StatisticsError: cells in between are missing or have too few runs.
    """
    orderings = design.orderings
    used = runs.where(_between(runs)) if not orderings else runs
    paired = _complete_seeds(used)
    shared = used.where(paired)
    fits = paired.sum() >= len(paired) / 2 and _least_seeds(shared) >= 2
    chosen = shared if fits else used
    several = len(runs.environment_names) > 1
    options: dict[str, Any] = {
        "seed_of_run": chosen.seeds if fits else None,
        "environment_of_run": chosen.environments if several else None,
        "level": LEVEL,
    }
    left_out = len(used.values) - len(chosen.values)
    if orderings:
        found = attribute_orderings(orderings, chosen.codes, chosen.values, chosen.names, **options)
        return found, left_out
    method = "studentized" if _least_runs(chosen) >= ENOUGH_TO_RESAMPLE else "student"
    return attribute(chosen.codes, chosen.values, chosen.names, method=method, **options), left_out


def _between(runs: Runs) -> np.ndarray:
    """Runs with every factor at its first or its last level."""
    last = np.array([len(factor.levels) - 1 for factor in runs.factors])
    return np.asarray(((runs.codes == 0) | (runs.codes == last)).all(axis=1))


def _complete_seeds(runs: Runs) -> np.ndarray:
    """Which runs have a seed that every cell of their environment has exactly once."""
    _, cell = np.unique(runs.codes, axis=0, return_inverse=True)
    cells = len(np.unique(cell))
    _, block = np.unique(runs.blocks, return_inverse=True)
    pairs = np.unique(np.stack([block, cell.reshape(-1)]), axis=1)
    distinct = np.bincount(pairs[0], minlength=block.max() + 1)
    total = np.bincount(block)
    return np.asarray(((distinct == cells) & (total == cells))[block])


def _least_seeds(runs: Runs) -> int:
    return min((len(np.unique(runs.seeds[runs.environments == name])) for name in runs.environment_names), default=0)


def _least_runs(runs: Runs) -> int:
    """The fewest runs of any cell in any environment."""
    keys = np.unique(
        np.concatenate([runs.codes, _codes(runs.environments)[:, None]], axis=1), axis=0, return_counts=True
    )
    return int(keys[1].min())


def _codes(labels: np.ndarray) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def _cells(runs: Runs) -> Iterator[CellMean]:
    for name in runs.environment_names:
        part = runs.where(runs.environments == name)
        cells, of_run = np.unique(part.codes, axis=0, return_inverse=True)
        for index, codes in enumerate(cells):
            values = part.values[of_run.reshape(-1) == index]
            yield CellMean(name, tuple(codes.tolist()), len(values), mean_interval(values), float(values.mean()))


def mean_interval(values: np.ndarray) -> Interval | None:
    """Of the mean of runs of one cell: studentized bootstrap from 10 runs on, Student's t below, `None` for one run."""
    if len(values) < 2:
        return None
    if len(values) < ENOUGH_TO_RESAMPLE:
        return student_interval(values, level=LEVEL)
    return bootstrap_interval(values, level=LEVEL)
