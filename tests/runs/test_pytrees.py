"""Trees become named arrays and come back; paths that nobody wrote are refused."""

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutiae.errors import RunError
from minutiae.runs.pytrees import flatten, unflatten

LEAVES = st.builds(np.array, st.integers(-5, 5) | st.floats(allow_nan=False) | st.booleans())
TREES = st.recursive(
    LEAVES | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.text("~/[](){}_0", max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
Moments = namedtuple("Moments", ["mean", "variance"])


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return isinstance(right, dict) and left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if left is None:
        return right is None
    return isinstance(right, np.ndarray) and left.dtype == right.dtype and np.array_equal(left, right)


def test_the_paths_of_the_documentation() -> None:
    tree = {
        "policy": {"hidden": [{"weight": np.ones(2)}]},
        "moments": (np.zeros(1), 3),
        "off": None,
        "none": {},
        "a/b~": [],
        "": (),
        "__metadata__": 1.5,
    }
    arrays = flatten(tree)
    assert list(arrays) == [
        "policy/hidden/[0]/weight",
        "moments/(0)",
        "moments/(1)",
        "off/~",
        "none/{}",
        "a~1b~0/[]",
        "~6/()",
        "~5_metadata__",
    ]
    assert arrays["moments/(1)"].dtype == np.int64
    assert arrays["off/~"].shape == (0,)


@given(TREES)
@settings(max_examples=120, deadline=None)
def test_every_tree_comes_back(tree: object) -> None:
    arrays = flatten(tree)
    assert "__metadata__" not in arrays  # the one name that safetensors keeps for itself
    assert same(tree, unflatten(arrays))
    assert same(tree, unflatten(dict(reversed(arrays.items()))))  # files sort their arrays
    assert same(tree, unflatten(arrays, like=tree))


def test_ten_items_and_more_keep_their_order() -> None:
    tree = [np.array(i) for i in range(12)]
    assert [int(leaf) for leaf in unflatten(dict(sorted(flatten(tree).items())))] == list(range(12))


def test_named_tuples_come_back_with_a_template() -> None:
    tree = {"state": (Moments(np.ones(2), np.zeros(3)), ())}
    arrays = flatten(tree)
    assert list(arrays) == ["state/(0)/(0)", "state/(0)/(1)", "state/(1)/()"]
    assert type(unflatten(arrays)["state"][0]) is tuple
    back = unflatten(arrays, like={"state": (Moments(np.zeros(2), np.zeros(3)), ())})
    assert type(back["state"][0]) is Moments
    assert back["state"][0].mean.tolist() == [1.0, 1.0]
    assert back["state"][1] == ()


@pytest.mark.parametrize(
    ("like", "message"),
    [
        ({"a": np.zeros(3), "b": np.zeros(1)}, "the saved state lacks 'b'; use the config it was saved with"),
        ({"b": np.zeros(1)}, "the saved state also has 'a'; use the config it was saved with"),
        ({"a": np.zeros(2)}, "the saved 'a' is float64[3], not float64[2]; use the config it was saved with"),
        (
            {"a": np.zeros(3, np.float32)},
            "the saved 'a' is float64[3], not float32[3]; use the config it was saved with",
        ),
        ({"a": [np.zeros(3)]}, "the saved state also has 'a'; use the config it was saved with"),
    ],
)
def test_another_structure_is_an_error(like: object, message: str) -> None:
    with pytest.raises(RunError) as caught:
        unflatten(flatten({"a": np.zeros(3)}), like=like)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["a", "a/b"], "goes through another array"),
        (["a/b", "a"], "names both an array and a container"),
        (["a/[0]", "a/[2]"], "the items at 'a' are not numbered 0 to 1"),
        (["[1]"], "the items at '' are not numbered 0 to 0"),
        (["[0]", "(1)"], "are not numbered 0 to 1"),
        (["[0]", "b"], "are not numbered 0 to 1"),
        (["[999999999]"], "are not numbered 0 to 0"),
        (["[00]"], "the array path '[00]' breaks the syntax"),
        (["a/{}", "a/b"], "the array path 'a/{}' breaks the syntax"),
        (["~x"], "breaks the syntax"),
        (["a", "~"], "the array path '~' breaks the syntax"),
        (["a//b"], "breaks the syntax"),
        (["a_b", "a~5b"], "two array paths at '' mean the same key"),
        (["a/" * 100 + "b"], "has over 64 parts"),
    ],
)
def test_paths_that_nobody_wrote(paths: list[str], message: str) -> None:
    with pytest.raises(RunError) as caught:
        unflatten({path: np.zeros(1) for path in paths})
    assert message in str(caught.value)
    assert str(caught.value).endswith("; the file is not ours")


def test_what_cannot_be_flattened() -> None:
    with pytest.raises(TypeError, match=r"^the leaf 'a/\[0\]' is object, not an array of numbers; turn it"):
        flatten({"a": [object()]})
    with pytest.raises(TypeError, match="the leaf 'a' is str"):
        flatten({"a": "text"})
    with pytest.raises(TypeError, match=r"^the key 3 at 'a' is no string; use string keys$"):
        flatten({"a": {3: np.zeros(1)}})
    deep: object = np.zeros(1)
    for _ in range(65):
        deep = [deep]
    with pytest.raises(ValueError, match=r"has more than 64 levels; make it flatter$"):
        flatten(deep)
