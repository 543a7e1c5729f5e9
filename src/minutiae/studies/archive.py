"""Archives: what outlives a study's folder, two small tables of its finished runs. Nothing is trained or judged here.

FOLDER/runs.parquet    one row per run: its config and seed, how it ended, its outcomes, where it was made
FOLDER/curves.parquet  one row per run and iteration, `METRICS` as float32

A run is known by its config and seed, so an archive serves any study that plans the same run, whatever its name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minutiae.details import Config, config_hash, from_toml
from minutiae.errors import ConfigError, RunError
from minutiae.runs.atomic import reason, write_atomic
from minutiae.runs.lock import one_at_a_time
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
_DOCUMENTS = ("outcomes", "about")
_KINDS: dict[str, Any] = {
    "key": str,
    "config": str,
    "seed": int,
    "reason": str | None,
    "iterations": int,
    "steps": int,
    "seconds": float,
    "outcomes": dict,
    "about": dict,
}
_REMEDY = "restore it from a copy, or delete the archive and make it again"


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
        if not (Path(path) / CURVES).is_file():
            raise RunError(f"{path} lacks its {CURVES}; restore it from a copy, or archive the study again")
        return cls(path)

    @cached_property
    def rows(self) -> tuple[ArchivedRun, ...]:
        """Every run, as it was archived.

        Raises:
            RunError: the table is damaged.
        """
        if not (self.path / RUNS).is_file():
            return ()
        table = read_table(self.path / RUNS, _REMEDY)
        names = {field.name for field in fields(ArchivedRun)}
        if names - {*table.columns}:
            raise RunError(f"{self.path / RUNS} lacks {', '.join(sorted(names - {*table.columns}))}; {_REMEDY}")
        rows = tuple(self._row(number, row, names) for number, row in enumerate(table.to_dicts(), start=1))
        if len({row.key for row in rows}) < len(rows):
            raise RunError(f"{self.path / RUNS} has a run twice; {_REMEDY}")
        return rows

    def _row(self, number: int, row: dict[str, Any], names: set[str]) -> ArchivedRun:
        try:
            read = {name: json.loads(row[name]) if name in _DOCUMENTS else row[name] for name in names}
            if not all(isinstance(read[name], kind) for name, kind in _KINDS.items()):
                raise ValueError("a value of another kind")
            if read["status"] not in ("finished", "diverged"):
                raise ValueError(f"the status {read['status']!r}")
            if not all(value is None or isinstance(value, float | int) for value in read["outcomes"].values()):
                raise ValueError("an outcome that is no number")
        except (TypeError, ValueError) as error:
            raise RunError(f"row {number} of {self.path / RUNS} is damaged: {reason(error)}; {_REMEDY}") from error
        return ArchivedRun(**read)

    @cached_property
    def _curves(self) -> polars.DataFrame:
        """The table of curves, checked; empty where there is none."""
        import polars

        if not (self.path / CURVES).is_file():
            return polars.DataFrame(schema={_KEY: polars.String, "iteration": polars.Int32, "steps": polars.Int32})
        table = read_table(self.path / CURVES, _REMEDY)
        lacking = {_KEY, "iteration", "steps"} - {*table.columns}
        if lacking:
            raise RunError(f"{self.path / CURVES} lacks {', '.join(sorted(lacking))}; {_REMEDY}")
        odd = [
            name
            for name, kind in table.schema.items()
            if not (kind == polars.String if name == _KEY else kind.is_numeric())
        ]
        if odd or table.select(polars.struct(_KEY, "iteration").is_duplicated().any()).item():
            what = f"holds no numbers in {', '.join(odd)}" if odd else "has an iteration twice"
            raise RunError(f"{self.path / CURVES} {what}; {_REMEDY}")
        return table

    @cached_property
    def runs(self) -> dict[str, ArchivedRun]:
        """Runs by the id that the installed version gives to their config and seed.

        That id changes when a detail is added to the catalogue; the config that the archive holds does not. Passed over
        are runs whose config is none any more, which no study can plan, and runs whose curves are lost.

        Raises:
            RunError: a table is damaged.
        """
        drawn = set(self._curves[_KEY].unique())
        return {run: row for run, row in self._known() if row.key in drawn or not row.iterations}

    def _known(self) -> Iterator[tuple[str, ArchivedRun]]:
        configs = {text: _config(text) for text in {row.config for row in self.rows}}
        for row in self.rows:
            config = configs[row.config]
            if config is not None:
                yield config_hash(config, row.seed), row

    def curves(self, runs: Iterable[str]) -> polars.DataFrame:
        """`run_id` and `METRICS` of those of `runs` that are here, one row per iteration.

        Raises:
            RunError: the table is damaged.
        """
        import polars

        wanted = {self.runs[run].key: run for run in runs if run in self.runs}
        if not wanted:
            return polars.DataFrame(schema={"run_id": polars.String, **dict.fromkeys(METRICS, polars.Float64)})
        kept = self._curves.filter(polars.col(_KEY).is_in(list(wanted)))
        metrics = [name for name in kept.columns if name != _KEY]
        return kept.select(
            polars.col(_KEY).replace_strict(wanted, return_dtype=polars.String).alias("run_id"),
            *(
                polars.col(name).cast(polars.Int64 if kept.schema[name].is_integer() else polars.Float64)
                for name in metrics
            ),
        )

    def add(self, runs: Mapping[str, ArchivedRun], curves: polars.DataFrame) -> int:
        """Keep runs that the archive lacks, and say how many those are; of several that add at once, one after another.

        Killed between its two writes it leaves curves without a run, which the next call drops.

        Args:
            runs: by id.
            curves: `run_id` and `METRICS`, or some of these.

        Raises:
            RunError: a table is damaged or cannot be written.
        """
        if not runs:
            return 0
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make {self.path}: {reason(error)}; choose another folder") from error
        with one_at_a_time(self.path):
            self._forget()
            new = {name: run for name, run in runs.items() if name not in self.runs}
            if new:
                self._write(new, curves)
                self._forget()
        return len(new)

    def _write(self, new: Mapping[str, ArchivedRun], curves: polars.DataFrame) -> None:
        import polars

        keys = {name: run.key for name, run in new.items()}
        metrics = [name for name in METRICS if name in curves.columns]
        table = curves.filter(polars.col("run_id").is_in(list(new))).select(
            polars.col("run_id").replace_strict(keys, return_dtype=polars.String).alias(_KEY),
            *(
                polars.col(name).cast(polars.Int32 if curves.schema[name].is_integer() else polars.Float32)
                for name in metrics
            ),
        )
        # A run whose curves were lost is replaced.
        replaced = {row.key for name, row in self._known() if name in new} | set(keys.values())
        kept = [row for row in self.rows if row.key not in replaced]
        before = self._curves.filter(polars.col(_KEY).is_in([row.key for row in kept]))
        _write(self.path / CURVES, polars.concat([before, table], how="diagonal_relaxed"))
        rows = [_row(row) for row in (*kept, *new.values())]
        _write(self.path / RUNS, polars.DataFrame(rows, infer_schema_length=None))

    def _forget(self) -> None:
        for name in ("rows", "runs", "_curves"):
            self.__dict__.pop(name, None)


class BothArchives(Archive):
    """Two archives read as one; of a run that both have, the first one's counts. Nothing can be added."""

    def __init__(self, first: Archive, second: Archive) -> None:
        super().__init__(first.path)
        self._first, self._second = first, second

    @cached_property
    def runs(self) -> dict[str, ArchivedRun]:
        """Of both."""
        return {**self._second.runs, **self._first.runs}

    def curves(self, runs: Iterable[str]) -> polars.DataFrame:
        """Of both."""
        import polars

        asked = list(runs)
        tables = [self._first.curves(asked), self._second.curves([run for run in asked if run not in self._first.runs])]
        found = [table for table in tables if len(table)]
        return polars.concat(found, how="diagonal_relaxed") if found else tables[0]


def _config(text: str) -> Config | None:
    try:
        return from_toml(text)
    except ConfigError:
        return None


def _row(run: ArchivedRun) -> dict[str, Any]:
    return {**vars(run), **{name: json.dumps(dict(getattr(run, name))) for name in _DOCUMENTS}}


def _write(path: Path, table: polars.DataFrame) -> None:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=12)
    write_atomic(path, buffer.getvalue())
