"""Tables that are kept in the repository, and such as are made again: read and compared. No test lives here."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))


def assert_alike(one: list[list[str]], other: list[list[str]], where: str) -> None:
    """Texts are equal; numbers are up to their last digits, which NumPy may sum in another order elsewhere."""
    assert [len(row) for row in one] == [len(row) for row in other], where
    for mine, theirs in zip(one, other, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            try:
                assert float(a) == pytest.approx(float(b), rel=1e-6, abs=1e-9, nan_ok=True), where
            except ValueError:
                assert a == b, where
