"""Files appear whole or not at all, and a failure says what to do."""

import errno
import os
import stat
from pathlib import Path

import pytest

from minutiae.errors import RunError
from minutiae.runs.atomic import read_bytes, remove_unfinished, write_atomic, write_new


def fail_with(code: int):
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "made" / "on the way" / "file"
    write_atomic(path, b"first")
    write_atomic(path, b"second")
    assert path.read_bytes() == b"second"
    assert os.listdir(path.parent) == ["file"]


def test_the_file_is_readable_by_whom_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    monkeypatch.setattr(os, call, fail_with(code))
    with pytest.raises(RunError) as caught:
        write_atomic(path, b"x" * 1234)
    monkeypatch.undo()
    text = str(caught.value)
    assert text.startswith(f"cannot write {path}: the disk, quota or file-size limit is full (1234 bytes needed, ")
    assert text.endswith(" free); make room and resume the run, or choose another folder with out=...")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_not_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(os, "open", fail_with(code))
    with pytest.raises(RunError) as caught:
        write_atomic(tmp_path / "file", b"")
    assert str(caught.value) == (
        f"cannot write {tmp_path / 'file'}: {os.strerror(code)}; "
        f"make {tmp_path} writable or choose another folder with out=..."
    )


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(RunError, match=rf"^cannot write {tmp_path}/file: Is a directory; check the folder"):
        write_atomic(tmp_path / "file", b"")
    assert os.listdir(tmp_path) == ["file"]


def test_an_interrupt_leaves_the_old_file_and_nothing_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    write_atomic(tmp_path / "file", b"old")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_file_and_folder_are_flushed_in_that_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []

    def fsync(handle: int) -> None:
        flushed.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")

    replace = os.replace
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda *paths: (flushed.append("rename"), replace(*paths)))
    write_atomic(tmp_path / "file", b"")
    assert flushed == ["file", "rename", "folder"]


def test_a_file_system_that_cannot_flush_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomic(tmp_path / "file", b"data")
    assert (tmp_path / "file").read_bytes() == b"data"


def test_leftovers_are_removed_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "unlink", lambda self, missing_ok=False: None)  # as if killed before the cleaning
    monkeypatch.setattr(os, "replace", fail_with(errno.EIO))
    with pytest.raises(RunError):
        write_atomic(tmp_path / "file", b"half")
    monkeypatch.undo()
    (tmp_path / ".hidden").touch()
    (tmp_path / "mine.unfinished").touch()
    assert len(os.listdir(tmp_path)) == 3
    (removed,) = remove_unfinished(tmp_path)
    assert removed.name.startswith(".file.")
    assert sorted(os.listdir(tmp_path)) == [".hidden", "mine.unfinished"]


def test_reading_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(RunError, match=f"^{path} does not exist; check the path$"):
        read_bytes(path)
    os.mkfifo(path)
    with pytest.raises(RunError, match=f"^{path} is not a regular file; give the folder that minutiae wrote$"):
        read_bytes(path)  # opening a pipe would wait forever
    path.unlink()
    path.write_bytes(b"12345")
    assert read_bytes(path, most=5) == b"12345"
    with pytest.raises(RunError, match=r"has 5 bytes, at most 4 make sense; it was not written by minutiae$"):
        read_bytes(path, most=4)


def test_of_two_writers_of_a_new_file_one_wins(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "file"
    write_new(target, b"first")
    with pytest.raises(FileExistsError):
        write_new(target, b"second")
    assert target.read_bytes() == b"first"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_new_file_where_links_do_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    write_new(tmp_path / "file", b"first")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
