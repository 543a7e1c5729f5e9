"""Which rows the benchmark has and what each of them trains. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minutiae.errors import ConfigError, unknown

SAMPLES = 2048
"""Transitions per agent and iteration, in every row: peers too."""

LEARNING: dict[str, Any] = {"minibatches": 32, "policy_hidden_sizes": (64, 64), "value_hidden_sizes": (64, 64)}
ONE_AGENT: dict[str, Any] = {"environments": 16, "rollout_length": SAMPLES // 16, **LEARNING}
PAPER: dict[str, Any] = {"environments": 1, "rollout_length": SAMPLES, **LEARNING}
"""The setting of Engstrom et al. 2020: one environment, 2048 steps, 32 minibatches, two hidden layers of 64."""

PAPER_AGENTS = 16


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table.

    `cores` limits the row to that many (`None`: all); `neighbour` keeps one core busy beside it; `library` is
    """

    name: str
    title: str
    library: str = "minutiae"
    preset: str = "ppo"
    agents: int = 1
    details: Mapping[str, Any] = field(default_factory=lambda: ONE_AGENT)
    cores: int | None = None
    neighbour: bool = False
    environments: int = 16
    quick: bool = False

    @property
    def trains_minutiae(self) -> bool:
        """Whether it is one of ours, with a split and a first iteration to report."""
        return self.library == "minutiae"


ROWS: tuple[Row, ...] = (
    Row(name="ppo_one_agent", title="PPO, one agent, 16 x 128", quick=True),
    Row(name="ppo_population", title="PPO, 16 agents, 1 x 2048", agents=PAPER_AGENTS, details=PAPER, quick=True),
    Row(name="trpo_one_agent", title="TRPO, one agent, 16 x 128", preset="trpo", quick=True),
    Row(
        name="trpo_population",
        title="TRPO, 16 agents, 1 x 2048",
        preset="trpo",
        agents=PAPER_AGENTS,
        details=PAPER,
        quick=True,
    ),
    Row(
        name="ppo_population_one_worker",
        title="PPO, 16 agents, one core",
        agents=PAPER_AGENTS,
        details=PAPER,
        cores=1,
    ),
    Row(
        name="busy_neighbour",
        title="PPO, 16 agents, one core busy",
        agents=PAPER_AGENTS,
        details=PAPER,
        neighbour=True,
    ),
    Row(name="busy_neighbour_one_agent", title="PPO, one agent, one core busy", neighbour=True),
    Row(name="sb3_one_environment", title="SB3 PPO, 1 environment", library="stable_baselines3", environments=1),
    Row(name="sb3_sixteen_environments", title="SB3 PPO, 16 environments", library="stable_baselines3"),
    Row(name="sbx_sixteen_environments", title="SBX PPO, 16 environments", library="sbx"),
)

PEERS = tuple(row.name for row in ROWS if not row.trains_minutiae)


def chosen_rows(only: Sequence[str], quick: bool, installed: Mapping[str, bool]) -> tuple[list[Row], list[str]]:
    """The rows to measure, and the names of those left out because their library is missing.

    Args:
        only: names, all of them when empty.
        quick: leave out what takes long, unless named in `only`.
        installed: whether each peer library can be imported.

    Raises:
        ConfigError: an unknown name.
    """
    names = {row.name for row in ROWS}
    for name in only:
        if name not in names:
            raise ConfigError(unknown("row", name, sorted(names)))
    wanted = [row for row in ROWS if (row.name in only if only else row.quick or not quick)]
    there = [row for row in wanted if row.trains_minutiae or installed[row.library]]
    return there, [row.name for row in wanted if row not in there]
