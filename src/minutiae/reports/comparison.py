"""Two groups of runs side by side: is one better, by how much, how sure? Reads runs; trains nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from minutiae import statistics
from minutiae.errors import ConfigError, StatisticsError
from minutiae.reports.sides import Paths, Pick, SideRun, default_outcome, listed_paths, read_side, refuse_shared_runs
from minutiae.reports.study import page
from minutiae.reports.study.analysis import mean_interval
from minutiae.reports.study.counted import Factor, Runs
from minutiae.reports.study.curves import cell_curves
from minutiae.reports.study.run_figures import curves_picture, survival_picture
from minutiae.reports.study.tables import Table
from minutiae.reports.study.words import clear, count, explained, interval, listed, outcome_words, p_value
from minutiae.runs.atomic import write_atomic

if TYPE_CHECKING:
    from minutiae.reports.study.canvas import Picture
    from minutiae.statistics import Interval


@dataclass(frozen=True)
class Comparison:
    """What two groups of runs, A and B, say about each other. Differences are A minus B.

    Attributes:
        outcome: its name.
        runs: of both groups; the one factor, without a name, has the levels `B` and `A`.
        paired: whether both have the same seeds in every environment, so that seeds are compared with themselves.
        welch, permutation: two tests of the difference of means, with intervals; over environments equally.
        sizes: Hedges' g in each environment; environments without any spread are missing.
        improvement: how often a run of A beats one of B; paired, the one of B with its seed.
        curves: one row per run and iteration.
        paths: of A and B, as given.
        rule: what the outcome is, in a clause.
        notes: what was left out, and what is pooled.
    """

    outcome: str
    runs: Runs
    paired: bool
    welch: statistics.Comparison
    permutation: statistics.Comparison
    sizes: dict[str, Interval]
    improvement: Interval
    curves: pl.DataFrame
    paths: tuple[str, str]
    rule: str
    notes: tuple[str, ...] = ()

    def arm(self, group: str, environment: str) -> np.ndarray:
        """Outcomes of `A` or `B` in one environment, in the order of seeds."""
        code = self.runs.factors[0].levels.index(group)
        mask = (self.runs.codes[:, 0] == code) & (self.runs.environments == environment)
        return self.runs.values[mask][np.argsort(self.runs.seeds[mask], kind="stable")]

    def sentence(self) -> str:
        """The answer."""
        verdict = "A is higher than B" if self.welch.estimate > 0 else "A is lower than B"
        words = outcome_words(self.outcome)
        if not clear(self.welch):
            return f"No difference in {words} is shown: A minus B is {interval(self.welch, sign=True)}."
        return f"{verdict} in {words}: A minus B is {interval(self.welch, sign=True)}."

    def rows(self) -> list[tuple[str, Interval, float | None]]:
        """What is reported: name, interval, and the p-value of a test."""
        rows: list[tuple[str, Interval, float | None]] = []
        several = len(self.runs.environment_names) > 1
        for environment in self.runs.environment_names:
            where = f", {environment}" if several else ""
            for group in ("A", "B"):
                found = mean_interval(self.arm(group, environment))
                assert found is not None
                rows.append((f"mean of {group}{where}", found, None))
            if several:
                one = statistics.welch_test(self.arm("A", environment), self.arm("B", environment), paired=self.paired)
                rows.append((f"A − B{where}", one, one.p_value))
        for test in (self.welch, self.permutation):
            rows.append(("A − B", test, test.p_value))
        for environment, size in self.sizes.items():
            rows.append((f"in deviations{f', {environment}' if several else ''}", size, None))
        same = " with the same seed" if self.paired else ""
        rows.append((f"chance that A beats B{same}", self.improvement, None))
        return rows

    def text(self) -> str:
        """For the terminal."""
        rows = [(name, interval(found, sign="−" in name), _how(found, p)) for name, found, p in self.rows()]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [self.sentence(), self._who(), ""]
        lines += [f"  {name:<{widths[0]}}  {value:<{widths[1]}}  {how}" for name, value, how in rows]
        lines += ["", *self.notes] if self.notes else []
        return "\n".join(lines) + "\n"

    def write_page(self, path: str | os.PathLike[str]) -> Path:
        """The same as a self-contained HTML page with learning curves and survival plots; figures lie beside it.

        Raises:
            RunError: it cannot be written.
        """
        from minutiae.reports.study.write import write_parts

        target = Path(path)
        table = Table(
            "comparison",
            "A and B",
            ("quantity", "value", "p two-sided", "method", "runs"),
            tuple((name, found, p, found.method, found.n) for name, found, p in self.rows()),
            "95% intervals, each alone. A chance of 0.5 is no difference. Deviations: the difference in units of the "
            "spread between runs.",
        )
        sections = [
            page.Section("The numbers", [table]),
            page.Section("Learning curves", list(self._learning_curves())),
            page.Section("How reliably runs succeed", list(self._survival())),
            page.Section("To be known", [self.notes] if self.notes else []),
        ]
        title = f"{outcome_words(self.outcome).capitalize()}: A or B?"
        text = page.page("Comparison of two groups of runs", title, self._who(), [self.sentence()], sections)
        write_parts(target.parent, sections)
        write_atomic(target, text.encode())
        return target

    def _who(self) -> str:
        sizes = {group: sum(len(self.arm(group, name)) for name in self.runs.environment_names) for group in "AB"}
        seeds = zip(self.runs.codes[:, 0].tolist(), self.runs.environments, self.runs.seeds.tolist(), strict=True)
        repeated = len(set(seeds)) < len(self.runs.seeds)
        why = "several runs of a group share a seed" if repeated else "their seeds differ"
        pairing = "paired by seed" if self.paired else f"not paired: {why}"
        return (
            f"A: {count(sizes['A'], 'run')} of {self.paths[0]}. B: {count(sizes['B'], 'run')} of {self.paths[1]}. "
            f"{listed(self.runs.environment_names)}, {pairing}. "
            f"Judged by {outcome_words(self.outcome)}: {self.rule}."
        )

    def _learning_curves(self) -> list[Picture]:
        pictures = []
        for found in cell_curves(self.curves, self.runs, "return_mean"):
            name = f"learning_curves_{page.anchor(found.environment)}"
            picture = curves_picture(found, self.runs.factors, {}, name, "mean return")
            caption = f"Mean return over training in {found.environment}, the mean over the runs of each group."
            pictures.append(replace(picture, caption=caption))
        return pictures

    def _survival(self) -> list[Picture]:
        pictures = []
        for name in self.runs.environment_names:
            picture = survival_picture(self.runs, name, f"survival_{page.anchor(name)}")
            words = outcome_words(self.outcome)
            if picture is not None:
                caption = f"The share of each group's runs in {name} whose {words} is above the value on the axis."
                pictures.append(replace(picture, caption=caption))
        return pictures


def compare(
    a_paths: Paths, b_paths: Paths, outcome: str | None = None, *, a_cell: Pick = None, b_cell: Pick = None
) -> Comparison:
    """Compare two groups of runs.

    Args:
        a_paths: runs, groups of runs, studies, or folders of runs. Of a study the runs that are reported count, and not
            those that tuned it.
        b_paths: the other group, without a run of the first.
        outcome: a name in `studies.study.OUTCOMES`, a column of `metrics.parquet`, or an outcome of a study over a
            command; `None` is the first outcome of the study, or `final_return`.
        a_cell: levels of a study's factors, as `"value_clipping=max"` or `{"value_clipping": "max"}`: only cells with
            these levels are in A.
        b_cell: the same for B.

    Raises:
        RunError: a path holds no run, or a group has no run with the outcome.
        ConfigError: no environment or a run is in both groups, or no outcome, factor or level has this name.
        StatisticsError: a group has fewer than two runs in an environment.
    """
    outcome = default_outcome(a_paths, b_paths) if outcome is None else outcome
    sides = {"A": read_side(a_paths, outcome, "A", a_cell), "B": read_side(b_paths, outcome, "B", b_cell)}
    refuse_shared_runs(sides["A"], sides["B"])
    notes = [note for side in sides.values() for note in side.notes]
    environments = {name: {run.environment for run in side.runs} for name, side in sides.items()}
    shared = environments["A"] & environments["B"]
    if not shared:
        texts = {group: listed(sorted(names)) for group, names in environments.items()}
        raise ConfigError(
            f"A has runs of {texts['A']} and B of {texts['B']}; both need runs of one environment to be compared; "
            f"choose other runs"
        )
    alone = sorted((environments["A"] | environments["B"]) - shared)
    if alone:
        notes.append(f"runs of {listed(alone)} are left out: only one group has them")
    kept = [(run, code) for code, name in enumerate("BA") for run in sides[name].runs if run.environment in shared]
    runs = Runs(
        outcome,
        (Factor("", ("B", "A")),),
        np.array([[code] for _, code in kept]),
        np.array([run.value for run, _ in kept], dtype=float),
        np.array([run.environment for run, _ in kept]),
        np.array([run.seed for run, _ in kept]),
        np.array([run.id for run, _ in kept]),
    )
    curves = pl.concat([frame for side in sides.values() for frame in side.curves], how="diagonal_relaxed")
    rule = _rule(outcome, [run for run, _ in kept])
    return _compared(runs, curves, (_shown(a_paths, a_cell), _shown(b_paths, b_cell)), rule, tuple(notes))


def _rule(outcome: str, runs: Sequence[SideRun]) -> str:
    """What the outcome is, in a clause."""
    iterations = [run.iterations for run in runs if run.iterations is not None]
    if len(iterations) < len(runs):
        return "as the command left it"
    return explained(outcome, min(iterations))


def _compared(
    runs: Runs, curves: pl.DataFrame, paths: tuple[str, str], rule: str, notes: tuple[str, ...]
) -> Comparison:
    arms: dict[str, list[np.ndarray]] = {"A": [], "B": []}
    seeds: dict[str, list[list[int]]] = {"A": [], "B": []}
    for environment in runs.environment_names:
        for code, group in enumerate("BA"):
            part = runs.where((runs.codes[:, 0] == code) & (runs.environments == environment))
            order = np.argsort(part.seeds, kind="stable")
            if len(order) < 2:
                raise StatisticsError(
                    f"{group} has {count(len(order), 'run')} of {environment} with a {runs.outcome}; at least 2 are "
                    f"needed to see how much runs differ; train more seeds"
                )
            arms[group].append(part.values[order])
            seeds[group].append(part.seeds[order].tolist())
    paired = seeds["A"] == seeds["B"] and all(len(set(own)) == len(own) for own in seeds["A"])
    sizes = {}
    for environment, first, second in zip(runs.environment_names, arms["A"], arms["B"], strict=True):
        try:
            sizes[environment] = statistics.hedges_g(first, second, paired=paired)
        except StatisticsError:
            # No spread, or two pairs only: a size in deviations does not exist, the rest does.
            continue
    permutation = statistics.permutation_test(arms["A"], arms["B"], paired=paired)
    if not np.isfinite([permutation.low, permutation.high]).all():
        notes = (*notes, _unbounded(permutation, paired))
    return Comparison(
        runs.outcome,
        runs,
        paired,
        statistics.welch_test(arms["A"], arms["B"], paired=paired),
        permutation,
        sizes,
        statistics.probability_of_improvement(arms["A"], arms["B"], paired=paired),
        curves,
        paths,
        rule,
        notes,
    )


def _unbounded(found: statistics.Comparison, paired: bool) -> str:
    """Why a permutation test has an interval without ends."""
    return (
        f"the permutation test has too few {'pairs' if paired else 'runs'} to bound the difference: however they are "
        f"rearranged, none of its arrangements is rare enough for {1 - found.level:.0%}; train more seeds"
    )


def _how(found: Interval, p: float | None) -> str:
    words = f"{found.method}, n = {count(found.n, 'run')}"
    if p is None:
        return words
    text = p_value(p)
    return f"{words}, p {text if text.startswith('<') else f'= {text}'}"


def _shown(paths: Paths, cell: Pick) -> str:
    given = listed_paths(paths)
    levels = ", ".join(f"{name}={level}" for name, level in cell.items()) if isinstance(cell, Mapping) else cell
    return (
        listed([str(path) for path in given[:3]])
        + (f" and {len(given) - 3} more" if len(given) > 3 else "")
        + (f" ({levels})" if levels else "")
    )


__all__ = ["Comparison", "compare"]
