"""Running statistics of observations and rewards against loops by hand, for every level and any mixture of agents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given
from hypothesis import strategies as st

from minutiae.control.normalizers import ObservationNormalizer, RewardScaler
from minutiae.details import Config

ESTIMATORS = ("population", "sample")


def config_of(**details: Any) -> Config:
    plain: dict[str, Any] = {"observation_clipping": None, "reward_clipping": None}
    if not any(name.startswith("reward_scaling") for name in details):
        plain["reward_scaling"] = None
    return Config(environment="probes:counter", **(plain | details))


class Hand:
    """All samples so far, and their deviation in two passes by the textbook."""

    def __init__(self, estimator: str) -> None:
        self.estimator = estimator
        self.samples: list[float] = []

    def add(self, samples: Iterable[float]) -> None:
        self.samples += [float(sample) for sample in samples]

    @property
    def mean(self) -> float:
        prior = 1e-4 if self.estimator == "population" else 0.0
        total = len(self.samples) + prior
        return math.fsum(self.samples) / total if total else 0.0

    @property
    def deviation(self) -> float:
        mean, count = self.mean, len(self.samples)
        squares = math.fsum((sample - mean) ** 2 for sample in self.samples)
        if self.estimator == "population":
            # 1e-4 samples of mean 0 and variance 1, and the epsilon under the root (Baselines)
            squares += 1e-4 * (1.0 + mean**2)
            return math.sqrt(squares / (count + 1e-4) + 1e-8)
        # n - 1, the epsilon outside, and a single sample's own absolute value (implementation-matters)
        if count == 0:
            return 1.0 + 1e-8
        return (math.sqrt(squares / (count - 1)) if count > 1 else abs(mean)) + 1e-8


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("rows", [1, 4])
def test_observations_against_a_loop(estimator: str, rows: int) -> None:
    normalizer = ObservationNormalizer([config_of(observation_normalization_estimator=estimator)], 2)
    hands = [Hand(estimator), Hand(estimator)]
    generator = np.random.default_rng(rows)
    for _ in range(12):
        observations = generator.normal([3.0, -200.0], [0.5, 30.0], (1, rows, 2))
        normalizer.observe(observations)
        normalized = normalizer.normalize(observations)
        for k, hand in enumerate(hands):
            hand.add(observations[0, :, k])
            expected = (observations[0, :, k] - hand.mean) / hand.deviation
            np.testing.assert_allclose(normalized[0, :, k], expected, rtol=1e-6, atol=1e-7)
    state = normalizer.state(0)
    np.testing.assert_allclose(state["mean"], [hand.mean for hand in hands], rtol=1e-13)
    np.testing.assert_allclose(normalizer.agent(0)["deviation"], [hand.deviation for hand in hands], rtol=1e-11)


def test_hand_worked_deviations() -> None:
    # One sample of 4: the population is pulled by its prior of 1e-4 at 0, the sample estimator takes |4|.
    population = ObservationNormalizer([config_of()], 1)
    sample = ObservationNormalizer([config_of(observation_normalization_estimator="sample")], 1)
    for normalizer in (population, sample):
        np.testing.assert_allclose(normalizer.agent(0)["deviation"], 1.0, rtol=1e-7)  # nothing seen
        normalizer.observe(np.array([[[4.0]]]))
    # mean 4 / 1.0001; variance (1e-4 + 16 * 1e-4 / 1.0001) / 1.0001
    np.testing.assert_allclose(population.agent(0)["deviation"], 0.0412272, rtol=1e-5)
    np.testing.assert_allclose(population.agent(0)["shift"], 3.99960004, rtol=1e-8)
    np.testing.assert_allclose(sample.agent(0)["deviation"], 4.00000001, rtol=1e-12)
    sample.observe(np.array([[[6.0]]]))
    np.testing.assert_allclose(sample.agent(0)["deviation"], math.sqrt(2.0) + 1e-8, rtol=1e-12)  # n - 1 = 1


def test_constant_observations_become_zero() -> None:
    for estimator in ESTIMATORS:
        normalizer = ObservationNormalizer([config_of(observation_normalization_estimator=estimator)], 1)
        for _ in range(50):
            normalizer.observe(np.full((1, 3, 1), 7.0))
        assert abs(normalizer.normalize(np.full((1, 3, 1), 7.0))).max() < 0.1
        assert np.isfinite(normalizer.normalize(np.full((1, 3, 1), 8.0))).all()


def test_statistics_survive_a_large_offset() -> None:
    # The mean of squares minus the squared mean would have lost all digits here.
    normalizer = ObservationNormalizer([config_of(observation_normalization_estimator="sample")], 1)
    samples = 1e9 + np.random.default_rng(0).normal(size=(400, 1, 5, 1))
    for observations in samples:
        normalizer.observe(observations)
    np.testing.assert_allclose(normalizer.agent(0)["deviation"], samples.std(ddof=1), rtol=1e-6)


def test_a_large_offset_is_survived_beside_an_agent_that_counts_at_another_time() -> None:
    """The first samples of an agent are summed about their own mean, whatever its neighbors have counted before."""
    generator = np.random.default_rng(0)
    rollout = 1e8 + generator.standard_normal((1, 50, 4, 3))
    late = config_of(
        observation_normalization_update="per_iteration_before_update", observation_normalization_estimator="sample"
    )
    together, alone = ObservationNormalizer([config_of(), late], 3), ObservationNormalizer([late], 3)
    for step in range(50):
        together.observe(np.concatenate([rollout[:, step]] * 2))
    together.observe_rollout(np.concatenate([rollout] * 2), np.array([False, True]))
    alone.observe_rollout(rollout, np.array([True]))
    expected = rollout[0].reshape(-1, 3).std(axis=0, ddof=1)
    np.testing.assert_allclose(alone.moments.deviation()[0], expected, rtol=1e-6)
    np.testing.assert_allclose(together.moments.deviation()[1], expected, rtol=1e-6)


@pytest.mark.parametrize("limit", [None, 1.5])
def test_clipping_with_and_without_normalization(limit: float | None) -> None:
    configs = [config_of(observation_clipping=limit, observation_normalization=level) for level in (True, None)] + [
        config_of(observation_clipping=10.0)
    ]
    normalizer = ObservationNormalizer(configs, 1)
    normalizer.observe(np.random.default_rng(0).normal(size=(3, 50, 1)))
    seen = normalizer.normalize(np.broadcast_to([[-1000.0], [0.5], [1000.0]], (3, 3, 1)))
    if limit is None:
        assert seen[0, 0, 0] < -500
        np.testing.assert_array_equal(seen[1, :, 0], [-1000.0, 0.5, 1000.0])
    else:
        np.testing.assert_array_equal(seen[0, [0, 2], 0], [-1.5, 1.5])
        np.testing.assert_array_equal(seen[1, :, 0], [-1.5, 0.5, 1.5])
    np.testing.assert_array_equal(seen[2, [0, 2], 0], [-10.0, 10.0])
    assert seen.dtype == np.float32
    np.testing.assert_array_equal(normalizer.agent(0)["limit"], [np.inf if limit is None else limit])


levels = st.fixed_dictionaries(
    {
        "observation_normalization": st.sampled_from([True, None]),
        "observation_normalization_update": st.sampled_from(
            ["per_step", "per_iteration_before_update", "per_iteration_after_update"]
        ),
        "observation_normalization_estimator": st.sampled_from(ESTIMATORS),
        "observation_clipping": st.sampled_from([None, 1.0]),
        "reward_scaling": st.sampled_from([None, "returns", "rewards"]),
        "reward_scaling_reset": st.sampled_from(["never", "on_done", "on_terminated", "on_reset", "gymnasium"]),
        "reward_scaling_estimator": st.sampled_from(ESTIMATORS),
        "reward_clipping": st.sampled_from([None, 1.0]),
        "discount": st.sampled_from([0.0, 0.9, 1.0]),
    }
)


def made(levels: dict[str, Any]) -> Config:
    """A config without the levels that have no effect beside the others."""
    return (
        Config(environment="probes:counter")
        .replace(**{key: levels[key] for key in ("observation_normalization", "reward_scaling")})
        .replace(
            **{
                name: level
                for name, level in levels.items()
                if (levels["observation_normalization"] or not name.startswith("observation_normalization"))
                and (levels["reward_scaling"] or not name.startswith("reward_scaling"))
                and (levels["reward_scaling"] == "returns" or name != "reward_scaling_reset")
            }
        )
    )


@given(st.lists(levels, min_size=2, max_size=5), st.integers(1, 3), st.integers(0, 2**32))
def test_agents_of_any_mixture_are_as_if_alone(chosen: list[dict[str, Any]], rows: int, seed: int) -> None:
    configs = [made(choice) for choice in chosen]
    agents, steps = len(configs), 4
    mixed = ObservationNormalizer(configs, 2), RewardScaler(configs, rows)
    alone = [(ObservationNormalizer([config], 2), RewardScaler([config], rows)) for config in configs]
    generator = np.random.default_rng(seed)
    for _ in range(2):
        observations = generator.normal(size=(agents, steps, rows, 2)) * 10
        rewards = generator.normal(size=(agents, steps, rows))
        ends = generator.random((2, agents, steps, rows)) < 0.3
        terminated, truncated = ends[0], ends[1] & ~ends[0]
        for t in range(steps):
            mixed[0].observe(observations[:, t])
        mixed[0].observe_rollout(observations, mixed[0].before_update)
        mixed[0].observe_rollout(observations, mixed[0].after_update)
        seen = mixed[0].normalize(observations[:, 0])
        scaled = mixed[1].scale(rewards, terminated, truncated)
        which = generator.random(agents) < 0.5
        mixed[1].environments_reset(which, renewed=False)
        for p, (normalizer, scaler) in enumerate(alone):
            mine = slice(p, p + 1)
            for t in range(steps):
                normalizer.observe(observations[mine, t])
            normalizer.observe_rollout(observations[mine], normalizer.before_update)
            normalizer.observe_rollout(observations[mine], normalizer.after_update)
            np.testing.assert_allclose(seen[p], normalizer.normalize(observations[mine, 0])[0], rtol=1e-6)
            mine_scaled = scaler.scale(rewards[mine], terminated[mine], truncated[mine])
            np.testing.assert_allclose(scaled[p], mine_scaled[0], rtol=1e-6)
            scaler.environments_reset(which[mine], renewed=False)
            for name, value in scaler.state(0).items():
                if configs[p].reward_scaling is not None:
                    np.testing.assert_allclose(mixed[1].state(p)[name], value, rtol=1e-12, atol=1e-12)


def test_only_the_agents_that_are_named_count_an_observation() -> None:
    normalizer = ObservationNormalizer([config_of()] * 3, 1)
    normalizer.observe(np.arange(3.0).reshape(3, 1, 1), np.array([True, False, True]))
    np.testing.assert_allclose([normalizer.state(p)["count"][0] for p in range(3)], [1.0001, 0.0001, 1.0001])
    np.testing.assert_allclose([normalizer.state(p)["mean"][0] for p in range(3)], [0, 0, 2 / 1.0001])


def test_a_saved_state_goes_on_as_if_never_saved() -> None:
    config = config_of(reward_scaling="returns", reward_scaling_reset="never")
    one, other = ObservationNormalizer([config], 2), ObservationNormalizer([config] * 2, 2)
    scaler, other_scaler = RewardScaler([config], 3), RewardScaler([config] * 2, 3)
    generator = np.random.default_rng(0)
    never = np.zeros((1, 4, 3), bool)
    one.observe(generator.normal(size=(1, 5, 2)))
    scaler.scale(generator.normal(size=(1, 4, 3)), never, never)
    other.restore(1, one.state(0))
    other_scaler.restore(1, scaler.state(0))
    observations, rewards = generator.normal(size=(1, 5, 2)), generator.normal(size=(1, 4, 3))
    np.testing.assert_array_equal(other.normalize(np.repeat(observations, 2, 0))[1], one.normalize(observations)[0])
    twice = other_scaler.scale(np.repeat(rewards, 2, 0), np.repeat(never, 2, 0), np.repeat(never, 2, 0))
    np.testing.assert_array_equal(twice[1], scaler.scale(rewards, never, never)[0])
    # A state is a copy: what follows must not change it.
    state = one.state(0)
    before = {name: value.copy() for name, value in state.items()}
    one.observe(observations)
    for name, value in before.items():
        np.testing.assert_array_equal(state[name], value)


GAMMA = 0.9
TRIGGER = np.array([0.0, 1.0] * 4)
"""Two-step episodes that pay at their last step: an accumulator that forgets one step early shows at once."""

RUNNING_RETURNS = {
    # R_t = 0.9 R_{t-1} + r_t with R set back to zero *after* the last step of an episode
    ("on_done", "terminated"): [0, 1, 0, 1, 0, 1, 0, 1],
    ("on_done", "truncated"): [0, 1, 0, 1, 0, 1, 0, 1],
    ("on_reset", "terminated"): [0, 1, 0, 1, 0, 1, 0, 1],
    ("on_reset", "truncated"): [0, 1, 0, 1, 0, 1, 0, 1],
    ("on_terminated", "terminated"): [0, 1, 0, 1, 0, 1, 0, 1],
    # never set back: 0.9^2 + 1 = 1.81, 0.81 * 1.81 + 1 = 2.4661, ...
    ("on_terminated", "truncated"): [0, 1, 0.9, 1.81, 1.629, 2.4661, 2.21949, 2.997541],
    ("never", "terminated"): [0, 1, 0.9, 1.81, 1.629, 2.4661, 2.21949, 2.997541],
    ("never", "truncated"): [0, 1, 0.9, 1.81, 1.629, 2.4661, 2.21949, 2.997541],
    # The terminal step forgets its own episode, and the next one inherits 0.9 of what it paid.
    ("gymnasium", "terminated"): [0, 1, 0.9, 1, 0.9, 1, 0.9, 1],
    ("gymnasium", "truncated"): [0, 1, 0.9, 1.81, 1.629, 2.4661, 2.21949, 2.997541],
}


def ends_of(kind: str, rows: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The flags `[1, T, N]` of two-step episodes that end in this way."""
    last = np.repeat((TRIGGER == 1)[None, :, None], rows, axis=2)
    return (last, np.zeros_like(last)) if kind == "terminated" else (np.zeros_like(last), last)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("level", "kind"), RUNNING_RETURNS)
