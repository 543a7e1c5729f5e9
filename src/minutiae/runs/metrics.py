"""Tables of numbers per iteration as Parquet. Polars is imported in the functions only: it is not cheap."""

from __future__ import annotations

import io
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minutiae.errors import RunError
from minutiae.runs.atomic import read_bytes, reason, write_atomic

if TYPE_CHECKING:
    import polars

Cell = float | int | bool | str | None

KEY = "iteration"
_KINDS = ("Int64", "Float64", "Boolean", "String")
_REMEDY = "restore it from a copy, or train the run again under another name"


class MetricsLog:
    """Rows of one run, kept in memory by column and saved whole.

    The first column is `iteration`, strictly increasing; the others follow in the order in which they first
    appear. A value that a row lacks is null, which is not NaN: NaN was measured.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._columns: dict[str, list[Any]] = {KEY: []}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MetricsLog:
        """Read a saved table.

        Raises:
            RunError: the file is missing, damaged, or its iterations are not increasing.
        """
        log = cls(path)
        frame = read_table(log.path)
        if KEY not in frame.columns:
            raise RunError(f"{log.path} has no column {KEY!r}; it is not a table of minutiae, {_REMEDY}")
        odd = [f"{name} ({kind})" for name, kind in frame.schema.items() if str(kind) not in _KINDS]
        if odd:
            raise RunError(f"{log.path} holds columns that minutiae never writes: {', '.join(odd)}; {_REMEDY}")
        log._columns = {KEY: [], **{name: frame[name].to_list() for name in frame.columns}}
        numbers = log._columns[KEY]
        whole = [number for number in numbers if isinstance(number, int)]
        if len(whole) < len(numbers) or any(after <= before for before, after in pairwise(whole)):
            raise RunError(f"the iterations in {log.path} do not increase; {_REMEDY}")
        return log

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row: `iteration` and any measured values (numbers, flags, text, `None`; NumPy scalars too).

        Raises:
            ValueError: `iteration` is missing or not larger than the last one.
            TypeError: a value is none of these, or a column would mix text with numbers.
        """
        iteration = _cell(KEY, row.get(KEY))
        if not isinstance(iteration, int) or isinstance(iteration, bool):
            raise ValueError(f"a row needs a whole {KEY!r}; got {row.get(KEY)!r}")
        if self.last is not None and iteration <= self.last:
            raise ValueError(
                f"iteration {iteration} does not follow {self.last}; truncate the log before repeating one"
            )
        cells = {name: _cell(name, value) for name, value in row.items()}
        for name, cell in cells.items():
            self._check(name, cell)
        rows = len(self)
        for name in cells:
            self._columns.setdefault(name, [None] * rows)
        for name, column in self._columns.items():
            column.append(cells.get(name))

    def _check(self, name: str, cell: Cell) -> None:
        column = self._columns.get(name, [])
        example = next((value for value in reversed(column) if value is not None), None)
        if cell is not None and example is not None and _family(cell) != _family(example):
            raise TypeError(
                f"column {name!r} holds {_family(example)} and was given {_family(cell)} {cell!r}; rename one"
            )

    def truncate(self, iteration: int) -> None:
        """Forget every row after `iteration`; call it with the checkpoint's iteration before resuming."""
        kept = bisect_right(self._columns[KEY], iteration)
        for column in self._columns.values():
            del column[kept:]

    def save(self) -> None:
        """Write the whole table atomically.

        Raises:
            RunError: the disk is full or the folder may not be written.
        """
        buffer = io.BytesIO()
        self.frame().write_parquet(buffer)
        write_atomic(self.path, buffer.getvalue())

    def frame(self) -> polars.DataFrame:
        """The table as a Polars data frame, one row per iteration."""
        import polars

        return polars.DataFrame([_series(name, column) for name, column in self._columns.items()])

    @property
    def columns(self) -> list[str]:
        """Names in their stable order."""
        return list(self._columns)

    @property
    def last(self) -> int | None:
        """The last iteration, `None` when there are no rows."""
        numbers = self._columns[KEY]
        return numbers[-1] if numbers else None

    def column(self, name: str) -> list[Cell]:
        """All values of one column, oldest first."""
        return list(self._columns[name])

    def __len__(self) -> int:
        return len(self._columns[KEY])

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        for cells in zip(*self._columns.values(), strict=True):
            yield dict(zip(self._columns, cells, strict=True))


def read_table(path: str | os.PathLike[str], remedy: str = _REMEDY) -> polars.DataFrame:
    """Any Parquet table of a run as a data frame.

    Args:
        remedy: what to do when it is damaged.

    Raises:
        RunError: the file is missing, truncated or not Parquet.
    """
    import polars

    data = read_bytes(path)
    try:
        return polars.read_parquet(io.BytesIO(data))
    except BaseException as error:
        # Polars reports some damaged files by a panic, which is no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise RunError(f"{path} is truncated or damaged: {reason(error)}; {remedy}") from error


def _series(name: str, column: list[Cell]) -> polars.Series:
    import polars

    kinds = {type(cell) for cell in column if cell is not None}
    if name == KEY or kinds == {int}:
        return polars.Series(name, column, polars.Int64)
    if kinds == {bool}:
        return polars.Series(name, column, polars.Boolean)
    if kinds == {str}:
        return polars.Series(name, column, polars.String)
    return polars.Series(name, [None if cell is None else float(cell) for cell in column], polars.Float64)


def _cell(name: str, value: Any) -> Cell:
    if getattr(value, "ndim", None) == 0:
        value = value.item()  # NumPy scalars, and arrays of shape [] of any library
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"the metric {name!r} is a {type(value).__name__}; give one number, flag or text per iteration")


def _family(cell: Cell) -> str:
    return "text" if isinstance(cell, str) else "a flag" if isinstance(cell, bool) else "a number"
