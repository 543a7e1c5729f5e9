"""A loaded policy acts by its own statistics on whatever form its environment gives observations in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import minutiae
from minutiae.control.trainer import Trainer
from minutiae.details import Config, to_toml
from minutiae.errors import RunError
from minutiae.runs import RunDirectory
from saved_runs import save_run


class Nested(gymnasium.Env):
    """A position and a light as observation; actions count from 3, or come as two boxes."""

    def __init__(self, boxes: bool) -> None:
        self.observation_space = spaces.Dict({"light": spaces.Discrete(3), "place": spaces.Box(-1, 1, (2, 2))})
        self.action_space = spaces.Discrete(2, start=3)
        if boxes:
            self.action_space = spaces.Tuple((spaces.Box(-1, 1, (2,)), spaces.Box(0, 2, (1,))))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        return {"light": 1, "place": np.zeros((2, 2), np.float32)}, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        assert self.action_space.contains(action)
        return self.reset()[0], 0.0, True, False, {}


def nested() -> gymnasium.Env:
    return Nested(boxes=False)


def nested_boxes() -> gymnasium.Env:
    return Nested(boxes=True)


HAND = {
    # Two inputs go through tanh and are added up: mean = tanh(x_0) + tanh(x_1).
    "hidden": [{"weight": np.eye(2, dtype=np.float32), "bias": np.zeros(2, np.float32)}],
    "head": {"weight": np.ones((2, 1), np.float32), "bias": np.zeros(1, np.float32)},
    "log_standard_deviation": np.full(1, -20.0, np.float32),
}
STATISTICS = {"shift": np.array([1.0, 2.0]), "deviation": np.array([0.5, 2.0]), "limit": np.array([1.5])}


# (1.5, 10) is normalized to (0.5 / 0.5, 8 / 2) = (1, 4), and clipped to (1, 1.5):
# tanh(1) + tanh(1.5) = 0.7615942 + 0.9051483 = 1.6667425; tanh of that is 0.9311196.
@pytest.mark.parametrize(("bound", "action"), [("off", 1.6667425), ("clip_at_environment", 1.0), ("tanh", 0.9311196)])
def test_action_worked_by_hand(tmp_path: Path, bound: str, action: float) -> None:
    config = Config(environment="probes:counter_continuous", policy_hidden_sizes=(2,), action_bound=bound)
    save_run(tmp_path / "run", config, parameters=HAND, normalizer=STATISTICS)
    policy = minutiae.load(tmp_path / "run")
    np.testing.assert_allclose(policy.act(np.array([1.5, 10.0]), deterministic=True), [action], rtol=1e-6)
    # The standard deviation e^-20 is lost in the sixth digit.
    np.testing.assert_allclose(policy.act([1.5, 10.0]), [action], rtol=1e-6)
    assert policy.environment == "probes:counter_continuous"
    assert policy.config == config
    assert policy.spec["seed"] == 0


def test_batch_is_its_rows(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="CartPole-v1"))
    policy = minutiae.load(tmp_path / "run")
    observations = np.random.default_rng(1).normal(size=(7, 4))
    batch = policy.act(observations, deterministic=True)
    assert batch.shape == (7,)
    assert [policy.act(one, deterministic=True) for one in observations] == batch.tolist()


def test_draws_depend_on_the_seed_of_loading(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="Hopper-v5"))
    observation = np.zeros(11)
    first, again, other = (minutiae.load(tmp_path / "run", seed).act(observation) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


@pytest.mark.parametrize("factory", ["nested", "nested_boxes"])
def test_nested_spaces_go_in_and_come_out_as_the_environment_has_them(tmp_path: Path, factory: str) -> None:
    save_run(tmp_path / "run", Config(environment=f"test_trained_policy:{factory}"))
    policy = minutiae.load(tmp_path / "run")
    environment: gymnasium.Env = globals()[factory]()
    observation, _ = environment.reset(seed=0)
    action = policy.act(observation, deterministic=True)
    assert environment.action_space.contains(action)
    environment.step(action)
    flat = gymnasium.spaces.flatten(environment.observation_space, observation)
    assert repr(policy.act(flat, deterministic=True)) == repr(action)
    batch = {"light": np.array([1, 1, 2]), "place": np.zeros((3, 2, 2), np.float32)}
    batched = policy.act(batch, deterministic=True)
    if factory == "nested":
        assert batched.shape == (3,)
        assert batched[0] == action
    else:
        assert [part.shape for part in batched] == [(3, 2), (3, 1)]
        np.testing.assert_allclose(batched[0][0], action[0], rtol=1e-6)


def test_wrong_observation_is_told_what_is_expected(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="CartPole-v1"))
    policy = minutiae.load(tmp_path / "run")
    for wrong in (np.zeros(5), np.zeros((2, 5)), 3.0):
        with pytest.raises(ValueError, match=r"no observation of CartPole-v1.*4 numbers when flat"):
            policy.act(wrong)


def test_stopped_run_gives_its_newest_checkpoint(tmp_path: Path) -> None:
    config = Config(environment="CartPole-v1", environments=2, rollout_length=16, minibatches=2, epochs=1, steps=128)
    run = RunDirectory.create(tmp_path / "run", to_toml(config), 0)
    Trainer([run]).train()
    observations = np.random.default_rng(1).normal(size=(50, 4))
    finished = minutiae.load(run.path).act(observations, deterministic=True)
    run.policy_path.unlink()
    (run.path / "result.json").unlink()
    np.testing.assert_array_equal(minutiae.load(run.path).act(observations, deterministic=True), finished)


def _never_saved(path: Path) -> None:
    RunDirectory.create(path, to_toml(Config(environment="CartPole-v1")), 0)


def _broken(path: Path) -> None:
    config = Config(environment="probes:counter_continuous", policy_hidden_sizes=(2,))
    broken = HAND | {"log_standard_deviation": np.array([np.nan], np.float32)}
    save_run(path, config, parameters=broken)


def _of_another_size(path: Path) -> None:
    save_run(path, Config(environment="probes:counter_continuous", policy_hidden_sizes=(3,)), parameters=HAND)


def _without_statistics(path: Path) -> None:
    config = Config(environment="probes:counter_continuous", policy_hidden_sizes=(2,))
    save_run(path, config, parameters=HAND, normalizer={"shift": STATISTICS["shift"]})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: None, "no run at .*; check the path"),
        (_never_saved, "has no policy yet: .*; run: minutiae resume .*run"),
        (
            _of_another_size,
            r"run does not fit its config: the saved 'policy/hidden/.*' is float32.2, 2., not float32.2, 3.;",
        ),
        (_without_statistics, "run does not fit its config: the saved state lacks 'normalizer/deviation'"),
        (_broken, "cannot act: its log_standard_deviation is not finite; use another run"),
    ],
)
def test_what_cannot_act_says_so(tmp_path: Path, make: Callable[[Path], None], text: str) -> None:
    make(tmp_path / "run")
    with pytest.raises(RunError, match=text):
        minutiae.load(tmp_path / "run")
