"""Archives: finished runs outlive their study, count in another, are never trained again, and survive damage around."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars
import pytest
from small_studies import small_study

from minutiae.control.progress import Progress
from minutiae.errors import RunError
from minutiae.studies.archive import CURVES, METRICS, RUNS, Archive
from minutiae.studies.archiving import archive_study
from minutiae.studies.execution import in_this_process, run_study
from minutiae.studies.results import StudyResults
from minutiae.studies.study import Study, Tuning

pytestmark = pytest.mark.usefixtures("quick_compilation")


def run_here(study: Study, folder: Path, **options: Any) -> StudyResults:
    return run_study(study, folder, executor=in_this_process, **options)


def untrained(heard: list[Progress]) -> set[str]:
    """Ids of those who watch are told once that they have ended, with their return, and nothing else."""
    assert {(one.status, one.iteration, one.return_mean is not None) for one in heard} == {("finished", 6, True)}
    assert len({one.run for one in heard}) == len(heard)
    return {one.run for one in heard}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, quick_compilation: None) -> StudyResults:
    return run_here(small_study(), tmp_path_factory.mktemp("studies") / "trained")


@pytest.fixture
def archive(trained: StudyResults, tmp_path: Path) -> Path:
    assert archive_study(trained.path, tmp_path / "kept") == 8
    return tmp_path / "kept"


def test_archived_runs_count_with_all_digits_and_are_not_trained(
    trained: StudyResults, archive: Path, tmp_path: Path
) -> None:
    heard: list[Progress] = []
    results = run_here(small_study(), tmp_path / "again", archive=archive, listener=heard.append)
    assert untrained(heard) == set(results.frame()["run_id"])
    assert not list((tmp_path / "again" / "runs").glob("*"))
    assert results.frame().equals(trained.frame())
    # Curves are kept as float32.
    mine = results.curves("entropy_batch").sort("run_id", "iteration")
    theirs = trained.curves("entropy_batch").sort("run_id", "iteration")
    assert mine.select("run_id", "iteration", "steps").equals(theirs.select("run_id", "iteration", "steps"))
    for name in ("return_mean", "kl_exact_batch", "entropy_batch"):
        assert mine[name].to_numpy() == pytest.approx(theirs[name].to_numpy(), rel=1e-6, nan_ok=True)


def test_more_seeds_train_only_what_is_not_archived_and_the_archive_takes_them_in(
    trained: StudyResults, archive: Path, tmp_path: Path
) -> None:
    heard: list[Progress] = []
    results = run_here(small_study(seeds=3), tmp_path / "more", archive=archive, listener=heard.append)
    frame = results.frame()
    fresh = set(frame.filter(polars.col("seed") == 2)["run_id"])
    assert {one.run for one in heard if one.status == "training"} == fresh
    assert untrained([one for one in heard if one.run not in fresh]) == set(frame["run_id"]) - fresh
    assert set(frame["status"]) == {"finished"}
    assert archive_study(tmp_path / "more", archive) == 4
    assert archive_study(tmp_path / "more", archive) == 0
    assert len(Archive.open(archive).runs) == 12
    curves = Archive.open(archive).curves(frame["run_id"])
    assert curves.columns == ["run_id", *(name for name in METRICS if name in curves.columns)]
    assert curves.group_by("run_id").len()["len"].to_list() == [6] * 12


def test_tuning_chooses_among_archived_runs(archive: Path, tmp_path: Path) -> None:
    tuned = small_study(seeds=1, tuning=Tuning({"learning_rate": [1e-3, 3e-3]}, seeds=1))
    whole = run_here(tuned, tmp_path / "tuned")
    archive_study(whole.path, archive)
    heard: list[Progress] = []
    again = run_here(tuned, tmp_path / "untrained", archive=archive, listener=heard.append)
    assert untrained(heard) == set(again.frame()["run_id"])
    assert again.frame().equals(whole.frame())


def test_a_run_knows_its_config_though_ids_change(archive: Path) -> None:
    """A detail that the catalogue gains later changes every id; the archive's configs lack it and mean its default."""
    table = polars.read_parquet(archive / RUNS)
    before = set(Archive(archive).runs)
    table.with_columns(
        polars.col("config").str.replace('dual_clipping = "off"\n', ""),
    ).write_parquet(archive / RUNS)
    assert set(Archive(archive).runs) == before


def test_a_config_that_is_none_any_more_is_passed_over_and_kept(
    trained: StudyResults, archive: Path, tmp_path: Path
) -> None:
    table = polars.read_parquet(archive / RUNS)
    odd = table.with_columns(
        polars.when(polars.int_range(polars.len()) == 0)
        .then(polars.col("config") + "retired_detail = 1\n")
        .otherwise(polars.col("config"))
    )
    odd.write_parquet(archive / RUNS)
    assert len(Archive(archive).runs) == 7
    assert archive_study(trained.path, archive) == 1
    assert len(Archive(archive).rows) == len(Archive(archive).runs) == 8


