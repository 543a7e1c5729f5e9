"""What each item's page holds: its claims with verdicts, its numbers, its figures. Trains and judges nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from minutiae.reports.study.analysis import analyze
from minutiae.reports.study.canvas import Picture
from minutiae.reports.study.counted import COUNTED, report_rows
from minutiae.reports.study.page import Section, definitions, paragraph, preformatted
from minutiae.reports.study.sentences import answer, design_paragraph
from minutiae.reports.study.tables import Table
from minutiae.reports.study.words import count, explained, listed
from minutiae.reports.study.write import report_sections
from minutiae.reproduction.claims import Verdict
from minutiae.reproduction.differences import DIFFERENCES
from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.numbers import agreement, decomposition_table, returns_table
from minutiae.reproduction.pictures import beside_picture, training_pictures
from minutiae.reproduction.protocol import DECOMPOSED
from minutiae.reproduction.published import AGENTS, ALGORITHMS
from minutiae.reproduction.verdicts import CONTRADICTED, STATUSES, SUPPORTED, UNTOLD

if TYPE_CHECKING:
    from minutiae.reproduction.protocol import Item, Protocol

Part: TypeAlias = str | Picture | Table | Sequence[str]


def verdict_sentences(verdicts: Sequence[Verdict]) -> list[str]:
    """The answer first: which claims stand, fall, or cannot be told."""
    if not verdicts:
        return ["The article claims nothing here; what was measured speaks for itself below."]
    counts = Counter(verdict.finding.status for verdict in verdicts)
    told = [f"{counts[status]} {status}" for status in STATUSES if counts[status]]
    sentences = [f"Of {count(len(verdicts), 'claim')}, one per task: {listed(told)}."]
    for status, begin in ((SUPPORTED, "Supported"), (CONTRADICTED, "Contradicted"), (UNTOLD, "Cannot be told yet")):
        named: dict[str, list[str]] = {}
        for verdict in verdicts:
            if verdict.finding.status == status:
                named.setdefault(verdict.claim.name, []).append(verdict.task)
        if named:
            parts = [f"{name} ({', '.join(tasks)})" for name, tasks in named.items()]
            sentences.append(f"{begin}: {'; '.join(parts)}.")
    return sentences


def agreement_sentence(item: Item, evidences: Sequence[Evidence]) -> list[str]:
    """By which of the candidate definitions of final return our means are the article's."""
    if item.shows != "returns":
        return []
    parts = []
    for evidence in evidences:
        inside, total = agreement(evidence, item.presets)
        if total:
            parts.append(f"{inside} of {total} by {explained(evidence.outcome)}")
    return [f"Published means within our 95% intervals: {listed(parts)}."] if parts else []


def verdicts_table(verdicts: Sequence[Verdict], name: str = "verdicts") -> Table | None:
    """Every claim and task with its verdict and the numbers behind it."""
    rows = tuple(
        (
            verdict.claim.text,
            verdict.task,
            verdict.finding.status,
            verdict.finding.words or None,
            verdict.finding.needed,
            verdict.claim.where,
        )
        for verdict in verdicts
    )
    columns = ("claim", "task", "verdict", "what was measured", "agents needed", "where")
    note = "95% intervals, each alone: of twenty verdicts one may be chance."
    if any(verdict.finding.needed for verdict in verdicts):
        note += (
            " Agents needed: per cell, at which a difference as large as the one seen would be found with probability "
            "0.8."
        )
    found = Table(name, "The article's claims and what our runs say", columns, rows, note, spare=("where",))
    return found.without_empty_columns() if rows else None


def introduction(item: Item, protocol: Protocol, evidence: Evidence) -> str:
    """What was trained, in a paragraph."""
    data = evidence.data
    settings = {
        None: "Settings: the plain presets.",
        "paper-artifact": "Settings: paper-artifact, those of the released code.",
        "paper-text": "Settings: paper-text, those of the article's text.",
    }[data.study.flavour]
    short = "" if protocol.steps is None else f" A trial of {protocol.steps:,} steps, not the article's million."
    if item.shows == "report":
        return f"{settings}{short} {design_paragraph(data, report_rows(data))}"
    ended = int(data.frame["status"].is_in(COUNTED).sum())
    silent = (
        f" In {ended - len(evidence.rows):,} no episode ended, so they have no return."
        if ended > len(evidence.rows)
        else ""
    )
    (factor,) = data.study.factors
    algorithms = listed([ALGORITHMS[str(level)] for level in factor.levels])
    judged = {
        "training": "Judged are {}, by their ratios and divergences over training.",
        "returns": "Judged are {}, by the mean return over the last five iterations, and again by the best one.",
    }[item.shows].format(listed([ALGORITHMS[preset] for preset in item.presets]))
    return (
        f"{settings}{short} {algorithms} on {listed(list(data.study.environments))}, {protocol.agents} agents of each; "
        f"{ended:,} of {count(len(data.frame), 'run')} have ended.{silent} {judged}"
    )


