"""The cache of compiled programs: what a killed process leaves behind is removed, and it does not grow for ever."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from minutiae.control import compilation
from minutiae.control.compilation import cache_folder, prune_cache

WHOLE = zlib.compress(bytes(range(256)) * 40)


def test_entries_cut_short_at_any_byte_are_removed_and_whole_ones_stay(tmp_path: Path) -> None:
    whole = tmp_path / "jit_update-whole-cache"
    whole.write_bytes(WHOLE)
    cut = []
    for length in range(len(WHOLE)):
        path = tmp_path / f"jit_update-{length}-cache"
        path.write_bytes(WHOLE[:length])
        cut.append(path)
        assert prune_cache(tmp_path) == [path]
    assert whole.read_bytes() == WHOLE
    assert not any(path.exists() for path in cut)


def test_only_the_newest_programs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "CACHED_PROGRAMS", 2)
    for age in range(4):
        path = tmp_path / f"{age}-cache"
        path.write_bytes(WHOLE)
        os.utime(path, (1000 - age, 1000 - age))
    assert sorted(path.name for path in prune_cache(tmp_path)) == ["2-cache", "3-cache"]


def test_other_files_and_a_missing_folder_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    assert prune_cache(tmp_path) == []
    assert prune_cache(tmp_path / "missing") == []
    assert other.read_text() == "mine"


def test_cache_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().parent == tmp_path / "minutiae" / "xla"
    assert cache_folder() == cache_folder()
