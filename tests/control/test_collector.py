"""Exactly T real transitions of every row, in order, whatever serves them; and what held-out rollouts leave alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from minutiae.control.acting import policy_of
from minutiae.control.batch import Batch
from minutiae.control.collector import Collector, Episodes
from minutiae.control.normalizers import ObservationNormalizer, RewardScaler
from minutiae.control.policies.initialization import initialize
from minutiae.control.seeding import Purpose, environment_seeds, stream
from minutiae.details import Config

STEPS, ROWS = 7, 3
SEEDS = (5, 8)
DOORS = [
    "training_probes:ledger",
    "training_probes:ledger_continuous",
    "training_probes:ledger_disabled",
    "training_probes:ledger_next_step",
    "training_probes:ledger_same_step",
    "training_probes:ledger_continuous_next_step",
    "training_probes:ledger_continuous_same_step",
]


def config_of(environment: str = DOORS[0], **details: Any) -> Config:
    """Nothing is normalized, scaled or clipped unless `details` say so."""
    plain: dict[str, Any] = {
        "observation_normalization": None,
        "observation_clipping": None,
        "reward_scaling": None,
        "reward_clipping": None,
    }
    return Config(
        environment=environment,
        environments=ROWS,
        rollout_length=STEPS,
        minibatches=1,
        policy_hidden_sizes=(4,),
        value_hidden_sizes=(4,),
        **(plain | details),
    )


@dataclass
class Transition:
    """What the ledger of one row writes at one step."""

    before: tuple[int, int, int]
    after: tuple[int, int, int]
    terminated: bool
    truncated: bool


@dataclass
class Row:
    """The ledger's rules once more, for one row, by hand."""

    name: int
    episode: int = 0
    time: int = 0
    starts: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def seen(self) -> tuple[int, int, int]:
        return self.name, self.episode, self.time

    def step(self) -> Transition:
        before = self.seen
        self.time += 1
        after, over = self.seen, self.time == 1 + (self.name + self.episode) % 4
        even = self.episode % 2 == 0
        if over:
            self.restart()
        return Transition(before, after, over and even, over and not even)

    def restart(self) -> None:
        self.episode += 1
        self.time = 0


class Rig(NamedTuple):
    collector: Collector
    normalizer: ObservationNormalizer
    rewards: RewardScaler
    parameters: Any
    configs: list[Config]
    interface: Any
    policy: Any

    def collect(
        self, iteration: int, alive: Sequence[bool] | None = None, segment_ends: bool = False
    ) -> tuple[Batch, Episodes]:
        """A rollout whose arrays the next one leaves alone."""
        living = np.ones(len(self.configs), bool) if alive is None else np.array(alive)
        batch, episodes = self.collector.collect(self.parameters, iteration, living, segment_ends)
        return Batch(*(np.array(part) for part in batch)), episodes


def rig(configs: Sequence[Config], seeds: Sequence[int] = SEEDS, frozen: bool = False, like: Rig | None = None) -> Rig:
    """A collector with untrained networks; `like` shares its normalizers and networks."""
    policy, interface = policy_of(configs[0])
    if like is None:
        normalizer = ObservationNormalizer(configs, policy.observation_size)
        rewards = RewardScaler(configs, configs[0].environments)
        each = [
            initialize(stream(seed, Purpose.PARAMETERS), policy, config)["policy"]
            for config, seed in zip(configs, seeds, strict=True)
        ]
        parameters = stacked(each)
    else:
        normalizer, rewards, parameters = like.normalizer, like.rewards, like.parameters
    collector = Collector(configs, seeds, policy, interface, normalizer, rewards, frozen=frozen, threads=1)
    return Rig(collector, normalizer, rewards, parameters, list(configs), interface, policy)


def stacked(trees: Sequence[Any]) -> Any:
    first = trees[0]
    if isinstance(first, dict):
        return {key: stacked([tree[key] for tree in trees]) for key in first}
    if isinstance(first, list | tuple):
        return [stacked(parts) for parts in zip(*trees, strict=True)]
    return np.stack(trees)


def rows_of(seeds: Sequence[int], segment: int, purpose: Purpose = Purpose.ENVIRONMENTS) -> list[list[Row]]:
    """The rows of each agent at the start of a segment."""
    return [[Row(seed % 1000) for seed in environment_seeds(agent, purpose, segment, ROWS)] for agent in seeds]


