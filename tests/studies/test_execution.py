"""Running a study: all is trained once, later only what is new; tuning before reporting; failures told, not fatal."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from small_studies import BASE, small_study

from minutiae.control.progress import Progress
from minutiae.control.run import open_run
from minutiae.control.trainer import final_return_rule
from minutiae.errors import ConfigError, RunError
from minutiae.reports.study.words import explained
from minutiae.runs.directory import RunDirectory
from minutiae.studies.claims import Claims
from minutiae.studies.execution import in_this_process, run_study
from minutiae.studies.outcomes import choose_settings, outcome
from minutiae.studies.planning import START_SECONDS, Measured, Plan, plan_study
from minutiae.studies.results import StudyResults, open_study
from minutiae.studies.store import Store, Task, plan_tasks
from minutiae.studies.study import Study, Tuning
from minutiae.studies.study_file import study_to_toml
from small_runs import ITERATIONS, assert_same_bits

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Stopped(Exception):
    """What a listener raises to stop a study as a kill would."""


def run_here(study: Study, folder: Path, **options: Any) -> StudyResults:
    return run_study(study, folder, executor=in_this_process, **options)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, quick_compilation: None) -> StudyResults:
    return run_here(small_study(), tmp_path_factory.mktemp("studies") / "whole")


def test_every_cell_is_trained_with_every_seed(undisturbed: StudyResults) -> None:
    frame = undisturbed.frame()
    assert frame.columns == [
        "run_id",
        "environment",
        "seed",
        "stage",
        "cell",
        "value_clipping",
        "reward_scaling",
        "status",
        "reason",
        "iterations",
        "steps",
        "final_return",
    ]
    assert frame.select("seed", "value_clipping", "reward_scaling").rows() == [
        (seed, clipping, scaling) for seed in (0, 1) for clipping in ("off", "max") for scaling in ("off", "returns")
    ]
    assert set(frame["status"]) == {"finished"}
    assert set(frame["iterations"]) == {ITERATIONS}
    for run, value in frame.select("run_id", "final_return").iter_rows():
        stored = open_run(undisturbed.path / "runs" / run)
        assert stored.result is not None
        assert stored.result["final_return"] == value
    curves = undisturbed.curves()
    assert curves.group_by("run_id").len()["len"].to_list() == [ITERATIONS] * 8
    assert curves.columns == [
        "run_id",
        "iteration",
        "steps",
        "episodes",
        "return_mean",
        "kl_exact_batch",
        "ratio_max_batch",
    ]


def test_runs_batch_into_populations_of_equal_structure(undisturbed: StudyResults) -> None:
    store = Store.open(undisturbed.path)
    assert [len(task.runs) for task in store.tasks()] == [3, 3, 2]
    assert [run for task in store.tasks() for run in task.runs] == undisturbed.frame()["run_id"].to_list()
    base = {name: level for name, level in BASE.items() if name != "policy_hidden_sizes"}
    mixed = small_study(
        factors={"value_clipping": ["off", "max"], "policy_hidden_sizes": [[8], [4, 4]]}, base=base, population=None
    )
    tasks = plan_tasks(mixed.first_runs())
    assert [len(task.runs) for task in tasks] == [4, 4]
    assert plan_tasks(mixed.first_runs()) == tasks


def test_the_longest_tasks_come_first_and_of_equal_ones_the_first_seeds() -> None:
    base = {name: level for name, level in BASE.items() if name not in ("policy_hidden_sizes", "value_clipping")}
    mixed = small_study(
        factors={"value_clipping": ["off", "max", "min"], "policy_hidden_sizes": [[8], [4, 4]]},
        design="cells",
        options={
            "cells": [
                {"value_clipping": "off", "policy_hidden_sizes": [4, 4]},
                *({"value_clipping": level, "policy_hidden_sizes": [8]} for level in ("off", "max", "min")),
            ]
        },
        base=base,
        seeds=3,
        population=5,
    )
    runs = mixed.first_runs()
    tasks = plan_tasks(runs, 5)
    assert [len(task.runs) for task in tasks] == [5, 4, 3]
    seed_of = {run.id: run.seed for run in runs}
    assert [[seed_of[run] for run in task.runs] for task in tasks] == [[0, 0, 0, 1, 1], [1, 2, 2, 2], [0, 1, 2]]
    assert [[seed_of[run] for run in task.runs] for task in plan_tasks(runs, 3)] == [
        [0, 1, 2],
        [0, 0, 0],
        [1, 1, 1],
        [2, 2, 2],
    ]


def test_a_plan_gives_each_worker_that_is_through_the_next_task() -> None:
    study = small_study(population=3)
    runs = tuple(study.first_runs())
    tasks = tuple(plan_tasks(runs, 3))
    assert [len(task.runs) for task in tasks] == [3, 3, 2]
    measured = {tasks[0].runs[0]: Measured(30.0, 0)}

    def seconds(workers: int) -> float | None:
        return Plan(study, runs, frozenset(), tasks, workers, measured).seconds

    three, two = START_SECONDS + ITERATIONS * 30.0, START_SECONDS + ITERATIONS * 20.0
    assert seconds(1) == pytest.approx(2 * three + two)
    assert seconds(2) == pytest.approx(three + two)
    assert seconds(3) == seconds(8) == pytest.approx(three)


def test_running_again_trains_nothing_and_more_seeds_only_what_is_new(
    undisturbed: StudyResults, tmp_path: Path
) -> None:
    folder = tmp_path / "grown"
    run_here(small_study(seeds=1), folder)
    times = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*/*")}
    heard: list[Progress] = []
    run_here(small_study(seeds=1), folder, listener=heard.append)
    assert heard == []
    results = run_here(small_study(), folder, listener=heard.append)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert {one.run for one in heard} == set(results.frame().filter(polars.col("seed") == 1)["run_id"])
    # A level more: the old runs are still there, and the design counts them.
    wider = small_study(factors={"value_clipping": ["off", "max", "min"], "reward_scaling": ["off", "returns"]})
    heard.clear()
    frame = run_here(wider, folder, listener=heard.append).frame()
    assert {one.run for one in heard} == set(frame.filter(polars.col("value_clipping") == "min")["run_id"])
    assert len(frame) == 12
    assert open_study(folder).study == wider


@pytest.mark.parametrize("seed", range(2))
def test_stopped_at_any_moment_it_ends_as_undisturbed(seed: int, undisturbed: StudyResults, tmp_path: Path) -> None:
    moments = np.random.default_rng(seed)

    def stop(progress: Progress) -> None:
        if moments.random() < 0.12:
            raise Stopped

    stops = 0
    while True:
        try:
            results = run_here(small_study(), tmp_path / "study", listener=stop)
            break
        except Stopped:
            stops += 1
    assert stops > 2
    assert_same_study(results, undisturbed)


def assert_same_study(mine: StudyResults, reference: StudyResults) -> None:
    frame = mine.frame()
    assert frame.equals(reference.frame())
    for run in frame["run_id"]:
        assert_same_bits(mine.path / "runs" / run, reference.path / "runs" / run)


def test_killed_while_planning_it_plans_the_same(undisturbed: StudyResults, tmp_path: Path) -> None:
    for made in range(1, 12):
        folder = tmp_path / str(made)
        store = Store.create(folder, small_study())
        writes = iter(range(made))

        with pytest.MonkeyPatch.context() as patch, Claims(folder / "claims") as claims:
            from minutiae.studies import store as module

            make, write_json = Store._make, module.write_json

            def counted(function: Any, writes: Any = writes) -> Any:
                def call(*arguments: Any) -> Any:
                    if next(writes, None) is None:
                        raise Stopped
                    return function(*arguments)

                return call

            patch.setattr(Store, "_make", counted(make))
            patch.setattr(module, "write_json", counted(write_json))
            if made < 11:
                with pytest.raises(Stopped):
                    store.plan(small_study().first_runs(), claims)
        with Claims(folder / "claims") as claims:
            assert store.plan(small_study().first_runs(), claims)
        assert [task.runs for task in store.tasks()] == [task.runs for task in Store.open(undisturbed.path).tasks()]


def test_two_at_once_share_the_work(undisturbed: StudyResults, tmp_path: Path) -> None:
    """What a second machine does meanwhile: the first finds those tasks claimed, then ended."""
    folder, heard = tmp_path / "study", list[str]()

    def both(store: Store, tasks: Sequence[Task], claims: Claims, listener: Any) -> None:
        with Claims(folder / "claims") as others:
            assert others.take(tasks[0].id)
            in_this_process(store, tasks, claims, lambda progress: heard.append(progress.run))
            assert not set(heard) & set(tasks[0].runs)
            others.release(tasks[0].id)
        in_this_process(store, tasks[:1], claims, lambda progress: heard.append(progress.run))

    assert_same_study(run_study(small_study(), folder, executor=both), undisturbed)


def test_a_failing_run_is_told_and_sinks_nothing(tmp_path: Path) -> None:
    """The population of a run that fails is tried again run by run."""

    def broken(store: Store, tasks: Sequence[Task], claims: Claims, listener: Any) -> None:
        for task in tasks:
            if bad in task.runs:
                store.fail(task, "the simulator broke")
            else:
                in_this_process(store, [task], claims, listener)

    study = small_study()
    bad = study.first_runs()[1].id
    results = run_study(study, tmp_path / "study", executor=broken)
    frame = results.frame()
    assert frame["status"].to_list() == ["finished", "failed", *["finished"] * 6]
    assert frame["reason"][1] == "the simulator broke"
    assert frame["final_return"][1] is None
    # Once the cause is mended the same command goes on.
    assert set(run_here(study, tmp_path / "study").frame()["status"]) == {"finished"}


def test_a_diverged_agent_is_an_outcome(tmp_path: Path) -> None:
    study = small_study(factors={"learning_rate": [1e-3, 1e30], "value_clipping": ["off", "max"]})
    frame = run_here(study, tmp_path / "study").frame()
    assert frame.group_by("learning_rate", "status").len().sort("learning_rate").rows() == [
        ("0.001", "finished", 4),
        ("1e+30", "diverged", 4),
    ]
    assert all("is not finite at iteration" in reason for reason in frame.drop_nulls("reason")["reason"])


def test_tuning_chooses_on_its_own_seeds(tmp_path: Path) -> None:
    study = small_study(
        factors={"value_clipping": ["off", "max"]}, tuning=Tuning({"learning_rate": [1e-3, 1e30]}, seeds=2)
    )
    results = run_here(study, tmp_path / "study")
    frame = results.frame()
    tuning, report = (frame.filter(polars.col("stage") == stage) for stage in ("tuning", "report"))
    assert (len(tuning), len(report)) == (8, 4)
    assert set(tuning["seed"]) & set(report["seed"]) == set()
    for cell, setting in choose_settings(Store.open(results.path)).items():
        values = tuning.filter(polars.col("value_clipping") == (cell[1][0] or "off"))
        best = values.group_by("learning_rate").agg(polars.col("final_return").mean()).sort("final_return")[-1]
        assert best["learning_rate"].item() == str(setting[0])


def test_outcomes() -> None:
    columns = {"return_mean": [None, 4.0, 1.0, 2.0, 3.0, 5.0, 6.0], "entropy": [9.0, 1.0, 1.0, 2.0, 2.0, 4.0, None]}
    run: Any = None
    assert outcome(run, "final_return", columns) == 3.4
    assert outcome(run, "best_return", columns) == 6.0
    assert outcome(run, "area_under_curve", columns) == 3.5
    assert outcome(run, "entropy", columns) == 2.0
    assert outcome(run, "final_return", {}) is None
    assert outcome(run, "step_scale", columns) is None


@pytest.mark.parametrize(
    ("returns", "words"),
    [
        ([None, 4.0, 1.0, 2.0, 3.0, 5.0, 6.0], "mean of return_mean over the last 5 iterations with episodes"),
        ([None, 4.0, 1.0], "mean of return_mean over all 2 iterations with episodes"),
        ([4.0], "return_mean of the only iteration with episodes"),
    ],
)
def test_a_short_run_says_of_how_many_iterations_its_outcome_is(returns: list[float | None], words: str) -> None:
    assert final_return_rule(returns) == words


def test_a_report_says_of_how_many_iterations_its_outcome_is() -> None:
    assert explained("final_return", 40) == "the mean return over the last five iterations"
    assert explained("final_return", 2) == "the mean return over all 2 iterations"
    assert explained("entropy", 1) == "the metric entropy, its mean in the only iteration"


def test_an_evaluated_outcome_is_measured_once(undisturbed: StudyResults, monkeypatch: pytest.MonkeyPatch) -> None:
    from minutiae.control import evaluation

    store = Store.open(undisturbed.path)
    run = RunDirectory.open(store.run_path(undisturbed.frame()["run_id"][0]))
    monkeypatch.setattr("minutiae.studies.outcomes.EVALUATION_EPISODES", 3)
    value = outcome(run, "evaluation", {})
    assert value == evaluation.evaluate(run.path, 3, False, run.seed).mean
    monkeypatch.setattr(evaluation, "evaluate", None)
    assert outcome(run, "evaluation", {}) == value
    (run.path / "evaluation.json").unlink()


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(RunError, match=r"holds other files and no study\.toml; choose another name for the study"):
        run_here(small_study(), tmp_path)
    with pytest.raises(RunError, match=r"holds no study: it has no study\.toml; run: minutiae study run FILE\.toml"):
        open_study(tmp_path)
    with pytest.raises(ConfigError, match="workers is a whole number of at least 1, not 0"):
        run_study(small_study(), tmp_path / "new", workers=0)
    with pytest.raises(ConfigError, match="workers is a whole number of at least 1, not True"):
        plan_study(small_study(), workers=True)
    assert plan_study(small_study(), workers=np.int64(3), measure=False).workers == 3  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_folder_holds_the_design_as_it_was_given(undisturbed: StudyResults) -> None:
    assert (undisturbed.path / "study.toml").read_text() == study_to_toml(small_study())
    assert dataclasses.asdict(undisturbed.data().study.layout) == dataclasses.asdict(small_study().layout)
    assert undisturbed.data().about["command"] == f"minutiae study run {undisturbed.path}"
