"""By what a run is judged, and which setting of a tuned cell is best. Reads runs; trains none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minutiae.control.trainer import OUTCOME_ITERATIONS, final_return
from minutiae.errors import RunError
from minutiae.runs.directory import RunDirectory
from minutiae.runs.documents import read_json, write_json
from minutiae.studies.designs import Cell
from minutiae.studies.external import read_outcome
from minutiae.studies.store import Store

EVALUATION_EPISODES = 100
_EVALUATIONS = "evaluation.json"
_REMEDY = "delete it; it is measured again"


def store_outcomes(store: Store, run: str, names: Sequence[str]) -> dict[str, float | None]:
    """The outcomes `names` of a run that has ended, trained in the store or archived in it."""
    archived = store.elsewhere(run)
    if archived is None:
        return measured(RunDirectory.open(store.run_path(run)), names)
    found = dict(archived.outcomes)
    missing = [name for name in names if name not in found]
    if missing:
        columns = store.archive.curves([run]).to_dict(as_series=False)
        found |= {name: _last_mean(columns.get(name, ())) for name in missing}
    return {name: found[name] for name in names}


def measured(run: RunDirectory, names: Sequence[str]) -> dict[str, float | None]:
    """The outcomes `names` of a run: read from its metrics, or as somebody else's trainer gave them."""
    result = run.result
    if result is not None and "outcomes" in result.summary:
        return {name: _external(run, result.summary, name) for name in names}
    columns = run.metrics().frame().to_dict(as_series=False)
    return {name: outcome(run, name, columns) for name in names}


def _external(run: RunDirectory, summary: Mapping[str, Any], name: str) -> float | None:
    """As it was read when the command ended; an outcome that the study asks for since then is looked up now."""
    if name in summary["outcomes"]:
        return float(summary["outcomes"][name])
    try:
        return read_outcome(run.path / summary["results"], name)
    except RunError:
        return None


def outcome(run: RunDirectory, name: str, columns: Mapping[str, Sequence[Any]]) -> float | None:
    """The outcome `name` of a run, `None` where it has none.

    | name                       | rule                                                                            |
    |----------------------------|---------------------------------------------------------------------------------|
    | `final_return`             | mean of `return_mean` over the last five iterations in which episodes ended       |
    | `best_return`              | largest `return_mean` of any iteration (an upward-biased choice; E20's notebooks) |
    | `area_under_curve`         | mean of `return_mean` over all iterations in which episodes ended                 |
    | `evaluation`               | mean return of 100 fresh episodes, statistics frozen, actions sampled             |
    | `evaluation_deterministic` | the same with the mode of the action distribution                                 |
    | a column of the metrics    | mean of its last five values                                                     |

    A run that diverged is judged by what it measured before.

    Args:
        columns: of `metrics.parquet`, by name.
    """
    if name.startswith("evaluation"):
        return _evaluated(run, deterministic=name == "evaluation_deterministic")
    returns = columns.get("return_mean", ())
    if name == "final_return":
        return final_return(returns)
    if name in ("best_return", "area_under_curve"):
        seen = [value for value in returns if value is not None]
        if not seen:
            return None
        return float(max(seen) if name == "best_return" else np.mean(seen))
    return _last_mean(columns.get(name, ()))


def _last_mean(column: Sequence[Any]) -> float | None:
    values = [value for value in column if value is not None][-OUTCOME_ITERATIONS:]
    return float(np.mean(values)) if values else None


def _evaluated(run: RunDirectory, deterministic: bool) -> float | None:
    """The mean of fresh episodes, measured once and kept beside the run."""
    file = run.path / _EVALUATIONS
    kept = read_json(file, _REMEDY) if file.exists() else {}
    key = "deterministic" if deterministic else "stochastic"
    if key not in kept:
        from minutiae.control.evaluation import evaluate

        if run.status != "finished":
            return None
        kept[key] = evaluate(run.path, EVALUATION_EPISODES, deterministic, run.seed).mean
        write_json(file, kept)
    value = kept[key]
    return None if value is None else float(value)


def choose_settings(store: Store) -> dict[tuple[str, Cell], Cell]:
    """For every environment and cell, the tuned setting with the highest mean of the first outcome over its seeds.

    Of equal means the first in the grid wins. Settings without a single outcome are passed over.

    Raises:
        RunError: no setting of a cell has an outcome.
    """
    study = store.study
    values: dict[tuple[str, Cell], dict[Cell, list[float]]] = {}
    for planned in study.first_runs():
        (value,) = store_outcomes(store, planned.id, study.outcomes[:1]).values()
        found = values.setdefault((planned.environment, planned.cell), {}).setdefault(planned.setting, [])
        if value is not None:
            found.append(value)
    chosen = {}
    for (environment, cell), by_setting in values.items():
        means = {setting: float(np.mean(found)) for setting, found in by_setting.items() if found}
        if not means:
            raise RunError(
                f"no tuned setting of cell {study.label(cell)} in {environment} has an outcome; see the failures of "
                f"its runs in {store.path / 'failures'}"
            )
        chosen[environment, cell] = max(means, key=means.__getitem__)
    return chosen