def written(agents: list[list[Row]], steps: int = STEPS) -> np.ndarray:
    """The transitions of a rollout: objects `[P, T, N]`."""
    table = np.empty((len(agents), steps, len(agents[0])), object)
    for p, rows in enumerate(agents):
        for t in range(steps):
            for n, row in enumerate(rows):
                table[p, t, n] = row.step()
    return table


def part(table: np.ndarray, name: str, dtype: Any = np.float32) -> np.ndarray:
    """One field of every transition, `[P, T, N, ...]`."""
    return np.array([[[getattr(one, name) for one in row] for row in agent] for agent in table], dtype)


def assert_real(batch: Batch, table: np.ndarray) -> None:
    """The batch is the transitions of the table, and nothing else."""
    np.testing.assert_array_equal(batch.observations, part(table, "before"))
    np.testing.assert_array_equal(batch.next_observations, part(table, "after"))
    np.testing.assert_array_equal(batch.terminated, part(table, "terminated", bool))
    np.testing.assert_array_equal(batch.truncated, part(table, "truncated", bool))


@pytest.mark.parametrize("environment", DOORS)
def test_every_row_gives_exactly_its_real_transitions(environment: str) -> None:
    case = rig([config_of(environment)] * 2)
    case.collector.renew(0)
    agents = rows_of(SEEDS, 0)
    assert len({row.name for rows in agents for row in rows}) == 2 * ROWS
    for iteration in range(4):
        batch, _ = case.collect(iteration)
        table = written(agents)
        assert_real(batch, table)
        # The action of row n reached row n, and the reward came back to it.
        times = part(table, "before")[..., 2]
        bounded = np.clip(batch.actions[..., 0].astype(np.float32), -1, 1)
        np.testing.assert_allclose(batch.rewards, times + 10 * bounded, rtol=1e-6)
    shapes = {name: (array.shape, str(array.dtype)) for name, array in batch._asdict().items()}
    continuous = "continuous" in environment
    assert shapes == {
        "observations": ((2, STEPS, ROWS, 3), "float32"),
        "next_observations": ((2, STEPS, ROWS, 3), "float32"),
        "actions": ((2, STEPS, ROWS, 1), "float32" if continuous else "int32"),
        "rewards": ((2, STEPS, ROWS), "float32"),
        "terminated": ((2, STEPS, ROWS), "bool"),
        "truncated": ((2, STEPS, ROWS), "bool"),
    }
    case.collector.close()


@pytest.mark.parametrize("environment", DOORS)
def test_logged_returns_and_lengths_are_exact(environment: str) -> None:
    # Rewards are scaled and clipped for the learner; what is logged is raw.
    case = rig([config_of(environment, reward_scaling="returns", reward_clipping=0.5)] * 2)
    case.collector.renew(0)
    agents, running = rows_of(SEEDS, 0), np.zeros((2, ROWS, 2))
    seen = 0
    for iteration in range(4):
        batch, episodes = case.collect(iteration)
        assert np.abs(batch.rewards).max() <= 0.5
        table, expected = written(agents), []
        for t in range(STEPS):
            for p in range(2):
                for n in range(ROWS):
                    action = float(np.clip(batch.actions[p, t, n, 0], -1, 1))
                    running[p, n] += table[p, t, n].before[2] + 10.0 * action, 1
                    if table[p, t, n].terminated or table[p, t, n].truncated:
                        expected.append((p, *running[p, n]))
                        running[p, n] = 0
        assert episodes.agent.tolist() == [agent for agent, _, _ in expected]
        assert episodes.lengths.tolist() == [length for _, _, length in expected]
        np.testing.assert_allclose(episodes.returns, [value for _, value, _ in expected], rtol=1e-6)
        seen += len(expected)
    assert seen > 40
    case.collector.close()


def ends_in(table: np.ndarray) -> list[tuple[int, int]]:
    """(agent, row) of every episode's end, in order of time."""
    agents, steps, rows = table.shape
    return [
        (p, n)
        for t in range(steps)
        for p in range(agents)
        for n in range(rows)
        if table[p, t, n].terminated or table[p, t, n].truncated
    ]


