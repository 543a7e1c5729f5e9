"""Nested containers of arrays as a flat dictionary of named arrays, and back. Knows neither files nor JAX.

Path syntax. A path is the route from the root to a leaf, its parts joined by `/`:

| part | meaning |
|---|---|
| `name` | the value of a dictionary under the key `name` |
| `[3]` | item 3 of a list |
| `(3)` | item 3 of a tuple |
| `{}`, `[]`, `()` | as the last part: the dictionary, list or tuple there is empty |
| `~` | as the last part: there is `None` |

So `{"policy": {"hidden": [{"weight": w}]}, "moments": (m, v)}` has the paths `policy/hidden/[0]/weight`,
`moments/(0)` and `moments/(1)`; a tree that is one array has the empty path. Inside a key, the characters
that the syntax uses are written `~0` for `~`, `~1` for `/`, `~2` for `[`, `~3` for `(`, `~4` for `{`, `~5`
for the first of two leading `_`, and `~6` stands for the empty key. Empty containers and `None` carry an
array of no elements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from minutiae.errors import RunError

Arrays: TypeAlias = dict[str, np.ndarray]

DEEPEST = 64
"""Containers inside containers; deeper trees are refused in both directions."""

_ESCAPES = {"~": "~0", "/": "~1", "[": "~2", "(": "~3", "{": "~4"}
_UNESCAPES = {code: character for character, code in _ESCAPES.items()} | {"~5": "_", "~6": ""}
_INDEX = re.compile(r"\[(0|[1-9][0-9]{0,8})\]|\((0|[1-9][0-9]{0,8})\)", re.ASCII)
_EMPTY: dict[str, Any] = {"{}": dict, "[]": list, "()": tuple, "~": lambda: None}


def flatten(tree: Any) -> Arrays:
    """Name every array of `tree` by its path.

    Args:
        tree: dictionaries with string keys, lists, tuples and `None` around arrays, up to 64 deep. Named
            tuples count as tuples; only `unflatten(..., like=...)` gives back their type. Leaves are anything
            that `numpy.asarray` turns into an array of numbers, so a Python number becomes an array of shape
            `[]`.

    Returns:
        NumPy arrays by path, in the order of the tree.

    Raises:
        TypeError: a leaf is no array of numbers, or a key is not a string.
        ValueError: the tree is deeper than 64 containers.
    """
    arrays: Arrays = {}
    _flatten_into(arrays, (), tree)
    return arrays


def _flatten_into(arrays: Arrays, parts: tuple[str, ...], tree: Any) -> None:
    if len(parts) > DEEPEST:
        raise ValueError(f"the tree at {'/'.join(parts[:3])}/... has more than {DEEPEST} levels; make it flatter")
    children = _children(parts, tree)
    if children is None:
        leaf = np.asarray(tree)
        if leaf.dtype.kind not in "biuf":
            raise TypeError(
                f"the leaf {'/'.join(parts)!r} is {type(tree).__name__}, not an array of numbers; "
                "turn it into dictionaries, lists or tuples of arrays first"
            )
        arrays["/".join(parts)] = leaf
    elif not children:
        arrays["/".join((*parts, _mark(tree)))] = np.zeros(0, np.uint8)
    else:
        for part, child in children.items():
            _flatten_into(arrays, (*parts, part), child)


def _mark(empty: Any) -> str:
    if empty is None:
        return "~"
    return "{}" if isinstance(empty, Mapping) else "[]" if isinstance(empty, list) else "()"


def _children(parts: tuple[str, ...], tree: Any) -> dict[str, Any] | None:
    """The items of a container by path part, `None` for a leaf."""
    if tree is None:
        return {}
    if isinstance(tree, Mapping):
        for key in tree:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} at {'/'.join(parts)!r} is no string; use string keys")
        return {_escape(key): child for key, child in tree.items()}
    if isinstance(tree, list):
        return {f"[{index}]": child for index, child in enumerate(tree)}
    if isinstance(tree, tuple):
        return {f"({index})": child for index, child in enumerate(tree)}
    return None


def unflatten(arrays: Mapping[str, np.ndarray], like: Any = None) -> Any:
    """The tree whose `flatten` is `arrays`.

    Args:
        like: a tree of the same form. With it the containers come back as *its* types (named tuples, for
            instance), and every array must have the shape and dtype of the leaf it stands for: a checkpoint
            of another network is an error here and not a strange number later.

    Raises:
        RunError: the paths contradict each other, an index is missing, or `like` has another form.
    """
    if like is not None:
        return _rebuild_like(arrays, like)
    if set(arrays) == {""}:
        return arrays[""]
    root: dict[str, Any] = {}
    for path, array in arrays.items():
        _place(root, path, array)
    return _rebuild("", root)


class _Node(dict[str, Any]):
    """Items by part while a tree is put together; a class of its own, so that no leaf is taken for one."""


def _place(root: dict[str, Any], path: str, array: np.ndarray) -> None:
    parts = path.split("/")
    if len(parts) > DEEPEST + 1:
        raise RunError(f"the array path {path[:40]!r}... has over {DEEPEST} parts; the file is not ours")
    node = root
    for part in parts[:-1]:
        node = node.setdefault(part, _Node())
        if not isinstance(node, _Node):
            raise RunError(f"the array path {path!r} goes through another array; the file is not ours")
    if parts[-1] in node:
        raise RunError(f"the array path {path!r} names both an array and a container; the file is not ours")
    node[parts[-1]] = array


def _rebuild(path: str, node: dict[str, Any]) -> Any:
    if len(node) == 1:
        (only,) = node
        if only in _EMPTY:
            return _EMPTY[only]()
    indices = [_INDEX.fullmatch(part) for part in node]
    built = {
        part: _rebuild(f"{path}/{part}", child) if isinstance(child, _Node) else child for part, child in node.items()
    }
    if not any(indices):
        tree = {_unescape(path, part): child for part, child in built.items()}
        if len(tree) < len(built):
            raise RunError(f"two array paths at {path.strip('/')!r} mean the same key; the file is not ours")
        return tree
    square = "[" if next(iter(built)).startswith("[") else "("
    expected = [f"{square}{index}{']' if square == '[' else ')'}" for index in range(len(built))]
    if set(built) != set(expected):
        last = len(built) - 1
        raise RunError(f"the items at {path.strip('/')!r} are not numbered 0 to {last}; the file is not ours")
    items = [built[part] for part in expected]
    return items if square == "[" else tuple(items)


def _rebuild_like(arrays: Mapping[str, np.ndarray], like: Any) -> Any:
    wanted = flatten(like)
    for path in sorted(wanted.keys() ^ arrays.keys()):
        which = "lacks" if path in wanted else "also has"
        raise RunError(f"the saved state {which} {path!r}; use the config it was saved with")
    for path, leaf in wanted.items():
        have = arrays[path]
        if have.shape != leaf.shape or have.dtype != leaf.dtype:
            saved, needed = (f"{array.dtype}{list(array.shape)}" for array in (have, leaf))
            raise RunError(f"the saved {path!r} is {saved}, not {needed}; use the config it was saved with")
    return _fill(arrays, (), like)


def _fill(arrays: Mapping[str, np.ndarray], parts: tuple[str, ...], like: Any) -> Any:
    children = _children(parts, like)
    if children is None:
        return arrays["/".join(parts)]
    if like is None:
        return None
    filled = {part: _fill(arrays, (*parts, part), child) for part, child in children.items()}
    if isinstance(like, Mapping):
        return dict(zip(like, filled.values(), strict=True))
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return type(like)(*filled.values())
    return list(filled.values()) if isinstance(like, list) else tuple(filled.values())


def _escape(key: str) -> str:
    if not key:
        return "~6"
    escaped = "".join(_ESCAPES.get(character, character) for character in key)
    # Written out so that no path can be `__metadata__`, which the file format keeps for itself.
    return "~5" + escaped[1:] if escaped.startswith("__") else escaped


def _unescape(path: str, part: str) -> str:
    if not part or re.search(r"~(?![0-6])|[\[({]", part):
        whole = f"{path}/{part}".strip("/")
        raise RunError(f"the array path {whole!r} breaks the syntax; the file is not ours")
    return re.sub(r"~[0-6]", lambda code: _UNESCAPES[code.group()], part)
