"""Run directories that travel: what changed goes over once, in an order in which any part of it can be gone on with."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minutiae.errors import RunError
from minutiae.runs import mirror as module
from minutiae.runs.directory import RunDirectory
from minutiae.runs.group import common_iteration
from minutiae.runs.mirror import Changes, Mirror, Piece, pack, put

CONFIG = "algorithm = 'ppo'\n"
EVENTS = "tensorboard/events.out.tfevents.1.minutiae"


def make(folder: Path, *names: str) -> list[RunDirectory]:
    return [RunDirectory.create(folder / name, CONFIG, seed=3) for name in names]


def train(run: RunDirectory, iteration: int) -> None:
    """What a trainer writes in one iteration that ends a segment."""
    (run.path / "tensorboard").mkdir(exist_ok=True)
    with open(run.path / EVENTS, "ab") as file:
        file.write(b"<%d>" % iteration)
    metrics = run.metrics()
    metrics.append({"iteration": iteration, "return_mean": 0.5 * iteration})
    metrics.save()
    run.save_checkpoint(iteration, {"weights": np.full(3, iteration, np.float32)}, {})


def names(changes: Changes | None) -> list[str]:
    assert changes is not None
    return [f"{piece.run}/{piece.name}" for piece in changes.pieces]


def test_what_is_packed_can_be_gone_on_with_and_event_files_only_lend_their_names(tmp_path: Path) -> None:
    (run,) = make(tmp_path / "here", "a")
    train(run, 1)
    train(run, 2)
    (run.path / ".left.0.unfinished").write_bytes(b"half")
    changes = pack(tmp_path / "here", ["a"])
    assert names(changes) == [
        f"a/{EVENTS}",
        "a/metrics.parquet",
        "a/config.toml",
        "a/checkpoint/000002.safetensors",
        "a/checkpoint/000001.safetensors",
    ]
    put(tmp_path / "there", changes)
    there = RunDirectory.open(tmp_path / "there" / "a")
    assert (there.seed, there.checkpoints(), there.metrics().last) == (3, [1, 2], 2)
    assert (there.path / EVENTS).read_bytes() == b""


def test_only_what_changed_travels_and_of_event_files_only_the_new_end(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    make(there, "a", "b")
    runs = make(here, "a", "b")
    mirror = Mirror(here, ["a", "b"])
    assert mirror.changes() == Changes(())
    assert not mirror.has_new_checkpoint()
    for iteration in (1, 2, 3):
        for run in runs:
            train(run, iteration)
        assert mirror.has_new_checkpoint()
        changes = mirror.changes()
        assert changes is not None and not mirror.has_new_checkpoint()
        if iteration == 3:
            assert Piece("b", EVENTS, 6, b"<3>") in changes.pieces
            assert sorted(changes.removed) == [(run, "checkpoint/000001.safetensors") for run in "ab"]
        put(there, changes)
    runs[0].finish()
    changes = mirror.changes()
    assert changes is not None and names(changes) == ["a/result.json"]
    put(there, changes)
    for run in runs:
        copies = {path.relative_to(here): path.read_bytes() for path in run.path.glob("**/*") if path.is_file()}
        assert copies == {path: (there / path).read_bytes() for path in copies}
        assert sorted(os.listdir(there / run.name)) == sorted(os.listdir(run.path))


@pytest.mark.parametrize("written", range(12))
def test_stopped_while_it_is_put_in_place_it_can_be_gone_on_with(
    written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    make(there, "a", "b")
    runs = make(here, "a", "b")
    mirror = Mirror(here, ["a", "b"])
    for run in runs:
        train(run, 1)
    first = mirror.changes()
    assert first is not None
    put(there, first)
    for run in runs:
        train(run, 2)
        run.finish()
    second = mirror.changes()
    assert second is not None and len(second.pieces) == 8
    write, left = module.write_atomic, iter(range(written))

    def until_killed(path: Path, data: bytes) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        write(path, data)

    monkeypatch.setattr(module, "write_atomic", until_killed)
    try:
        put(there, second)
    except KeyboardInterrupt:
        assert written < 6
    copies = [RunDirectory.open(there / name) for name in "ab"]
    iteration = common_iteration(copies)
    assert iteration in (1, 2)
    for copy in copies:
        last = copy.metrics().last
        assert last is not None and last >= iteration
        assert not copy.finished or iteration == 2


def test_a_look_while_checkpoints_are_written_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run read before a save and another read after two more, no checkpoint would be left in common."""
    here, there = tmp_path / "here", tmp_path / "there"
    make(there, "a", "b")
    runs = make(here, "a", "b")
    mirror = Mirror(here, ["a", "b"])
    for iteration in (1, 2):
        for run in runs:
            train(run, iteration)
    read = module._read
    saves: Iterator[int] = iter([3, 4])

    def overtaken(folder: Path, run: str, *rest: int) -> Piece:
        if run == "b" and (iteration := next(saves, None)) is not None:
            for one in runs:
                train(one, iteration)
        return read(folder, run, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_read", overtaken)
    put(there, mirror.changes() or Changes(()))
    assert next(saves, None) is None
    assert common_iteration([RunDirectory.open(there / name) for name in "ab"]) == 4
    # A trainer that saves all the time is looked at another time.
    for run in runs:
        train(run, 5)
    saves = itertools.count(6)
    assert mirror.changes() is None
    saves = iter([])
    last = runs[0].checkpoints()[-1]
    assert last > 5
    assert f"a/checkpoint/{last:06d}.safetensors" in names(mirror.changes())


def test_what_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file where a folder should be")
    with pytest.raises(RunError, match=r"^cannot write .*a/config\.toml: "):
        put(tmp_path, Changes((Piece("a", "config.toml", 0, b""),)))
    with pytest.raises(RunError, match=r"^cannot write .*a/tensorboard/x: "):
        put(tmp_path, Changes((Piece("a", "tensorboard/x", 4, b"more"),)))
