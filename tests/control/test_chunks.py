"""Every agent in exactly one population, none too large for the memory, all workers busy."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutiae.control import chunks
from minutiae.control.chunks import MEMORY_SHARE, MOST_AGENTS, check_memory, plan_chunks, predicted_bytes
from minutiae.details import Config, structure
from minutiae.errors import ConfigError

SMALL = Config(environment="probes:counter", environments=2, rollout_length=16, minibatches=4)
SHAPES = [
    SMALL,
    SMALL.replace(policy_hidden_sizes=(8,)),
    SMALL.replace(rollout_length=64),
    SMALL.replace(environment="probes:truncated"),
    SMALL.replace(algorithm="trpo"),
]
# Numbers do not part a population, structure does.
CONFIGS = [shape.replace(discount=discount) for shape in SHAPES for discount in (0.9, 0.99)]


@given(
    st.lists(st.sampled_from(CONFIGS), min_size=1, max_size=90),
    st.integers(1, 9),
    st.sampled_from([1, 3, 10, 10_000]),
)
def test_a_plan_is_a_partition_into_equal_structures_that_fit(configs: list[Config], workers: int, room: int) -> None:
    # Memory for `room` agents of the first shape in all workers together.
    memory = room * predicted_bytes(SMALL) / MEMORY_SHARE * workers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 1}.get(name, int(memory) + 1))
        plan = plan_chunks(configs, workers)
    assert sorted(agent for chunk in plan for agent in chunk) == list(range(len(configs)))
    for chunk in plan:
        assert chunk == sorted(chunk) and len(chunk) <= MOST_AGENTS
        assert len({structure(configs[agent]) for agent in chunk}) == 1
        need = len(chunk) * predicted_bytes(configs[chunk[0]])
        assert len(chunk) == 1 or need * workers <= MEMORY_SHARE * (memory + 1)
    for shape in {structure(config) for config in configs}:
        sizes = [len(chunk) for chunk in plan if structure(configs[chunk[0]]) == shape]
        # Evenly, and no worker is left without a population that could have had one.
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) >= min(workers, sum(sizes))


@pytest.mark.parametrize(
    ("agents", "workers", "sizes"),
    [
        (1, 4, [1]),
        (3, 2, [2, 1]),
        (16, 1, [16]),
        (16, 2, [8, 8]),
        (7, 3, [3, 2, 2]),
        (MOST_AGENTS + 1, 1, [17, 16]),
    ],
)
def test_plans_worked_by_hand(agents: int, workers: int, sizes: list[int]) -> None:
    assert [len(chunk) for chunk in plan_chunks([SMALL] * agents, workers)] == sizes


def test_mixed_structures_keep_their_order() -> None:
    one, other = CONFIGS[0], CONFIGS[2]
    assert plan_chunks([one, other, one, other, one], 1) == [[0, 2, 4], [1, 3]]
    assert plan_chunks([one, other, one, other, one], 2) == [[0, 2], [4], [1], [3]]


def test_memory_is_predicted_before_anything_compiles() -> None:
    # 1000 rows x 1000 steps of 2 numbers, twice, in 6 copies, and activations of 4 layers of 64, in 2: float32.
    large = Config(environment="probes:counter", environments=1000, rollout_length=1000, minibatches=1)
    assert predicted_bytes(large) == 4 * 10**6 * (6 * 2 * 2 + 2 * 4 * 64)
    assert predicted_bytes(large) == 10**6 // 32 * predicted_bytes(SMALL)
    wider: dict[str, Any] = {"policy_hidden_sizes": (256, 256)}
    assert predicted_bytes(large.replace(**wider)) > 2 * predicted_bytes(large)


def test_one_agent_is_never_refused_for_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: 1)
    assert plan_chunks([SMALL] * 3, 1) == [[0], [1], [2]]


def test_a_rollout_beyond_the_machine_is_refused_with_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = predicted_bytes(SMALL)
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 1}.get(name, memory))
    check_memory(SMALL)
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 1}.get(name, memory - 1))
    with pytest.raises(ConfigError) as caught:
        check_memory(SMALL)
    assert str(caught.value) == (
        "2 environments x 16 rollout_length need about 68,608 bytes for each agent, more than the 68,607 bytes of "
        "memory of this machine; lower environments or rollout_length, or the hidden sizes"
    )


def test_a_system_that_does_not_tell_its_memory_gets_the_usual_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown)
    assert [len(chunk) for chunk in chunks.plan_chunks([SMALL] * 40, 1)] == [20, 20]
    check_memory(SMALL.replace(rollout_length=10**12, steps=10**18))
