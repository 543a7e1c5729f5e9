"""P agents of equal structure trained together: one collector, one update program, one clock. Writes no file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from minutiae.control.acting import policy_of
from minutiae.control.batch import Batch, Indices
from minutiae.control.collector import UNKNOWN_TIME_LIMIT, Collector, Episodes
from minutiae.control.environments import describe
from minutiae.control.learner.program import autopsy, compile_held_out, compile_update, initial_state
from minutiae.control.learner.structure import LearnerState, Structure
from minutiae.control.normalizers import ObservationNormalizer, RewardScaler
from minutiae.control.policies.initialization import initialize
from minutiae.control.schedules import scheduled, stacked_numbers
from minutiae.control.seeding import Purpose, fisher_rows, minibatch_order, stream
from minutiae.details import Config, structure

Array = np.ndarray

SEGMENT_TIME_LIMITS = 20
"""A segment lasts about this many time limits: renewing the pool then shifts the states seen by a few percent."""


@dataclass
class AgentReport:
    """What one iteration says of one agent. `sound` is false when something was not finite: the agent has stopped."""

    metrics: dict[str, float | int | None]
    sound: bool = True


@dataclass
class Timing:
    """Seconds one iteration spent on each part, for all agents together."""

    collecting: float = 0.0
    learning: float = 0.0
    writing: float = 0.0

    def seconds(self, agents: int) -> dict[str, float]:
        """Each part's share of one agent, by column name."""
        return {f"{name}_seconds": value / agents for name, value in vars(self).items()}


class Inputs(NamedTuple):
    """What the last update was computed from; kept for the autopsy of an agent that diverged."""

    state: LearnerState
    batch: Batch
    indices: Indices
    numbers: dict[str, Array]


def segment_length(config: Config) -> int:
    """Iterations between two renewals of the pool, at least 1 and at most the whole run.

    The run is cut into equal parts of about `SEGMENT_TIME_LIMITS`, so that no renewal falls shortly before its end.
    """
    if config.segment_iterations is not None:
        return min(config.segment_iterations, config.iterations)
    limit = describe(config.environment).time_limit or UNKNOWN_TIME_LIMIT
    parts = max(1, round(config.iterations * config.rollout_length / (SEGMENT_TIME_LIMITS * limit)))
    return -(-config.iterations // parts)


def stack(trees: Sequence[Any]) -> Any:
    """Trees of equal shape -> one tree with a leading axis P of JAX arrays."""
    # By NumPy: JAX would compile a program for every shape of leaf before the first iteration.
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves])), *trees)


def agent_of(tree: Any, agent: int) -> Any:
    """One agent's part of a stacked tree, as NumPy arrays of its own."""
    return jax.tree.map(lambda leaf: np.array(np.asarray(leaf)[agent]), tree)