def test_what_is_no_archive_is_refused(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no archive: it has no runs\.parquet; make one with"):
        run_here(small_study(), tmp_path / "s", archive=tmp_path)
    (archive / CURVES).rename(tmp_path / "away")
    with pytest.raises(
        RunError, match=r"lacks its curves\.parquet; restore it from a copy, or archive the study again"
    ):
        run_here(small_study(), tmp_path / "s", archive=archive)
    (tmp_path / "away").rename(archive / CURVES)
    (archive / RUNS).write_bytes(b"PAR1")
    with pytest.raises(RunError, match="damaged"):
        _ = Archive.open(archive).runs
    polars.DataFrame({"key": ["a"]}).write_parquet(archive / RUNS)
    with pytest.raises(RunError, match="lacks about, config"):
        _ = Archive.open(archive).runs


def test_curves_without_their_runs_are_dropped(trained: StudyResults, archive: Path, tmp_path: Path) -> None:
    """What a kill between the two writes leaves."""
    fresh = tmp_path / "fresh"
    run_here(small_study(seeds=1), tmp_path / "first")
    archive_study(tmp_path / "first", fresh)
    shutil.copy(archive / CURVES, fresh / CURVES)
    assert archive_study(trained.path, fresh) == 4
    table = polars.read_parquet(fresh / CURVES)
    assert table.group_by("key").len()["len"].to_list() == [6] * 8


def test_of_several_writers_none_loses_what_another_keeps(trained: StudyResults, archive: Path, tmp_path: Path) -> None:
    """Each reads, adds its own and writes; in between the others must wait."""
    source = Archive.open(archive)
    target = tmp_path / "together"
    runs = list(source.runs.items())
    parts = [dict(runs[place : place + 2]) for place in range(0, 8, 2)]
    with ThreadPoolExecutor(4) as threads:
        added = list(threads.map(lambda part: Archive(target).add(part, source.curves(part)), parts))
    assert added == [2, 2, 2, 2]
    assert set(Archive.open(target).runs) == set(source.runs)
    assert len(Archive.open(target).curves(source.runs)) == 8 * 6


def test_a_run_whose_curves_are_lost_is_archived_again(trained: StudyResults, archive: Path) -> None:
    (archive / CURVES).unlink()
    assert Archive(archive).runs == {}
    assert archive_study(trained.path, archive) == 8
    assert len(Archive(archive).rows) == len(Archive(archive).runs) == 8


def test_a_run_without_an_outcome_that_the_study_asks_for_is_trained(archive: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    study = small_study(seeds=1, outcomes=("final_return", "gradient_step_fraction"))
    frame = run_here(study, tmp_path / "asks", archive=archive, listener=heard.append).frame()
    assert len({one.run for one in heard if one.status == "training"}) == 4
    assert frame["gradient_step_fraction"].is_not_null().all()


def test_an_archive_does_not_lie_among_runs(trained: StudyResults) -> None:
    with pytest.raises(RunError, match="lies among the runs of the study; choose a folder outside of"):
        archive_study(trained.path, trained.path / "runs" / "kept")


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("status", "great", "row 1 of .* is damaged: the status 'great'; restore it from a copy"),
        ("outcomes", "{", "row 1 of .* is damaged: .*; restore it from a copy"),
        ("outcomes", "[1]", "row 1 of .* is damaged: a value of another kind"),
        ("outcomes", '{"final_return": "high"}', "row 1 of .* is damaged: an outcome that is no number"),
        ("config", None, "row 1 of .* is damaged: a value of another kind"),
    ],
)
def test_rows_that_no_archive_has_are_told(archive: Path, column: str, value: Any, text: str) -> None:
    table = polars.read_parquet(archive / RUNS)
    table.with_columns(polars.lit(value, polars.String).alias(column)).write_parquet(archive / RUNS)
    with pytest.raises(RunError, match=text):
        _ = Archive.open(archive).runs


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda table: table.drop("key"), "lacks key"),
        (lambda table: polars.concat([table, table]), "has an iteration twice"),
        (lambda table: table.with_columns(polars.lit("x").alias("steps")), "holds no numbers in steps"),
    ],
)
def test_curves_that_no_archive_has_are_told(archive: Path, change: Any, text: str) -> None:
    change(polars.read_parquet(archive / CURVES)).write_parquet(archive / CURVES)
    with pytest.raises(RunError, match=text):
        _ = Archive.open(archive).runs


def test_a_report_names_who_made_the_runs_of_an_archive(archive: Path, tmp_path: Path) -> None:
    table = polars.read_parquet(archive / RUNS)
    table.with_columns(polars.lit('{"jax": "0.0.1"}').alias("about")).write_parquet(archive / RUNS)
    about = run_here(small_study(), tmp_path / "taken", archive=archive).data().about
    assert about["taken_from_an_archive"] == "8 of 8 runs: 8 by jax 0.0.1"
    assert "jax" not in about
