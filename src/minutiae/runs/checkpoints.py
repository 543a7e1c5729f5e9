"""Checkpoints: everything training needs to go on, one file each. Knows no learner and no environment."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minutiae.errors import RunError
from minutiae.runs.atomic import remove_unfinished
from minutiae.runs.pytrees import flatten, unflatten
from minutiae.runs.tensors import read_tensors, write_tensors

__all__ = [
    "KEPT",
    "Checkpoint",
    "available",
    "flatten",
    "load_checkpoint",
    "save_checkpoint",
    "saved",
    "unflatten",
]

KEPT = 2
"""How many checkpoints stay: the newest, and the one before it in case the newest is damaged later."""

_NAME = re.compile(r"([0-9]{6,18})\.safetensors", re.ASCII)
_KIND = "checkpoint"


class Checkpoint(NamedTuple):
    """A checkpoint as read: `arrays` by path (see `pytrees`), `metadata`, newer iterations not readable."""

    iteration: int
    arrays: dict[str, np.ndarray]
    metadata: dict[str, Any]
    skipped: tuple[int, ...] = ()


def save_checkpoint(
    folder: str | os.PathLike[str],
    iteration: int,
    arrays: Mapping[str, np.ndarray],
    metadata: Mapping[str, Any],
) -> Path:
    """Write `folder/NNNNNN.safetensors` whole, then remove all but it and the one before.

    Later iterations are removed too: whoever saves iteration 5 after 10 has gone back to write another 10.
    A kill at any moment leaves at least one complete checkpoint, if there was one before.

    Args:
        iteration: iterations completed, at least 0.
        arrays: by path, of any dtype in `tensors.DTYPES`; dtype, shape and bits come back exactly.
        metadata: JSON (counters, generator states, ...). Integers of any size and floats come back exactly.

    Returns:
        The path of the new file.

    Raises:
        RunError: the disk is full or the folder may not be written.
    """
    if iteration < 0:
        raise ValueError(f"iteration is {iteration}; it counts completed iterations and must be at least 0")
    folder = Path(folder)
    path = _path(folder, iteration)
    write_tensors(path, _KIND, arrays, {**metadata, "iteration": iteration})
    earlier = [number for number in saved(folder) if number < iteration]
    for number in saved(folder):
        if number != iteration and number not in earlier[1 - KEPT :]:
            with contextlib.suppress(OSError):
                _path(folder, number).unlink()
    remove_unfinished(folder)
    return path


def saved(folder: str | os.PathLike[str]) -> list[int]:
    """Iterations that have a checkpoint file, readable or not, newest last."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunError(f"cannot read the folder {folder}: {error.strerror}; check its permissions") from error
    return sorted({int(match[1]) for name in names if (match := _NAME.fullmatch(name))})


def available(folder: str | os.PathLike[str]) -> list[int]:
    """Iterations whose checkpoint is complete and undamaged, newest last; every file is read in full."""
    return [iteration for iteration in saved(folder) if _readable(Path(folder), iteration)]


def load_checkpoint(folder: str | os.PathLike[str], iteration: int | None = None) -> Checkpoint:
    """The checkpoint of `iteration`, or the newest that can be read.

    Since resuming is exact, going on from an older checkpoint costs time but changes no number; `skipped` of
    the result names the newer ones that could not be read.

    Raises:
        RunError: there is none, the one asked for cannot be read, or none can.
    """
    folder = Path(folder)
    present = saved(folder)
    if not present:
        raise RunError(f"{folder} holds no checkpoint; the run was stopped before its first, so train it again")
    if iteration is not None:
        if iteration not in present:
            listed = ", ".join(str(number) for number in present)
            raise RunError(f"{folder} has no checkpoint of iteration {iteration}; there are: {listed}")
        return _read(folder, iteration, (), _remedy(number for number in present if number != iteration))
    skipped: list[int] = []
    failure = None
    remedy = f"nothing readable is left in {folder}: restore it from a copy, or train the run again elsewhere"
    for candidate in reversed(present):
        try:
            return _read(folder, candidate, tuple(skipped), remedy)
        except RunError as error:
            failure = failure or error
            skipped.append(candidate)
    assert failure is not None
    raise failure


def _read(folder: Path, iteration: int, skipped: tuple[int, ...], remedy: str) -> Checkpoint:
    path = _path(folder, iteration)
    arrays, metadata = read_tensors(path, _KIND, remedy)
    if metadata.pop("iteration", None) != iteration:
        raise RunError(f"{path} holds another iteration than its name says; {remedy}")
    return Checkpoint(iteration, arrays, metadata, skipped)


def _readable(folder: Path, iteration: int) -> bool:
    try:
        _read(folder, iteration, (), "")
    except RunError:
        return False
    return True


def _remedy(others: Any) -> str:
    numbers = ", ".join(str(number) for number in others)
    return f"ask for another iteration ({numbers})" if numbers else "restore it from a copy, or train the run again"


def _path(folder: Path, iteration: int) -> Path:
    return folder / f"{iteration:06d}.safetensors"
