"""Flat views of Gymnasium spaces: observations in as [R, O] float64, actions out as environments take them.

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
ACTIONS_ALLOWED = "Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple if all Box or all discrete"
WRAP = "wrap the environment so that it uses one of these and train 'your_module:your_factory'"

MOST_VALUES = 2**20
"""Of one discrete observation or action: the networks have as many inputs or outputs."""

Flatten = Callable[[Any, int], np.ndarray]


@dataclass(frozen=True)
class ObservationCodec:
    """A way from a batch of native observations to one flat matrix.

    `flatten(observations, rows)` takes what a vector environment of `rows` environments returns and gives
    [rows, O] float64, equal row by row to `gymnasium.spaces.flatten`. It may share memory with its input.
    """

    flat_space: spaces.Box
    flatten: Flatten


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
        UnsupportedEnvironment: images, and spaces without a fixed flat size.
    """
    flatten, low, high = _observation_part(space, environment)
    if not low.size:
        raise UnsupportedEnvironment(
            f"{environment} has observations {_short(space)}, which hold no number; "
            f"allowed: {OBSERVATIONS_ALLOWED} with at least one number; {WRAP}"
        )
    return ObservationCodec(spaces.Box(low, high, dtype=np.float64), flatten)


def _observation_part(space: spaces.Space, environment: str) -> tuple[Flatten, np.ndarray, np.ndarray]:
    """`(flatten, low, high)` of a space; the branches mirror `gymnasium.spaces.flatten`."""
    if isinstance(space, spaces.Box):
        _refuse_images(space, environment)
        low, high = space.low.astype(np.float64).reshape(-1), space.high.astype(np.float64).reshape(-1)
        return _as_matrix(low.size), low, high
    if isinstance(space, spaces.MultiBinary):
        size = int(np.prod(space.shape))
        return _as_matrix(size), np.zeros(size), np.ones(size)
    if isinstance(space, spaces.Discrete):
        _refuse_many_values(space, environment, "observations", int(space.n))
        return _one_hot(np.array([space.n]), np.array([space.start]))
    if isinstance(space, spaces.MultiDiscrete):
        _refuse_many_values(space, environment, "observations", sum(map(int, space.nvec.reshape(-1))))
        return _one_hot(space.nvec.reshape(-1), space.start.reshape(-1))
    if isinstance(space, spaces.Dict | spaces.Tuple) and len(space.spaces):
        parts = [(key, *_observation_part(space[key], environment)) for key in _keys(space)]

        def flatten(x: Any, rows: int) -> np.ndarray:
            return np.concatenate([part(x[key], rows) for key, part, _, _ in parts], axis=1)

        lows, highs = [low for _, _, low, _ in parts], [high for _, _, _, high in parts]
        return flatten, np.concatenate(lows), np.concatenate(highs)
    raise UnsupportedEnvironment(
        f"{environment} has observations {_short(space)}, which have no fixed flat size; "
        f"allowed: {OBSERVATIONS_ALLOWED}; {WRAP}"
    )


def check_observation(space: spaces.Space, observation: Any, environment: str, rows: int | None = None) -> None:
    """Refuse an observation that is not of its space where flattening would let it pass: by shapes and by numbers.

    Args:
        space: of one row.
        observation: of one row, or of `rows` rows as a vector environment returns them.
        environment: how the message calls it.
        rows: `None` for one observation.

    Raises:
        UnsupportedEnvironment: it has another shape, lacks a part, or a number that is none of its space.
    """
    fault = _fault(space, observation, () if rows is None else (rows,))
    if fault is not None:
        raise UnsupportedEnvironment(
            f"the environment {environment} gave an observation {fault}; mend its observations or its observation_space"
        )


def _fault(space: spaces.Space, observation: Any, lead: tuple[int, ...]) -> str | None:
    if isinstance(space, spaces.Dict | spaces.Tuple):
        for key in _keys(space):
            try:
                part = observation[key]
            except (KeyError, IndexError, TypeError):
                return f"without the part {key!r} of its space"
            if (fault := _fault(space[key], part, lead)) is not None:
                return f"whose part {key!r} is {fault}"
        return None
    expected = (*lead, *(space.shape or ()))
    if np.shape(observation) != expected:
        return f"of shape {np.shape(observation)}, in a space of {expected}"
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        numbers = np.asarray(observation) - space.start
        if (numbers < 0).any() or (numbers >= (space.n if isinstance(space, spaces.Discrete) else space.nvec)).any():
            return f"{np.asarray(observation).tolist()!r}, in the space {_short(space)}"
    return None


def _as_matrix(size: int) -> Flatten:
    return lambda x, rows: np.asarray(x, dtype=np.float64).reshape(rows, size)


def _one_hot(sizes: np.ndarray, start: np.ndarray) -> tuple[Flatten, np.ndarray, np.ndarray]:
    """Each number becomes one 1 among as many 0 as it has other values, all numbers side by side."""
    sizes, start = sizes.astype(np.int64), start.astype(np.int64)  # narrow and unsigned types would wrap
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]) - start
    total = int(sizes.sum())

    def flatten(x: Any, rows: int) -> np.ndarray:
        out = np.zeros((rows, total))
        out[np.arange(rows)[:, None], np.asarray(x).reshape(rows, -1) + offsets] = 1.0
        return out

    return flatten, np.zeros(total), np.ones(total)


