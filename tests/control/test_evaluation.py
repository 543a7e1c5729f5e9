"""Evaluation plays exactly the episodes it promises, without favor, and states honest intervals."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import minutiae
import probes
from minutiae.control import evaluation
from minutiae.control.evaluation import INTERVAL_METHOD, bootstrap_interval
from minutiae.details import Config
from minutiae.errors import ConfigError, RunError
from saved_runs import save_run


def endless() -> gymnasium.Env:
    return probes.Endless()


@pytest.mark.parametrize("episodes", [1, 5, 16, 17, 50])
def test_every_row_plays_its_share_in_full(tmp_path: Path, episodes: int) -> None:
    save_run(tmp_path / "run", Config(environment="probes:counter"))
    result = minutiae.evaluate(tmp_path / "run", episodes)
    # Episode k of any row has 2 + k mod 3 steps that pay 0, 1, ...; the rows take turns, 16 at most.
    turns = np.arange(episodes) // min(episodes, 16)
    lengths = 2 + turns % 3
    np.testing.assert_array_equal(result.lengths, lengths)
    np.testing.assert_array_equal(result.returns, lengths * (lengths - 1) / 2)
    assert result.episodes == episodes


def test_short_episodes_are_not_favored(tmp_path: Path) -> None:
    """48 episodes on 16 rows: as many of each length. The first 48 to end would hold more of the short ones."""
    save_run(tmp_path / "run", Config(environment="probes:counter"))
    result = minutiae.evaluate(tmp_path / "run", 48)
    assert np.bincount(result.lengths).tolist() == [0, 0, 16, 16, 16]
    assert result.mean == pytest.approx((1 + 3 + 6) / 3)
    assert result.median == 3.0
    # Variance of 1, 3, 6 is 38/9; times 48/47 for ddof 1.
    assert result.standard_deviation == pytest.approx(np.sqrt(38 / 9 * 48 / 47))


def test_same_seed_same_numbers(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="Hopper-v5"))
    first, again, other = (minutiae.evaluate(tmp_path / "run", 6, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.returns, again.returns)
    assert first.interval == again.interval
    assert (first.returns != other.returns).any()


def test_deterministic_plays_the_mode(tmp_path: Path) -> None:
    """Equal logits but for a hair: samples take both actions, the mode always the one that pays."""
    config = Config(environment="probes:action_reward", policy_hidden_sizes=(1,))
    parameters = {
        "hidden": [{"weight": np.zeros((1, 1), np.float32), "bias": np.zeros(1, np.float32)}],
        "head": {"weight": np.zeros((1, 2), np.float32), "bias": np.array([0.0, 1e-3], np.float32)},
    }
    save_run(tmp_path / "run", config, parameters=parameters)
    assert minutiae.evaluate(tmp_path / "run", 40, deterministic=True).returns.tolist() == [1.0] * 40
    assert set(minutiae.evaluate(tmp_path / "run", 40).returns.tolist()) == {-1.0, 1.0}


def test_one_episode_has_no_spread(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="probes:counter"))
    document = json.loads(json.dumps(minutiae.evaluate(tmp_path / "run", 1).to_dict(), allow_nan=False))
    assert document["standard_deviation"] is None
    assert document["interval"] is None
    assert document["mean"] == document["median"] == 1.0
    assert document["returns"] == [1.0]
    assert document["lengths"] == [2]


def test_dictionary_states_method_and_count(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="probes:counter"))
    document = minutiae.evaluate(tmp_path / "run", 48, seed=5).to_dict()
    assert document["interval_method"] == INTERVAL_METHOD
    assert INTERVAL_METHOD == "95% percentile bootstrap of the mean, 10,000 resamples of episodes"
    assert (document["episodes"], document["seed"], document["deterministic"]) == (48, 5, False)
    assert document["interval"][0] < document["mean"] < document["interval"][1]
    assert (document["minimum"], document["maximum"], document["length_mean"]) == (1.0, 6.0, 3.0)


def test_bootstrap_of_two_values() -> None:
    """Means of two draws from {0, 1} are 0, 1/2 and 1 with chances 1/4, 1/2, 1/4."""
    values, generator = np.array([0.0, 1.0]), np.random.default_rng(0)
    assert bootstrap_interval(values, generator) == (0.0, 1.0)
    assert bootstrap_interval(values, generator, confidence=0.4) == (0.5, 0.5)


def test_bootstrap_of_many_values_is_normal() -> None:
    values = np.random.default_rng(0).normal(10.0, 2.0, 400)
    low, high = bootstrap_interval(values, np.random.default_rng(1))
    reach = 1.96 * values.std() / 20
    assert low == pytest.approx(values.mean() - reach, abs=0.02)
    assert high == pytest.approx(values.mean() + reach, abs=0.02)


def test_episode_without_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "LONGEST_EPISODE", 50)
    save_run(tmp_path / "run", Config(environment="test_evaluation:endless"))
    with pytest.raises(RunError, match=r"has not ended after 50 steps; give the environment a time limit"):
        minutiae.evaluate(tmp_path / "run", 2)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"episodes": 0}, "episodes is a whole number from 1, not 0"),
        ({"seed": -1}, "a seed is a whole number from 0, not -1"),
    ],
)
def test_refused_numbers(tmp_path: Path, arguments: dict[str, int], text: str) -> None:
    save_run(tmp_path / "run", Config(environment="probes:counter"))
    with pytest.raises(ConfigError, match=text):
        minutiae.evaluate(tmp_path / "run", **arguments)
