"""Which agents share a population: equal structure, an even load for every worker, and memory that is there."""

from __future__ import annotations

import os
from collections.abc import Sequence

from minutiae.control.environments import describe
from minutiae.details import Config, structure
from minutiae.errors import ConfigError

MOST_AGENTS = 32
"""Beyond this a larger population learns no faster per agent (measured in `benchmarks/`)."""

MEMORY_SHARE = 0.5
"""The share of the machine's memory that all workers together may plan to use."""

COPIES = 6
"""Rollouts of observations alive at once: host buffers, the device's copy, shuffled minibatches, temporaries."""


def plan_chunks(configs: Sequence[Config], workers: int) -> list[list[int]]:
    """Split agents (by index) into populations for `workers` processes.

    Agents of one structure are dealt out evenly; a population never has more than `MOST_AGENTS` agents, nor more than
    its share of memory holds. Every agent appears exactly once; order within a population follows the input.
    """
    by_structure: dict[object, list[int]] = {}
    for index, config in enumerate(configs):
        by_structure.setdefault(structure(config), []).append(index)
    chunks: list[list[int]] = []
    for members in by_structure.values():
        limit = min(MOST_AGENTS, _agents_in_memory(configs[members[0]], workers))
        # As many populations as workers when there are agents for it, more when they would be too large.
        parts = max(min(workers, len(members)), -(-len(members) // limit))
        size, larger = divmod(len(members), parts)
        start = 0
        for part in range(parts):
            end = start + size + (part < larger)
            chunks.append(members[start:end])
            start = end
    return chunks


def predicted_bytes(config: Config) -> int:
    """Memory that one agent of a population needs for its rollouts, in bytes: a prediction before anything compiles."""
    observations = 2 * config.samples_per_iteration * describe(config.environment).observation_size
    layers = (*config.policy_hidden_sizes, *config.value_hidden_sizes)
    activations = config.samples_per_iteration * sum(layers)
    return 4 * (COPIES * observations + 2 * activations)


def check_memory(config: Config) -> None:
    """Refuse a rollout that this machine could not hold even for one agent that has it for itself.

    Raises:
        ConfigError: with the bytes needed, the bytes there are, and what to lower.
    """
    needed, total = predicted_bytes(config), _machine_bytes()
    if total is not None and needed > total:
        raise ConfigError(
            f"{config.environments} environments x {config.rollout_length} rollout_length need about {needed:,} bytes "
            f"for each agent, more than the {total:,} bytes of memory of this machine; lower environments or "
            "rollout_length, or the hidden sizes"
        )


def _agents_in_memory(config: Config, workers: int) -> int:
    total = _machine_bytes()
    return MOST_AGENTS if total is None else max(1, int(MEMORY_SHARE * total / workers / predicted_bytes(config)))


def _machine_bytes() -> int | None:
    """The memory of this machine, `None` where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
