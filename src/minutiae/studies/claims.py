"""Claims: which process works on which task, on any machine that shares the folder. Knows no task's content.

A claim is a file made exclusively. Its owner touches it while it works; whoever finds it untouched for a lease, or its
owner gone from this machine, may take it over. Two owners at once, which a pause of minutes can bring about, would
cost time and no result: training is repeatable and every file is replaced whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from minutiae.errors import RunError
from minutiae.runs.atomic import write_failure

LEASE_SECONDS = 120.0
"""A claim that was not touched for so long has lost its owner."""

TOUCH_SECONDS = 15.0


class Claims:
    """The claims of this process in a folder; a context that touches them and gives back what is left.

    Args:
        folder: shared by all that work on the same tasks; made when missing.
    """

    def __init__(self, folder: Path, lease: float = LEASE_SECONDS) -> None:
        self._folder, self._lease = folder, lease
        self._token = secrets.token_hex(8)
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._touch_all, name="claims", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for name in list(self._held):
            self.release(name)

    def take(self, name: str) -> bool:
        """Claim `name`; false when somebody alive holds it.

        Raises:
            RunError: the folder cannot be written.
        """
        path = self._folder / name
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._make(path):
                if self._alive(path):
                    return False
                if not (self._bury(path) and self._make(path)):
                    return False
        except OSError as error:
            raise RunError(write_failure(path, error)) from error
        with self._lock:
            self._held.add(name)
        return True

    def release(self, name: str) -> None:
        """Give `name` back; harmless when it is not held."""
        with self._lock:
            held = name in self._held
            self._held.discard(name)
        if held:
            with contextlib.suppress(OSError, ValueError):
                if self._read(self._folder / name).get("token") == self._token:
                    (self._folder / name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove the claims that dead processes left; those of the living stay."""
        for path in self._folder.glob("[!.]*"):
            with contextlib.suppress(OSError):
                if path.name not in self._held and not self._alive(path):
                    self._bury(path)

    @staticmethod
    def _bury(path: Path) -> bool:
        """Remove a dead claim; of all that see it one wins the rename, and the others find nothing to rename."""
        grave = path.with_name(f".{path.name}.{secrets.token_hex(4)}.dead")
        try:
            os.rename(path, grave)
        except FileNotFoundError:
            return False
        grave.unlink(missing_ok=True)
        return True

    def _make(self, path: Path) -> bool:
        # Written beside and linked into place: a claim is never seen half-written, and a link never replaces one.
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
        beside.write_text(json.dumps({"token": self._token, **_owner()}))
        try:
            os.link(beside, path)
            return True
        except FileExistsError:
            return False
        finally:
            beside.unlink(missing_ok=True)

    def _alive(self, path: Path) -> bool:
        """Whether the owner of a claim still works on it."""
        try:
            owner, touched = self._read(path), path.stat().st_mtime
        except FileNotFoundError:
            return True  # just given back; the next look will tell
        except ValueError:
            owner, touched = {}, path.stat().st_mtime
        if owner.get("token") == self._token:
            return True
        here = _owner()
        if owner.get("host") == here["host"]:
            return _started(owner.get("pid")) == owner.get("started")
        return self._now() - touched < self._lease

    def _now(self) -> float:
        """The clock of the file system, which is not this machine's where the folder is shared."""
        probe = self._folder / f".{self._token}.clock"
        probe.touch()
        now = probe.stat().st_mtime
        probe.unlink(missing_ok=True)
        return now

    @staticmethod
    def _read(path: Path) -> dict[str, Any]:
        document = json.loads(path.read_text())
        if not isinstance(document, dict):
            raise ValueError("a claim is a JSON object")
        return document

    def _touch_all(self) -> None:
        while not self._stop.wait(min(TOUCH_SECONDS, self._lease / 8)):
            with self._lock:
                held = list(self._held)
            for name in held:
                with contextlib.suppress(OSError):
                    os.utime(self._folder / name)


def _owner() -> dict[str, Any]:
    return {"host": _host(), "pid": os.getpid(), "started": _started(os.getpid())}


def _host() -> str:
    """This machine and its boot: a process number means nothing after a reboot, nor on another machine."""
    with contextlib.suppress(OSError):
        return f"{socket.gethostname()} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"
    return socket.gethostname()


def _started(pid: Any) -> str | None:
    """When a process of this machine started, in the system's own count; `None` when it does not run.

    Process numbers are used again, and this tells their users apart.
    """
    if not isinstance(pid, int):
        return None
    try:
        # The name, in brackets, may hold spaces; the start time is the 20th field behind it (proc(5)).
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "running"
