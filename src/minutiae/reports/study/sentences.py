"""What a report says in sentences: the design, the answer, the methods. Numbers come from the analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from minutiae.reports.study.analysis import OneScale, OutcomeAnalysis, Scope
from minutiae.reports.study.words import arrow, clear, count, explained, interval, listed, number, outcome_words
from minutiae.statistics import Attribution, Effect

if TYPE_CHECKING:
    from minutiae.studies.factors import Factor
    from minutiae.studies.results import StudyData
    from minutiae.studies.study import Study

DESIGNS = {
    "factorial": "every combination of levels",
    "fractional": "a fraction of all combinations, chosen so that main effects stay apart",
    "leave_one_out": "everything at its last level, and each factor set back alone",
    "add_one_in": "everything at its first level, and each factor changed alone",
    "permutations": "the cells on random ways from all first to all last levels",
    "cells": "combinations chosen by hand",
}


def question(data: StudyData) -> str:
    """The study's own question, or one made of its factors."""
    if data.study.question:
        return str(data.study.question)
    return f"What do {listed([factor.name for factor in data.study.factors])} do?"


def design_paragraph(data: StudyData, rows: pl.DataFrame) -> str:
    """Cells, runs, seeds, environments, and what became of them."""
    study = data.study
    layout = study.layout
    factors = listed([f"{factor.name} ({_levels(study, factor)})" for factor in study.factors])
    seeds = count(rows["seed"].n_unique(), "seed")
    start = f"from the preset {study.preset}" if study.command is None else "of somebody else's command"
    parts = [
        f"{count(len(study.factors), 'factor')}, {start}: {factors}. "
        f"{DESIGNS.get(layout.name, layout.name).capitalize()}: {count(len(layout.cells), 'cell')}"
        + (f" (resolution {_roman(layout.resolution)})" if layout.resolution else "")
        + f", {seeds} in each, on {listed(list(study.environments))}."
    ]
    parts.append(_status(data.frame))
    if study.tuning is not None:
        grid = listed([factor.name for factor in study.tuning.grid])
        settings = count(len(study.tuning.settings), "setting")
        own = count(study.tuning.seeds, "seed")
        parts.append(
            f"Within every cell, {grid} was chosen among {settings} on {own}; the results are of "
            + ("other seeds." if study.tuning.protocol == "held_out" else "those same seeds (the paper's protocol).")
        )
    if study.command is None:
        what = explained(study.outcomes[0], min(run.iterations for run in study.first_runs()))
    else:
        what = f"as the command left it in {study.results}"
    parts.append(f"Runs are judged by their {outcome_words(study.outcomes[0])}: {what}.")
    return " ".join(parts)


def _levels(study: Study, factor: Factor) -> str:
    return ", ".join(study.written(factor.name, level) for level in factor.levels)


