"""What a compiled program sees of a config: numbers that vary between agents, structure that does not."""

from __future__ import annotations

from typing import Any

from minutiae.details.config import CATALOGUE, Config
from minutiae.details.custom import STAGES, bound
from minutiae.details.detail import NUMBER, STRUCTURE


def numbers(config: Config) -> dict[str, float]:
    """The level of every number of the learner, encoded as `Detail.encode` says.

    Two of them repeat another one where they have nothing of their own to say: `max_kl_final` off is `max_kl`
    (a schedule from a radius to itself); `value_learning_rate` under a joint optimizer is `learning_rate`.
    """
    encoded = {
        name: entry.encode(getattr(config, name))
        for name, entry in CATALOGUE.items()
        if entry.kind == NUMBER and entry.room == "learner"
    }
    if config.max_kl_final is None:
        encoded["max_kl_final"] = encoded["max_kl"]
    if not config.applies("value_learning_rate"):
        encoded["value_learning_rate"] = encoded["learning_rate"]
    return encoded


def structure(config: Config) -> tuple[tuple[str, Any], ...]:
    """A hashable key of all that shapes a program and its loop: agents with equal keys form one population.

    Numbers of the host are in neither: they vary freely within a population, and so do custom details of the host.

    Raises:
        ConfigError: a custom detail that is not here.
    """
    own = tuple((name, getattr(config, name)) for name, entry in CATALOGUE.items() if entry.kind == STRUCTURE)
    stages = [stage for stage, room in STAGES.items() if room == "learner"]
    return own + tuple((one.name, one) for stage in stages for one in bound(config.custom, stage))
