"""Folders of new runs are taken away when nothing came of them that the user cannot have again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minutiae.control.folders import removed_unless_begun
from minutiae.errors import ConfigError, MinutiaeError, RunError
from minutiae.runs.directory import RunDirectory


@pytest.mark.parametrize(
    ("error", "checkpoint", "stays"),
    [
        (ConfigError("a detail raised"), False, False),
        (MinutiaeError("told by a worker"), False, False),
        (ConfigError("a detail raised"), True, True),
        (RunError("the disk is full"), False, True),
        (KeyboardInterrupt(), False, True),
        (AssertionError("a fault of ours"), False, True),
    ],
)
def test_what_nothing_was_kept_of_is_taken_away(
    error: BaseException, checkpoint: bool, stays: bool, tmp_path: Path
) -> None:
    path = tmp_path / "group"
    members = [path / "seed-0", path / "seed-1"]
    runs = [RunDirectory.create(member, 'environment = "CartPole-v1"\n', seed=0) for member in members]
    if checkpoint:
        runs[1].save_checkpoint(3, {"a": np.zeros(2)}, {})
    with pytest.raises(type(error)), removed_unless_begun(path, members):
        raise error
    assert path.exists() == stays
    assert tmp_path.exists()
