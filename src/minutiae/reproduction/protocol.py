"""What each table and figure of Engstrom et al. 2020 trains, as ordinary studies. Nothing is trained or judged here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from types import MappingProxyType
from typing import Any

from minutiae.details.paper import INITIALIZATIONS
from minutiae.details.paper_rows import TASKS
from minutiae.details.presets import FLAVOURS
from minutiae.errors import ConfigError, unknown
from minutiae.reproduction.published import ALGORITHMS
from minutiae.studies.study import Study, Tuning

VERSIONS = ("v2", "v3", "v4", "v5")
"""Of the simulated tasks; the article's are v2, which need a simulator that is no longer distributed with them."""

OUTCOMES = ("final_return", "best_return")
"""The article does not say which it reports: the released code stores the mean of the last five iterations, notebooks
of the authors' earlier code take the best iteration."""

HELD_OUT_EVERY = 10
"""Iterations between two looks at fresh samples, as in the released code."""

SWEEP = (1e-5, 8e-5, 1.5e-4, 2.2e-4)
"""Policy learning rates of Figure 1: those of the authors' earlier code, as the article names none."""


@dataclass(frozen=True)
class Protocol:
    """What may be chosen of a reproduction.

    Attributes:
        tasks: of `TASKS`, or for `halfcheetah` any ids without their version.
        agents: seeds of every cell.
        flavour: the released code's settings or the article's.
        version: of the environments.
        learning_rates: swept by Figure 1.
        steps: of a run; `None` is the article's million.

    Raises:
        ConfigError: an unknown flavour or version, no agents, or no learning rates.
    """

    tasks: tuple[str, ...]
    agents: int
    flavour: str = "paper-artifact"
    version: str = "v4"
    learning_rates: tuple[float, ...] = SWEEP
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.flavour not in FLAVOURS:
            raise ConfigError(unknown("flavour", self.flavour, FLAVOURS))
        if self.version not in VERSIONS:
            raise ConfigError(unknown("version", self.version, VERSIONS))
        if isinstance(self.agents, bool) or not isinstance(self.agents, int) or self.agents < 1:
            raise ConfigError(f"agents is a whole number of at least 1, not {self.agents!r}")
        if self.steps is not None and (isinstance(self.steps, bool) or self.steps < 1):
            raise ConfigError(f"steps is a whole number of at least 1, not {self.steps!r}; leave it out for a million")
        if not self.learning_rates:
            raise ConfigError("learning_rates names at least one learning rate, such as 1e-4")

    @property
    def base(self) -> dict[str, Any]:
        """What every cell starts from beside its preset."""
        return {} if self.steps is None else {"steps": self.steps}

    @property
    def environments(self) -> tuple[str, ...]:
        """The ids of the tasks."""
        return tuple(f"{task}-{self.version}" for task in self.tasks)


def _tables(protocol: Protocol) -> Study:
    return Study(
        question="Does the algorithm make the difference, or do the details that come with it?",
        flavour=protocol.flavour,
        environments=protocol.environments,
        factors={"preset": list(ALGORITHMS)},
        base={"held_out_diagnostics": HELD_OUT_EVERY, **protocol.base},
        seeds=protocol.agents,
        outcomes=OUTCOMES,
    )


def _four(value_clipping: str) -> dict[str, Any]:
    """The four details that the article crosses; what belongs together in the released code moves together."""
    return {
        "value_clipping": [None, value_clipping],
        # Its reward clipping lives in the filter that scales, and is gone without it.
        "reward_normalization": {
            "off": {"reward_scaling": None, "reward_clipping": None},
            "returns": {"reward_scaling": "returns", "reward_clipping": 10.0},
        },
        "network_initialization": {
            "xavier": dict(INITIALIZATIONS["xavier_uniform"]),
            "orthogonal": dict(INITIALIZATIONS["orthogonal"]),
        },
        "learning_rate_annealing": [None, "linear"],
    }


def _clipping(protocol: Protocol) -> str:
    return "min" if protocol.flavour == "paper-text" else "max"


def _figure1(protocol: Protocol) -> Study:
    rates = protocol.learning_rates
    # One rate leaves nothing to choose.
    tuning = Tuning({"learning_rate": list(rates)}, protocol.agents, "engstrom") if len(rates) > 1 else None
    base = protocol.base if tuning else {**protocol.base, "learning_rate": rates[0]}
    return Study(
        question="Which of four details of PPO shift the landscape of final returns?",
        flavour=protocol.flavour,
        environments=protocol.environments,
        factors=_four(_clipping(protocol)),
        base=base,
        seeds=protocol.agents,
        tuning=tuning,
        outcomes=OUTCOMES,
    )


def _nine(protocol: Protocol) -> Study:
    """All nine of section 3, 32 of their 512 combinations: main effects clear of two-way interactions."""
    factors = {
        **_four(_clipping(protocol)),
        "observation_normalization": [None, True],
        "observation_clipping": [None, 10.0],
        "activation": ["relu", "tanh"],
        "gradient_clipping": [None, 0.5],
    }
    # Alone here, so that clipping can be crossed with scaling.
    factors["reward_scaling"] = [None, "returns"]
    factors["reward_clipping"] = [None, 10.0]
    del factors["reward_normalization"]
    return Study(
        question="Which of the nine code-level optimizations of PPO make the difference?",
        flavour=protocol.flavour,
        environments=protocol.environments,
        factors=factors,
        base=protocol.base,
        design="fractional",
        options={"runs": 32},
        seeds=protocol.agents,
        outcomes=OUTCOMES,
    )


