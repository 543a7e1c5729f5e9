"""Which tables a report has, and their rows. Numbers come from the analysis, looks from `tables`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from minutiae.reports.study.analysis import POOLED, CellMean, OutcomeAnalysis, Scope
from minutiae.reports.study.counted import Factor, report_rows, varying
from minutiae.reports.study.sweeps import Sweep
from minutiae.reports.study.tables import Table
from minutiae.reports.study.words import cell_words, outcome_words
from minutiae.statistics import Interval

if TYPE_CHECKING:
    from minutiae.studies.results import StudyData


def effects_table(found: OutcomeAnalysis, name: str) -> Table | None:
    """Main effects and interactions of every scope."""
    scopes = [scope for scope in found.scopes if scope.effects is not None]
    if not scopes:
        return None
    levels = {factor.name: factor for factor in found.runs.factors}
    rows = []
    for scope in scopes:
        assert scope.effects is not None
        for effect in scope.effects.effects:
            compared = _compared(effect.name, levels)
            shown_n = effect.n if len(scopes) > 1 else None
            mixed = ", ".join(effect.confounded_with) or None
            rows.append(
                (scope.name, effect.name, effect, compared, effect.p_value, effect.adjusted_p_value, shown_n, mixed)
            )
    first = scopes[0].effects
    assert first is not None
    together = "together per environment" if len(scopes) > 1 else "together"
    note = f"{first.level:.0%} intervals, {together}: {first.method}. n = {first.n:,} runs."
    columns = ("environment", "effect", "change", "levels", "p alone", "p together", "n", "would also hold")
    title = f"Effects on {outcome_words(found.runs.outcome)}"
    return _tidy(Table(name, title, columns, tuple(rows), note, ("change",), ("would also hold",)), len(scopes))


def one_scale_table(found: OutcomeAnalysis, name: str) -> Table | None:
    """The pooled effects in the units of their environments."""
    shared = found.one_scale
    if shared is None:
        return None
    alone = replace(found, scopes=(Scope(POOLED, shared.effects, None),))
    table = effects_table(alone, name)
    assert table is not None
    return replace(table, title=f"{table.title}, every environment in its own unit")


def _compared(name: str, levels: dict[str, Factor]) -> str | None:
    """`off → max` of a main effect."""
    if " x " in name:
        return None
    factor, _, level = name.partition("=")
    if factor not in levels:
        return None
    texts = levels[factor].levels
    return f"{texts[0]} → {level or texts[-1]}"


def aliases_table(found: OutcomeAnalysis, name: str) -> Table | None:
    """What the cells cannot tell apart: effects without a number, and those that would hold left out interactions."""
    effects = found.main.effects
    if effects is None:
        return None
    rows = [(effect.name, ", ".join(effect.confounded_with)) for effect in effects.effects if effect.confounded_with]
    rows += [(entry.name, ", ".join(entry.confused_with) or "what was not run") for entry in effects.aliased]
    title = "What these cells cannot tell apart"
    return Table(name, title, ("effect", "moves together with"), tuple(rows)) if rows else None


def attribution_table(found: OutcomeAnalysis, name: str) -> Table | None:
    """Shapley value, leave-one-out and add-one-in side by side."""
    scopes = [scope for scope in found.scopes if scope.attribution is not None]
    rows: list[tuple[object, ...]] = []
    for scope in scopes:
        shared = scope.attribution
        assert shared is not None
        entries = zip(shared.names, shared.shapley, shared.leave_one_out, shared.add_one_in, strict=True)
        rows += [(scope.name, *entry) for entry in sorted(entries, key=lambda entry: -entry[1].estimate)]
        rows.append((scope.name, "gain of all together", shared.gain, None, None))
    if not rows:
        return None
    first = scopes[0].attribution
    assert first is not None
    note = f"{first.level:.0%} intervals, each alone: {first.method}. n = {first.n:,} runs."
    columns = ("environment", "factor", "Shapley value", "left out of all on", "added to all off")
    title = f"Attribution of the gain in {outcome_words(found.runs.outcome)}"
    return _tidy(Table(name, title, columns, tuple(rows), note, columns[2:]), len(scopes)).without_empty_columns()


def cells_table(data: StudyData, found: OutcomeAnalysis, name: str) -> Table:
    """Every cell that is reported, its mean outcome, and how many of its runs diverged, failed or have yet to finish.

    A cell without any outcome stands at the end, with n = 0.
    """
    rows = report_rows(data)
    factors = varying(data.study, rows)
    lost = _lost(rows)
    means = _means_by_label(found, rows)
    unfinished = any(left for _, _, left in lost.values())
    table: list[tuple[Any, ...]] = []
    for cell in rows.unique(["environment", "cell"], keep="first", maintain_order=True).iter_rows(named=True):
        key = (cell["environment"], cell["cell"])
        mean = means.get(key)
        diverged, failed, left = lost[key]
        levels = [cell[factor.name] for factor in factors]
        words = cell_words([f.levels.index(level) for f, level in zip(factors, levels, strict=True)], factors)
        value = None if mean is None else mean.mean or mean.value
        runs = 0 if mean is None else mean.n
        table.append((key[0], words, value, runs, diverged, failed, left if unfinished else None, *levels))
    order = list(dict.fromkeys(rows["environment"].to_list()))
    table.sort(key=lambda row: (order.index(row[0]), row[3] == 0, -_estimate(row[2])))
    methods = dict.fromkeys(cell.mean.method for cell in found.cells if cell.mean is not None)
    note = f"95% intervals, each cell alone: {'; '.join(methods)}. n: runs with an outcome." if methods else "n: runs."
    if any(row[3] == 0 for row in table):
        note += " A cell with n = 0 has no run with an outcome, and no effect counts it."
    outcome = outcome_words(found.runs.outcome)
    names = tuple(factor.name for factor in factors)
    columns = ("environment", "cell", outcome, "n", "diverged", "failed", "not finished", *names)
    return _tidy(Table(name, f"Every cell, by {outcome}", columns, tuple(table), note, spare=names), len(order))


def _estimate(value: Interval | float | None) -> float:
    return value.estimate if isinstance(value, Interval) else value or 0.0


def _means_by_label(found: OutcomeAnalysis, rows: pl.DataFrame) -> dict[tuple[str, str], CellMean]:
    """The means of the analysis, which knows cells by codes, per environment and cell label."""
    label_of = dict(zip(rows["run_id"].to_list(), rows["cell"].to_list(), strict=True))
    means = {(cell.environment, cell.codes): cell for cell in found.cells}
    runs = zip(found.runs.environments.tolist(), found.runs.codes.tolist(), found.runs.ids.tolist(), strict=True)
    return {(environment, label_of[run]): means[environment, tuple(codes)] for environment, codes, run in runs}


def _lost(rows: pl.DataFrame) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Diverged, failed and unfinished runs per environment and cell label."""
    counts = rows.group_by("environment", "cell").agg(
        (pl.col("status") == kind).sum().alias(kind) for kind in ("diverged", "failed", "unfinished")
    )
    return {(environment, cell): tuple(lost) for environment, cell, *lost in counts.iter_rows()}


