"""Flat observations equal `gymnasium.spaces.flatten`; flat actions become members of the native space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from hypothesis import given
from hypothesis import strategies as st

from minutiae.control.environments.spaces import action_codec, observation_codec
from minutiae.errors import UnsupportedEnvironment

SMALL = st.integers(1, 4)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 255, (2,), np.uint8),
        spaces.Box(-100, 100, (2,), np.int8),
        spaces.Box(-128, 127, (1,), np.int8),
        spaces.Box(2**64 - 3, 2**64 - 1, (1,), np.uint64),
        spaces.Box(-(2**63), -(2**63) + 2, (1,), np.int64),
        spaces.MultiDiscrete(np.array([200, 100], np.uint8), dtype=np.uint8),
    ],
)
def test_whole_numbers_of_narrow_types_do_not_wrap(space: Any) -> None:
    codec = action_codec(space, "it")
    sizes = codec.flat_space.nvec  # type: ignore[union-attr]
    low, high = codec.batch(np.stack([np.zeros_like(sizes), sizes - 1]))
    if isinstance(space, spaces.Box):
        assert (low.tolist(), high.tolist()) == (space.low.tolist(), space.high.tolist())
    assert space.contains(low) and space.contains(high)


def test_observed_numbers_of_narrow_types_do_not_wrap() -> None:
    space = spaces.MultiDiscrete(np.array([200, 100], np.uint8), dtype=np.uint8)
    flat = observation_codec(space, "it").flatten(np.array([[199, 99], [0, 0]], np.uint8), 2)
    assert [np.flatnonzero(row).tolist() for row in flat] == [[199, 299], [0, 200]]


def test_spaces_that_hold_nothing_or_too_much_are_refused() -> None:
    empty = spaces.Box(-1, 1, (0,))
    with pytest.raises(UnsupportedEnvironment, match=r"^it has observations .*, which hold no number; allowed: Box"):
        observation_codec(empty, "it")
    for space in (empty, spaces.Box(0, 3, (2, 0), np.int8), spaces.Dict({"a": empty, "b": spaces.Box(-1, 1, (1,))})):
        with pytest.raises(UnsupportedEnvironment, match=r"^it has actions .*, which hold no number; allowed: Box"):
            action_codec(space, "it")
    with pytest.raises(
        UnsupportedEnvironment,
        match=r"with 9223372036854775807 values, more than a categorical policy can hold; allowed: at most 1048576; ",
    ):
        action_codec(spaces.Box(0, 2**63 - 2, (1,), np.int64), "it")
    many = spaces.Discrete(10**9)
    for space in (many, spaces.MultiDiscrete([10**9, 2]), spaces.Dict({"where": many})):
        with pytest.raises(
            UnsupportedEnvironment,
            match=r"^it has observations .* with 100000000[02] values, more than a network can take; allowed: at most",
        ):
            observation_codec(space, "it")
        with pytest.raises(UnsupportedEnvironment, match=r"^it has actions .* with 1000000000 values, more than a cat"):
            action_codec(space, "it")
    assert observation_codec(spaces.Discrete(5), "it").flat_space.shape == (5,)


observed = st.one_of(
    st.tuples(SMALL, st.sampled_from([np.float32, np.float64, np.int32])).map(
        lambda a: spaces.Box(-5, 5, (a[0],), a[1])
    ),
    st.tuples(SMALL, SMALL).map(lambda shape: spaces.Box(-np.inf, np.inf, shape, np.float32)),
    st.just(spaces.Box(0.0, 1.0, (), np.float64)),
    st.tuples(SMALL, st.integers(-3, 3)).map(lambda a: spaces.Discrete(a[0], start=a[1])),
    st.lists(SMALL, min_size=1, max_size=3).map(lambda sizes: spaces.MultiDiscrete(sizes, start=[2] * len(sizes))),
    SMALL.map(spaces.MultiBinary),
    st.tuples(SMALL, SMALL).map(spaces.MultiBinary),
)
nested = st.recursive(
    observed,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: spaces.Tuple(parts)),
        st.dictionaries(st.sampled_from("zyxa"), inner, min_size=1).map(lambda parts: spaces.Dict(parts)),
    ),
    max_leaves=5,
)


@given(nested, st.integers(1, 4), st.integers(0, 2**31))
def test_flattening_equals_gymnasium_row_by_row(space: spaces.Space, rows: int, seed: int) -> None:
    space.seed(seed)
    samples = [space.sample() for _ in range(rows)]
    batch = concatenate(space, samples, create_empty_array(space, rows))
    codec = observation_codec(space, "it")
    flat = codec.flatten(batch, rows)
    expected = np.stack([np.asarray(spaces.flatten(space, sample), np.float64) for sample in samples])
    np.testing.assert_array_equal(flat, expected)
    assert flat.dtype == np.float64
    assert flat.shape == (rows, *codec.flat_space.shape)
    assert all(codec.flat_space.contains(row) for row in flat)


discrete = st.one_of(
    st.tuples(SMALL, st.integers(-3, 3)).map(lambda a: spaces.Discrete(a[0], start=a[1])),
    st.lists(SMALL, min_size=1, max_size=3).map(lambda sizes: spaces.MultiDiscrete(sizes, start=[2] * len(sizes))),
    SMALL.map(spaces.MultiBinary),
    st.lists(SMALL, min_size=1, max_size=3).map(lambda high: spaces.Box(-1, np.array(high), dtype=np.int32)),
)
continuous = st.one_of(
    st.tuples(SMALL, st.sampled_from([np.float32, np.float64])).map(lambda a: spaces.Box(-2, 3, (a[0],), a[1])),
    st.tuples(SMALL, SMALL).map(lambda shape: spaces.Box(-1, 1, shape, np.float32)),
)


def compound(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        parts,
        st.lists(parts, min_size=1, max_size=3).map(lambda inside: spaces.Tuple(inside)),
        st.dictionaries(st.sampled_from("zyxa"), parts, min_size=1).map(lambda inside: spaces.Dict(inside)),
    )


@given(st.one_of(compound(discrete), compound(continuous)), st.integers(1, 4), st.integers(0, 2**31))
def test_flat_actions_are_members_of_the_native_space(space: spaces.Space, rows: int, seed: int) -> None:
    codec = action_codec(space, "it")
    codec.flat_space.seed(seed)
    flat = np.stack([codec.flat_space.sample() for _ in range(rows)])
    if not isinstance(codec.flat_space, spaces.Discrete):
        assert len(codec.flat_space.shape) == 1
    split = codec.split(flat)
    assert len(split) == rows
    assert all(space.contains(action) for action in split)
    batch = codec.batch(flat)
    if not isinstance(space, spaces.Discrete | spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        batch = list(iterate(_batched(space, rows), batch))
    for one, other in zip(split, batch, strict=True):
        np.testing.assert_equal(one, other)


def _batched(space: spaces.Space, rows: int) -> spaces.Space:
    from gymnasium.vector.utils import batch_space

    return batch_space(space, rows)


def test_discrete_actions_count_from_zero_outside_and_from_start_inside() -> None:
    codec = action_codec(spaces.Discrete(3, start=-1), "it")
    assert codec.flat_space == spaces.Discrete(3)
    assert codec.split(np.array([0, 1, 2])) == [-1, 0, 1]


def test_several_discrete_actions_become_one_vector() -> None:
    space = spaces.Tuple([spaces.Discrete(3, start=5), spaces.MultiBinary(2), spaces.Box(0, 3, (1,), np.int32)])
    codec = action_codec(space, "it")
    assert codec.flat_space == spaces.MultiDiscrete([3, 2, 2, 4])
    ((first, bits, number),) = codec.split(np.array([[2, 1, 0, 3]]))
    assert first == 7
    np.testing.assert_array_equal(bits, [1, 0])
    np.testing.assert_array_equal(number, [3])


def test_bounds_of_a_box_survive_flattening() -> None:
    codec = action_codec(spaces.Box(np.array([[-1.0, -2.0]]), np.array([[3.0, np.inf]]), dtype=np.float64), "it")
    np.testing.assert_array_equal(codec.flat_space.low, [-1.0, -2.0])
    np.testing.assert_array_equal(codec.flat_space.high, [3.0, np.inf])


OBSERVED = "Box vectors, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these"
ACTED = "Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple if all Box or all discrete"
WRAP = "wrap the environment so that it uses one of these and train 'your_module:your_factory'"


@pytest.mark.parametrize(
    ("space", "says"),
    [
        (spaces.Box(0, 255, (84, 84, 3), np.uint8), "image observations of shape (84, 84, 3)"),
        (spaces.Box(0, 255, (84, 84), np.uint8), "image observations of shape (84, 84)"),
        (spaces.Dict(eye=spaces.Box(0, 1, (3, 8, 8))), "image observations of shape (3, 8, 8)"),
    ],
)
def test_pictures_are_refused(space: spaces.Space, says: str) -> None:
    with pytest.raises(UnsupportedEnvironment) as caught:
        observation_codec(space, "Pong-v5")
    assert str(caught.value) == f"Pong-v5 has {says}; the networks here take vectors; allowed: {OBSERVED}; {WRAP}"


@pytest.mark.parametrize(
    ("space", "shown"),
    [
        (spaces.Text(5), "Text(1, 5, charset="),
        (spaces.Graph(spaces.Discrete(2), None), "Graph(Discrete(2), None)"),
        (spaces.Sequence(spaces.Discrete(2)), "Sequence(Discrete(2), stack=False)"),
        (spaces.OneOf([spaces.Discrete(2), spaces.Discrete(3)]), "OneOf(Discrete(2), Discrete(3))"),
        (spaces.Tuple([spaces.Text(5)]), "Text(1, 5, charset="),
        (spaces.Tuple([]), "Tuple()"),
    ],
)
def test_spaces_without_a_flat_size_are_refused(space: spaces.Space, shown: str) -> None:
    with pytest.raises(UnsupportedEnvironment) as caught:
        observation_codec(space, "Odd-v0")
    assert str(caught.value).startswith(f"Odd-v0 has observations {shown}")
    assert str(caught.value).endswith(f"which have no fixed flat size; allowed: {OBSERVED}; {WRAP}")
    with pytest.raises(UnsupportedEnvironment) as caught:
        action_codec(space, "Odd-v0")
    assert str(caught.value).startswith(f"Odd-v0 has actions {shown}")
    assert str(caught.value).endswith(f"which no policy here can act in; allowed: {ACTED}; {WRAP}")


def test_hybrid_actions_are_refused() -> None:
    space = spaces.Tuple([spaces.Discrete(2), spaces.Box(-1, 1, (1,), np.float32)])
    with pytest.raises(UnsupportedEnvironment) as caught:
        action_codec(space, "Hybrid-v0")
    assert str(caught.value) == (
        "Hybrid-v0 mixes continuous and discrete actions (Tuple(Discrete(2), Box(-1.0, 1.0, (1,), float32)))"
        f"; allowed: {ACTED}; {WRAP}"
    )