def test_running_returns_of_two_step_episodes(level: str, kind: str, rows: int, estimator: str) -> None:
    config = config_of(
        discount=GAMMA, reward_scaling="returns", reward_scaling_reset=level, reward_scaling_estimator=estimator
    )
    scaler, hand = RewardScaler([config], rows), Hand(estimator)
    rewards = np.repeat(TRIGGER[None, :, None], rows, axis=2)
    expected = []
    for reward, returned in zip(TRIGGER, RUNNING_RETURNS[level, kind], strict=True):
        hand.add([returned] * rows)
        expected.append(reward / hand.deviation if reward else 0.0)
    scaled = scaler.scale(rewards, *ends_of(kind, rows))
    np.testing.assert_allclose(scaled[0], np.repeat(np.array(expected)[:, None], rows, 1), rtol=1e-6)
    np.testing.assert_allclose(scaler.state(0)["mean"], hand.mean, rtol=1e-12)
    # In several calls as in one.
    again = RewardScaler([config], rows)
    parts = [
        again.scale(rewards[:, part], *(flags[:, part] for flags in ends_of(kind, rows)))
        for part in (slice(0, 3), slice(3, 4), slice(4, 8))
    ]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), scaled)


class Scripted(gymnasium.Env):
    """Pays and ends by a script, whatever is done."""

    observation_space = Box(-1, 1, (1,))
    action_space = Discrete(2)

    def __init__(self, script: Sequence[tuple[float, bool, bool]]) -> None:
        self.script = iter(script)

    def reset(self, **_: Any) -> tuple[np.ndarray, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward, terminated, truncated = next(self.script)
        return np.zeros(1, np.float32), reward, terminated, truncated, {}


def script_of(seed: int, steps: int) -> list[tuple[float, bool, bool]]:
    generator = np.random.default_rng(seed)
    kinds = generator.choice(3, steps, p=[0.7, 0.15, 0.15])
    rewards = generator.normal(1.0, 2.0, steps)
    return [(float(reward), bool(kind == 1), bool(kind == 2)) for reward, kind in zip(rewards, kinds, strict=True)]


def test_the_gymnasium_level_is_what_gymnasium_does() -> None:
    script = script_of(0, 60)
    wrapped = gymnasium.wrappers.NormalizeReward(Scripted(script), gamma=GAMMA)
    wrapped.reset()
    expected = []
    for _, terminated, truncated in script:
        expected.append(float(np.asarray(wrapped.step(0)[1]).item()))
        if terminated or truncated:
            wrapped.reset()
    config = config_of(discount=GAMMA, reward_scaling="returns", reward_scaling_reset="gymnasium")
    rewards, terminated, truncated = (np.array(part)[None, :, None] for part in zip(*script, strict=True))
    scaled = RewardScaler([config], 1).scale(rewards, terminated, truncated)
    np.testing.assert_allclose(scaled[0, :, 0], expected, rtol=1e-6)


def test_the_default_is_what_baselines_does() -> None:
    # vec_normalize.py: ret = ret * gamma + rews; ret_rms.update(ret); clip(rews / sqrt(var + eps)); ret[news] = 0
    scripts = [script_of(seed, 60) for seed in range(4)]
    table = np.array(scripts)  # [N, T, 3]
    statistics = gymnasium.wrappers.utils.RunningMeanStd(shape=())
    ret, expected = np.zeros(4), []
    for reward, terminated, truncated in np.moveaxis(table, 0, 2):
        ret = ret * GAMMA + reward
        statistics.update(ret)
        expected.append(np.clip(reward / np.sqrt(statistics.var + 1e-8), -1.5, 1.5))
        ret[(terminated + truncated) > 0] = 0.0
    config = config_of(discount=GAMMA, reward_scaling="returns", reward_clipping=1.5)
    rewards, terminated, truncated = np.moveaxis(table, 0, 1)[None].transpose(3, 0, 1, 2)
    scaled = RewardScaler([config], 4).scale(rewards, terminated > 0, truncated > 0)
    np.testing.assert_allclose(scaled[0], expected, rtol=1e-6)
    assert np.abs(scaled).max() == 1.5


def test_the_level_rewards_centers_scales_and_adds_the_mean_again() -> None:
    # torch_utils.py, ZFilter with demean and later re-added mean; episode ends do not matter.
    for estimator in ESTIMATORS:
        config = config_of(reward_scaling="rewards", reward_scaling_estimator=estimator)
        hand, expected = Hand(estimator), []
        rewards = np.random.default_rng(1).normal(5.0, 2.0, (1, 20, 2))
        for step in rewards[0]:
            hand.add(step)
            expected.append((step - hand.mean) / hand.deviation + hand.mean)
        ends = np.random.default_rng(2).random((1, 20, 2)) < 0.3
        scaled = RewardScaler([config], 2).scale(rewards, ends, ~ends)
        np.testing.assert_allclose(scaled[0], expected, rtol=1e-6)


@pytest.mark.parametrize("level", [None, "returns", "rewards"])
def test_rewards_are_clipped_after_scaling(level: str | None) -> None:
    config = config_of(reward_scaling=level, reward_clipping=0.25)
    rewards = np.random.default_rng(0).normal(0.0, 3.0, (1, 30, 2))
    never = np.zeros(rewards.shape, bool)
    loose = RewardScaler([config.replace(reward_clipping=None)], 2).scale(rewards, never, never)
    tight = RewardScaler([config], 2).scale(rewards, never, never)
    np.testing.assert_array_equal(tight, np.clip(loose, -0.25, 0.25))
    assert tight.dtype == np.float32 and (np.abs(tight) == 0.25).any() and (np.abs(tight) < 0.25).any()
    if level is None:
        np.testing.assert_array_equal(loose, rewards.astype(np.float32))


@pytest.mark.parametrize(
    ("level", "by_agent", "by_segment"),
    [
        ("never", 1.0, 1.0),
        ("on_done", 1.0, 0.0),  # a new segment ends episodes, a reset from outside drops them
        ("on_terminated", 1.0, 1.0),
        ("on_reset", 0.0, 0.0),
        ("gymnasium", 1.0, 1.0),
    ],
)
def test_resets_from_outside(level: str, by_agent: float, by_segment: float) -> None:
    config = config_of(reward_scaling="returns", reward_scaling_reset=level)
    for renewed, kept in ((False, by_agent), (True, by_segment)):
        scaler = RewardScaler([config] * 2, 1)
        never = np.zeros((2, 1, 1), bool)
        scaler.scale(np.ones((2, 1, 1)), never, never)
        scaler.environments_reset(np.array([True, False]), renewed)
        np.testing.assert_array_equal(scaler.state(0)["accumulated"], [kept])
        np.testing.assert_array_equal(scaler.state(1)["accumulated"], [1.0])


@pytest.mark.parametrize("level", ["returns", "rewards"])
@pytest.mark.parametrize("estimator", ["population", "sample"])
def test_a_late_reward_takes_no_digits_from_early_ones(level: str, estimator: str) -> None:
    """The first rollout holds a reward a hundred billion times the others; a scaler fed step by step never saw it."""
    config = config_of(reward_scaling=level, reward_scaling_estimator=estimator, reward_clipping=None)
    rewards = np.where(np.arange(100) % 2, 1e-3, -1e-3).reshape(1, 100, 1)
    rewards[0, -1] = 1e8
    never = np.zeros((1, 100, 1), bool)
    one_by_one = RewardScaler([config], 1)
    steps = [one_by_one.scale(rewards[:, t : t + 1], never[:, :1], never[:, :1]) for t in range(100)]
    at_once = RewardScaler([config], 1).scale(rewards, never, never)
    np.testing.assert_allclose(at_once[0, :, 0], [float(step[0, 0, 0]) for step in steps], rtol=1e-5)


def test_frozen_scaling_learns_nothing() -> None:
    configs = [
        config_of(reward_scaling="returns", reward_clipping=1.0),
        config_of(reward_scaling="rewards", reward_scaling_estimator="sample"),
        config_of(reward_clipping=0.5),
    ]
    scaler = RewardScaler(configs, 2)
    generator = np.random.default_rng(0)
    never = np.zeros((3, 6, 2), bool)
    scaler.scale(generator.normal(2.0, 1.0, (3, 6, 2)), never, never)
    states = [scaler.state(p) for p in range(3)]
    rewards = generator.normal(2.0, 1.0, (3, 5, 2))
    scaled = scaler.scale_frozen(rewards)
    deviation = [
        math.sqrt(float(states[0]["squares"][0] / states[0]["count"][0]) + 1e-8),
        math.sqrt(float(states[1]["squares"][0]) / (float(states[1]["count"][0]) - 1)) + 1e-8,
    ]
    mean = states[1]["mean"][0]
    np.testing.assert_allclose(scaled[0], np.clip(rewards[0] / deviation[0], -1, 1), rtol=1e-6)
    np.testing.assert_allclose(scaled[1], (rewards[1] - mean) / deviation[1] + mean, rtol=1e-6)
    np.testing.assert_allclose(scaled[2], np.clip(rewards[2], -0.5, 0.5), rtol=1e-6)
    for before, after in zip(states, (scaler.state(p) for p in range(3)), strict=True):
        for name in before:
            np.testing.assert_array_equal(before[name], after[name])


def test_one_agents_numbers_that_are_not_finite_stay_its_own() -> None:
    config = config_of(reward_scaling="returns")
    healthy = RewardScaler([config] * 2, 2), ObservationNormalizer([config] * 2, 1)
    broken = RewardScaler([config] * 2, 2), ObservationNormalizer([config] * 2, 1)
    generator = np.random.default_rng(0)
    never = np.zeros((2, 4, 2), bool)
    for value in (np.nan, np.inf):
        rewards, observations = generator.normal(size=(2, 4, 2)), generator.normal(size=(2, 3, 1))
        poisoned = rewards.copy(), observations.copy()
        poisoned[0][0, 2, 1], poisoned[1][0, 1] = value, value
        with np.errstate(invalid="ignore"):
            bad = broken[0].scale(poisoned[0], never, never)
            broken[1].observe(poisoned[1])
            seen = broken[1].normalize(poisoned[1])
        healthy[1].observe(observations)
        np.testing.assert_array_equal(bad[1], healthy[0].scale(rewards, never, never)[1])
        np.testing.assert_array_equal(seen[1], healthy[1].normalize(observations)[1])
        assert not np.isfinite(bad[0]).all()


def test_the_discount_of_reward_scaling_is_the_agents_own() -> None:
    # One source of gamma (CleanRL PR 209): agents that differ in it alone differ in their running returns.
    configs = [config_of(reward_scaling="returns", reward_scaling_reset="never", discount=g) for g in (0.0, 0.5, 1.0)]
    scaler = RewardScaler(configs, 1)
    never = np.zeros((3, 3, 1), bool)
    scaler.scale(np.ones((3, 3, 1)), never, never)
    returned = [scaler.state(p)["accumulated"].item() for p in range(3)]
    assert returned == [1.0, 1.75, 3.0]
    for p, samples in enumerate(([1, 1, 1], [1, 1.5, 1.75], [1, 2, 3])):
        hand = Hand("population")
        hand.add(samples)
        np.testing.assert_allclose(scaler.state(p)["mean"], hand.mean, rtol=1e-12)
