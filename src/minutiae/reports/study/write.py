"""Puts a report together and writes it: the page, every figure as SVG and PNG, every table as CSV and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from minutiae.reports.study import contents, effect_figures, run_figures, sentences, sweep_figures
from minutiae.reports.study.analysis import POOLED, OutcomeAnalysis, Scope, analyze
from minutiae.reports.study.canvas import Picture
from minutiae.reports.study.counted import report_rows
from minutiae.reports.study.curves import cell_curves
from minutiae.reports.study.page import Section, anchor, definitions, heading, page, paragraph, preformatted
from minutiae.reports.study.sweeps import sweeps
from minutiae.reports.study.tables import Table
from minutiae.reports.study.words import outcome_words
from minutiae.runs.atomic import write_atomic
from minutiae.studies.results import StudyResults, open_study

if TYPE_CHECKING:
    from minutiae.studies.results import StudyData

TRUST_REGION = {
    "kl_exact_batch": "mean KL divergence of the update",
    "ratio_max_batch": "largest probability ratio of the update",
}


def write_report(study: StudyData | StudyResults | str | Path, output: str | Path | None = None) -> Path:
    """Write the report of a study.

    Args:
        study: its folder, what `open_study` or `run_study` gave, or the data themselves.
        output: a folder; `report` in the study's folder by default. Files of an earlier report are replaced.

    Returns:
        The path of `index.html`, which opens from disk without network.

    Raises:
        RunError: no run has the first outcome yet, or the folder cannot be written.
    """
    results = open_study(study) if isinstance(study, str | Path) else study
    data = results.data() if isinstance(results, StudyResults) else results
    folder = Path(output) if output is not None else data.folder / "report"
    analyses = analyze(data)
    sections = report_sections(data, analyses)
    rows = report_rows(data)
    text = page(
        f"Study report: {data.folder.name}",
        sentences.question(data),
        sentences.design_paragraph(data, rows),
        [*sentences.answer(analyses[0]), *sentences.unanswered(data, rows)],
        sections,
    )
    write_parts(folder, sections)
    target = folder / "index.html"
    write_atomic(target, text.encode())
    return target


def write_parts(folder: Path, sections: Sequence[Section]) -> None:
    """Every figure and table of the sections as files of their own."""
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, Picture):
            vector, pixels = part.files()
            write_atomic(folder / "figures" / f"{part.name}.svg", vector)
            write_atomic(folder / "figures" / f"{part.name}.png", pixels)
        elif isinstance(part, Table):
            write_atomic(folder / "tables" / f"{part.name}.csv", part.csv().encode())
            write_atomic(folder / "tables" / f"{part.name}.md", part.markdown().encode())


def report_sections(data: StudyData, analyses: tuple[OutcomeAnalysis, ...]) -> list[Section]:
    """All sections in their order; those without data have no parts."""
    found = analyses[0]
    return [
        Section("What made the difference", list(_attribution(found))),
        Section("Effects of each factor", list(_effects(found))),
        Section("Factors that depend on each other", list(_interactions(found))),
        Section("Learning curves", list(_curves(data, found))),
        Section("How reliably runs succeed", list(_survival(found))),
        Section("Settings of the tuning grid", list(_tuning(data))),
        Section("How far updates go", list(_trust_region(data, found))),
        Section("Every cell", [contents.cells_table(data, found, "cells")]),
        Section("Other outcomes", list(_others(analyses[1:]))),
        Section("Diverged and failed runs", _kept([contents.troubles_table(data, "diverged_and_failed")])),
        Section("How this was computed", _methods(data, analyses)),
        Section("How to repeat it", _repeat(data)),
    ]


def _kept(parts: Sequence[str | Picture | Table | None]) -> list[str | Picture | Table | Sequence[str]]:
    return [part for part in parts if part is not None]


def _attribution(found: OutcomeAnalysis) -> Iterator[str | Picture | Table]:
    outcome = found.runs.outcome
    for scope in found.scopes:
        picture = effect_figures.attribution_picture(scope, outcome, _name("attribution", scope.name, found))
        if picture is not None:
            yield picture if scope is found.main else replace(picture, caption=f"The same in {scope.name}.")
    yield from _tables(contents.attribution_table(found, "attribution"))


def _effects(found: OutcomeAnalysis) -> Iterator[str | Picture | Table]:
    yield from _pictures(effect_figures.forest_picture(found.main, found.runs.outcome, "effects"))
    yield from _pictures(effect_figures.environments_picture(found, "effects_per_environment"))
    yield from _tables(contents.effects_table(found, "effects"), contents.aliases_table(found, "aliases"))
    yield from _on_one_scale(found)


def _on_one_scale(found: OutcomeAnalysis) -> Iterator[str | Picture | Table]:
    shared = found.one_scale
    if shared is None:
        return
    yield heading("All environments on one scale")
    yield paragraph(sentences.units_paragraph(shared))
    what = f"{outcome_words(found.runs.outcome)} in {sentences.units_noun(shared)}"
    yield from _pictures(
        effect_figures.forest_picture(Scope(POOLED, shared.effects, None), what, "effects_on_one_scale")
    )
    yield from _tables(contents.one_scale_table(found, "effects_on_one_scale"))


def _interactions(found: OutcomeAnalysis) -> Iterator[str | Picture | Table]:
    yield from _pictures(effect_figures.interactions_picture(found.main, found.runs.outcome, "interactions"))


def _curves(data: StudyData, found: OutcomeAnalysis) -> Iterator[str | Picture | Table]:
    for place, curves in enumerate(cell_curves(data.curves, found.runs, "return_mean")):
        values = {cell.codes: cell.value for cell in found.cells if cell.environment == curves.environment}
        name = _name("learning_curves", curves.environment, found)
        picture = run_figures.curves_picture(curves, found.runs.factors, values, name, "mean return")
        yield _again(picture, curves.environment, place)


def _survival(found: OutcomeAnalysis) -> Iterator[str | Picture | Table]:
    for place, environment in enumerate(found.runs.environment_names):
        picture = run_figures.survival_picture(found.runs, environment, _name("survival", environment, found))
        if picture is not None:
            yield _again(picture, environment, place)


def _tuning(data: StudyData) -> Iterator[str | Picture | Table]:
    every = sweeps(data)
    for sweep in every:
        name = sweep.environment if len(every) > 1 else ""
        yield sweep_figures.surface_picture(sweep, _file("tuning_surface", name))
        yield from _pictures(sweep_figures.setting_effects_picture(sweep, _file("effects_per_setting", name)))
    yield from _tables(contents.sweep_table(every, "tuning"))


def _trust_region(data: StudyData, found: OutcomeAnalysis) -> Iterator[str | Picture | Table]:
    for metric, words in TRUST_REGION.items():
        for place, curves in enumerate(cell_curves(data.curves, found.runs, metric)):
            values = {cell.codes: cell.value for cell in found.cells if cell.environment == curves.environment}
            name = _name(metric, curves.environment, found)
            picture = run_figures.curves_picture(
                curves, found.runs.factors, values, name, words, logarithmic=True, singly=False
            )
            yield _again(picture, curves.environment, place)


def _others(analyses: Sequence[OutcomeAnalysis]) -> Iterator[str | Picture | Table]:
    for found in analyses:
        outcome = found.runs.outcome
        yield heading(outcome_words(outcome))
        for sentence in sentences.answer(found):
            yield paragraph(sentence)
        yield from _pictures(effect_figures.forest_picture(found.main, outcome, f"effects_{outcome}"))
        yield from _tables(
            contents.effects_table(found, f"effects_{outcome}"),
            contents.attribution_table(found, f"attribution_{outcome}"),
        )


def _methods(
    data: StudyData, analyses: tuple[OutcomeAnalysis, ...]
) -> list[str | Picture | Table | Sequence[str]]:  # fmt: skip
    parts: list[str | Picture | Table | Sequence[str]] = [sentences.method_notes(data, analyses)]
    described = data.study.layout.describe().splitlines()
    if described:
        parts += [heading("The design"), described]
    problems = [problem for found in analyses for problem in found.problems]
    if problems:
        parts += [heading("What could not be computed"), problems]
    return parts


def _repeat(data: StudyData) -> list[str | Picture | Table | Sequence[str]]:
    seeds = sorted(data.frame["seed"].unique().to_list())
    entries = {
        **{name.replace("_", " "): text for name, text in data.about.items() if name != "command"},
        "seeds": f"{seeds[0]} to {seeds[-1]}" if seeds == list(range(seeds[0], seeds[-1] + 1)) else str(seeds)[1:-1],
        "folder": str(data.folder),
    }
    command = data.about.get("command")
    return _kept([preformatted(command) if command else None, definitions(entries)])


def _pictures(*pictures: Picture | None) -> Iterator[Picture]:
    return (picture for picture in pictures if picture is not None)


def _tables(*tables: Table | None) -> Iterator[Table]:
    return (table for table in tables if table is not None)


def _again(picture: Picture, environment: str, place: int) -> Picture:
    """Explained once: figures of further environments say only where."""
    return replace(picture, caption=f"The same in {environment}.") if place else picture


def _name(stem: str, scope: str, found: OutcomeAnalysis) -> str:
    """A file's name; the environment is part of it where there are several."""
    return _file(stem, scope if len(found.scopes) > 1 and scope != found.main.name else "")


def _file(stem: str, scope: str) -> str:
    return f"{stem}_{anchor(scope)}" if scope else stem