def test_no_episode_waits_longer_than_a_time_limit() -> None:
    # Where a row may never end, the others are told all the same once a time limit has passed.
    case = rig([config_of().replace(rollout_length=1)], seeds=SEEDS[:1])
    case.collector.renew(0)
    case.collector._time_limit = 2
    case.collector.renew(0)
    agents = rows_of(SEEDS[:1], 0)
    told = [len(case.collector.collect(case.parameters, i, np.ones(1, bool))[1].agent) for i in range(2)]
    ends = [len(ends_in(written(agents, 1))) for _ in range(2)]
    assert told == [0, sum(ends)]
    assert sum(ends) > 0
    case.collector.close()


@pytest.mark.parametrize("last", [0, 1, 2, 9])
def test_first_episodes_are_told_once_every_row_of_the_agent_has_ended_one(last: int) -> None:
    # Rollouts of one step; first episodes have one to four. Told alone, the short ones would pass for the rule.
    case = rig([config_of().replace(rollout_length=1, minibatches=1)] * 2)
    case.collector.renew(0)
    agents = rows_of(SEEDS, 0)
    lengths = np.zeros((2, ROWS), int)
    held: list[list[int]] = [[], []]
    waiting = [set(range(ROWS)), set(range(ROWS))]
    surprised = 0
    for iteration in range(last + 1):
        _, episodes = case.collect(iteration, segment_ends=iteration == last)
        table = written(agents, 1)
        for p in range(2):
            lengths[p] += 1
            for n in range(ROWS):
                if table[p, 0, n].terminated or table[p, 0, n].truncated:
                    held[p].append(int(lengths[p, n]))
                    lengths[p, n] = 0
                    waiting[p].discard(n)
            # Nothing is lost at the segment's end: what was held until then is told with its last rollout.
            told = held[p] if not waiting[p] or iteration == last else []
            surprised += bool(held[p]) and not told
            assert episodes.lengths[episodes.agent == p].tolist() == told
            held[p] = [] if told else held[p]
    assert surprised or last == 0
    # A new segment begins with new rows and waits again, for itself alone.
    case.collector.renew(1)
    first = [1 + row.name % 4 for row in rows_of(SEEDS, 1)[0]]
    for iteration in range(max(first)):
        _, episodes = case.collect(iteration)
        assert (0 in episodes.agent) == (iteration == max(first) - 1)
    case.collector.close()


