"""Flat views of Gymnasium spaces: observations in as [R, O] float64, actions out as the environment wants them.

Nothing here builds or steps an environment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from minutiae.control.environments.protocol import ActionSpace
from minutiae.errors import UnsupportedEnvironment

OBSERVATIONS_ALLOWED = "Box vectors, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of these"
ACTIONS_ALLOWED = (
    "Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple either all Box or all discrete"
)


@dataclass(frozen=True)
class ObservationCodec:
    """A way from a batch of native observations to one flat matrix.

    `flatten(observations, rows)` takes what a vector environment of `rows` environments returns and gives
    [rows, O] float64, equal row by row to `gymnasium.spaces.flatten`. The result may share memory with its input.
    """

    flat_space: spaces.Box
    flatten: Callable[[Any, int], np.ndarray]


@dataclass(frozen=True)
class ActionCodec:
    """A way from flat actions to native ones.

    `batch(actions)` gives what a vector environment takes; `split(actions)` a list with one action per row.
    """

    flat_space: ActionSpace
    batch: Callable[[np.ndarray], Any]
    split: Callable[[np.ndarray], list[Any]]


def observation_codec(space: spaces.Space, environment: str) -> ObservationCodec:
    """The codec for the observations of one row.

    Raises:
        UnsupportedEnvironment: images and spaces without a fixed flat size.
    """
    flatten, low, high = _observation_part(space, environment)
    flat_space = spaces.Box(low, high, dtype=np.float64)
    if isinstance(space, spaces.Box):
        return ObservationCodec(flat_space, flatten)

    def to_matrix(observations: Any, rows: int) -> np.ndarray:
        return np.ascontiguousarray(flatten(observations, rows))

    return ObservationCodec(flat_space, to_matrix)


def _observation_part(
    space: spaces.Space, environment: str
) -> tuple[Callable[[Any, int], np.ndarray], np.ndarray, np.ndarray]:
    """`(flatten, low, high)` of a space; the branches mirror `gymnasium.spaces.flatten`."""
    if isinstance(space, spaces.Box):
        _refuse_images(space, environment)
        size = int(np.prod(space.shape))
        low, high = space.low.astype(np.float64).reshape(-1), space.high.astype(np.float64).reshape(-1)
        return (lambda x, rows: np.asarray(x, dtype=np.float64).reshape(rows, size)), low, high
    if isinstance(space, spaces.MultiBinary):
        size = int(np.prod(space.shape))
        return (
            (lambda x, rows: np.asarray(x, dtype=np.float64).reshape(rows, size)),
            np.zeros(size),
            np.ones(size),
        )
    if isinstance(space, spaces.Discrete):
        n, start = int(space.n), int(space.start)
        identity = np.eye(n)
        return (lambda x, rows: identity[np.asarray(x).reshape(rows) - start]), np.zeros(n), np.ones(n)
    if isinstance(space, spaces.MultiDiscrete):
        return _one_hot_vector(space)
    if isinstance(space, spaces.Dict | spaces.Tuple):
        keys: list[Any] = (
            list(space.spaces) if isinstance(space, spaces.Dict) else list(range(len(space.spaces)))
        )
        parts = [(key, *_observation_part(space[key], environment)) for key in keys]
        if parts:
            return (
                lambda x, rows: np.concatenate([part(x[key], rows) for key, part, _, _ in parts], axis=1),
                np.concatenate([low for _, _, low, _ in parts]),
                np.concatenate([high for _, _, _, high in parts]),
            )
    raise UnsupportedEnvironment(
        f"{environment} has observations {_short(space)}, which have no fixed flat size; allowed: "
        f"{OBSERVATIONS_ALLOWED}; wrap it so that it returns one of these and train 'your_module:your_factory'"
    )


def _one_hot_vector(
    space: spaces.MultiDiscrete,
) -> tuple[Callable[[Any, int], np.ndarray], np.ndarray, np.ndarray]:
    sizes = space.nvec.astype(np.int64).reshape(-1)
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]) - np.asarray(space.start).reshape(-1)
    total = int(sizes.sum())

    def flatten(x: Any, rows: int) -> np.ndarray:
        out = np.zeros((rows, total))
        out[np.arange(rows)[:, None], np.asarray(x).reshape(rows, -1) + offsets] = 1.0
        return out

    return flatten, np.zeros(total), np.ones(total)


def _refuse_images(space: spaces.Box, environment: str) -> None:
    # A short stack of float vectors is fine flat; bytes in rows and columns, or three axes, are pictures.
    rank = len(space.shape)
    if rank >= 3 or (rank == 2 and space.dtype == np.uint8):
        raise UnsupportedEnvironment(
            f"{environment} has image observations of shape {space.shape}; the networks here are for vectors; "
            f"allowed: {OBSERVATIONS_ALLOWED}; wrap it so that it returns features and train 'your_module:your_factory'"
        )


def action_codec(space: spaces.Space, environment: str) -> ActionCodec:
    """The codec for the actions of one row.

    Raises:
        UnsupportedEnvironment: spaces that neither a Gaussian nor a categorical policy can act in.
    """
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return _box_codec(space)
    if isinstance(space, spaces.Discrete):
        return _discrete_codec(space)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _multi_discrete_codec(space)
    if isinstance(space, spaces.Dict | spaces.Tuple) and len(space.spaces):
        return _compound_codec(space, environment)
    raise UnsupportedEnvironment(
        f"{environment} has actions {_short(space)}, which no policy here can act in; allowed: {ACTIONS_ALLOWED}; "
        "wrap it so that it takes one of these and train 'your_module:your_factory'"
    )


def _box_codec(space: spaces.Box) -> ActionCodec:
    dtype, shape = space.dtype, space.shape
    flat = spaces.Box(space.low.reshape(-1), space.high.reshape(-1), dtype=space.dtype.type)  # type: ignore[union-attr]

    def batch(actions: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(actions, dtype=dtype).reshape(len(actions), *shape)

    return ActionCodec(flat, batch, lambda actions: list(batch(actions)))


def _discrete_codec(space: spaces.Discrete) -> ActionCodec:
    dtype, start = space.dtype, int(space.start)

    def batch(actions: np.ndarray) -> np.ndarray:
        native = np.ascontiguousarray(actions, dtype=dtype).reshape(-1)
        return native + dtype.type(start) if start else native  # type: ignore[union-attr]

    return ActionCodec(spaces.Discrete(int(space.n)), batch, lambda actions: batch(actions).tolist())


def _multi_discrete_codec(space: spaces.MultiDiscrete | spaces.MultiBinary) -> ActionCodec:
    dtype, shape = space.dtype, space.shape
    sizes = np.full(shape, 2) if isinstance(space, spaces.MultiBinary) else space.nvec
    start = np.zeros(shape, dtype) if isinstance(space, spaces.MultiBinary) else space.start.astype(dtype)

    def batch(actions: np.ndarray) -> np.ndarray:
        return np.asarray(actions, dtype=dtype).reshape(len(actions), *shape) + start

    return ActionCodec(spaces.MultiDiscrete(sizes.reshape(-1)), batch, lambda actions: list(batch(actions)))


def _compound_codec(space: spaces.Dict | spaces.Tuple, environment: str) -> ActionCodec:
    named = isinstance(space, spaces.Dict)
    keys: list[Any] = list(space.spaces) if named else list(range(len(space.spaces)))
    parts = [action_codec(space[key], environment) for key in keys]
    flats = [part.flat_space for part in parts]
    widths = [_width(flat) for flat in flats]
    edges = np.cumsum(widths)[:-1]
    if all(isinstance(flat, spaces.Box) for flat in flats):
        flat_space: ActionSpace = spaces.Box(
            np.concatenate([flat.low for flat in flats]),  # type: ignore[union-attr]
            np.concatenate([flat.high for flat in flats]),  # type: ignore[union-attr]
            dtype=np.float64,
        )
    elif any(isinstance(flat, spaces.Box) for flat in flats):
        raise UnsupportedEnvironment(
            f"{environment} mixes continuous and discrete actions ({_short(space)}); allowed: {ACTIONS_ALLOWED}; "
            "wrap it so that its actions are of one kind and train 'your_module:your_factory'"
        )
    else:
        sizes = [flat.n if isinstance(flat, spaces.Discrete) else flat.nvec for flat in flats]  # type: ignore[union-attr]
        flat_space = spaces.MultiDiscrete(np.concatenate([np.atleast_1d(size) for size in sizes]))

    def gather(values: list[Any]) -> Any:
        return dict(zip(keys, values, strict=True)) if named else tuple(values)

    def batch(actions: np.ndarray) -> Any:
        pieces = np.split(np.asarray(actions), edges, axis=1)
        return gather([part.batch(piece) for part, piece in zip(parts, pieces, strict=True)])

    def split(actions: np.ndarray) -> list[Any]:
        pieces = np.split(np.asarray(actions), edges, axis=1)
        columns = [part.split(piece) for part, piece in zip(parts, pieces, strict=True)]
        return [gather(list(values)) for values in zip(*columns, strict=True)]

    return ActionCodec(flat_space, batch, split)


def _width(space: ActionSpace) -> int:
    return 1 if isinstance(space, spaces.Discrete) else int(space.shape[0])


def _short(space: spaces.Space) -> str:
    text = repr(space)
    return text if len(text) <= 80 else text[:77] + "..."
