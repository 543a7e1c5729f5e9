"""Which runs of a study a report counts, as arrays that the statistics take. No statistic is computed here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from minutiae.errors import RunError, unknown

if TYPE_CHECKING:
    from minutiae.studies.results import StudyData
    from minutiae.studies.study import Study

COUNTED = ("finished", "diverged")
"""What has an outcome: a diverged run has its last valid return."""


@dataclass(frozen=True)
class Factor:
    """A factor that varies among the runs.

    Attributes:
        name: of the factor.
        levels: the texts of the levels that runs have, in the study's order.
        complete: whether runs have the study's first and its last level, from which and to which a gain counts.
    """

    name: str
    levels: tuple[str, ...]
    complete: bool = True


@dataclass(frozen=True)
class Runs:
    """R runs with an outcome, one entry each.

    Attributes:
        outcome: its name.
        factors: k factors that vary.
        codes: `[R, k]`, positions among each factor's levels.
        values: `[R]`, the outcome.
        environments, seeds: `[R]`.
        ids: `[R]`, run ids.
    """

    outcome: str
    factors: tuple[Factor, ...]
    codes: np.ndarray
    values: np.ndarray
    environments: np.ndarray
    seeds: np.ndarray
    ids: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Of the factors."""
        return tuple(factor.name for factor in self.factors)

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The levels' texts of each factor."""
        return {factor.name: factor.levels for factor in self.factors}

    @property
    def blocks(self) -> np.ndarray:
        """`[R]`: what two runs share that stand beside each other in different cells, seed and environment."""
        return np.array([f"{seed} in {name}" for seed, name in zip(self.seeds, self.environments, strict=True)])

    @property
    def environment_names(self) -> list[str]:
        """In order of appearance."""
        return list(dict.fromkeys(self.environments.tolist()))

    def where(self, mask: np.ndarray) -> Runs:
        """The runs of a mask `[R]`. Levels that none of them has stay named."""
        kept = {name: getattr(self, name)[mask] for name in ("codes", "values", "environments", "seeds", "ids")}
        return replace(self, **kept)


def report_rows(data: StudyData) -> pl.DataFrame:
    """The rows that are reported: those of stage `report`, or the settings that the paper's protocol would pick."""
    frame = data.frame
    rows = frame.filter(pl.col("stage") == "report")
    if len(rows) or data.study.tuning is None or data.study.tuning.protocol != "engstrom":
        return rows
    keys = ["environment", "cell"]
    tuned = [factor.name for factor in data.study.tuning.grid]
    outcome = data.study.outcomes[0]
    means = counted_rows(frame, outcome).group_by(*keys, *tuned, maintain_order=True).agg(pl.col(outcome).mean())
    # Stable: the first of equal settings, as `choose_setting`.
    best = means.sort(outcome, descending=True, maintain_order=True).unique(keys, keep="first", maintain_order=True)
    return frame.join(best.select(*keys, *tuned), on=[*keys, *tuned], how="semi", maintain_order="left")


def counted_rows(rows: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Rows that have this outcome, as a finite number.

    Raises:
        RunError: no such column.
    """
    if outcome not in rows.columns:
        numbers = [name for name, kind in rows.schema.items() if kind.is_float()]
        raise RunError(unknown("outcome", outcome, numbers))
    return rows.filter(pl.col("status").is_in(COUNTED) & pl.col(outcome).is_finite().fill_null(False))


def count_runs(study: Study, rows: pl.DataFrame, outcome: str, extra: tuple[Any, ...] = ()) -> Runs:
    """The runs among `rows` that have an outcome.

    Args:
        study: for the order of levels.
        rows: of `StudyData.frame`.
        outcome: a column.
        extra: further factors with columns, such as tuned details.

    Raises:
        RunError: no run has the outcome yet.
    """
    found = counted_rows(rows, outcome)
    if not len(found):
        raise RunError(f"no run of this study has a {outcome} yet; let some runs finish, then report again")
    factors = varying(study, found, extra)
    columns = [
        found[factor.name]
        .cast(pl.String)
        .replace_strict(factor.levels, range(len(factor.levels)), return_dtype=pl.Int64)
        .to_numpy()
        for factor in factors
    ]
    codes = np.stack(columns, axis=1) if columns else np.zeros((len(found), 0), dtype=np.int64)
    return Runs(
        outcome,
        factors,
        codes,
        found[outcome].cast(pl.Float64).to_numpy(),
        found["environment"].to_numpy(),
        found["seed"].to_numpy(),
        found["run_id"].to_numpy(),
    )


def varying(study: Study, rows: pl.DataFrame, extra: tuple[Any, ...] = ()) -> tuple[Factor, ...]:
    """The factors that have two or more levels among `rows`; as in `count_runs`."""
    factors = []
    for factor in (*study.factors, *extra):
        known = [study.written(factor.name, level) for level in factor.levels]
        present = set(rows[factor.name].cast(pl.String).unique().drop_nulls().to_list())
        levels = [text for text in known if text in present] + sorted(present - set(known))
        if len(levels) >= 2:
            factors.append(Factor(factor.name, tuple(levels), known[0] in present and known[-1] in present))
    return tuple(factors)
