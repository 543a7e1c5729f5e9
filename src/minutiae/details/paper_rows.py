"""The hyperparameters of Engstrom et al. 2020, one row per task and agent. No levels are derived here.

They are those of the configuration files of MadryLab/implementation-matters, which agree with what is known
of the article's Tables 4 to 6.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

TASKS = ("Hopper", "Walker2d", "Humanoid")
_TASK = re.compile(rf"(?:\w+:)?({'|'.join(TASKS)})-v[2-5]")

ITERATIONS = 488
SAMPLES_PER_ITERATION = 2048


def paper_task(environment: str) -> str | None:
    """The study's task that `environment` is a version of (v2 to v5, any simulator prefix), or `None`."""
    match = _TASK.fullmatch(environment)
    return match[1] if match else None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One agent kind on one task, as the released configuration files have it.

    `gradient_clipping` is what is configured; the released trust-region step never applies it.
    """

    task: str
    preset: str
    learning_rate: float | None = None
    value_learning_rate: float
    max_kl: float | None = None
    max_kl_final: float | None = None
    reward_scaling: str | None = None
    initialization: str = "xavier_uniform"
    annealing: str | None = None
    value_clipping: str | None = None
    entropy_coefficient: float | None = None
    gae_lambda: float = 0.95
    reward_clipping: float | None = 10.0
    observation_clipping: float | None = 10.0
    gradient_clipping: float | None = None

    @property
    def is_trpo(self) -> bool:
        return self.preset in ("trpo", "trpo+")


_MINIMAL: dict[str, Any] = {"reward_clipping": None, "observation_clipping": None}
_PPO: dict[str, Any] = {"reward_scaling": "returns", "initialization": "orthogonal", "annealing": "linear"}

ROWS: tuple[Row, ...] = (
    Row(task="Hopper", preset="ppo", learning_rate=3e-4, value_learning_rate=2.5e-4, **_PPO),
    Row(task="Hopper", preset="ppo-m", learning_rate=1.7e-4, value_learning_rate=4e-4, **_MINIMAL),
    Row(
        task="Hopper",
        preset="ppo-noclip",
        learning_rate=6e-5,
        value_learning_rate=4e-4,
        reward_scaling="rewards",
        initialization="orthogonal",
        annealing="linear",
        entropy_coefficient=-0.005,
        gae_lambda=0.925,
        reward_clipping=2.5,
        gradient_clipping=4.0,
    ),
    Row(task="Hopper", preset="trpo", value_learning_rate=2e-4, max_kl=0.13, max_kl_final=0.13, **_MINIMAL),
    Row(
        task="Hopper",
        preset="trpo+",
        value_learning_rate=2e-4,
        max_kl=0.04,
        max_kl_final=0.07,
        reward_scaling="returns",
        initialization="orthogonal",
        gradient_clipping=1.0,
    ),
    Row(
        task="Walker2d",
        preset="ppo",
        learning_rate=4e-4,
        value_learning_rate=3e-4,
        value_clipping="max",
        **_PPO,
    ),
    Row(task="Walker2d", preset="ppo-m", learning_rate=1e-4, value_learning_rate=2e-4, **_MINIMAL),
    Row(
        task="Walker2d",
        preset="ppo-noclip",
        learning_rate=7.25e-5,
        value_learning_rate=6e-4,
        reward_scaling="rewards",
        initialization="orthogonal",
        annealing="linear",
        entropy_coefficient=-0.01,
        gae_lambda=0.85,
        reward_clipping=30.0,
        observation_clipping=None,
        gradient_clipping=0.1,
    ),
    Row(task="Walker2d", preset="trpo", value_learning_rate=3e-4, max_kl=0.04, max_kl_final=0.04, **_MINIMAL),
    Row(
        task="Walker2d",
        preset="trpo+",
        value_learning_rate=1e-4,
        max_kl=0.07,
        max_kl_final=0.04,
        reward_scaling="returns",
        initialization="orthogonal",
        gradient_clipping=1.0,
    ),
    Row(
        task="Humanoid",
        preset="ppo",
        learning_rate=1.5e-4,
        value_learning_rate=1e-4,
        value_clipping="max",
        **_PPO,
    ),
    Row(task="Humanoid", preset="ppo-m", learning_rate=9e-5, value_learning_rate=4e-4, **_MINIMAL),
    Row(
        task="Humanoid",
        preset="ppo-noclip",
        learning_rate=2e-5,
        value_learning_rate=5e-5,
        reward_scaling="returns",
        value_clipping="max",
        entropy_coefficient=0.005,
        gae_lambda=0.85,
        gradient_clipping=0.5,
    ),
    Row(task="Humanoid", preset="trpo", value_learning_rate=3e-4, max_kl=0.07, max_kl_final=0.07, **_MINIMAL),
    Row(
        task="Humanoid",
        preset="trpo+",
        value_learning_rate=5e-5,
        max_kl=0.1,
        max_kl_final=0.05,
        reward_scaling="returns",
        value_clipping="max",
        gae_lambda=0.85,
        gradient_clipping=0.5,
    ),
)