def sections(
    item: Item,
    protocol: Protocol,
    evidences: Sequence[Evidence],
    verdicts: Sequence[Verdict],
    seconds: Mapping[str, float],
) -> list[Section]:
    """All sections of an item's page.

    Args:
        evidences: by the first outcome, and by others.
        verdicts: by the first.
        seconds: that each ended run took one core.
    """
    first = evidences[0]
    claims: list[Part] = _kept(verdicts_table(verdicts))
    rules = [f"{claim.text} Rule: {claim.rule}." for claim in dict.fromkeys(verdict.claim for verdict in verdicts)]
    found = [Section("The claims", claims)]
    if item.shows == "report":
        found += _report(first)
    elif item.shows == "training":
        found += _training(item, first, protocol.tasks)
    else:
        found += _returns(item, evidences)
    found.append(Section("How claims are judged", [rules] if rules else []))
    if item.own_tasks:
        found.append(Section("Where this differs from the article", [[str(one) for one in DIFFERENCES]]))
    found.append(Section("How long it took", [paragraph(duration_sentence(first, seconds))]))
    found.append(Section("How to repeat it", [preformatted(command(item, protocol)), _about(first)]))
    return found


def duration_sentence(evidence: Evidence, seconds: Mapping[str, float]) -> str:
    """Core-hours and speed of the runs that have ended, and what the article's number of agents would take."""
    frame = evidence.data.frame.filter(pl.col("run_id").is_in([*seconds]))
    steps, total = int(frame["steps"].sum()), sum(seconds.values())
    if total <= 0:
        return "The time of these runs was not written down."
    cells = len(evidence.data.study.layout.cells) * len(evidence.data.study.environments)
    whole = AGENTS * cells * steps / max(1, len(frame)) / (2 * steps / total) / 3600
    return (
        f"{count(len(frame), 'run')} of {steps:,} environment steps in all took {total / 3600:.1f} hours of one core: "
        f"{steps / total:,.0f} steps per second and core, on a machine as busy as it was. {AGENTS} agents of "
        f"each of the {count(cells, 'cell')}, as in the article, would take two such cores {whole:,.0f} "
        "hours."
    )


def command(item: Item, protocol: Protocol) -> str:
    """The command line that trains and judges the same."""
    words = [
        "minutiae",
        "reproduce",
        item.name,
        "--tasks",
        ",".join(protocol.tasks).lower() if item.own_tasks else ",".join(protocol.tasks),
    ]
    if item.store is not None:
        words += ["--agents", str(protocol.agents)]
    if item.own_tasks:
        words += ["--flavour", protocol.flavour]
    words += ["--version", protocol.version]
    if item.sweeps:
        words += ["--learning-rates", ",".join(map(repr, protocol.learning_rates))]
    if protocol.steps is not None:
        words += ["--steps", str(protocol.steps)]
    return " ".join(words)


def _returns(item: Item, evidences: Sequence[Evidence]) -> list[Section]:
    both: list[Part] = []
    parts: list[Part] = []
    for number, evidence in enumerate(evidences):
        own = f"_{evidence.outcome}" if number else ""
        name = f"returns{own}"
        both += _kept(beside_picture(evidence, item.presets, name), returns_table(evidence, item.presets, name))
        if set(DECOMPOSED) <= set(item.presets):
            parts += _kept(decomposition_table(evidence, f"decomposition{own}"))
    first = evidences[0]
    curves = list(training_pictures(first, list(first.tasks), ("return_mean",), item.presets))
    return [Section("Returns", both), Section("Algorithm or details", parts), Section("Learning curves", [*curves])]


def _training(item: Item, evidence: Evidence, tasks: Sequence[str]) -> list[Section]:
    """One section for each task."""
    return [
        Section(f"Trust region in {task}", [*training_pictures(evidence, [task], item.metrics, item.presets)])
        for task in tasks
    ]


def _report(evidence: Evidence) -> list[Section]:
    """The study's own report, whose answer stands in a section of its own."""
    data = evidence.data
    analyses = analyze(data)
    said: list[Part] = [paragraph(sentence) for sentence in answer(analyses[0])]
    rest = [section for section in report_sections(data, analyses) if section.title != "How to repeat it"]
    return [Section("What the runs say", said), *rest]


def _about(evidence: Evidence) -> str:
    about = {name.replace("_", " "): text for name, text in evidence.data.about.items() if name != "command"}
    return definitions(about)


def _kept(*parts: Part | None) -> list[Part]:
    return [part for part in parts if part is not None]
