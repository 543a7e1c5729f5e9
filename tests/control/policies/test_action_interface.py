"""From samples to the environment: every level of `action_bound`, every space, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from minutiae.control.policies.actions import ACTION_BOUNDS, actions_of, to_environment, to_stored
from minutiae.control.policies.distributions import Bounds, Categorical, DiagonalGaussian
from minutiae.details import CATALOGUE
from minutiae.errors import ConfigError, UnsupportedEnvironment

BOX = Bounds((-1.0, 0.0), (1.0, 4.0))
SAMPLE = np.float32([[-3.0, 5.0], [0.5, 1.0]])
CLIPPED = [[-1.0, 4.0], [0.5, 1.0]]


def test_the_levels_are_those_of_the_detail():
    assert list(CATALOGUE["action_bound"].levels.order) == [None, *ACTION_BOUNDS]


@pytest.mark.parametrize(
    ("level", "stored", "sent"),
    [
        (None, SAMPLE, SAMPLE),
        ("clip_at_environment", SAMPLE, CLIPPED),
        ("clip_stored", CLIPPED, CLIPPED),
        # center [0, 2], half width [1, 2]
        ("tanh", SAMPLE, [[np.tanh(-3), 2 + 2 * np.tanh(5)], [np.tanh(0.5), 2 + 2 * np.tanh(1)]]),
    ],
)
def test_hand_worked_levels(level, stored, sent):
    kept = to_stored(SAMPLE, BOX, level)
    np.testing.assert_array_equal(kept, stored)
    np.testing.assert_allclose(to_environment(kept, BOX, level), sent, rtol=1e-6)
    assert to_environment(kept, BOX, level).dtype == np.float32


@pytest.mark.parametrize("level", ["clip_at_environment", "clip_stored", "tanh"])
@given(sample=st.floats(-1e6, 1e6, width=32), low=st.floats(-100, 99), width=st.floats(0.01, 100))
def test_a_bounded_action_is_within_the_bounds(level, sample, low, width):
    bounds = Bounds((low,), (low + width,))
    sent = to_environment(to_stored(np.float32([[sample]]), bounds, level), bounds, level)
    assert low <= float(sent[0, 0]) <= low + width


@pytest.mark.parametrize("limit", [0.1, 0.2, 0.3, 0.4, 0.7])
def test_no_action_leaves_a_box_of_float64_by_rounding(limit):
    space = spaces.Box(-limit, limit, (1,), np.float64)
    _, interface = actions_of(space, "clip_at_environment")
    for sample in (-5.0, 5.0):
        assert space.contains(interface.to_environment(np.float32([[sample]]))[0])


def test_a_box_of_any_rank_is_flattened_and_restored():
    space = spaces.Box(np.full((2, 3), -1.0), np.arange(1.0, 7.0).reshape(2, 3), dtype=np.float64)
    distribution, interface = actions_of(space, "clip_at_environment")
    assert distribution == DiagonalGaussian(6)
    sent = interface.to_environment(interface.to_stored(np.full((4, 6), 3.5, np.float32)))
    np.testing.assert_array_equal(sent, np.tile([[1, 2, 3], [3.5, 3.5, 3.5]], (4, 1, 1)))


def test_a_tanh_box_squashes_with_its_own_bounds():
    distribution, interface = actions_of(spaces.Box(-0.4, 0.4, (3,)), "tanh")
    assert distribution.squash == interface.bounds
    np.testing.assert_allclose(interface.to_environment(np.zeros((2, 3), np.float32)), np.zeros((2, 3)))


def test_discrete_actions_start_where_the_space_does():
    distribution, interface = actions_of(spaces.Discrete(3, start=-1), None)
    assert distribution == Categorical((3,))
    sent = interface.to_environment(interface.to_stored(np.array([[0], [2]], np.int32)))
    assert sent.dtype == np.int64 and sent.tolist() == [-1, 1]


def test_several_discrete_actions_keep_the_shape_of_the_space():
    distribution, interface = actions_of(spaces.MultiDiscrete([[2, 3], [4, 5]], start=[[0, 1], [2, 3]]), "tanh")
    assert distribution == Categorical((2, 3, 4, 5))
    assert interface.to_environment(np.array([[1, 2, 3, 4]])).tolist() == [[[1, 3], [5, 7]]]


def test_binary_actions_are_choices_of_two():
    distribution, interface = actions_of(spaces.MultiBinary(3), None)
    assert distribution == Categorical((2, 2, 2))
    assert interface.to_environment(np.array([[1, 0, 1]])).tolist() == [[1, 0, 1]]


def test_an_unbounded_box_refuses_a_tanh_and_serves_the_rest():
    space = spaces.Box(-np.inf, np.inf, (2,))
    with pytest.raises(ConfigError, match="infinite one; use 'clip_at_environment', 'clip_stored' or 'off'"):
        actions_of(space, "tanh")
    for level in (None, "clip_at_environment", "clip_stored"):
        _, interface = actions_of(space, level)
        sent = interface.to_environment(interface.to_stored(SAMPLE))
        np.testing.assert_array_equal(sent, SAMPLE)


@pytest.mark.parametrize(
    "space",
    [spaces.Text(4), spaces.Box(0, 5, (2,), dtype=np.int32), spaces.Dict({"a": spaces.Discrete(2)})],
    ids=["text", "integers", "dict"],
)
def test_other_spaces_are_refused_with_what_is_allowed(space):
    with pytest.raises(UnsupportedEnvironment, match=r"allowed: Box of floats, Discrete, MultiDiscrete.*wrap"):
        actions_of(space, None)


def test_an_unknown_level_is_refused_with_the_nearest_spelling():
    with pytest.raises(ConfigError, match="unknown action_bound 'clip_storred'; did you mean 'clip_stored'"):
        actions_of(spaces.Discrete(2), "clip_storred")
