"""Details as somebody outside the package would write them, one for each stage and kind of level. No tests."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from minutiae import custom_detail
from minutiae.details import choice, flag, number


@custom_detail(
    stage="rewards",
    levels=choice("zero", "negated", off=True),
    title="what becomes of rewards",
    rule="zero: r <- 0; negated: r <- -r.",
    source="a test",
)
def changed(level: str, rewards: Any, terminated: Any, truncated: Any) -> Any:
    assert rewards.shape == terminated.shape == truncated.shape
    return rewards * {"zero": 0.0, "negated": -1.0}[level]


@custom_detail(
    stage="advantages",
    levels=flag(),
    title="negated advantages",
    rule="on: A <- -A.",
    source="a test",
    finding="None.",
)
def negated(level: bool, advantages: Any, batch: Any) -> Any:
    assert level is True and batch.rewards.shape == advantages.shape
    return -advantages


@custom_detail(
    stage="policy_loss",
    levels=number(above=0, off=True),
    title="pull of the mean to zero",
    rule="loss <- loss + c mean sum mu^2, mu the mean or the logits.",
    source="a test",
)
def pulled(level: float, terms: Any, samples: Any) -> Any:
    assert samples.advantages.shape == terms.log_probs.shape
    centre = terms.distribution["mean" if "mean" in terms.distribution else "logits"]
    return level * jnp.square(centre).sum(-1).mean()


@custom_detail(stage="advantages", levels=flag(), title="too short", rule="on: breaks the rules.", source="a test")
def shortened(level: bool, advantages: Any, batch: Any) -> Any:
    return advantages[:-1]


@custom_detail(stage="policy_loss", levels=flag(), title="no scalar", rule="on: breaks the rules.", source="a test")
def spread(level: bool, terms: Any, samples: Any) -> Any:
    return terms.log_probs


@custom_detail(stage="rewards", levels=flag(), title="its own mistake", rule="on: breaks.", source="a test")
def mistaken(level: bool, rewards: Any, terminated: Any, truncated: Any) -> Any:
    return rewards["nothing"]


@custom_detail(stage="rewards", levels=number(at_least=0, off=True), title="more", rule="r <- r + c.", source="a test")
def added(level: float, rewards: Any, terminated: Any, truncated: Any) -> Any:
    return rewards + level


@custom_detail(stage="rewards", levels=flag(), title="in place", rule="on: writes all over.", source="a test")
def scribbled(level: bool, rewards: Any, terminated: Any, truncated: Any) -> Any:
    returned = rewards.copy()
    rewards[:], terminated[:], truncated[:] = 99.0, True, True
    return returned


@custom_detail(
    stage="rewards",
    levels=choice("ragged", "text", "complex", off=True),
    title="no real numbers",
    rule="breaks the rules.",
    source="a test",
)
def unreal(level: str, rewards: Any, terminated: Any, truncated: Any) -> Any:
    return {"ragged": [[0.0], [0.0, 1.0]], "text": rewards.astype(str), "complex": rewards * 1j}[level]


not_a_detail = 3
