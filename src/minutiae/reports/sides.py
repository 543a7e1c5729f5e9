"""The runs of one side of a comparison, out of run folders and studies. No statistic is computed, nothing is drawn."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from minutiae.control.metrics import METRICS
from minutiae.control.run import run_paths
from minutiae.details import from_toml, levels_of
from minutiae.errors import ConfigError, RunError, unknown
from minutiae.reports.study.counted import COUNTED, report_rows
from minutiae.reports.study.words import count, listed
from minutiae.runs.directory import RunDirectory
from minutiae.studies.outcomes import outcome as outcome_of
from minutiae.studies.outcomes import store_outcomes
from minutiae.studies.results import StudyResults
from minutiae.studies.store import Store
from minutiae.studies.study import OUTCOMES, Study
from minutiae.studies.study_file import FILE, load_study

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

Pick: TypeAlias = str | Mapping[str, Any] | None
"""Levels of some factors of a study: `value_clipping=max, reward_scaling=off`, or the same as a mapping."""

CURVES = ("iteration", "steps", "return_mean")


@dataclass(frozen=True)
class SideRun:
    """One run that counts.

    Attributes:
        environment, seed, value: what is compared; `value` is the outcome.
        id: of its rows in the curves.
        folder: where it lies.
        made: level of each detail, or of each factor of its study, as text.
        iterations: trained; `None` for somebody else's command.
    """

    environment: str
    seed: int
    value: float
    id: str
    folder: Path
    made: Mapping[str, str]
    iterations: int | None


@dataclass
class Side:
    """A group of runs.

    Attributes:
        name: `A` or `B`.
        runs: that have the outcome.
        curves: one frame per run or study, with `run_id` and what there is of `CURVES`.
        notes: what was left out, and what is pooled.
    """

    name: str
    runs: list[SideRun] = field(default_factory=list)
    curves: list[pl.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def listed_paths(paths: Paths) -> list[Path]:
    """`paths` as a list."""
    return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]


def default_outcome(*sides: Paths) -> str:
    """The first outcome of the first study among the paths; `final_return` where there is none."""
    for path in (path for paths in sides for path in listed_paths(paths)):
        if (path / FILE).is_file():
            return load_study(path / FILE, stored=True).outcomes[0]
    return OUTCOMES[0]


def read_side(paths: Paths, outcome: str, name: str, pick: Pick = None) -> Side:
    """The runs of a group that have an outcome: of a study those that are reported, of other folders all.

    Args:
        paths: runs, groups of runs, studies, or folders of runs.
        outcome: its name.
        name: `A` or `B`.
        pick: levels that the cells of a study must have.

    Raises:
        RunError: a path holds no run, or no run has the outcome.
        ConfigError: an unknown outcome, factor or level; or levels where there is no study.
    """
    side, wanted = Side(name), _levels(pick)
    studies, folders = _found(listed_paths(paths))
    if wanted and folders:
        raise ConfigError(f"{folders[0]} is in no study, so no cell can be picked for {name}; leave its levels out")
    for study in studies:
        _read_study(side, study, outcome, wanted)
    for folder in folders:
        _read_run(side, folder, outcome)
    if not side.runs:
        raise RunError(f"no run of {name} has a {outcome}; finish some, or choose other runs")
    _note_pooling(side, bool(studies))
    return side


def _found(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The studies at or below the paths, and the folders of runs that are in none of these."""
    studies: dict[Path, None] = {}
    folders: dict[Path, None] = {}
    for path in paths:
        here = [path] if (path / FILE).is_file() else sorted(file.parent for file in path.glob(f"**/{FILE}"))
        runs = [run for run in run_paths(path) if not any(run.is_relative_to(study) for study in here)]
        studies |= dict.fromkeys(here)
        # Where no run is found, the path itself is named, so that opening it explains what is missing.
        folders |= dict.fromkeys(run for run in runs if run != path or not here)
    return list(studies), list(folders)


def refuse_shared_runs(first: Side, second: Side) -> None:
    """Refuse two groups with a run in common: a run says nothing against itself.

    Raises:
        ConfigError: with their number, and how two groups are named.
    """
    shared = {run.folder.resolve() for run in first.runs} & {run.folder.resolve() for run in second.runs}
    # A run from an archive has no folder; its name is that of its config and seed.
    for one, other in ((first, second), (second, first)):
        names = {run.folder.name for run in other.runs}
        shared |= {run.folder for run in one.runs if not run.folder.exists() and run.folder.name in names}
    if shared:
        raise ConfigError(
            f"{count(len(shared), 'run')} of {first.name} {'is' if len(shared) == 1 else 'are'} in {second.name} too; "
            "name two groups without a run in common, or pick cells of a study with --a-cell FACTOR=LEVEL and --b-cell "
            "FACTOR=LEVEL"
        )


def _levels(pick: Pick) -> dict[str, Any]:
    """Levels by factor; levels may hold commas of their own, as in `policy_hidden_sizes=64,64`."""
    if pick is None or isinstance(pick, Mapping):
        return dict(pick or {})
    levels = {}
    for part in re.split(r",\s*(?=[^,=]+=)", pick.strip()):
        name, equals, level = part.partition("=")
        if not equals:
            raise ConfigError(f"{part!r} picks no cell; write FACTOR=LEVEL, as in value_clipping=max")
        levels[name.strip()] = level.strip()
    return levels


