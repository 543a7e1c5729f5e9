"""Tables of a reproduction: ours beside the article's, the share of algorithm and details. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence

from minutiae.details import CATALOGUE, Config, preset
from minutiae.details.paper_rows import TASKS
from minutiae.errors import StatisticsError
from minutiae.reports.study.analysis import mean_interval
from minutiae.reports.study.tables import Table
from minutiae.reports.study.words import count, outcome_words
from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.protocol import TWO_BY_TWO, Protocol
from minutiae.reproduction.published import AAI, ACLI, ALGORITHMS, BASELINES, FINAL_RETURNS, PAPER
from minutiae.statistics import Decomposition, decompose

NINE = (
    "value_clipping",
    "reward_scaling",
    "initialization",
    "learning_rate_annealing",
    "reward_clipping",
    "observation_normalization",
    "observation_clipping",
    "activation",
    "gradient_clipping",
)
"""The code-level optimizations of section 3, in its order."""


def algorithms_table(protocol: Protocol, task: str, environment: str) -> Table:
    """Table 1: what each algorithm is made of in one task, from the presets that train."""
    configs = {name: preset(name, environment, protocol.flavour) for name in ALGORITHMS}
    rows = [("step", *(config.algorithm.upper() for config in configs.values()))]
    # TRPO clips no ratio at all: its config has a level that nothing reads.
    for name in ("ratio_clipping", *NINE):
        rows.append((name, *(_level(config, name) for config in configs.values())))
    title = f"The algorithms on {task}, as {protocol.flavour} has them"
    return Table(f"algorithms_{task.lower()}", title, ("detail", *ALGORITHMS.values()), tuple(rows))


def _level(config: Config, name: str) -> str:
    if name == "ratio_clipping" and config.algorithm == "trpo":
        return "–"
    return CATALOGUE[name].format(getattr(config, name))


def returns_table(evidence: Evidence, presets: Sequence[str], name: str) -> Table:
    """Mean outcome of every algorithm and task, beside the published one."""
    rows: list[tuple[object, ...]] = []
    methods: set[str] = set()
    for task in evidence.tasks:
        for algorithm in presets:
            sample = evidence.returns(task, algorithm)
            ours = None if len(sample) < 2 else mean_interval(sample)
            published = FINAL_RETURNS.get(task, {}).get(algorithm)
            methods |= set() if ours is None else {ours.method}
            rows.append((task, ALGORITHMS[algorithm], ours, published, len(sample)))
        if "ppo-noclip" in presets and task in BASELINES:
            rows.append((task, "PPO of Baselines, as quoted", None, BASELINES[task], None))
    note = f"95% intervals, each alone. Ours: {'; '.join(sorted(methods))}."
    if any(row[3] is not None for row in rows):
        note += f" {PAPER}: percentile bootstrap, at least 80 agents."
    title = f"Mean {outcome_words(evidence.outcome)} of every algorithm"
    table = Table(name, title, ("task", "algorithm", "ours", "published", "our agents"), tuple(rows), note)
    return table.without_empty_columns()


def agreement(evidence: Evidence, presets: Sequence[str]) -> tuple[int, int]:
    """How many published means lie within our 95 % intervals, and of how many."""
    inside = total = 0
    for task in evidence.tasks:
        for algorithm in presets:
            sample, published = evidence.returns(task, algorithm), FINAL_RETURNS.get(task, {}).get(algorithm)
            ours = mean_interval(sample) if len(sample) >= 2 else None
            if ours is not None and published is not None:
                total += 1
                inside += ours.low <= published.estimate <= ours.high
    return inside, total


def decomposed(evidence: Evidence, task: str) -> Decomposition | None:
    """The 2 x 2 of a task; `None` while a cell has fewer than two runs."""
    returns = [[evidence.returns(task, name) for name in row] for row in TWO_BY_TWO]
    try:
        return decompose(returns, paired=False)
    except StatisticsError:
        return None


def decomposition_table(evidence: Evidence, name: str) -> Table | None:
    """AAI and ACLI with intervals, the same without their upward bias, and the Shapley form."""
    rows: list[tuple[object, ...]] = []
    note = ""
    for task in evidence.tasks:
        found = decomposed(evidence, task)
        if found is None:
            continue
        rows += [
            (task, "AAI: algorithm", found.aai, AAI.get(task), found.aai.corrected),
            (task, "ACLI: details", found.acli, ACLI.get(task), found.acli.corrected),
            (task, "Shapley value of the algorithm", found.algorithm, _published(task, "algorithm"), None),
            (task, "Shapley value of the details", found.details, _published(task, "details"), None),
            (task, "interaction", found.interaction, _published(task, "interaction"), None),
            (task, "gain from TRPO to PPO", found.gain, _published(task, "gain"), None),
        ]
        note = (
            f"95% intervals. {found.method}; n = {count(found.n, 'run')}. AAI and ACLI are the larger of two absolute "
            "differences and so "
            "biased upwards; the last column takes the estimated bias away."
        )
        if task in TASKS:
            note += " Published: from the article's means."
    if not rows:
        return None
    columns = ("task", "quantity", "ours", "published", "ours without bias")
    title = f"Algorithm or details: what the {outcome_words(evidence.outcome)} owes to each"
    return Table(name, title, columns, tuple(rows), note).without_empty_columns()


def _published(task: str, quantity: str) -> int | None:
    """The same quantities from the article's means."""
    if task not in TASKS:
        return None
    mean = {name: entry.estimate for name, entry in FINAL_RETURNS[task].items()}
    (trpo, trpo_details), (ppo, ppo_details) = ((mean[name] for name in row) for row in TWO_BY_TWO)
    quantities = {
        "algorithm": ((ppo_details - trpo_details) + (ppo - trpo)) / 2,
        "details": ((ppo_details - ppo) + (trpo_details - trpo)) / 2,
        "interaction": (ppo_details - ppo) - (trpo_details - trpo),
        "gain": ppo_details - trpo,
    }
    return round(quantities[quantity])
