"""Folders of new runs: naming them, making them all or none, and taking away those of a training that never began."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from minutiae.details import Config
from minutiae.errors import ConfigError, MinutiaeError, RunError
from minutiae.runs import config_file
from minutiae.runs.checkpoints import saved
from minutiae.runs.directory import GROUP_FILE, RunDirectory
from minutiae.runs.group import RunGroup


def create_group(
    path: Path, members: Sequence[str], chunks: Sequence[Sequence[str]], made: Sequence[tuple[str, int, dict[str, str]]]
) -> None:
    """Make the folders of a group and all its runs, of config text, seed and origin each, or none of them."""
    group = RunGroup.create(path, members, chunks)
    try:
        for member, (text, seed, about) in zip(members, made, strict=True):
            RunDirectory.create(group.member_path(member), text, seed, about=about)
    except RunError:
        # A group with some of its runs could neither be resumed nor begun again. All that is here now is ours.
        for file in (*(path / member / config_file.FILE for member in members), path / GROUP_FILE):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        for folder in (*(path / member for member in members), path):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def removed_unless_begun(path: Path, members: Sequence[Path]) -> Iterator[None]:
    """A context that trains the new runs `members`, all at or below `path`, and takes them away where nothing was kept.

    What the user can mend in their own code (an environment or a detail that raises) leaves no folder behind that would
    be in the way of the next try. What went wrong with folders, and Ctrl-C, leaves everything as it is.
    """
    try:
        yield
    except MinutiaeError as error:
        runs = [RunDirectory.open(member) for member in members]
        if not isinstance(error, RunError) and not any(run.finished or saved(run.checkpoint_path) for run in runs):
            shutil.rmtree(path, ignore_errors=True)
        raise


def member_names(seeds: Sequence[int]) -> list[str]:
    """Names of the runs in a group: by their seeds, or by number where seeds repeat."""
    if len(set(seeds)) == len(seeds):
        return [f"seed-{seed}" for seed in seeds]
    return [f"agent-{index}" for index in range(len(seeds))]


def checked_name(name: str) -> str:
    """`name`, fit to be a folder's.

    Raises:
        ConfigError: it is not.
    """
    plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    if not plain or name in ("", ".", "..") or re.search(r"[/\\]", name):
        raise ConfigError(f"{name!r} is no folder name; give one without slashes, and the place with out=...")
    return name


def usual_name(preset_or_config: str | Config, environment: str, flavour: str | None) -> str:
    """Of the folder for a training without a name: what it starts from and the environment, fit to be a folder's."""
    label = preset_or_config if isinstance(preset_or_config, str) else preset_or_config.algorithm
    parts = [label, environment] if flavour is None else [label, flavour, environment]
    return re.sub(r"[^\w.+-]+", "-", "-".join(parts))


def free_name(out: Path, base: str) -> str:
    """`base`, with a number where `out` has one of that name."""
    number = 1
    while (out / (base if number == 1 else f"{base}-{number}")).exists():
        number += 1
    return base if number == 1 else f"{base}-{number}"