class Population:
    """Train with `iterate()`; save with `snapshot(p)`; go on with `restore`.

    Args:
        configs: one per agent, equal in structure and budget.
        seeds: one per agent.
        threads: of the pool; `None` is one per usable core.

    Raises:
        ValueError: the structures differ.
    """

    def __init__(self, configs: Sequence[Config], seeds: Sequence[int], threads: int | None = None) -> None:
        if len({(structure(config), config.steps) for config in configs}) != 1:
            raise ValueError("agents of one population share structure and steps; group them by `structure(config)`")
        self.configs, self.seeds = list(configs), list(seeds)
        first = self.configs[0]
        self.policy, interface = policy_of(first)
        self.structure = Structure.of(first, self.policy)
        self.iterations, self.segment = first.iterations, segment_length(first)
        self.iteration = 0
        self.alive = np.ones(len(self.configs), bool)
        self._numbers = stacked_numbers(self.configs)
        self._normalizer = ObservationNormalizer(self.configs, self.policy.observation_size)
        self._rewards = RewardScaler(self.configs, first.environments)
        shared = (self.configs, self.seeds, self.policy, interface, self._normalizer, self._rewards)
        self._collector = Collector(*shared, threads=threads)
        self._held_out_every = first.held_out_diagnostics
        self._held_out = Collector(*shared, frozen=True, threads=threads) if self._held_out_every else None
        self.state = stack([self._initial(agent) for agent in range(len(self.configs))])
        self.timing = Timing()
        self._last: Inputs | None = None
        self._renewed = -1
        numbers = scheduled(self._numbers, 0, self.iterations)
        batch = self._collector.shapes()
        # XLA compiles while the first rollout is gathered.
        self._update = compile_update(self.structure, (self.state, batch, self._indices(), numbers))
        if self._held_out_every:
            parameters = self.state.parameters
            self._measure = compile_held_out(self.structure, (parameters, parameters, batch, numbers))

    def _initial(self, agent: int) -> LearnerState:
        config, seed = self.configs[agent], self.seeds[agent]
        parameters = initialize(stream(seed, Purpose.PARAMETERS), self.policy, config)
        numbers = {name: value[agent] for name, value in self._numbers.items()}
        return initial_state(self.structure, parameters, numbers)

    @property
    def finished(self) -> bool:
        """Whether the budget is spent or no agent is left."""
        return self.iteration >= self.iterations or not self.alive.any()

    @property
    def segment_ends(self) -> bool:
        """Whether the iteration just done was the last of its segment: the moment to save."""
        return self.iteration % self.segment == 0 or self.finished

    def iterate(self) -> list[AgentReport | None]:
        """One rollout and one update of every agent; `None` for agents that had stopped before."""
        segment = self.iteration // self.segment
        if segment != self._renewed:
            self._collector.renew(segment)
            self._renewed = segment
        started = time.perf_counter()
        before = [self._statistics(agent) for agent in range(len(self.configs))]
        numbers = scheduled(self._numbers, self.iteration, self.iterations)
        acting = self.state.parameters
        host = jax.tree.map(np.asarray, acting["policy"])
        ends = (self.iteration + 1) % self.segment == 0 or self.iteration + 1 == self.iterations
        batch, episodes = self._collector.collect(host, self.iteration, self.alive, ends)
        held_out = self._collect_held_out(host)
        collected = time.perf_counter()
        self._last = Inputs(self.state, batch, self._indices(), numbers)
        self.state, metrics, sound = self._update.result()(*self._last)
        if held_out is not None:
            metrics |= self._measure.result()(acting, self.state.parameters, held_out, numbers)
        metrics, sound = jax.device_get((metrics, sound))
        self.timing = Timing(collected - started, time.perf_counter() - collected)
        self.iteration += 1
        reports = self._report(metrics, sound, numbers, episodes)
        # What a stopped agent's rows saw, ruined or idling, is no part of it: it stays as it was when it last learned.
        for agent, held in enumerate(before):
            if not self.alive[agent]:
                self._restore_statistics(agent, held)
        return reports

    def _collect_held_out(self, host: Any) -> Batch | None:
        if self._held_out is None or self._held_out_every is None or self.iteration % self._held_out_every:
            return None
        self._held_out.renew(self.iteration)
        return self._held_out.collect(host, self.iteration, self.alive)[0]

    def _indices(self) -> Indices:
        shape, iteration = self.structure, self.iteration
        strided = [config.fisher_subset == "strided" for config in self.configs]
        value_epochs = 0 if shape.joint else shape.value_epochs

        def orders(purpose: Purpose, epochs: int) -> Array:
            if epochs == 0:
                return np.zeros((len(self.seeds), 0, shape.batch), np.int32)
            return np.stack([minibatch_order(seed, purpose, iteration, epochs, shape.batch) for seed in self.seeds])

        return Indices(
            policy=orders(Purpose.POLICY_MINIBATCHES, shape.epochs),
            value=orders(Purpose.VALUE_MINIBATCHES, value_epochs),
            fisher=np.stack(
                [
                    fisher_rows(seed, iteration, shape.batch, shape.fisher_size, even)
                    for seed, even in zip(self.seeds, strided, strict=True)
                ]
            ),
        )

    def _report(
        self, metrics: dict[str, Array], sound: Array, numbers: dict[str, Array], episodes: Episodes
    ) -> list[AgentReport | None]:
        reports: list[AgentReport | None] = []
        steps = self.iteration * self.structure.batch
        for agent in range(len(self.configs)):
            if not self.alive[agent]:
                reports.append(None)
                continue
            mine = episodes.agent == agent
            row: dict[str, float | int | None] = {"iteration": self.iteration, "steps": steps}
            row |= episode_metrics(episodes.returns[mine], episodes.lengths[mine])
            row |= {name: value[agent].item() for name, value in sorted(metrics.items())}
            row["policy_learning_rate"] = float(numbers["policy_learning_rate"][agent])
            row["value_learning_rate"] = float(numbers["value_learning_rate"][agent])
            reports.append(AgentReport(row, bool(sound[agent])))
        self.alive &= sound
        return reports

    def autopsy(self, agent: int) -> str | None:
        """The first tensor of `agent`'s last update that was not finite."""
        assert self._last is not None
        return autopsy(self.structure, *(agent_of(part, agent) for part in self._last))

    def last_batch(self, agent: int) -> dict[str, Array]:
        """The rollout of `agent`'s last update, `[T, N, ...]` by field name."""
        assert self._last is not None
        return {name: np.array(part[agent]) for name, part in self._last.batch._asdict().items()}

    def acting_arrays(self, agent: int) -> dict[str, Any]:
        """All that is needed to act: policy parameters and the observation normalizer, as NumPy arrays."""
        return {
            "policy": agent_of(self.state.parameters["policy"], agent),
            "normalizer": self._normalizer.agent(agent),
        }

    def snapshot(self, agent: int) -> dict[str, Any]:
        """Everything of one agent that the next segment depends on, as a tree of NumPy arrays."""
        return {
            "learner": agent_of(self.state, agent),
            **self._statistics(agent),
        }

    def _statistics(self, agent: int) -> dict[str, dict[str, Array]]:
        """Copies of what the normalizers hold of one agent."""
        return {"observations": self._normalizer.state(agent), "rewards": self._rewards.state(agent)}

    def _restore_statistics(self, agent: int, held: dict[str, Any]) -> None:
        self._normalizer.restore(agent, held["observations"])
        self._rewards.restore(agent, held["rewards"])

    def restore(self, iteration: int, snapshots: Sequence[dict[str, Any]], alive: Sequence[bool]) -> None:
        """Go on after `iteration` completed iterations, the end of a segment, from every agent's snapshot."""
        for agent, snapshot in enumerate(snapshots):
            self._restore_statistics(agent, snapshot)
        self.state = stack([snapshot["learner"] for snapshot in snapshots])
        self.iteration = iteration
        self.alive = np.array(alive, bool)
        self._renewed = -1

    def close(self) -> None:
        """Release the pools."""
        self._collector.close()
        if self._held_out is not None:
            self._held_out.close()


def episode_metrics(returns: Array, lengths: Array) -> dict[str, float | int | None]:
    """Statistics of the raw returns of the episodes that one iteration tells of; null where it tells of none.

    Those are the ones that ended in it. Just after a renewal they are held back until every row has ended one.
    """
    if len(returns) == 0:
        return {
            "episodes": 0,
            "return_mean": None,
            "return_std": None,
            "return_min": None,
            "return_max": None,
            "length_mean": None,
        }
    return {
        "episodes": len(returns),
        "return_mean": float(returns.mean()),
        "return_std": float(returns.std()),
        "return_min": float(returns.min()),
        "return_max": float(returns.max()),
        "length_mean": float(lengths.mean()),
    }
