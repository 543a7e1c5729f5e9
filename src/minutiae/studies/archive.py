"""Archives: what outlives a study's folder, two small tables of its finished runs. Nothing is trained or judged here.

FOLDER/runs.parquet    one row per run: its config and seed, how it ended, its outcomes, where it was made
FOLDER/curves.parquet  one row per run and iteration, `METRICS` as float32

A run is known by its config and seed, so an archive serves any study that plans the same run, whatever its name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minutiae.details import Config, config_hash, from_toml
from minutiae.errors import ConfigError, RunError
from minutiae.runs.atomic import write_atomic
from minutiae.runs.metrics import read_table

if TYPE_CHECKING:
    import polars

RUNS, CURVES = "runs.parquet", "curves.parquet"

METRICS = (
    "iteration",
    "steps",
    "episodes",
    "return_mean",
    "entropy_batch",
    "explained_variance_batch",
    "kl_exact_batch",
    "kl_exact_held_out",
    "ratio_max_batch",
    "ratio_max_held_out",
)
"""What of every iteration is worth keeping; the rest stays in the run directories."""

OUTCOMES = ("final_return", "best_return", "area_under_curve")
"""Outcomes that every archived run has, with all their digits; others are those of the study that it was made for."""

_KEY = "key"
_REMEDY = "restore it from a copy, or archive the study again"


@dataclass(frozen=True)
class ArchivedRun:
    """A run that has ended elsewhere.

    Attributes:
        key: ties it to its curves: the id that it had when it was archived.
        config: as TOML.
        seed: of the agent.
        status, reason: how and why it ended, as in a study's table of runs.
        iterations, steps: that it trained.
        seconds: that its trainer took, its share of them where several agents trained together.
        outcomes: by name.
        about: versions and machine that made it.
    """

    key: str
    config: str
    seed: int
    status: str
    reason: str | None
    iterations: int
    steps: int
    seconds: float
    outcomes: Mapping[str, float | None]
    about: Mapping[str, str]


class Archive:
    """The archive in a folder; one that does not exist yet is empty."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | Path) -> Archive:
        """The archive in a folder.

        Raises:
            RunError: there is none.
        """
        if not (Path(path) / RUNS).is_file():
            raise RunError(f"{path} holds no archive: it has no {RUNS}; make one with: minutiae study archive")
        return cls(path)

    @cached_property
    def rows(self) -> tuple[ArchivedRun, ...]:
        """Every run, as it was archived.

        Raises:
            RunError: the table is damaged.
        """
        if not (self.path / RUNS).is_file():
            return ()
        table = read_table(self.path / RUNS)
        names = {field.name for field in fields(ArchivedRun)}
        if names - {*table.columns}:
            raise RunError(f"{self.path / RUNS} lacks {', '.join(sorted(names - {*table.columns}))}; {_REMEDY}")
        texts = ("outcomes", "about")
        return tuple(
            ArchivedRun(**{name: json.loads(row[name]) if name in texts else row[name] for name in names})
            for row in table.to_dicts()
        )

    @cached_property
    def runs(self) -> dict[str, ArchivedRun]:
        """Runs by the id that the installed version gives to their config and seed.

        That id changes when a detail is added to the catalogue; the config that the archive holds does not. A run whose
        config is none any more is passed over: no study can plan it.

        Raises:
            RunError: the table is damaged.
        """
        configs = {text: _config(text) for text in {row.config for row in self.rows}}
        found = {}
        for row in self.rows:
            config = configs[row.config]
            if config is not None:
                found[config_hash(config, row.seed)] = row
        return found

    def curves(self, runs: Iterable[str]) -> polars.DataFrame:
        """`run_id` and `METRICS` of those of `runs` that are here, one row per iteration.

        Raises:
            RunError: the table is damaged.
        """
        import polars

        wanted = {self.runs[run].key: run for run in runs if run in self.runs}
        if not wanted:
            return polars.DataFrame(schema={"run_id": polars.String, **dict.fromkeys(METRICS, polars.Float64)})
        kept = read_table(self.path / CURVES).filter(polars.col(_KEY).is_in(list(wanted)))
        metrics = [name for name in kept.columns if name != _KEY]
        return kept.select(
            polars.col(_KEY).replace_strict(wanted, return_dtype=polars.String).alias("run_id"),
            *(
                polars.col(name).cast(polars.Int64 if kept.schema[name].is_integer() else polars.Float64)
                for name in metrics
            ),
        )

    def add(self, runs: Mapping[str, ArchivedRun], curves: polars.DataFrame) -> int:
        """Keep runs that the archive lacks, and say how many those are.

        Killed between its two writes it leaves curves without a run, which the next call drops.

        Args:
            runs: by id.
            curves: `run_id` and `METRICS`, or some of these.

        Raises:
            RunError: a table is damaged or cannot be written.
        """
        import polars

        new = {name: run for name, run in runs.items() if name not in self.runs}
        if not new:
            return 0
        keys = {name: run.key for name, run in new.items()}
        metrics = [name for name in METRICS if name in curves.columns]
        table = curves.filter(polars.col("run_id").is_in(list(new))).select(
            polars.col("run_id").replace_strict(keys, return_dtype=polars.String).alias(_KEY),
            *(
                polars.col(name).cast(polars.Int32 if curves.schema[name].is_integer() else polars.Float32)
                for name in metrics
            ),
        )
        if self.rows:
            known = [row.key for row in self.rows]
            before = read_table(self.path / CURVES).filter(polars.col(_KEY).is_in(known))
            table = polars.concat([before, table], how="diagonal_relaxed")
        both = [_row(row) for row in (*self.rows, *new.values())]
        _write(self.path / CURVES, table)
        _write(self.path / RUNS, polars.DataFrame(both, infer_schema_length=None))
        for name in ("rows", "runs"):
            self.__dict__.pop(name, None)
        return len(new)


def _config(text: str) -> Config | None:
    try:
        return from_toml(text)
    except ConfigError:
        return None


def _row(run: ArchivedRun) -> dict[str, Any]:
    return {**vars(run), **{name: json.dumps(dict(getattr(run, name))) for name in ("outcomes", "about")}}


def _write(path: Path, table: polars.DataFrame) -> None:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=12)
    write_atomic(path, buffer.getvalue())
