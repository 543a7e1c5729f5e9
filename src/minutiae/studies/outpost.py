"""What a study does on another machine: train one population in a folder of its own and tell what became of it.

Imports no cluster library: `on_ray` makes a Ray actor of it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from minutiae.control.progress import Progress
from minutiae.control.workers import Workers
from minutiae.errors import MinutiaeError, RunError
from minutiae.runs.directory import RunDirectory
from minutiae.runs.lock import exclusive
from minutiae.runs.mirror import Changes, Mirror, put
from minutiae.runs.origin import PACKAGES, origin

HEAR_SECONDS = 1.0
"""How long `Outpost.hear` waits for something to tell."""

Kind: TypeAlias = Literal["progress", "changes", "refused", "ended"]

_PREFIX = "minutiae-outpost-"


class Message(NamedTuple):
    """One thing told.

    | `kind`   | `content`                                               |
    |----------|---------------------------------------------------------|
    | progress | a `Progress`                                            |
    | changes  | the `Changes` of files                                  |
    | refused  | why nothing of this study can be trained here; the last |
    | ended    | why the population failed, or `None`; the last          |
    """

    kind: Kind
    content: Any


class Surroundings(NamedTuple):
    """What trainers find in the process that asks for them and must find here too.

    Attributes:
        versions: as `origin` gives them.
        paths: where modules are looked for.
        variables: of the environment, those that decide how programs are compiled.
    """

    versions: Mapping[str, str]
    paths: Sequence[str]
    variables: Mapping[str, str]


def surroundings() -> Surroundings:
    """Those of this process."""
    # Where programs are kept is each machine's own affair.
    chosen = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("JAX_", "XLA_")) and name != "JAX_COMPILATION_CACHE_DIR"
    }
    return Surroundings(origin(), [path or os.getcwd() for path in sys.path], chosen)


class Outpost:
    """One population on this machine, in a process that does nothing else. Call `start` once, then `hear` to the end.

    The training itself is in one further process, just as in a study of one machine: its bits are the same.
    """

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def start(self, runs: Sequence[str], files: Changes, asked: Surroundings) -> None:
        """Begin to train `runs`, in their order, from what `files` has of them."""
        threading.Thread(target=self._work, args=(runs, files, asked), daemon=True).start()

    def hear(self) -> list[Message]:
        """What there is to tell since the last call; waits a little for something."""
        messages = []
        with contextlib.suppress(queue.Empty):
            messages.append(self._messages.get(timeout=HEAR_SECONDS))
            while True:
                messages.append(self._messages.get_nowait())
        return messages

    def _work(self, runs: Sequence[str], files: Changes, asked: Surroundings) -> None:
        refusal = _settle(asked)
        if refusal is not None:
            self._tell("refused", refusal)
            return
        try:
            with scratch_folder() as folder:
                reason = self._train(folder, runs, files)
        except MinutiaeError as error:
            reason = str(error)
        except BaseException as error:
            # Whoever asked waits for an end, and a thread that dies tells nobody.
            reason = f"failed with {type(error).__name__}: {error}"
        self._tell("ended", reason)

    def _train(self, folder: Path, runs: Sequence[str], files: Changes) -> str | None:
        put(folder, files)
        mirror = Mirror(folder, runs)
        reasons: list[str | None] = []

        def listen(progress: Progress) -> None:
            if mirror.has_new_checkpoint():
                self._tell_changes(mirror)
            self._tell("progress", progress)

        population = [RunDirectory.open(folder / run) for run in runs]
        Workers([population], 1, [], listen, ended=lambda _, reason: reasons.append(reason)).train()
        self._tell_changes(mirror)
        # The folder is nobody's: a run is known by its name.
        return None if reasons[0] is None else reasons[0].replace(f"{folder}{os.sep}", "")

    def _tell_changes(self, mirror: Mirror) -> None:
        changes = mirror.changes()
        if changes is not None:
            self._tell("changes", changes)

    def _tell(self, kind: Kind, content: Any) -> None:
        self._messages.put(Message(kind, content))


def _settle(asked: Surroundings) -> str | None:
    """Be as the process that asks; or why not, when something that decides a run's numbers has another version here."""
    here = origin()
    for name in PACKAGES:
        version = asked.versions.get(name)
        if version is not None and here.get(name) != version:
            have = f"{name} {here[name]}" if name in here else f"no {name}"
            return (
                f"the node {socket.gethostname()} has {have} and this machine {version}; the runs of a study are "
                "compared, install the same on every node"
            )
    sys.path += [path for path in asked.paths if path not in sys.path and os.path.exists(path)]
    os.environ.update(asked.variables)
    return None


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for one population, removed afterwards; those that killed outposts left are removed first."""
    remove_scratch()
    with contextlib.ExitStack() as stack:
        folder = _new_folder(stack)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def _new_folder(stack: contextlib.ExitStack) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        # Another outpost may take it for one that was left, until it is locked.
        with contextlib.suppress(RunError):
            stack.enter_context(exclusive([folder]))
            if folder.is_dir():
                return folder


def remove_scratch() -> None:
    """Remove the folders of outposts of this machine that are no more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        # The process is asked for where file systems know no locks, the lock where containers share the folder.
        if owner.isdigit() and not _runs(int(owner)):
            with contextlib.suppress(RunError), exclusive([folder]):
                shutil.rmtree(folder, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
