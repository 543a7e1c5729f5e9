"""Runs trained together, as a folder that holds theirs. Knows which make one population, not why."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from minutiae.errors import RunError, unknown
from minutiae.runs.atomic import write_failure
from minutiae.runs.directory import GROUP_FILE, RunDirectory, RunExists, is_run
from minutiae.runs.documents import read_json, write_json

_REMEDY = "restore it from a copy, or resume the members one by one"
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


class RunGroup:
    """A folder with `group.json` and one run directory for each member.

    Attributes:
        path: the folder.
        members: the members' folder names, in their order.
        chunks: the same names, split as they were trained: one population a chunk, which resuming rebuilds.
    """

    def __init__(self, path: Path, members: Sequence[str], chunks: Sequence[Sequence[str]]) -> None:
        self.path = path
        self.members = tuple(members)
        self.chunks = tuple(tuple(chunk) for chunk in chunks)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        members: Sequence[str],
        chunks: Sequence[Sequence[str]] | None = None,
    ) -> RunGroup:
        """Make the folder and write `group.json`; the members' own folders are made by `RunDirectory.create`.

        Args:
            members: at least one plain folder name, all different.
            chunks: every member exactly once; `None` is one chunk of all.

        Raises:
            RunError: the folder already holds a group or other files, a name is no plain folder name, the
                chunks do not partition the members, or the folder cannot be written.
        """
        path = Path(path)
        chunks = [list(members)] if chunks is None else [list(chunk) for chunk in chunks]
        problem = _problem(list(members), chunks)
        if problem is not None:
            raise RunError(f"cannot make a group at {path}: {problem}")
        try:
            path.mkdir(parents=True, exist_ok=True)
            names = sorted(os.listdir(path))
        except OSError as error:
            raise RunError(write_failure(path, error)) from error
        if GROUP_FILE in names:
            raise RunExists(_taken(path))
        if any(not name.startswith(".") for name in names):
            raise RunExists(f"{path} holds other files ({', '.join(names[:8])}); choose another name for the group")
        try:
            write_json(path / GROUP_FILE, {"members": list(members), "chunks": chunks}, new=True)
        except FileExistsError as error:  # another process has made it since we looked
            raise RunExists(_taken(path)) from error
        return cls(path, members, chunks)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunGroup:
        """The group at `path`.

        Raises:
            RunError: there is none, or its `group.json` is damaged or points outside of the folder.
        """
        path = Path(path)
        file = path / GROUP_FILE
        if not file.exists():
            raise RunError(
                f"{path} is not a group of runs: it has no {GROUP_FILE}; give the folder that holds the runs"
            )
        document = read_json(file, _REMEDY)
        members, chunks = document.get("members"), document.get("chunks")
        problem = _problem(members, chunks)
        if problem is not None:
            raise RunError(f"{file} is damaged: {problem}; {_REMEDY}")
        assert isinstance(members, list) and isinstance(chunks, list)
        return cls(path, members, chunks)

    def member_path(self, name: str) -> Path:
        """The folder of a member, whether it exists yet or not."""
        if name not in self.members:
            raise RunError(unknown(f"member of the group {self.path}", name, self.members))
        return self.path / name

    def run(self, name: str) -> RunDirectory:
        """The run directory of a member."""
        return RunDirectory.open(self.member_path(name))

    @property
    def missing(self) -> tuple[str, ...]:
        """Members whose run was never begun: the group was stopped that early."""
        return tuple(name for name in self.members if not is_run(self.path / name))

    @property
    def finished(self) -> bool:
        """Whether every member has ended."""
        return not self.missing and all(self.run(name).finished for name in self.members)

    def __repr__(self) -> str:
        return f"RunGroup({str(self.path)!r}, {len(self.members)} members in {len(self.chunks)} chunks)"


def common_iteration(runs: Sequence[RunDirectory]) -> int | None:
    """The newest iteration from which all of `runs` can go on together; `None` when they must begin.

    They begin when one of them was stopped before its first checkpoint. A population saves its members one
    after the other, so a kill in between leaves them one save apart: that is what the second checkpoint of
    each is for.

    Raises:
        RunError: a run has checkpoints and none can be read, or they have no iteration in common. Beginning
            anew would silently throw away what was trained.
    """
    if any(run.latest_checkpoint() is None for run in runs):
        return None
    common = set.intersection(*(set(run.checkpoints()) for run in runs))
    if not common:
        have = "; ".join(f"{run.name} has {', '.join(map(str, run.checkpoints()))}" for run in runs[:4])
        raise RunError(f"the runs have no readable checkpoint in common ({have}); resume them one by one")
    return max(common)


def is_group(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a folder with a `group.json` in it (which may still be damaged)."""
    return (Path(path) / GROUP_FILE).is_file()


def _taken(path: Path) -> str:
    return f"{path} already holds a group; use 'minutiae resume {path}' or choose another name"


def _problem(members: object, chunks: object) -> str | None:
    """What is wrong with the two lists, `None` when nothing is."""
    if not isinstance(members, list) or not members or not all(isinstance(name, str) for name in members):
        return "'members' must be a list of at least one folder name"
    for name in members:
        if not _plain_name(name):
            return f"the member {name[:60]!r} is not a plain folder name inside the group"
    # Folded, because some file systems do not tell the case of a name.
    if len({name.casefold() for name in members}) != len(members):
        return "two members have the same name"
    if not isinstance(chunks, list) or not all(isinstance(chunk, list) and chunk for chunk in chunks):
        return "'chunks' must be a list of lists of members, none of them empty"
    placed = [name for chunk in chunks for name in chunk]
    if not all(isinstance(name, str) for name in placed) or sorted(placed) != sorted(members):
        return "'chunks' must name every member exactly once"
    return None


def _plain_name(name: str) -> bool:
    """Whether `name` is one folder right below the group's on every system: no separator, parent, device."""
    if not name or name != name.strip() or name.startswith(".") or name.endswith(".") or len(name.encode()) > 255:
        return False
    return name.isprintable() and not set(name) & set('/\\:*?"<>|') and not _RESERVED.fullmatch(name)