def _roman(resolution: int) -> str:
    return {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII"}.get(resolution, str(resolution))


def _status(frame: pl.DataFrame) -> str:
    frame = frame.unique("run_id")
    counts = dict(frame.group_by("status").len().rows())
    total = count(len(frame), "run")
    finished, diverged = counts.get("finished", 0), counts.get("diverged", 0)
    failed, unfinished = counts.get("failed", 0), counts.get("unfinished", 0)
    if finished == len(frame):
        return f"{total}, all of which finished."
    parts = [f"{finished:,} finished"]
    if diverged:
        parts.append(f"{diverged:,} diverged (counted with their last valid return)")
    if failed:
        parts.append(f"{failed:,} failed (left out)")
    if unfinished:
        parts.append(f"{unfinished:,} not finished yet (left out)")
    return f"{total}: {listed(parts)}."


def unanswered(data: StudyData, rows: pl.DataFrame) -> list[str]:
    """What the answer is silent about: runs that failed, and levels of which no run has the outcome."""
    outcome = data.study.outcomes[0]
    failed = rows.filter(pl.col("status") == "failed").unique("run_id")
    sentences = []
    if len(failed):
        sentences.append(f"{len(failed):,} of {count(rows['run_id'].n_unique(), 'run')} failed and are left out.")
    for factor in data.study.factors:
        for level in factor.levels:
            text = data.study.written(factor.name, level)
            mine = rows.filter(pl.col(factor.name) == text)
            if len(mine) and not mine[outcome].is_not_null().any():
                sentences.append(f"No run of {factor.name}={text} has an outcome, so nothing is said of it.")
    return sentences


def answer(found: OutcomeAnalysis) -> list[str]:
    """The answer first: one or two sentences with intervals."""
    scope = found.main
    outcome = outcome_words(found.runs.outcome)
    where = "" if scope.name in found.runs.environment_names else ", averaged over all environments"
    sentences = []
    if scope.attribution is not None:
        sentences += _attributed(scope.attribution, outcome, where, found)
    if scope.effects is not None:
        mains = [effect for effect in scope.effects.effects if len(effect.factors) == 1]
        if mains and scope.attribution is None:
            sentences += _effects(mains, outcome, where, found)
        sentences += _interactions(scope)
    if found.one_scale is not None:
        sentences.append(_on_one_scale(found.one_scale, outcome))
    return sentences or ["No effect can be stated with an interval yet; see the notes on what could not be computed."]


def _attributed(shared: Attribution, outcome: str, where: str, found: OutcomeAnalysis) -> list[str]:
    off = all(factor.levels[0] == "off" for factor in found.runs.factors)
    ends = "From all off to all on" if off else "From all first to all last levels"
    low, high = number(shared.start.estimate, shared.gain.estimate), number(shared.end.estimate, shared.gain.estimate)
    gain = f"{ends}, {outcome} goes from {low} to {high}{where}: a change of {interval(shared.gain, sign=True)}."
    order = sorted(range(len(shared.names)), key=lambda f: -abs(shared.shapley[f].estimate))
    said = [f"{shared.names[f]} {interval(shared.shapley[f], sign=True)}" for f in order if clear(shared.shapley[f])]
    unsure = [
        f"{shared.names[f]} {interval(shared.shapley[f], sign=True)}" for f in order if not clear(shared.shapley[f])
    ]
    parts = [gain]
    if said:
        parts.append(f"Of this change, {listed(said)}.")
    if unsure:
        parts.append(f"Not told apart from no contribution: {listed(unsure)}.")
    return parts


def _effects(mains: list[Effect], outcome: str, where: str, found: OutcomeAnalysis) -> list[str]:
    order = sorted(mains, key=lambda effect: -abs(effect.estimate))
    words = {factor.name: f"{factor.name} ({arrow(factor)})" for factor in found.runs.factors}

    def said(effect: Effect) -> str:
        return f"{words.get(effect.name, effect.name)} {interval(effect, sign=True)}"

    shown, unsure = [said(e) for e in order if clear(e)], [said(e) for e in order if not clear(e)]
    parts = [f"Change of {outcome}{where}: {listed(shown)}." if shown else f"No change of {outcome} is shown{where}."]
    if unsure:
        parts.append(f"Not told apart from no effect: {listed(unsure)}.")
    return parts


def _interactions(scope: Scope) -> list[str]:
    assert scope.effects is not None
    pairs = [effect for effect in scope.effects.effects if len(effect.factors) == 2 and clear(effect)]
    pairs = sorted(pairs, key=lambda effect: -abs(effect.estimate))[:3]
    if not pairs:
        return []
    named = listed([f"{effect.name} {interval(effect, sign=True)}" for effect in pairs])
    return [f"Factors that depend on each other most: {named}."]


def units_noun(shared: OneScale) -> str:
    """What effects on one scale are counted in."""
    return "stated ranges" if shared.stated else "deviations"


def units_paragraph(shared: OneScale) -> str:
    """Why effects are counted once more, and in which units."""
    sizes = listed([f"{number(unit.size)} in {name}" for name, unit in shared.units.items()])
    if shared.stated:
        meaning = f"of the range that the study states for it: 1 is {sizes}."
    else:
        meaning = (
            f"of how much runs of one cell differ there, the deviation over seeds: 1 is {sizes}. An effect of 1 moves "
            "a run about as far as another seed does. The deviations are estimates, which the intervals take into "
            "account as far as returns are bell-shaped; where a few runs stand far out, the sizes are rough, and only "
            "whether an interval leaves out zero is to be read. State [ranges] in the study to do without deviations."
        )
    return (
        "Averaged as they are, the environment with the largest returns decides what the average is. Here every "
        f"environment counts the same: its effects are in units {meaning}"
    )


def _on_one_scale(shared: OneScale, outcome: str) -> str:
    mains = [effect for effect in shared.effects.effects if len(effect.factors) == 1]
    order = sorted(mains, key=lambda effect: -abs(effect.estimate))
    shown = [f"{effect.name} {interval(effect, sign=True)}" for effect in order if clear(effect)]
    said = f"the change of {outcome} is {listed(shown)}" if shown else f"no change of {outcome} is shown"
    return f"Counted in {units_noun(shared)}, so that environments with larger returns weigh no more, {said}."


def method_notes(data: StudyData, analyses: tuple[OutcomeAnalysis, ...]) -> list[str]:
    """Interval methods, n, what holds together, and what to be careful about."""
    found = analyses[0]
    cells = [cell.n for cell in found.cells]
    least = min(cells)
    notes = [
        "Seeds are what is repeated: an interval says how far the numbers would move if the study were repeated with "
        f"other seeds. Cells have {least}{'' if max(cells) == least else f' to {max(cells)}'} runs with an outcome."
    ]
    scope = found.main
    if scope.effects is not None:
        notes.append(
            f"Effects: {scope.effects.method}; n = {count(scope.effects.n, 'run')}. An effect is the mean at the "
            "changed level minus the mean at the first level, averaged equally over the levels of the other factors. "
            f"The {scope.effects.level:.0%} intervals of one table hold all at once. Runs of one seed and environment "
            "are compared with each other (blocks)."
            if "blocked" in scope.effects.method
            else f"Effects: {scope.effects.method}; n = {count(scope.effects.n, 'run')}. The "
            f"{scope.effects.level:.0%} intervals of one table hold all at once."
        )
        if any(effect.confounded_with for effect in scope.effects.effects):
            notes.append(
                "Interactions that are left out of the model would be added to some effects if they existed, to "
                "those with a star in the figure. A table names the interactions."
            )
    if scope.attribution is not None:
        shared = scope.attribution
        notes.append(
            f"Attribution: {shared.method}; n = {count(shared.n, 'run')}. Each interval holds alone, not all at once. "
            "Leaving a factor out of all on, and adding it to all off, answer other questions, and disagree with the "
            "Shapley value where factors depend on each other."
        )
        if scope.dropped:
            notes.append(f"{count(scope.dropped, 'run')} of seeds that some cell lacks stay out of the attribution.")
    if least < 10:
        notes.append(
            f"With {count(least, 'run')} per cell, an interval that claims 95% holds the truth about as often when "
            "returns are bell-shaped, and less often (0.82 to 0.92 of the time in simulations) when a few runs stand "
            "far out. More seeds are the remedy."
        )
    if len(found.runs.environment_names) > 1:
        notes.append(
            "Over several environments, outcomes are averaged as they are, each environment counting the same; one "
            "with larger returns moves the average more. Read the figures per environment too"
            + (", and the effects on one scale." if found.one_scale is not None else ".")
        )
    if found.one_scale is not None:
        pooled = found.one_scale.effects
        notes.append(f"On one scale: {pooled.method}; n = {count(pooled.n, 'run')}.")
    if data.study.tuning is not None and data.study.tuning.protocol == "engstrom":
        notes.append("The runs that chose the settings are the runs that are reported, so all cells look too good.")
    return notes
