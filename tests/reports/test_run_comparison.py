"""Two groups of runs: every number is that of the statistics room, pairing follows seeds, and errors say what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minutiae import statistics
from minutiae.details import Config
from minutiae.errors import ConfigError, RunError, StatisticsError
from minutiae.reports.comparison import compare
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
    assert found.improvement == statistics.probability_of_improvement([np.array(A)], [np.array(B)])
    assert found.sizes == {"CartPole-v1": statistics.hedges_g(A, B, paired=True)}
    assert found.welch.estimate == pytest.approx(np.mean(A) - np.mean(B))


def test_other_seeds_are_not_paired(tmp_path: Path) -> None:
    found = compare(save(tmp_path / "a", A), save(tmp_path / "b", B, first_seed=5))
    assert not found.paired
    assert found.welch == statistics.welch_test([np.array(A)], [np.array(B)], paired=False)
    assert "not paired" in found.text()


def test_text_says_the_answer_methods_and_n(tmp_path: Path) -> None:
    text = compare(save(tmp_path / "a", A), save(tmp_path / "b", B)).text()
    assert text.splitlines()[0] == "A is higher than B in final return: A minus B is +26 [13, 40]."
    assert "paired t test, n = 10 runs, p = 0.0051" in text
    assert f"A: 5 runs of {tmp_path / 'a'}. B: 5 runs of {tmp_path / 'b'}. CartPole-v1, paired by seed." in text
    assert "chance that A beats B" in text


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


def test_errors_name_the_remedy(tmp_path: Path) -> None:
    a = save(tmp_path / "a", A)
    with pytest.raises(ConfigError, match="A has runs of CartPole-v1 and B of Acrobot-v1; both need runs of one env"):
        compare(a, save(tmp_path / "other", B, environment="Acrobot-v1"))
    with pytest.raises(StatisticsError, match="B has 1 run of CartPole-v1 with a final_return; at least 2 are needed"):
        compare(a, save(tmp_path / "single", B[:1]))
    with pytest.raises(RunError):
        compare(a, tmp_path / "nothing")
    save_run(tmp_path / "empty" / "run", CONFIG)
    with pytest.raises(RunError, match="no run of B has a final_return; finish some, or choose other runs"):
        compare(a, tmp_path / "empty")
