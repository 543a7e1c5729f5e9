"""Two groups of runs: every number is that of the statistics room, pairing follows seeds, and errors say what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minutiae import statistics
from minutiae.details import Config
from minutiae.errors import ConfigError, RunError, StatisticsError
from minutiae.reports.comparison import compare
from minutiae.runs.directory import RunDirectory
from minutiae.studies.store import Store
from minutiae.studies.study import PlannedRun, Study, Tuning
from saved_runs import save_run

CONFIG = Config(environment="CartPole-v1")
A, B = [105.0, 130.0, 121.0, 160.0, 140.0], [90.0, 100.0, 104.0, 131.0, 99.0]


def save(folder: Path, values: list[float], first_seed: int = 0, environment: str = "CartPole-v1") -> Path:
    config = Config(environment=environment)
    for seed, value in enumerate(values, start=first_seed):
        curve = [{"iteration": i, "steps": 100 * i, "return_mean": value + (i - 6) * 2.0} for i in range(1, 9)]
        save_run(folder / f"{environment}_{seed}", config, seed, rows=curve)
    return folder


def test_numbers_are_those_of_the_statistics_room(tmp_path: Path) -> None:
    # The last five of eight iterations have offsets -4, -2, 0, 2, 4 from the value.
    found = compare(save(tmp_path / "a", A), save(tmp_path / "b", B))
    assert found.paired
    assert found.welch == statistics.welch_test([np.array(A)], [np.array(B)], paired=True)
    assert found.permutation == statistics.permutation_test([np.array(A)], [np.array(B)], paired=True)
    assert found.improvement == statistics.probability_of_improvement([np.array(A)], [np.array(B)], paired=True)
    assert found.sizes == {"CartPole-v1": statistics.hedges_g(A, B, paired=True)}
    assert found.welch.estimate == pytest.approx(np.mean(A) - np.mean(B))


def test_other_seeds_are_not_paired(tmp_path: Path) -> None:
    found = compare(save(tmp_path / "a", A), save(tmp_path / "b", B, first_seed=5))
    assert not found.paired
    assert found.welch == statistics.welch_test([np.array(A)], [np.array(B)], paired=False)
    assert found.improvement == statistics.probability_of_improvement([np.array(A)], [np.array(B)])
    assert "not paired: their seeds differ" in found.text()


def test_text_says_the_answer_methods_and_n(tmp_path: Path) -> None:
    text = compare(save(tmp_path / "a", A), save(tmp_path / "b", B)).text()
    assert text.splitlines()[0] == "A is higher than B in final return: A minus B is +26 [13, 40]."
    assert "paired t test, n = 10 runs, p = 0.0051" in text
    assert f"A: 5 runs of {tmp_path / 'a'}. B: 5 runs of {tmp_path / 'b'}. CartPole-v1, paired by seed." in text
    assert "chance that A beats B with the same seed" in text
    # Five pairs have no two-sided p below 2 / 32.
    line = next(line for line in text.splitlines() if "permutation test" in line)
    assert "  +26.4 [too few runs to bound]  " in line
    assert "the permutation test has too few pairs to bound the difference: however they are rearranged, " in text
    six = [*A, 133.0], [*B, 120.0]
    assert "too few" not in compare(save(tmp_path / "c", six[0]), save(tmp_path / "d", six[1])).text()


def test_no_difference_is_said(tmp_path: Path) -> None:
    found = compare(save(tmp_path / "a", A), save(tmp_path / "b", [v + (-1) ** i * 9 for i, v in enumerate(A)]))
    assert found.sentence().startswith("No difference in final return is shown: A minus B is ")


def test_several_environments_are_stratified(tmp_path: Path) -> None:
    save(tmp_path / "a", A)
    save(tmp_path / "a", [v - 300 for v in A], environment="Acrobot-v1")
    save(tmp_path / "b", B)
    save(tmp_path / "b", [v - 320 for v in B], environment="Acrobot-v1")
    save(tmp_path / "b", B, environment="MountainCar-v0")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found.welch.estimate == pytest.approx(np.mean(A) - np.mean(B) + 10)
    assert found.notes == ("runs of MountainCar-v0 are left out: only one group has them",)
    assert "A − B, Acrobot-v1" in found.text()


def test_another_outcome_is_a_metric(tmp_path: Path) -> None:
    found = compare(save(tmp_path / "a", A), save(tmp_path / "b", B), outcome="best_return")
    assert found.arm("A", "CartPole-v1").tolist() == [value + 4 for value in A]


def test_page_is_complete(tmp_path: Path) -> None:
    path = compare(save(tmp_path / "a", A), save(tmp_path / "b", B)).write_page(tmp_path / "page" / "index.html")
    text = path.read_text()
    assert "A is higher than B in final return" in text
    assert "Student t interval of the mean over seeds" in text
    assert (tmp_path / "page" / "figures" / "learning_curves_cartpole-v1.png").stat().st_size > 1000
    assert (
        (tmp_path / "page" / "tables" / "comparison.csv").read_text().startswith("quantity,value,value_low,value_high")
    )


STUDY = Study(
    environments="CartPole-v1",
    factors={"value_clipping": ["off", "max"], "reward_scaling": ["off", "returns"]},
    tuning=Tuning({"learning_rate": [1e-4, 3e-4]}, seeds=2),
    seeds=4,
)
GAIN = {("off", "off"): 0.0, ("off", "returns"): 5.0, ("max", "off"): 30.0, ("max", "returns"): 35.0}


def save_study(folder: Path) -> Path:
    """Tuning runs are all at 3e-4 better by 1000, which nothing reported is."""
    store = Store.create(folder, STUDY)

    def save_all(runs: list[PlannedRun], more: float) -> None:
        for run in runs:
            cell = tuple(STUDY.written(f.name, level) for f, level in zip(STUDY.factors, run.cell, strict=True))
            value = GAIN[cell] + 10.0 * run.seed + more * (run.setting == (3e-4,))  # type: ignore[index]
            rows = [{"iteration": 1, "steps": 2048, "return_mean": value}]
            save_run(store.run_path(run.id), run.own, run.seed, rows=rows)

    save_all(STUDY.first_runs(), 1000.0)
    save_all(STUDY.final_runs(dict.fromkeys(STUDY.places, (3e-4,))), 0.0)
    return folder


def test_of_a_study_only_reported_runs_count_and_cells_can_be_picked(tmp_path: Path) -> None:
    folder = save_study(tmp_path / "study")
    cells = "value_clipping=max, reward_scaling=off", {"value_clipping": None, "reward_scaling": "off"}
    found = compare(folder, folder, a_cell=cells[0], b_cell=cells[1])
    # Seeds 0 and 1 tuned; 2 to 5 are reported.
    assert found.arm("A", "CartPole-v1").tolist() == [50.0, 60.0, 70.0, 80.0]
    assert found.arm("B", "CartPole-v1").tolist() == [20.0, 30.0, 40.0, 50.0]
    assert found.paired and found.notes[:-1] == ()  # the last is of the permutation test
    assert f"A: 4 runs of {folder} (value_clipping=max, reward_scaling=off). B: 4 runs of " in found.text()
    assert "final return: the mean return in the only iteration." in found.text()
    assert found.curves["return_mean"].to_list() == [50.0, 60.0, 70.0, 80.0, 20.0, 30.0, 40.0, 50.0]
    pooled = compare(folder, folder, a_cell="value_clipping=max", b_cell="value_clipping=off")
    assert pooled.welch.estimate == 30.0
    assert pooled.notes[0] == (
        "A pools 2 cells, which differ in reward_scaling; pick one with --a-cell FACTOR=LEVEL to compare like with like"
    )
    assert "not paired: several runs of a group share a seed" in pooled.text()
    # A folder of studies is the same, and a folder of its runs is every run.
    assert compare(tmp_path, folder, a_cell=cells[0], b_cell=cells[1]).welch == found.welch


def test_a_run_is_not_compared_with_itself(tmp_path: Path) -> None:
    folder = save_study(tmp_path / "study")
    with pytest.raises(ConfigError, match="16 runs of A are in B too; name two groups without a run in common"):
        compare(folder, folder)
    with pytest.raises(ConfigError, match="4 runs of A are in B too"):
        compare(folder, folder, a_cell="value_clipping=max,reward_scaling=off")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("value_cliping=max", "unknown factor of .* 'value_cliping'; did you mean 'value_clipping'"),
        ("value_clipping=maxx", "unknown level of value_clipping 'maxx'; did you mean 'max'"),
        ("max", "'max' picks no cell; write FACTOR=LEVEL, as in value_clipping=max"),
    ],
)
def test_wrong_cells(cell: str, text: str, tmp_path: Path) -> None:
    folder = save_study(tmp_path / "study")
    with pytest.raises(ConfigError, match=text):
        compare(folder, folder, a_cell=cell, b_cell="value_clipping=off")
    with pytest.raises(ConfigError, match=r"run_0 is in no study, so no cell can be picked for A; leave its"):
        save_run(tmp_path / "plain" / "run_0", CONFIG)
        compare(tmp_path / "plain", folder, a_cell="value_clipping=off")


def test_a_study_over_a_command_is_compared_by_its_outcome(tmp_path: Path) -> None:
    study = Study(
        environments="theirs",
        factors={"lr": [0.1, 3e-4], "size": ["64,64", "8"]},
        outcomes="score",
        command="train {lr} {size} {seed}",
        seeds=3,
    )
    store = Store.create(tmp_path / "study", study)
    for planned in study.first_runs():
        run = RunDirectory.create(store.run_path(planned.id), planned.config.text, planned.seed)  # type: ignore[union-attr]
        if planned.seed < 2:
            value = 100 * planned.cell[0] + planned.seed
            run.finish(summary={"outcomes": {"score": value}, "results": "attempt-0/outcome.json"})
    found = compare(store.path, store.path, a_cell="lr=0.1,size=64,64", b_cell="lr=3e-4,size=8")
    assert found.outcome == "score"
    assert found.arm("A", "theirs").tolist() == [10.0, 11.0]
    assert found.notes[0] == f"1 run of {store.path} is left out of A: 1 unfinished"
    assert "Judged by score: as the command left it." in found.text()
    assert "A minus B" in found.write_page(tmp_path / "page.html").read_text()
    with pytest.raises(ConfigError, match="unknown outcome 'scor'; did you mean 'score'"):
        compare(store.path, store.path, "scor", a_cell="lr=0.1", b_cell="lr=0.0003")
    with pytest.raises(RunError, match=r"is no run of our own trainer that can be read .*; name the folder of"):
        compare(store.path / "runs", store.path)


def test_errors_name_the_remedy(tmp_path: Path) -> None:
    a = save(tmp_path / "a", A)
    with pytest.raises(ConfigError, match="unknown outcome 'final_retrun'; did you mean 'final_return'"):
        compare(a, save(tmp_path / "b", B), "final_retrun")
    with pytest.raises(ConfigError, match="A has runs of CartPole-v1 and B of Acrobot-v1; both need runs of one env"):
        compare(a, save(tmp_path / "other", B, environment="Acrobot-v1"))
    with pytest.raises(StatisticsError, match="B has 1 run of CartPole-v1 with a final_return; at least 2 are needed"):
        compare(a, save(tmp_path / "single", B[:1]))
    with pytest.raises(RunError):
        compare(a, tmp_path / "nothing")
    save_run(tmp_path / "empty" / "run", CONFIG)
    with pytest.raises(RunError, match="no run of B has a final_return; finish some, or choose other runs"):
        compare(a, tmp_path / "empty")
