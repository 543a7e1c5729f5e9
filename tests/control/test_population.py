"""Agents of a population are as if alone; one that breaks is named and stopped, and the others never notice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minutiae
import training_probes
from minutiae.control.population import Population, episode_metrics, segment_length
from minutiae.control.progress import Progress
from minutiae.control.run import Run
from minutiae.control.seeding import Purpose, environment_seeds
from minutiae.control.trainer import DIVERGENCE_FILE, final_return
from minutiae.details import Config
from minutiae.runs.directory import RunDirectory
from minutiae.runs.policy import load_policy
from minutiae.runs.tensors import read_tensors
from small_runs import VARIED, assert_same_bits, several, small

pytestmark = pytest.mark.usefixtures("quick_compilation")


def first_iteration(agents: Sequence[tuple[Config, int]]) -> tuple[list[dict[str, Any]], Any]:
    """The metrics of one iteration of each agent, and what the update was computed from."""
    population = Population([config for config, _ in agents], [seed for _, seed in agents], threads=1)
    reports = population.iterate()
    population.close()
    assert population._last is not None
    return [report.metrics for report in reports if report is not None], population._last


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_an_agent_alone_and_in_company_begins_alike(place: int) -> None:
    agents = several()
    together, of_all = first_iteration(agents)
    (alone,), own = first_iteration([agents[place]])
    # The same environments, noise and first parameters: the rollouts are equal to the last bit; the same minibatches.
    for name, mine in own.batch._asdict().items():
        np.testing.assert_array_equal(mine[0], getattr(of_all.batch, name)[place], err_msg=name)
    for name, mine in own.indices._asdict().items():
        np.testing.assert_array_equal(mine[0], getattr(of_all.indices, name)[place], err_msg=name)
    assert alone.keys() == together[place].keys()
    for name, value in alone.items():
        assert together[place][name] == pytest.approx(value, rel=2e-3, abs=1e-5), name


def test_agents_that_share_a_seed_share_all_chance_whatever_their_details() -> None:
    agents = [(config, 5) for config, _ in several()]
    _, inputs = first_iteration(agents)
    for orders in inputs.indices:
        for order in orders[1:]:
            np.testing.assert_array_equal(order, orders[0])
    # Agent 1 (statistics move after the update) and agent 3 (no statistics) see the places as they are: the same ones.
    first = inputs.batch.observations[:, 0]
    np.testing.assert_allclose(first[1], first[3], rtol=1e-6)
    weights = inputs.state.parameters["policy"]["hidden"][0]["weight"]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert (np.asarray(weights[2]) != np.asarray(weights[0])).all()  # another scheme, from the same draws


def test_other_seeds_are_other_chances() -> None:
    _, inputs = first_iteration([(small(), seed) for seed in range(4)])
    for one in range(4):
        for other in range(one):
            assert (inputs.indices.policy[one] != inputs.indices.policy[other]).any()
            assert (inputs.batch.observations[one, 0] != inputs.batch.observations[other, 0]).all()


def test_every_iteration_has_chances_of_its_own() -> None:
    population = Population([config for config, _ in several()], [0, 1, 2, 3], threads=1)
    orders, actions = [], []
    for _ in range(2):
        population.iterate()
        assert population._last is not None
        orders.append(population._last.indices.policy.copy())
        actions.append(population._last.batch.actions.copy())
    population.close()
    for agent in range(4):
        assert (orders[0][agent] != orders[1][agent]).any() and (actions[0][agent] != actions[1][agent]).any()


def test_agents_of_different_structure_are_refused() -> None:
    with pytest.raises(ValueError, match="agents of one population share structure and steps"):
        Population([small(), small(policy_hidden_sizes=(9,))], [0, 1])


@pytest.mark.parametrize(
    ("environment", "steps", "asked", "iterations"),
    [
        ("probes:truncated", 10_000, None, 10),  # 20 limits of 10 steps in rollouts of 20
        ("training_probes:wander", 10**6, None, 1000),  # no limit declared: as if 1000
        ("training_probes:wander", 400, None, 10),  # never longer than the run
        ("Hopper-v5", 10**6, None, 1000),
        ("probes:truncated", 10_000, 3, 3),
        ("probes:truncated", 80, 3, 2),
    ],
)
def test_segments_last_about_twenty_time_limits(
    environment: str, steps: int, asked: int | None, iterations: int
) -> None:
    assert segment_length(small(environment=environment, steps=steps, segment_iterations=asked)) == iterations


def test_episode_metrics_by_hand() -> None:
    assert episode_metrics(np.array([1.0, 5.0, 3.0]), np.array([2, 3, 7])) == {
        "episodes": 3,
        "return_mean": 3.0,
        "return_std": pytest.approx((8 / 3) ** 0.5),
        "return_min": 1.0,
        "return_max": 5.0,
        "length_mean": 4.0,
    }
    assert episode_metrics(np.empty(0), np.empty(0)) == {
        "episodes": 0,
        **dict.fromkeys(("return_mean", "return_std", "return_min", "return_max", "length_mean")),
    }


def test_the_final_return_is_the_mean_of_the_last_five_iterations_with_episodes() -> None:
    assert final_return([100.0, 1.0, None, 2.0, 3.0, 4.0, 5.0, None]) == 3.0
    assert final_return([None, 7.0]) == 7.0
    assert final_return([None, None]) is None
    assert final_return([]) is None


def test_held_out_rollouts_change_no_bit_of_training(tmp_path: Path) -> None:
    def trained(name: str, **details: Any) -> list[Run]:
        return minutiae.train_population(several(**details), name=name, out=tmp_path, workers=1)

    without, beside = trained("without"), trained("beside", held_out_diagnostics=2)
    for plain, measured in zip(without, beside, strict=True):
        metrics = measured.metrics()
        extra = [name for name in metrics.columns if name not in plain.metrics().columns]
        assert metrics.drop(extra).equals(plain.metrics())
        assert "kl_exact_held_out" in extra and all(name.endswith("_held_out") for name in extra)
        for name in extra:
            column = metrics[name].to_list()
            assert [value is None for value in column] == [False, True] * 3, name
        one, other = load_policy(plain.path), load_policy(measured.path)
        for name, array in one.arrays.items():
            np.testing.assert_array_equal(array, other.arrays[name])
        # What it measures is of the same kind as the batch's own, on other samples.
        on_batch, held_out = metrics["kl_exact_batch"].to_list()[::2], metrics["kl_exact_held_out"].to_list()[::2]
        assert on_batch != held_out
        assert all(0 < b < 100 * a + 1e-6 for a, b in zip(on_batch, held_out, strict=True))


def trained(out: Path, agents: Sequence[tuple[Config, int]], heard: list[Progress] | None = None) -> list[Run]:
    listener = heard.append if heard is not None else (lambda progress: None)
    return minutiae.train_population(agents, name="group", out=out, workers=1, listener=listener)


def poison(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Let one row of the agent with this seed pay NaN once, in its first segment."""
    rows = environment_seeds(seed, Purpose.ENVIRONMENTS, 0, 2)
    monkeypatch.setattr(training_probes, "POISONED", {rows[1]})


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory, quick_compilation: None) -> list[Run]:
    """Four agents of which none breaks."""
    return trained(tmp_path_factory.mktemp("healthy"), several())