def moments(observations: np.ndarray, sample: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of all `[K, O]`, in two passes; the population begins with 1e-4 of mean 0, variance 1."""
    if sample:
        return observations.mean(0), observations.std(0, ddof=1) + 1e-8
    count = len(observations) + 1e-4
    mean = observations.sum(0) / count
    squares = ((observations - mean) ** 2).sum(0) + 1e-4 * (1 + mean**2)
    return mean, np.sqrt(squares / count + 1e-8)


@pytest.mark.parametrize("environment", DOORS)
@pytest.mark.parametrize("estimator", ["population", "sample"])
def test_statistics_count_every_observation_acted_from_and_no_other(environment: str, estimator: str) -> None:
    details = {"observation_normalization": True, "observation_normalization_estimator": estimator}
    case = rig([config_of(environment, **details)] * 2)
    case.collector.renew(0)
    agents = rows_of(SEEDS, 0)
    counted = [[row.seen for row in rows] for rows in agents]  # the observations that the rows begin with
    for iteration in range(3):
        batch, _ = case.collect(iteration)
        for p, rows in enumerate(agents):
            for t in range(STEPS):
                mean, deviation = moments(np.array(counted[p], float), estimator == "sample")
                steps = [row.step() for row in rows]
                before = np.array([step.before for step in steps])
                np.testing.assert_allclose(batch.observations[p, t], (before - mean) / deviation, rtol=2e-5, atol=2e-6)
                # A finished row goes on from its reset: that is counted, the end it came from is not.
                counted[p] += [row.seen for row in rows]
                mean, deviation = moments(np.array(counted[p], float), estimator == "sample")
                after = np.array([step.after for step in steps])
                np.testing.assert_allclose(
                    batch.next_observations[p, t], (after - mean) / deviation, rtol=2e-5, atol=2e-6
                )
    prior = 0.0 if estimator == "sample" else 1e-4
    for p in range(2):
        state = case.normalizer.state(p)
        assert len(counted[p]) == ROWS * (3 * STEPS + 1)
        np.testing.assert_allclose(state["count"], len(counted[p]) + prior, rtol=1e-14)
        mean, deviation = moments(np.array(counted[p], float), estimator == "sample")
        np.testing.assert_allclose(state["mean"], mean, rtol=1e-12)
        np.testing.assert_allclose(case.normalizer.agent(p)["deviation"], deviation, rtol=1e-10)
    case.collector.close()


@pytest.mark.parametrize("environment", DOORS[:1] + DOORS[3:5])
def test_statistics_per_iteration_count_the_rollout_alone(environment: str) -> None:
    levels = ("per_iteration_before_update", "per_iteration_after_update")
    configs = [
        config_of(environment, observation_normalization=True, observation_normalization_update=level)
        for level in levels
    ]
    case = rig(configs)
    case.collector.renew(0)
    agents = rows_of(SEEDS, 0)
    counted: list[list[tuple[int, ...]]] = [[], []]
    for iteration in range(3):
        batch, _ = case.collect(iteration)
        table = written(agents)
        for p, level in enumerate(levels):
            before = part(table, "before", float)[p].reshape(-1, 3)
            after = part(table, "after", float)[p].reshape(-1, 3)
            earlier = moments(np.array(counted[p], float).reshape(-1, 3), False)
            counted[p] += before.tolist()
            # The batch that updates the networks is normalized by statistics with it, or without it.
            mean, deviation = moments(np.array(counted[p]), False) if level == levels[0] else earlier
            flat = batch.observations[p].reshape(-1, 3), batch.next_observations[p].reshape(-1, 3)
            np.testing.assert_allclose(flat[0], (before - mean) / deviation, rtol=2e-5, atol=2e-6)
            np.testing.assert_allclose(flat[1], (after - mean) / deviation, rtol=2e-5, atol=2e-6)
            np.testing.assert_allclose(case.normalizer.state(p)["count"], len(counted[p]) + 1e-4, rtol=1e-14)
            mean, deviation = moments(np.array(counted[p]), False)
            np.testing.assert_allclose(case.normalizer.state(p)["mean"], mean, rtol=1e-12)
            np.testing.assert_allclose(case.normalizer.agent(p)["deviation"], deviation, rtol=1e-10)
    case.collector.close()


def test_rewards_are_scaled_in_order_of_time_across_rollouts() -> None:
    config = config_of(reward_scaling="returns", discount=0.9)
    case = rig([config] * 2)
    case.collector.renew(0)
    agents, returns = rows_of(SEEDS, 0), np.zeros((2, ROWS))
    seen: list[list[float]] = [[], []]
    for iteration in range(3):
        batch, _ = case.collect(iteration)
        table = written(agents)
        raw = part(table, "before", float)[..., 2] + 10.0 * batch.actions[..., 0]
        for p in range(2):
            for t in range(STEPS):
                returns[p] = 0.9 * returns[p] + raw[p, t]
                seen[p] += returns[p].tolist()
                _, deviation = moments(np.array(seen[p])[:, None], False)
                np.testing.assert_allclose(batch.rewards[p, t], raw[p, t] / deviation, rtol=1e-5)
                returns[p][[one.terminated or one.truncated for one in table[p, t]]] = 0
        if iteration == 1:  # a new segment ends all episodes; what was learned of their returns stays
            case.collector.renew(1)
            agents, returns = rows_of(SEEDS, 1), np.zeros((2, ROWS))
    case.collector.close()


@pytest.mark.parametrize("environment", DOORS[:1] + DOORS[2:4])
def test_a_reset_before_each_iteration_cuts_only_the_agents_that_want_it(environment: str) -> None:
    configs = [config_of(environment, environment_reset_each_iteration=level) for level in (True, None)]
    case = rig(configs)
    case.collector.renew(0)
    agents = rows_of(SEEDS, 0)
    lengths: list[list[int]] = [[], []]
    for iteration in range(4):
        if iteration:
            for row in agents[0]:
                row.restart()
        batch, episodes = case.collect(iteration)
        table = written(agents)
        # The last step before the cut is neither a death nor a time limit, and its successor is the true one.
        assert_real(batch, table)
        for p in range(2):
            ends = part(table, "terminated", bool)[p] | part(table, "truncated", bool)[p]
            assert (episodes.agent == p).sum() == ends.sum()
            lengths[p] += episodes.lengths[episodes.agent == p].tolist()
    # Each row's episodes have their full lengths again and again: what was cut is in no length.
    names = [[row.name for row in rows] for rows in rows_of(SEEDS, 0)]
    for p in range(2):
        assert set(lengths[p]) <= {1 + (name + episode) % 4 for name in names[p] for episode in range(40)}
    case.collector.close()


@pytest.mark.parametrize("environment", DOORS)
def test_a_new_segment_cuts_cleanly(environment: str) -> None:
    # Unscaled, so that a return carried over the cut would show.
    case = rig([config_of(environment)] * 2)
    for segment in range(3):
        case.collector.renew(segment)
        agents = rows_of(SEEDS, segment)
        batch, episodes = case.collect(10 + segment)
        table = written(agents)
        assert_real(batch, table)
        assert (part(table, "before")[:, 0, :, 1:] == 0).all()
        first: dict[int, tuple[float, int]] = {}
        for p in range(2):
            for n in range(ROWS):
                paid = 0.0
                for t in range(STEPS):
                    paid += table[p, t, n].before[2] + 10.0 * float(np.clip(batch.actions[p, t, n, 0], -1, 1))
                    if table[p, t, n].terminated or table[p, t, n].truncated:
                        first[p * ROWS + n] = (paid, t + 1)
                        break
        assert len(first) == 2 * ROWS
        for agent in range(2):
            mine = episodes.agent == agent
            logged = sorted(zip(episodes.returns[mine], episodes.lengths[mine], strict=True))
            for row in range(ROWS):
                value, length = first[agent * ROWS + row]
                assert any(np.isclose(value, a, rtol=1e-6) and length == b for a, b in logged)
    case.collector.close()


def test_segments_and_agents_have_seeds_of_their_own() -> None:
    names = [environment_seeds(seed, Purpose.ENVIRONMENTS, segment, ROWS) for seed in (0, 1) for segment in (0, 1)]
    assert len({name for group in names for name in group}) == 4 * ROWS


@pytest.mark.parametrize("level", [None, "clip_at_environment", "clip_stored", "tanh"])
def test_stored_actions_are_the_sampled_ones(level: str | None) -> None:
    configs = [
        config_of(
            "training_probes:ledger_continuous",
            action_bound=level,
            initial_log_standard_deviation=0.5,
        )
    ] * 2
    case = rig(configs)
    case.collector.renew(0)
    agents = rows_of(SEEDS, 0)
    for iteration in range(2):
        batch, _ = case.collect(iteration)
        table = written(agents)
        noise = np.stack(
            [stream(seed, Purpose.ACTIONS, iteration).standard_normal((STEPS, ROWS, 1), np.float32) for seed in SEEDS]
        )
        mean = np.stack(
            [case.policy.distribution_of(case.parameters, batch.observations[:, t])["mean"] for t in range(STEPS)],
            axis=1,
        )
        sample = mean + np.float32(np.exp(np.float32(0.5))) * noise
        assert (np.abs(sample) > 1).mean() > 0.3
        stored = np.clip(sample, -1, 1) if level == "clip_stored" else sample
        np.testing.assert_allclose(batch.actions, stored, rtol=1e-6)
        taken = (batch.rewards - part(table, "before")[..., 2]) / 10
        expected = {None: sample, "tanh": np.tanh(sample)}.get(level, np.clip(sample, -1, 1))[..., 0]
        np.testing.assert_allclose(taken, expected, rtol=1e-5, atol=1e-6)
    case.collector.close()


def test_discrete_actions_are_exact_samples_of_their_logits() -> None:
    case = rig([config_of()] * 2)
    case.collector.renew(0)
    batch, _ = case.collect(3)
    noise = np.stack([stream(seed, Purpose.ACTIONS, 3).gumbel(size=(STEPS, ROWS, 2)) for seed in SEEDS])
    for t in range(STEPS):
        logits = case.policy.distribution_of(case.parameters, batch.observations[:, t])["logits"]
        np.testing.assert_array_equal(batch.actions[:, t, :, 0], (logits + noise[:, t]).argmax(-1))
    assert set(np.unique(batch.actions)) == {0, 1}
    case.collector.close()


def states(case: Rig) -> list[dict[str, np.ndarray]]:
    return [{**case.normalizer.state(p), **{f"r_{k}": v for k, v in case.rewards.state(p).items()}} for p in range(2)]


@pytest.mark.parametrize("update", ["per_step", "per_iteration_before_update", "per_iteration_after_update"])
def test_held_out_rollouts_see_other_rows_and_teach_the_normalizers_nothing(update: str) -> None:
    config = config_of(
        observation_normalization=True, observation_normalization_update=update, reward_scaling="returns"
    )
    case = rig([config] * 2)
    case.collector.renew(0)
    case.collect(0)
    held_out = rig([config] * 2, frozen=True, like=case)
    before = states(case)
    frozen = [case.normalizer.agent(p) for p in range(2)]
    held_out.collector.renew(4)
    batch, _ = held_out.collect(4)
    for was, now in zip(before, states(case), strict=True):
        for name in was:
            np.testing.assert_array_equal(was[name], now[name])
    table = written(rows_of(SEEDS, 4, Purpose.HELD_OUT_ENVIRONMENTS))
    for p in range(2):
        seen = (part(table, "before", float)[p] - frozen[p]["shift"]) / frozen[p]["deviation"]
        np.testing.assert_allclose(batch.observations[p], seen, rtol=1e-5, atol=1e-6)
        state = case.rewards.state(p)
        deviation = np.sqrt(state["squares"] / state["count"] + 1e-8)
        raw = part(table, "before", float)[p, ..., 2] + 10.0 * batch.actions[p, ..., 0]
        np.testing.assert_allclose(batch.rewards[p], raw / deviation, rtol=1e-6)
    held_out.collector.close()
    case.collector.close()


def test_training_rollouts_are_the_same_with_and_without_held_out_ones() -> None:
    config = config_of(observation_normalization=True, reward_scaling="returns")
    rollouts: list[list[Batch]] = []
    for also in (False, True):
        case = rig([config] * 2)
        held_out = rig([config] * 2, frozen=True, like=case)
        case.collector.renew(0)
        rollouts.append([])
        for iteration in range(3):
            rollouts[-1].append(case.collect(iteration)[0])
            if also:
                held_out.collector.renew(iteration)
                held_out.collect(iteration)
        case.collector.close()
        held_out.collector.close()
    for without, beside in zip(*rollouts, strict=True):
        for one, other in zip(without, beside, strict=True):
            np.testing.assert_array_equal(one, other)


def test_rows_of_a_stopped_agent_idle_and_disturb_nobody() -> None:
    config = config_of("training_probes:ledger_continuous", observation_normalization=True, reward_scaling="returns")
    batches = []
    for alive in ([True, True], [False, True]):
        case = rig([config] * 2)
        case.collector.renew(0)
        case.parameters["head"]["bias"][0] = np.nan if not alive[0] else 0.0
        batch, _ = case.collect(0, alive)
        batches.append(batch)
        case.collector.close()
    assert (batches[1].actions[0] == 0).all()
    for one, other in zip(*batches, strict=True):
        np.testing.assert_array_equal(one[1], other[1])


def test_a_rollout_does_not_depend_on_the_company_it_is_gathered_in() -> None:
    config = config_of(
        "training_probes:ledger_continuous",
        observation_normalization=True,
        reward_scaling="returns",
        observation_clipping=2.0,
    )
    others = [
        config.replace(observation_normalization=None, observation_clipping=None, reward_scaling=None, discount=0.5),
        config.replace(
            observation_normalization_update="per_iteration_after_update",
            observation_normalization_estimator="sample",
            reward_scaling="rewards",
            environment_reset_each_iteration=True,
            initialization="xavier_uniform",
        ),
    ]
    alone, together = rig([config], [7]), rig([others[0], config, others[1]], [7, 7, 3])
    for case in (alone, together):
        case.collector.renew(0)
    for iteration in range(3):
        one, episodes = alone.collect(iteration)
        many, all_episodes = together.collect(iteration)
        for mine, ours in zip(one, many, strict=True):
            np.testing.assert_array_equal(mine[0], ours[1])
        mine_too = all_episodes.agent == 1
        np.testing.assert_array_equal(episodes.returns, all_episodes.returns[mine_too])
        # The first agent, of another config, has the same seed and so the same environments.
        names = [row.name for row in rows_of([7], 0)[0]]
        np.testing.assert_array_equal(many.observations[0, ..., 0], [names] * STEPS)
    alone.collector.close()
    together.collector.close()
