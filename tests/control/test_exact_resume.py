"""A run that was stopped at any moment goes on to the same bits. The disk at every moment is copied, then resumed.

`test_killed_training` does the same with real kills of real processes, at moments of chance.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import minutiae
from minutiae.control.progress import Progress
from minutiae.control.trainer import Trainer
from minutiae.details import to_toml
from minutiae.errors import RunError
from minutiae.runs.directory import RunDirectory
from small_runs import ITERATIONS, SEGMENT, assert_same_bits, paths_of, several, small

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Stopped(BaseException):
    """Ends training from inside, as Ctrl-C would."""


def stop_at(iteration: int) -> Callable[[Progress], None]:
    def listen(progress: Progress) -> None:
        if progress.iteration == iteration and progress.status == "training":
            raise Stopped

    return listen


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory, quick_compilation: None) -> Path:
    """A run that was never stopped."""
    return minutiae.train(small(), seed=3, name="run", out=tmp_path_factory.mktemp("single"))[0].path


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory, quick_compilation: None) -> list[Path]:
    """Four different agents in one population, never stopped."""
    out = tmp_path_factory.mktemp("group")
    return paths_of(minutiae.train_population(several(), name="group", out=out, workers=1))


def test_the_same_config_and_seed_give_the_same_bits_twice(single: Path, group: list[Path], tmp_path: Path) -> None:
    again = minutiae.train(small(), seed=3, name="run", out=tmp_path)[0]
    assert_same_bits(again.path, single)
    runs = minutiae.train_population(several(), name="group", out=tmp_path, workers=1)
    for run, reference in zip(runs, group, strict=True):
        assert_same_bits(run.path, reference)
    other = minutiae.train(small(), seed=4, name="other", out=tmp_path)[0]
    assert not other.metrics().equals(again.metrics())


@pytest.mark.parametrize("stops", [[1], [2], [3, 3, 5], [4], [6], [1, 2, 3, 4, 5, 6]])
def test_stopped_and_resumed_is_as_never_stopped(single: Path, tmp_path: Path, stops: list[int]) -> None:
    path = tmp_path / "run"
    for number, iteration in enumerate(stops):
        with pytest.raises(Stopped):
            if number == 0:
                minutiae.train(small(), seed=3, name="run", out=tmp_path, listener=stop_at(iteration))
            else:
                minutiae.resume(path, listener=stop_at(iteration))
        run = minutiae.open_run(path)
        assert (run.status, run.result) == ("unfinished", None)
        # Ended segments are safe; what is on disk never goes beyond them.
        saved = RunDirectory.open(path).checkpoints()
        done = (iteration - 1) // SEGMENT * SEGMENT
        assert saved == [number for number in (done - SEGMENT, done) if number > 0]
        assert run.metrics().height == done
    (run,) = minutiae.resume(path)
    assert run.status == "finished"
    assert_same_bits(path, single)


def test_resuming_goes_on_from_the_last_segment_and_counts_on(single: Path, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        minutiae.train(small(), seed=3, name="run", out=tmp_path, listener=stop_at(6))
    heard: list[Progress] = []
    minutiae.resume(tmp_path / "run", listener=heard.append)
    told = [(one.iteration, one.steps, one.status) for one in heard]
    assert told == [(4, 160, "starting"), (5, 200, "training"), (6, 240, "training"), (6, 240, "finished")]
    assert heard[0].message == "goes on from step 160"
    assert {(one.iterations, one.total_steps, one.run) for one in heard} == {(6, 240, "run")}
    # Learning rates go on from where they were (SB3 1277 began again).
    rates = minutiae.open_run(tmp_path / "run").metrics()["policy_learning_rate"].to_list()
    assert rates == pytest.approx([3e-4 * (1 - i / ITERATIONS) for i in range(ITERATIONS)], rel=1e-6)


Disk = list[tuple[str, Path]]


@pytest.fixture
def every_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], Disk]]:
    """Copies of a folder as a `kill -9` would have left it within and after every write and removal."""
    disk: Disk = []
    watched: list[Path] = []
    replace, link, unlink = os.replace, os.link, os.unlink

    def copy(name: str) -> Path:
        target = tmp_path / "moments" / f"{len(disk):03d}"
        shutil.copytree(watched[0], target / "kept")
        disk.append((name, target / "kept"))
        return target / "kept"

    def watch_placing(place: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        def watched_placing(source: Path, target: Path) -> None:
            if watched and Path(target).is_relative_to(watched[0]):
                name = Path(target).name
                torn = copy(f"within {name}") / Path(source).relative_to(watched[0])
                torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 2])
                place(source, target)
                copy(f"after {name}")
            else:
                place(source, target)

        return watched_placing

    def watched_unlink(path: Path, **options: object) -> None:
        unlink(path, **options)  # type: ignore[arg-type]
        if watched and Path(path).is_relative_to(watched[0]):
            copy(f"without {Path(path).name}")

    def watch(folder: Path) -> Disk:
        watched.append(folder)
        return disk

    monkeypatch.setattr(os, "replace", watch_placing(replace))
    monkeypatch.setattr(os, "link", watch_placing(link))
    monkeypatch.setattr(os, "unlink", watched_unlink)
    yield watch
    monkeypatch.undo()


def test_killed_at_any_moment_nothing_older_is_lost(
    single: Path, tmp_path: Path, every_moment: Callable[[Path], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = every_moment(tmp_path / "run")
    minutiae.train(small(), seed=3, name="run", out=tmp_path)
    monkeypatch.undo()
    names = [name for name, _ in disk]
    for file in ("config.toml", "metrics.parquet", "000002.safetensors", "policy.safetensors", "result.json"):
        assert {f"within {file}", f"after {file}"} <= set(names)
    assert "without 000002.safetensors" in names
    safe = 0
    for name, copy in disk:
        if name.startswith("after 0"):
            safe = int(name.removeprefix("after ").removesuffix(".safetensors"))
        if name == "within config.toml":
            # There is no run yet, and the place is free for it.
            with pytest.raises(RunError, match="is not a run: it has no config"):
                minutiae.resume(copy)
            minutiae.train(small(), seed=3, name=copy.name, out=copy.parent)
        else:
            saved = RunDirectory.open(copy).checkpoints()
            assert max(saved, default=0) == safe, name
            # The outcome is told only once all of it is there.
            assert (minutiae.open_run(copy).status == "finished") == (name == "after result.json"), name
            minutiae.resume(copy)
        assert_same_bits(copy, single)
        assert not list(copy.rglob("*.unfinished")), name


def test_a_population_killed_at_any_moment_goes_on_together(
    group: list[Path], tmp_path: Path, every_moment: Callable[[Path], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = every_moment(tmp_path / "group")
    minutiae.train_population(several(), name="group", out=tmp_path, workers=1)
    monkeypatch.undo()
    apart = 0
    moments = [(name, copy) for name, copy in disk if (copy / "seed-13" / "config.toml").exists()]
    assert len(moments) > 80
    # Every eleventh of them: eleven shares no factor with the writes of an agent, so each kind of write has its turn.
    for name, copy in moments[::11]:
        newest = [max(RunDirectory.open(copy / path.name).checkpoints(), default=0) for path in group]
        apart += len(set(newest)) > 1
        minutiae.resume(copy)
        for reference in group:
            assert_same_bits(copy / reference.name, reference)
        shutil.rmtree(copy)
        assert name
    # Among them: kills that left one member a save ahead of another.
    assert apart >= 2


def test_a_member_with_a_newer_checkpoint_waits_for_the_others(group: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        minutiae.train_population(several(), name="group", out=tmp_path, workers=1, listener=stop_at(5))
    # As if the kill had come while the second member was being saved for the second time.
    for name in ("seed-11", "seed-12", "seed-13"):
        (tmp_path / "group" / name / "checkpoint" / "000004.safetensors").unlink()
    heard: list[Progress] = []
    minutiae.resume(tmp_path / "group", listener=heard.append)
    assert min(one.iteration for one in heard if one.status == "training") == 3
    for reference in group:
        assert_same_bits(tmp_path / "group" / reference.name, reference)


def test_resuming_one_member_trains_its_population(
    group: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Alone, a member would be another program with other rounding.
    for number, place in enumerate(("from outside", "from its own folder")):
        out = tmp_path / str(number)
        with pytest.raises(Stopped):
            minutiae.train_population(several(), name="group", out=out, workers=1, listener=stop_at(3))
        member = out / "group" / "seed-12"
        if place == "from its own folder":
            monkeypatch.chdir(member)
            (run,) = minutiae.resume(".")
        else:
            (run,) = minutiae.resume(member)
        assert run.seed == 12 and run.path.resolve() == member
        for reference in group:
            assert_same_bits(out / "group" / reference.name, reference)


def test_finished_runs_are_returned_as_they_are(single: Path, group: list[Path]) -> None:
    def nothing(progress: Progress) -> None:
        raise AssertionError(progress)

    folders = [single, *group]
    before = {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}
    (run,) = minutiae.resume(single, listener=nothing)
    assert (run.path, run.status) == (single, "finished")
    runs = minutiae.resume(group[0].parent, listener=nothing)
    assert [run.path for run in runs] == group
    (run,) = minutiae.resume(group[2], listener=nothing)
    assert run.path == group[2]
    assert before == {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


def test_metrics_that_end_before_their_checkpoint_are_not_papered_over(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        minutiae.train(small(), seed=3, name="run", out=tmp_path, listener=stop_at(5))
    path = tmp_path / "run"
    (path / "metrics.parquet").unlink()
    with pytest.raises(RunError) as caught:
        minutiae.resume(path)
    assert str(caught.value) == (
        f"{path / 'metrics.parquet'} ends before the checkpoint of iteration 4; restore it from a copy, or delete "
        "the run and train it again"
    )


@pytest.mark.parametrize(
    ("given", "now", "text"),
    [
        ("steps = 240", "steps = 200", "steps was 240 and is 200"),
        ('value_clipping = "off"', 'value_clipping = "max"', "value_clipping was 'off' and is 'max'"),
        ("seed = 3", "seed = 4", "seed was 3 and is 4"),
    ],
)
def test_a_config_changed_after_training_began_is_noticed(tmp_path: Path, given: str, now: str, text: str) -> None:
    with pytest.raises(Stopped):
        minutiae.train(small(), seed=3, name="run", out=tmp_path, listener=stop_at(5))
    file = tmp_path / "run" / "config.toml"
    before = file.read_text()
    assert f"\n{given}" in before
    file.write_text(before.replace(f"\n{given}", f"\n{now}"))
    with pytest.raises(RunError) as caught:
        minutiae.resume(tmp_path / "run")
    assert str(caught.value) == (
        f"{file} was changed after training began: {text}; change it back, or train it as a new run with: "
        "minutiae train --config FILE --name NAME"
    )


def test_one_trainer_at_a_time(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    """A second process would remove the first one's files, and write older ones over a finished run."""
    told: list[str] = []

    def resume_too(progress: Progress) -> None:
        if progress.iteration == 3 and not told:
            code = f"import minutiae; minutiae.resume({str(tmp_path / 'run')!r})"
            command = [sys.executable, "-c", code]
            other = subprocess.run(command, env=elsewhere, capture_output=True, text=True, check=False)
            told.append(other.stderr.strip().splitlines()[-1])

    minutiae.train(small(), seed=3, name="run", out=tmp_path, listener=resume_too)
    assert told == [
        f"minutiae.errors.RunError: another process is training {tmp_path / 'run'}; wait until it ends, or stop it and "
        f"run: minutiae resume {tmp_path / 'run'}"
    ]
    assert minutiae.open_run(tmp_path / "run").status == "finished"


def test_trpo_on_a_simulator_with_threads_resumes_to_the_bits_of_one_thread(tmp_path: Path) -> None:
    config = small().replace(environment="envpool:Pendulum-v1", algorithm="trpo", value_epochs=2)
    whole = RunDirectory.create(tmp_path / "whole", to_toml(config), 3)
    Trainer([whole], threads=1).train()
    with pytest.raises(Stopped):
        minutiae.train(config, seed=3, name="run", out=tmp_path, listener=stop_at(5))
    minutiae.resume(tmp_path / "run")
    assert_same_bits(tmp_path / "run", whole.path)


def test_a_damaged_newest_checkpoint_costs_time_but_no_bit(single: Path, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        minutiae.train(small(), seed=3, name="run", out=tmp_path, listener=stop_at(5))
    path = tmp_path / "run"
    newest = path / "checkpoint" / "000004.safetensors"
    data = bytearray(newest.read_bytes())
    data[-10] ^= 1
    newest.write_bytes(data)
    heard: list[Progress] = []
    minutiae.resume(path, listener=heard.append)
    assert (heard[0].iteration, heard[0].status) == (2, "starting")
    assert_same_bits(path, single)
