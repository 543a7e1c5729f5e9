"""What a row of the contract table is: `Switch`, the contexts it stands in, and names for outputs that move together.

A switch is turned within `context`, to each of its `levels`; between any two the outputs in `changes` differ and all
others are the same bit for bit. `by_hand` says which outputs are also worked out from the config by plain loops.
Details that only give the same program other shapes spare the compilation of the whole update: `update=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minutiae.details import CATALOGUE, Config

Changes = frozenset[str] | set[str] | Callable[[Any, Any], set[str]]

BASE: Mapping[str, Any] = {
    "environment": "contract_environment:tape",
    "environments": 2,
    "rollout_length": 6,
    "steps": 36,
    "minibatches": 2,
    "epochs": 2,
    "policy_hidden_sizes": (4,),
    "value_hidden_sizes": (3,),
    # Large enough for later minibatches to feel every range; unclipped, so that no network feels the other's gradient.
    "learning_rate": 0.05,
    "learning_rate_annealing": None,
    "gradient_clipping": None,
}
SEPARATE = {"separate_optimizers": True, "value_epochs": 2, "value_learning_rate": 0.05}
TRPO = {
    "algorithm": "trpo",
    # Without effect here, and so at their defaults.
    "epochs": CATALOGUE["epochs"].default,
    "learning_rate": CATALOGUE["learning_rate"].default,
    "value_epochs": 2,
    "value_learning_rate": 0.05,
}

RAW = {"raw observations", "raw successors", "raw rewards", "raw ends"}
ACTED = {"stored actions", "environment actions"}
SEEN = {"observations", "next observations"} | ACTED
PAID = {"rewards", "reward statistics"}
POLICY_STEP = {"policy parameters", "policy optimizer", "policy metrics"}
POLICY_LOSS = {"policy loss", "policy gradient"}
POLICY = POLICY_LOSS | POLICY_STEP
VALUE_STEP = {"value parameters", "value optimizer", "value metrics"}
VALUE_LOSS = {"value loss", "value gradient"}
VALUE = VALUE_LOSS | VALUE_STEP
JUDGED = {"advantages", "value targets"} | POLICY | VALUE
TRUST = {"policy parameters", "policy metrics"}
ROLLOUTS = RAW | SEEN | PAID | {"observation statistics", "episode ends", "logged episodes"}
SAMPLES = {"advantages", "value targets", "value samples", "old values", "old log probabilities", "stopping KL"}
SHAPE = ROLLOUTS | SAMPLES | POLICY_LOSS | VALUE_LOSS | {"policy minibatches", "value minibatches"}
INITIAL_WEIGHTS = {f"initial {network} {part}" for network in ("policy", "value") for part in ("hidden layers", "head")}


@dataclass(frozen=True)
class Switch:
    """One detail within one context; see above. `rounded` names outputs that another program may round otherwise."""

    detail: str
    levels: tuple[Any, ...]
    changes: Changes
    context: Mapping[str, Any] = field(default_factory=dict)
    by_hand: tuple[Callable[..., Any], ...] = ()
    rounded: frozenset[str] | set[str] = frozenset()
    update: bool = True

    def config(self, level: Any) -> Config:
        """The context with the detail at a level."""
        return Config(**{**BASE, **self.context}).replace(**{self.detail: level})

    def expected(self, one: Any, other: Any) -> set[str]:
        """What differs between two levels."""
        return set(self.changes) if isinstance(self.changes, (set, frozenset)) else self.changes(one, other)


def apart(**changes: set[str]) -> Callable[[Any, Any], set[str]]:
    """Changes for each pair of named levels, as `one__other={...}` in either order; `None` is `off`."""

    def of_pair(one: Any, other: Any) -> set[str]:
        names = [level or "off" for level in (one, other)]
        return changes.get("__".join(names)) or changes["__".join(reversed(names))]

    return of_pair