def _read_study(side: Side, folder: Path, outcome: str, wanted: Mapping[str, Any]) -> None:
    store = Store.open(folder)
    data = StudyResults(store).data()
    study = data.study
    rows = report_rows(data)
    for name, level in wanted.items():
        if name not in (names := [factor.name for factor in study.factors]):
            raise ConfigError(unknown(f"factor of {folder}", name, names))
        rows = rows.filter(pl.col(name) == _written(study, name, level))
    if outcome not in study.outcomes and study.command is None:
        _refuse_unknown(outcome, [])
    lost: Counter[str] = Counter()
    levels = [factor.name for factor in (*study.factors, *(study.tuning.grid if study.tuning is not None else ()))]
    for row in rows.iter_rows(named=True):
        run = folder / "runs" / row["run_id"]
        value = None
        if row["status"] in COUNTED:
            known = outcome in study.outcomes
            value = row[outcome] if known else store_outcomes(store, row["run_id"], [outcome])[outcome]
        if value is None or not np.isfinite(value):
            lost[row["status"] if row["status"] not in COUNTED else f"without {outcome}"] += 1
            continue
        if row["status"] == "diverged":
            lost["diverged"] += 1
        iterations = row["iterations"] if study.command is None else None
        made = {name: str(row[name]) for name in levels}
        side.runs.append(SideRun(row["environment"], row["seed"], value, _id(side, run), run, made, iterations))
    if study.command is not None and outcome not in study.outcomes and not side.runs:
        raise ConfigError(unknown("outcome", outcome, study.outcomes))
    side.notes += _lost_words(lost, folder, side.name)
    kept = [name for name in CURVES if name in data.curves.columns]
    ids = {run.folder.name: run.id for run in side.runs}
    mine = data.curves.select("run_id", *kept).filter(pl.col("run_id").is_in(list(ids)))
    side.curves.append(mine.with_columns(pl.col("run_id").replace(ids)))


def _written(study: Study, name: str, level: Any) -> str:
    """A level of a factor as the tables of the study have it.

    Raises:
        ConfigError: the factor has no such level.
    """
    (factor,) = (factor for factor in study.factors if factor.name == name)
    texts = [study.written(name, known) for known in factor.levels]
    text = level if isinstance(level, str) else study.written(name, level)
    if text in texts:
        return text
    for known, said in zip(factor.levels, texts, strict=True):
        if _number(text) is not None and _number(text) == _number(known):  # 3e-4 for 0.0003
            return said
    raise ConfigError(unknown(f"level of {name}", text, texts))


def _number(level: Any) -> float | None:
    try:
        return None if isinstance(level, bool | tuple | None) else float(level)
    except ValueError:
        return None


def _lost_words(lost: Counter[str], folder: Path, name: str) -> Iterator[str]:
    diverged = lost.pop("diverged", 0)
    if diverged:
        counts = "counts" if diverged == 1 else "count"
        yield f"{count(diverged, 'run')} of {folder} in {name} diverged and {counts} with the last valid return"
    if lost:
        kinds = listed([f"{number} {kind}" for kind, number in sorted(lost.items())])
        total = sum(lost.values())
        yield f"{count(total, 'run')} of {folder} {'is' if total == 1 else 'are'} left out of {name}: {kinds}"


def _read_run(side: Side, folder: Path, outcome: str) -> None:
    run = RunDirectory.open(folder)
    try:
        config = from_toml(run.config_text)
    except ConfigError as error:
        raise RunError(
            f"{folder} is no run of our own trainer that can be read ({error}); name the folder of its study"
        ) from error
    frame = run.metrics().frame()
    _refuse_unknown(outcome, frame.columns)
    finished = run.status != "unfinished"
    value = outcome_of(run, outcome, frame.to_dict(as_series=False)) if finished else None
    if value is None or not np.isfinite(value):
        why = f"has no {outcome}" if finished else "is not finished"
        side.notes.append(f"{folder} is left out of {side.name}: it {why}")
        return
    if run.status == "diverged":
        side.notes.append(f"{folder} in {side.name} diverged and counts with its last valid return")
    levels = levels_of(config) | dict(config.custom)
    made = {name: repr(level) for name, level in levels.items() if name != "environment"}
    side.runs.append(SideRun(config.environment, run.seed, value, _id(side, folder), folder, made, len(frame)))
    kept = [name for name in CURVES if name in frame.columns]
    side.curves.append(frame.select(pl.lit(_id(side, folder)).alias("run_id"), *kept))


def _id(side: Side, folder: Path) -> str:
    return f"{side.name} {folder}"


def _refuse_unknown(outcome: str, columns: Iterable[str]) -> None:
    names = list(dict.fromkeys([*OUTCOMES, *METRICS, *columns]))
    if outcome not in names:
        raise ConfigError(unknown("outcome", outcome, names))


def _note_pooling(side: Side, of_study: bool) -> None:
    """Say in which details, beside the environment, the runs of one group differ."""
    made = {tuple(run.made.items()): run.made for run in side.runs}.values()
    names = dict.fromkeys(name for one in made for name in one)
    differing = [name for name in names if len({one.get(name) for one in made}) > 1]
    if differing:
        remedy = (
            f"pick one with --{side.name.lower()}-cell FACTOR=LEVEL" if of_study else "name folders of one config each"
        )
        side.notes.append(
            f"{side.name} pools {len(made)} {'cells' if of_study else 'configs'}, which differ in "
            f"{listed(differing[:4])}"
            + (f" and {len(differing) - 4} more" if len(differing) > 4 else "")
            + f"; {remedy} to compare like with like"
        )