def troubles_table(data: StudyData, name: str) -> Table | None:
    """Diverged and failed runs of all stages with their causes."""
    rows = data.frame.filter(pl.col("status").is_in(["diverged", "failed"])).sort(
        "status", "environment", "cell", "seed"
    )
    if not len(rows):
        return None
    tuned = [factor.name for factor in data.study.tuning.grid] if data.study.tuning is not None else []
    shown = rows.select("status", "environment", "cell", *tuned, "stage", "seed", "iterations", "reason", "run_id")
    columns = tuple(column.replace("_", " ").replace("reason", "cause") for column in shown.columns)
    note = "A diverged run counts with its last valid return; a failed one has no outcome and is left out."
    table = Table(name, "Diverged and failed runs", columns, tuple(shown.rows()), note, spare=("run id",))
    return table.without_empty_columns()


def sweep_table(found: Sequence[Sweep], name: str) -> Table | None:
    """Every cell at every setting of the tuning grid."""
    rows: list[tuple[object, ...]] = []
    methods: dict[str, None] = {}
    for sweep in found:
        factors = sweep.runs.factors[:-1]
        for codes, means, chosen in zip(sweep.cells, sweep.means, sweep.chosen, strict=True):
            for place, (setting, mean) in enumerate(zip(sweep.settings, means, strict=True)):
                if mean is not None:
                    rows.append(
                        (sweep.environment, cell_words(codes, factors), setting, mean, "yes" if place == chosen else "")
                    )
                if isinstance(mean, Interval):
                    methods[f"{mean.method}, n = {mean.n}"] = None
    if not rows:
        return None
    outcome = outcome_words(found[0].runs.outcome)
    note = f"On the runs that chose. 95% intervals, each alone: {'; '.join(methods)}." if methods else "One run each."
    columns = ("environment", "cell", "setting", outcome, "reported")
    return _tidy(Table(name, "Every cell at every setting of the grid", columns, tuple(rows), note), len(found))


def _tidy(table: Table, environments: int) -> Table:
    """Without the environment where there is one, and without empty columns."""
    if environments > 1 or not table.rows:
        return table.without_empty_columns() if table.rows else table
    rows = tuple(row[1:] for row in table.rows)
    return replace(table, columns=table.columns[1:], rows=rows).without_empty_columns()
