"""Two groups of runs side by side: is one better, by how much, how sure? Reads runs; trains nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from minutiae import statistics
from minutiae.control.run import run_paths
from minutiae.details import Config, from_toml, levels_of
from minutiae.errors import ConfigError, RunError, StatisticsError
from minutiae.reports.study import page
from minutiae.reports.study.analysis import mean_interval
from minutiae.reports.study.counted import Factor, Runs
from minutiae.reports.study.curves import cell_curves
from minutiae.reports.study.run_figures import curves_picture, survival_picture
from minutiae.reports.study.tables import Table
from minutiae.reports.study.words import clear, count, explained, interval, listed, outcome_words, p_value
from minutiae.runs.atomic import write_atomic
from minutiae.runs.directory import RunDirectory
from minutiae.studies.outcomes import outcome as outcome_of

if TYPE_CHECKING:
    from minutiae.reports.study.canvas import Picture
    from minutiae.statistics import Interval

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Comparison:
    """What two groups of runs, A and B, say about each other. Differences are A minus B.

    Attributes:
        outcome: its name.
        runs: of both groups; the one factor, without a name, has the levels `B` and `A`.
        paired: whether both have the same seeds in every environment, so that seeds are compared with themselves.
        welch, permutation: two tests of the difference of means, with intervals; over environments equally.
        sizes: Hedges' g in each environment; environments without any spread are missing.
        improvement: how often a run of A beats one of B, unpaired.
        curves: one row per run and iteration.
        paths: of A and B, as given.
        notes: what was left out.
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
        rows.append(("chance that A beats B", self.improvement, None))
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
        pairing = "paired by seed" if self.paired else "not paired: their seeds differ"
        return (
            f"A: {count(sizes['A'], 'run')} of {self.paths[0]}. B: {count(sizes['B'], 'run')} of {self.paths[1]}. "
            f"{listed(self.runs.environment_names)}, {pairing}. "
            f"Judged by {outcome_words(self.outcome)}: {explained(self.outcome)}."
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


def compare(a_paths: Paths, b_paths: Paths, outcome: str = "final_return") -> Comparison:
    """Compare two groups of runs.

    Args:
        a_paths: runs, groups of runs, or folders of these.
        b_paths: the other group.
        outcome: a name in `studies.study.OUTCOMES`, or a column of `metrics.parquet`.

    Raises:
        RunError: a path holds no run, or a group has no run with the outcome.
        ConfigError: no environment is in both groups, or no outcome has this name.
        StatisticsError: a group has fewer than two runs in an environment.
    """
    notes: list[str] = []
    found = {group: _read(paths, outcome, group, notes) for group, paths in (("A", a_paths), ("B", b_paths))}
    environments = {group: {row[0] for row in rows} for group, (rows, _) in found.items()}
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
    rows = [(*row, code) for code, group in enumerate("BA") for row in found[group][0] if row[0] in shared]
    names, seeds, values, ids, codes = (np.array(column) for column in zip(*rows, strict=True))
    factor = Factor("", ("B", "A"))
    runs = Runs(outcome, (factor,), codes[:, None], values.astype(float), names, seeds, ids)
    curves = pl.concat([frame for _, frames in found.values() for frame in frames], how="diagonal_relaxed")
    return _compared(runs, curves, (_shown(a_paths), _shown(b_paths)), tuple(notes))


def _compared(runs: Runs, curves: pl.DataFrame, paths: tuple[str, str], notes: tuple[str, ...]) -> Comparison:
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
    return Comparison(
        runs.outcome,
        runs,
        paired,
        statistics.welch_test(arms["A"], arms["B"], paired=paired),
        statistics.permutation_test(arms["A"], arms["B"], paired=paired),
        sizes,
        statistics.probability_of_improvement(arms["A"], arms["B"]),
        curves,
        paths,
        notes,
    )


Row: TypeAlias = tuple[str, int, float, str]
"""Environment, seed, outcome, and an id."""


def _read(paths: Paths, outcome: str, group: str, notes: list[str]) -> tuple[list[Row], list[pl.DataFrame]]:
    """Outcomes and curves of the runs of one group; those that are not over have none."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    rows: list[Row] = []
    frames, configs = [], dict[str, Config]()
    for folder in dict.fromkeys(folder for path in given for folder in run_paths(Path(path))):
        run = RunDirectory.open(folder)
        frame = run.metrics().frame()
        value = None
        if run.status != "unfinished":
            value = outcome_of(run, outcome, frame.to_dict(as_series=False))
        if value is None or not np.isfinite(value):
            why = "is not finished" if run.status == "unfinished" else f"has no {outcome}"
            notes.append(f"{folder} is left out of {group}: it {why}")
            continue
        if run.status == "diverged":
            notes.append(f"{folder} in {group} diverged and counts with its last valid return")
        identity = f"{group} {folder}"
        config = from_toml(run.config_text)
        configs[repr(config)] = config
        rows.append((config.environment, run.seed, value, identity))
        kept = [name for name in ("iteration", "steps", "return_mean") if name in frame.columns]
        frames.append(frame.select(pl.lit(identity).alias("run_id"), *kept))
    differing = _differing(configs)
    if differing:
        notes.append(
            f"{group} pools {len(configs)} configs, which differ in {listed(differing[:4])}"
            + (f" and {len(differing) - 4} more" if len(differing) > 4 else "")
            + "; name folders of one config each to compare like with like"
        )
    if not rows:
        raise RunError(f"no run of {group} has a {outcome}; finish some, or choose other runs")
    return rows, frames


def _how(found: Interval, p: float | None) -> str:
    words = f"{found.method}, n = {count(found.n, 'run')}"
    if p is None:
        return words
    text = p_value(p)
    return f"{words}, p {text if text.startswith('<') else f'= {text}'}"


def _shown(paths: Paths) -> str:
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return listed([str(path) for path in given[:3]]) + (f" and {len(given) - 3} more" if len(given) > 3 else "")


__all__ = ["Comparison", "compare"]


def _differing(configs: Mapping[str, Config]) -> list[str]:
    """The details, beside the environment, in which the configs of one group differ."""
    levels = [levels_of(config) | dict(config.custom) for config in configs.values()]
    names = dict.fromkeys(name for one in levels for name in one)
    return [name for name in names if name != "environment" and len({repr(one.get(name)) for one in levels}) > 1]
