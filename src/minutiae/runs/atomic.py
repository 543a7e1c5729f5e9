"""Bytes to and from disk, whole or not at all. Knows files and their errors, not what the bytes mean."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from minutiae.errors import RunError

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_SUFFIX = ".unfinished"


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` beside `path`, flush it to the disk and rename it into place.

    A reader sees the old file or the new one, never a part of either, whenever the writer is killed.
    Missing parent folders are made. On any error the file beside is removed and `path` is as it was before.

    Raises:
        RunError: the disk is full, the folder may not be written, or the system refused for another reason.
    """
    _write(Path(path), data, _replace)


def write_new(path: str | os.PathLike[str], data: bytes) -> None:
    """As `write_atomic`, for a file that nobody may have made before: of two writers one wins.

    Raises:
        FileExistsError: somebody has.
        RunError: as `write_atomic`.
    """
    if not _write(Path(path), data, _link):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _write(target: Path, data: bytes, place: Callable[[Path, Path], bool]) -> bool:
    """Write `data` beside `target` and `place` it; what `place` answers."""
    # A name of its own for every write: two writers can race for the place but never mix their bytes.
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}{_SUFFIX}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Not `tempfile`: its files are private to their owner, and a group may share a store.
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            placed = place(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        _flush_folder(target.parent)
    except OSError as error:
        raise RunError(write_failure(target, error, size=len(data))) from error
    return placed


def _replace(beside: Path, target: Path) -> bool:
    os.replace(beside, target)
    return True


def _link(beside: Path, target: Path) -> bool:
    """Whether `beside` could take a place that was free: a link, unlike a rename, never replaces what is there."""
    try:
        os.link(beside, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # The place is taken first and filled at once.
        try:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            return False
        os.replace(beside, target)
        return True
    finally:
        beside.unlink(missing_ok=True)
    return True


def is_unfinished(name: str) -> bool:
    """Whether a file of this name is what a killed writer left."""
    return name.startswith(".") and name.endswith(_SUFFIX)


def _flush_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut, where the system can flush folders at all."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network and user-space file systems have no such call; the rename itself has happened.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def remove_unfinished(folder: str | os.PathLike[str]) -> list[Path]:
    """Remove what killed writers left beside their targets in `folder`; returns what was removed.

    Only the one process that writes in `folder` may call this: it would take another writer's file too.
    """
    removed = []
    for leftover in sorted(Path(folder).glob(f".*{_SUFFIX}")):
        with contextlib.suppress(OSError):
            leftover.unlink()
            removed.append(leftover)
    return removed


def read_bytes(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The bytes of a regular file; a folder, device or pipe in its place is an error, not a hang.

    Args:
        most: the largest size in bytes that makes sense here; a larger file is an error. `None` is no limit.

    Raises:
        RunError: the file is missing, unreadable, not a regular file or larger than `most`.
    """
    path = Path(path)
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise RunError(f"{path} is not a regular file; give the folder that minutiae wrote")
        if most is not None and facts.st_size > most:
            raise RunError(
                f"{path} has {facts.st_size} bytes, at most {most} make sense; it was not written by minutiae"
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise RunError(f"{path} does not exist; check the path") from error
    except OSError as error:
        raise RunError(f"cannot read {path}: {reason(error)}; check its permissions and the disk") from error


def write_failure(path: Path, error: OSError, size: int | None = None) -> str:
    """One sentence for a write that failed: the path, why, and what to do about it."""
    if error.errno in _DISK_FULL:
        need = "" if size is None else f" ({size} bytes needed, {_free(path)} free)"
        return (
            f"cannot write {path}: the disk, quota or file-size limit is full{need}; "
            "make room and resume the run, or choose another folder with out=..."
        )
    if error.errno in _NOT_ALLOWED:
        remedy = f"make {path.parent} writable or choose another folder with out=..."
        return f"cannot write {path}: {reason(error)}; {remedy}"
    return f"cannot write {path}: {reason(error)}; check the folder {path.parent} and the disk"


def reason(error: BaseException) -> str:
    """Why an operation failed, on one line and without the library's own framing."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


def _free(path: Path) -> str:
    for folder in path.parents:
        with contextlib.suppress(OSError):
            return str(shutil.disk_usage(folder).free)
    return "unknown"