def _refuse_many_values(space: spaces.Space, environment: str, what: str, values: int) -> None:
    """Before anything that large is allocated."""
    if values > MOST_VALUES:
        holder = "a network can take" if what == "observations" else "a categorical policy can hold"
        raise UnsupportedEnvironment(
            f"{environment} has {what} {_short(space)} with {values} values, more than {holder}; "
            f"allowed: at most {MOST_VALUES}; {WRAP}"
        )


def _refuse_images(space: spaces.Box, environment: str) -> None:
    # A short stack of float vectors is fine flat; bytes in rows and columns, or three axes, are pictures.
    rank = len(space.shape)
    if rank >= 3 or (rank == 2 and space.dtype == np.uint8):
        raise UnsupportedEnvironment(
            f"{environment} has image observations of shape {space.shape}; the networks here take vectors; "
            f"allowed: {OBSERVATIONS_ALLOWED}; {WRAP}"
        )


def action_codec(space: spaces.Space, environment: str) -> ActionCodec:
    """The codec for the actions of one row.

    Raises:
        UnsupportedEnvironment: spaces that neither a Gaussian nor a categorical policy can act in.
    """
    if isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary) and 0 in space.shape:
        raise UnsupportedEnvironment(
            f"{environment} has actions {_short(space)}, which hold no number; "
            f"allowed: {ACTIONS_ALLOWED} with at least one number; {WRAP}"
        )
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return _box_codec(space)
    if isinstance(space, spaces.Box) and space.is_bounded():
        return _integer_box_codec(space, environment)
    if isinstance(space, spaces.Discrete):
        _refuse_many_values(space, environment, "actions", int(space.n))
        return _discrete_codec(space)
    if isinstance(space, spaces.MultiDiscrete):
        _refuse_many_values(space, environment, "actions", int(space.nvec.max()))
        return _whole_number_codec(space.nvec, space.start, space)
    if isinstance(space, spaces.MultiBinary):
        return _whole_number_codec(np.full(space.shape, 2), np.zeros(space.shape), space)
    if isinstance(space, spaces.Dict | spaces.Tuple) and len(space.spaces):
        return _compound_codec(space, environment)
    raise UnsupportedEnvironment(
        f"{environment} has actions {_short(space)}, which no policy here can act in; "
        f"allowed: {ACTIONS_ALLOWED}; {WRAP}"
    )


def _box_codec(space: spaces.Box) -> ActionCodec:
    dtype, shape = space.dtype, space.shape
    flat_space = spaces.Box(space.low.reshape(-1), space.high.reshape(-1), dtype=dtype.type)

    def batch(actions: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(actions, dtype=dtype).reshape(len(actions), *shape)

    return ActionCodec(flat_space, batch, lambda actions: list(batch(actions)))


def _integer_box_codec(space: spaces.Box, environment: str) -> ActionCodec:
    # In Python's whole numbers: the types of the bounds are too narrow to count from one bound to the other.
    sizes = space.high.astype(object) - space.low.astype(object) + 1
    _refuse_many_values(space, environment, "actions", int(sizes.max()))
    return _whole_number_codec(sizes.astype(np.int64), space.low, space)


def _discrete_codec(space: spaces.Discrete) -> ActionCodec:
    dtype, start = space.dtype, space.dtype.type(space.start)

    def batch(actions: np.ndarray) -> np.ndarray:
        native = np.ascontiguousarray(actions, dtype=dtype).reshape(-1)
        return native + start if start else native

    return ActionCodec(spaces.Discrete(int(space.n)), batch, lambda actions: batch(actions).tolist())


def _whole_number_codec(sizes: np.ndarray, start: np.ndarray, space: spaces.Space) -> ActionCodec:
    dtype, shape = space.dtype, sizes.shape
    first = np.asarray(start).astype(np.int64)
    flat_space = spaces.MultiDiscrete(np.asarray(sizes).astype(np.int64).reshape(-1))

    def batch(actions: np.ndarray) -> np.ndarray:
        return (np.asarray(actions, np.int64).reshape(len(actions), *shape) + first).astype(dtype)

    return ActionCodec(flat_space, batch, lambda actions: list(batch(actions)))


def _compound_codec(space: spaces.Dict | spaces.Tuple, environment: str) -> ActionCodec:
    keys, named = _keys(space), isinstance(space, spaces.Dict)
    parts = [action_codec(space[key], environment) for key in keys]
    flats = [part.flat_space for part in parts]
    edges = np.cumsum([1 if isinstance(flat, spaces.Discrete) else flat.shape[0] for flat in flats])[:-1]
    boxes = [flat for flat in flats if isinstance(flat, spaces.Box)]
    if boxes and len(boxes) < len(flats):
        raise UnsupportedEnvironment(
            f"{environment} mixes continuous and discrete actions ({_short(space)}); allowed: {ACTIONS_ALLOWED}; {WRAP}"
        )
    flat_space: ActionSpace
    if boxes:
        low, high = np.concatenate([box.low for box in boxes]), np.concatenate([box.high for box in boxes])
        flat_space = spaces.Box(low, high, dtype=low.dtype.type)
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


def _keys(space: spaces.Dict | spaces.Tuple) -> list[Any]:
    return list(space.spaces) if isinstance(space, spaces.Dict) else list(range(len(space.spaces)))


def _short(space: spaces.Space) -> str:
    text = repr(space)
    return text if len(text) <= 80 else text[:77] + "..."