def test_an_agent_with_an_absurd_learning_rate_is_stopped_and_named(healthy: list[Run], tmp_path: Path) -> None:
    heard: list[Progress] = []
    agents = several()
    agents[1] = (small(**(VARIED[1] | {"learning_rate": 1e30})), agents[1][1])
    runs = trained(tmp_path, agents, heard)
    assert [run.status for run in runs] == ["finished", "diverged", "finished", "finished"]
    for run, reference in zip(runs, healthy, strict=True):
        if run.status == "finished":
            assert_same_bits(run.path, reference.path)
    told = [progress for progress in heard if progress.status == "diverged"]
    assert {progress.run for progress in told} == {"seed-11"}
    result = runs[1].result
    assert result is not None and result["reasons"] == [told[0].message]
    assert re.fullmatch(r"(samples|metrics|parameters)/\w+ is not finite at iteration 1", told[0].message or "")
    # Metrics are those of sound iterations alone, and the policy kept is the last sound one.
    assert runs[1].metrics().height == result["iterations"] == 0
    assert all(np.isfinite(array).all() for array in load_policy(runs[1].path).arrays.values() if array.shape != (1,))
    assert np.isfinite(runs[1].policy().act(np.array([0.3])))


def test_an_environment_that_pays_nan_breaks_only_its_own_agent(
    healthy: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(monkeypatch, 12)
    heard: list[Progress] = []
    runs = trained(tmp_path, several(), heard)
    assert [run.status for run in runs] == ["finished", "finished", "diverged", "finished"]
    for run, reference in zip(runs, healthy, strict=True):
        if run.status == "finished":
            assert_same_bits(run.path, reference.path)
    (first, *_) = (progress for progress in heard if progress.status == "diverged")
    assert (first.run, first.message) == ("seed-12", f"batch/rewards is not finite at iteration {first.iteration}")
    result = runs[2].result
    assert result is not None and result["status"] == "diverged" and result["reasons"] == [first.message]
    # The batch that did it lies beside the run, whole, for whoever looks into it.
    arrays, facts = read_tensors(runs[2].path / DIVERGENCE_FILE, "divergence", "")
    assert facts == {"iteration": first.iteration, "broken": "batch/rewards"}
    shapes = {name: array.shape for name, array in arrays.items()}
    assert shapes == {
        "observations": (20, 2, 1),
        "next_observations": (20, 2, 1),
        "actions": (20, 2, 1),
        "rewards": (20, 2),
        "terminated": (20, 2),
        "truncated": (20, 2),
    }
    assert {name for name, array in arrays.items() if not np.isfinite(array).all()} == {"rewards"}
    # Its statistics are those of an agent that was alone: what its idle rows saw beside the others is no part of it.
    (alone,) = minutiae.train_population(several()[2:3], name="alone", names=["seed-12"], out=tmp_path, workers=1)
    mine, own = load_policy(runs[2].path).arrays, load_policy(alone.path).arrays
    assert [name for name in mine if name.startswith("normalizer") and not np.array_equal(mine[name], own[name])] == []
    assert np.isfinite(runs[2].policy().act(np.array([0.3])))
    assert not (runs[0].path / DIVERGENCE_FILE).exists()
    assert result["final_return"] is None or np.isfinite(result["final_return"])


class Stopped(BaseException):
    """Ends training from inside, as Ctrl-C would."""


@pytest.mark.parametrize("iteration", [1, 4, 6])
def test_resuming_after_a_divergence(
    healthy: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, iteration: int
) -> None:
    poison(monkeypatch, 12)

    def stop(progress: Progress) -> None:
        if progress.iteration == iteration and progress.status == "training" and progress.run == "seed-13":
            raise Stopped

    with pytest.raises(Stopped):
        minutiae.train_population(several(), name="group", out=tmp_path, workers=1, listener=stop)
    heard: list[Progress] = []
    runs = minutiae.resume(tmp_path / "group", listener=heard.append)
    assert [run.status for run in runs] == ["finished", "finished", "diverged", "finished"]
    for run, reference in zip(runs, healthy, strict=True):
        if run.status == "finished":
            assert_same_bits(run.path, reference.path)
    assert runs[2].result is not None
    assert runs[2].result["reasons"][0].startswith("batch/rewards is not finite at iteration ")
    assert runs[2].metrics().height == runs[2].result["iterations"] < 6
    # It stays stopped: nobody trains a broken agent again.
    assert not [one for one in heard if one.run == "seed-12" and one.status == "training" and one.iteration > 2]
    before = RunDirectory.open(runs[2].path).result
    assert minutiae.resume(runs[2].path)[0].result == runs[2].result
    assert RunDirectory.open(runs[2].path).result == before


def test_a_run_whose_only_agent_diverges_ends_at_once(tmp_path: Path) -> None:
    heard: list[Progress] = []
    config = small(environment="vector_probes:not_finite")
    (run,) = minutiae.train(config, name="run", out=tmp_path, listener=heard.append)
    assert run.status == "diverged"
    assert run.result == {
        "status": "diverged",
        "reasons": ["batch/observations is not finite at iteration 1"],
        "final_return": None,
        "final_return_rule": "mean of return_mean over the last 5 iterations with episodes",
        "iterations": 0,
        "steps": 0,
    }
    assert [one.status for one in heard] == ["starting", "diverged", "diverged"]
    assert run.metrics().height == 0
    # Its statistics are those from before the rollout that ruined it.
    assert np.isfinite(run.policy().act(np.array([0.3])))
