"""Run directories that are trained elsewhere: which files changed there, as bytes, and putting them in place here.

Knows no network and no trainer. What is put in place can be gone on with at any moment, also when the other side is
lost: a snapshot is of one moment, and its files are read and written in the order in which one presumes the other.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from minutiae.errors import RunError
from minutiae.runs.atomic import is_unfinished, write_atomic, write_failure

ATTEMPTS = 5
"""How often to read a snapshot anew because checkpoints were written meanwhile."""

_GROWING = "tensorboard/"
"""Files that are only ever appended to, of which the new end travels."""

_CHECKPOINT = "checkpoint/"


class Piece(NamedTuple):
    """`data` is what the file `name` (relative, with `/`) of the folder `run` holds from the byte `start` on."""

    run: str
    name: str
    start: int
    data: bytes


class Changes(NamedTuple):
    """What one look found: new bytes in the order in which to write them, and files that are gone, as (run, name)."""

    pieces: tuple[Piece, ...]
    removed: tuple[tuple[str, str], ...] = ()


class _Facts(NamedTuple):
    """Which file it was, and how much of it there was."""

    inode: int
    size: int
    changed: int


_Listing = dict[tuple[str, str], _Facts]


def pack(folder: Path, runs: Sequence[str]) -> Changes:
    """All that going on elsewhere with the runs of `folder` needs; of event files the names, which new ones follow.

    Raises:
        RunError: a file cannot be read.
    """
    pieces = []
    try:
        for (run, name), facts in _in_reading_order(_listing(folder, runs)):
            size = 0 if name.startswith(_GROWING) else facts.size
            pieces.append(_read(folder, run, name, 0, size))
    except OSError as error:
        raise RunError(f"cannot read {error.filename}: {error.strerror}; check its permissions") from error
    return Changes(tuple(reversed(pieces)))


def put(folder: Path, changes: Changes) -> None:
    """Bring the runs of `folder` to the state of `changes`; stopped anywhere in between they can still be gone on with.

    Raises:
        RunError: the disk is full or the folder may not be written.
    """
    for piece in changes.pieces:
        path = folder / piece.run / piece.name
        if piece.start == 0:
            write_atomic(path, piece.data)
        else:
            _append(path, piece.start, piece.data)
    for run, name in changes.removed:
        with contextlib.suppress(OSError):
            (folder / run / name).unlink(missing_ok=True)


class Mirror:
    """Watches the runs of `folder`, which another process writes; what lies there now counts as known."""

    def __init__(self, folder: Path, runs: Sequence[str]) -> None:
        self._folder, self._runs = folder, list(runs)
        self._known = _listing(folder, self._runs)

    def has_new_checkpoint(self) -> bool:
        """Whether a checkpoint has come or gone since the last `changes`."""
        return _checkpoints(_listing(self._folder, self._runs)) != _checkpoints(self._known)

    def changes(self) -> Changes | None:
        """What changed since the last call; `None` when checkpoints are written faster than they can be read."""
        for _ in range(ATTEMPTS):
            found = _listing(self._folder, self._runs)
            try:
                pieces = self._new(found)
            except FileNotFoundError:
                continue  # a checkpoint that a newer one has just replaced
            # Were these of several moments, the runs might have no checkpoint in common.
            if _checkpoints(_listing(self._folder, self._runs)) == _checkpoints(found):
                removed = tuple(key for key in self._known if key not in found)
                self._known = found
                return Changes(pieces, removed)
        return None

    def _new(self, found: _Listing) -> tuple[Piece, ...]:
        pieces = []
        for (run, name), facts in _in_reading_order(found):
            known = self._known.get((run, name))
            if facts == known:
                continue
            grown = known is not None and known.inode == facts.inode and name.startswith(_GROWING)
            start = known.size if grown and known is not None else 0
            pieces.append(_read(self._folder, run, name, start, facts.size))
        return tuple(reversed(pieces))


def _listing(folder: Path, runs: Sequence[str]) -> _Listing:
    found = {}
    for run in runs:
        for base, _, names in os.walk(folder / run):
            for name in names:
                path = Path(base, name)
                if is_unfinished(name):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    facts = path.stat()
                    key = (run, path.relative_to(folder / run).as_posix())
                    found[key] = _Facts(facts.st_ino, facts.st_size, facts.st_mtime_ns)
    return found


def _checkpoints(listing: _Listing) -> _Listing:
    return {key: facts for key, facts in listing.items() if key[1].startswith(_CHECKPOINT)}


def _in_reading_order(listing: _Listing) -> list[tuple[tuple[str, str], _Facts]]:
    """A result presumes the policy, that the checkpoint, and that the metrics: read backwards, each finds its own."""

    def rank(name: str) -> int:
        if name == "result.json":
            return 0
        if name == "policy.safetensors":
            return 1
        return 2 if name.startswith(_CHECKPOINT) else 3

    return sorted(listing.items(), key=lambda item: (rank(item[0][1]), item[0]))


def _read(folder: Path, run: str, name: str, start: int, end: int) -> Piece:
    """Bytes from `start` to `end` of a file that grows; the whole of one that is only ever replaced."""
    with open(folder / run / name, "rb") as file:
        file.seek(start)
        return Piece(run, name, start, file.read(end - start) if name.startswith(_GROWING) else file.read())


def _append(path: Path, start: int, data: bytes) -> None:
    try:
        with open(path, "r+b") as file:
            file.seek(start)
            file.write(data)
            file.truncate()
    except OSError as error:
        raise RunError(write_failure(path, error)) from error