def _halfcheetah(protocol: Protocol) -> Study:
    return Study(
        question="Algorithm or details, on a task that the article does not have?",
        environments=protocol.environments,
        factors={"preset": ["ppo", "ppo-m", "trpo", "trpo+"]},
        base={"held_out_diagnostics": HELD_OUT_EVERY, "steps": 1_000_000, **protocol.base},
        seeds=protocol.agents,
        outcomes=OUTCOMES,
    )


TWO_BY_TWO = (("trpo", "trpo+"), ("ppo-m", "ppo"))
"""Step rule by details."""

DECOMPOSED = tuple(name for row in TWO_BY_TWO for name in row)
"""The algorithms of Table 2."""

TRUST_REGION = ("ppo", "ppo-m", "trpo")
"""The algorithms of Figures 2 to 4."""

BATCH = ("return_mean", "ratio_max_batch", "kl_exact_batch")
FRESH = ("ratio_max_held_out", "kl_exact_held_out", "kl_exact_batch")
"""Metrics of Figures 2 and 3, and of Figure 4."""


@dataclass(frozen=True)
class Item:
    """A table or figure.

    Attributes:
        name: as it is asked for.
        title: as it is headed.
        store: the folder of its runs; items with the same one share them. `None` needs no runs.
        study: what is trained, given the protocol.
        tasks, agents: unless others are asked for.
        shows: `composition` (what algorithms are made of), `returns` (theirs), `training` (metrics over it) or `report`
            (that of a study).
        presets: whose returns or metrics.
        metrics: over training.
        own_tasks: whether only the article's tasks have values for it.
        sweeps: whether it sweeps learning rates.
    """

    name: str
    title: str
    store: str | None
    study: Callable[[Protocol], Study] | None
    tasks: tuple[str, ...]
    agents: int = 10
    _: KW_ONLY
    shows: str
    presets: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    own_tasks: bool = True
    sweeps: bool = False


def _trust_region(name: str, title: str, tasks: tuple[str, ...], metrics: tuple[str, ...]) -> Item:
    return Item(name, title, "tables", _tables, tasks, shows="training", presets=TRUST_REGION, metrics=metrics)


_ALL = ("Hopper", "Walker2d", "Humanoid")

ITEMS: Mapping[str, Item] = MappingProxyType(
    {
        item.name: item
        for item in (
            Item("table1", "Table 1: the algorithms", None, None, _ALL, shows="composition"),
            Item(
                "table2", "Table 2: algorithm or details", "tables", _tables, _ALL, shows="returns", presets=DECOMPOSED
            ),
            Item(
                "table3", "Table 3: PPO without clipping", "tables", _tables, _ALL, shows="returns",
                presets=("ppo", "ppo-m", "ppo-noclip"),
            ),
            Item(
                "figure1", "Figure 1: four details crossed", "figure1", _figure1, ("Walker2d", "Humanoid"), 5,
                shows="report", sweeps=True,
            ),
            _trust_region("figure2", "Figure 2: the trust region on Humanoid", ("Humanoid",), BATCH),
            _trust_region("figure3", "Figure 3: the trust region on other tasks", ("Walker2d", "Hopper"), BATCH),
            _trust_region("figure4", "Figure 4: the trust region on fresh samples", _ALL, FRESH),
            Item(
                "nine", "Beyond the article: all nine details crossed", "nine", _nine, ("Hopper",), 3, shows="report"
            ),
            Item(
                "halfcheetah", "Beyond the article: algorithm or details on other tasks", "halfcheetah", _halfcheetah,
                ("HalfCheetah",), shows="returns", presets=DECOMPOSED, own_tasks=False,
            ),
        )
    }
)  # fmt: skip
"""Everything that can be reproduced, and what goes beyond the article."""


def item_named(name: str) -> Item:
    """The item.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in ITEMS:
        raise ConfigError(unknown("table or figure", name, ITEMS, "run: minutiae reproduce --list"))
    return ITEMS[name]


def protocol_of(
    item: Item,
    tasks: Sequence[str] | None = None,
    agents: int | None = None,
    learning_rates: Sequence[float] | None = None,
    flavour: str = "paper-artifact",
    version: str = "v4",
    steps: int | None = None,
) -> Protocol:
    """The item's protocol, with what is asked for in its place.

    Args:
        tasks: in any spelling of case.
        agents, learning_rates, flavour, version, steps: as in `Protocol`.

    Raises:
        ConfigError: a task that the article does not have, or as `Protocol`.
    """
    found = Protocol(item.tasks, item.agents if agents is None else agents, flavour, version, steps=steps)
    if learning_rates is not None:
        found = replace(found, learning_rates=tuple(learning_rates))
    if learning_rates is not None and not item.sweeps:
        raise ConfigError(f"{item.name} sweeps no learning rates; leave them out")
    if not item.own_tasks and flavour != FLAVOURS[0]:
        raise ConfigError(f"{item.name} has the plain presets and no flavour; leave it out")
    if tasks is None:
        return found
    if not item.own_tasks:
        return replace(found, tasks=_free_tasks(tasks))
    known = {task.lower(): task for task in TASKS}
    chosen = []
    for task in tasks:
        if task.lower() not in known:
            raise ConfigError(unknown("task", task, [name.lower() for name in TASKS]))
        chosen.append(known[task.lower()])
    if not chosen:
        raise ConfigError(f"tasks names at least one of {', '.join(known)}")
    return replace(found, tasks=tuple(dict.fromkeys(chosen)))


def _free_tasks(tasks: Sequence[str]) -> tuple[str, ...]:
    """Tasks that the article does not have, by their ids without version."""
    for task in tasks:
        if re.search(r"-v\d+$", task):
            raise ConfigError(f"name the task {task!r} without its version, and the version by itself: --version v4")
    if not tasks:
        raise ConfigError("tasks names at least one environment, such as HalfCheetah or Ant")
    return tuple(dict.fromkeys(tasks))
