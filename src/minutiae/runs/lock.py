"""One trainer for a run at a time. Knows nothing of what the trainer does."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from minutiae.errors import RunError

try:
    import fcntl
except ImportError:  # Windows has no such lock; runs are unprotected there
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EBADF, errno.EINVAL}
"""What file systems without locks answer: some network and user-space ones."""


@contextlib.contextmanager
def exclusive(folders: Sequence[Path]) -> Iterator[None]:
    """Hold every folder of `folders` for this process; the system frees them when the process ends, however it ends.

    The lock is on the folder itself and leaves no file behind.

    Raises:
        RunError: another process holds one of them.
    """
    with contextlib.ExitStack() as held:
        for folder in dict.fromkeys(folders):
            _hold(folder, held)
        yield


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold a folder, after whoever holds it now; for what takes a moment, such as reading a file and writing it again.

    Raises:
        RunError: the folder cannot be opened.
    """
    with contextlib.ExitStack() as held:
        if fcntl is not None:
            handle = _opened(folder, held)
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _opened(folder: Path, held: contextlib.ExitStack) -> int:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise RunError(f"cannot open {folder}: {error.strerror}; check the path and its permissions") from error
    held.callback(os.close, handle)
    return handle


def _hold(folder: Path, held: contextlib.ExitStack) -> None:
    if fcntl is None:
        return
    handle = _opened(folder, held)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RunError(
            f"another process is training {folder}; wait until it ends, or stop it and run: minutiae resume {folder}"
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise RunError(f"cannot lock {folder}: {error.strerror}; check its file system") from error
