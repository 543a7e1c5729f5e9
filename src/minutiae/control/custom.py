"""Running custom details, and what they must return. No such detail lives here; finding them is `details.custom`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minutiae.details import Bound
from minutiae.errors import ConfigError

_UNREAL = {
    "c": "complex numbers",
    "O": "objects",
    "S": "bytes",
    "U": "text",
    "T": "text",
    "M": "dates",
    "m": "durations",
}
"""Kinds of NumPy's types that hold no real numbers, in words."""


def changed_rewards(customs: Sequence[Sequence[Bound]], rewards: Any, terminated: Any, truncated: Any) -> Any:
    """Raw rewards `[P, T, N]` of one rollout as each agent's custom details make them; the given arrays stay.

    Raises:
        ConfigError: one of them returned another shape, or what is no array of real numbers.
    """
    if not any(customs):
        return rewards
    changed = rewards.copy()
    for agent, details in enumerate(customs):
        for detail in details:
            # Copies: what somebody else's code does in place must not reach the batch.
            ends = terminated[agent].copy(), truncated[agent].copy()
            returned = _array(detail, detail(changed[agent].copy(), *ends))
            changed[agent] = same_shape(detail, returned, changed[agent])
    return changed


def same_shape(custom: Bound, returned: Any, given: Any) -> Any:
    """`returned`, in the type of `given`.

    Raises:
        ConfigError: it is of another shape, or not of real numbers.
    """
    shape = getattr(returned, "shape", None)
    if shape != given.shape:
        raise ConfigError(
            f"the detail {custom.name!r} returned {_words(returned, shape)}; it must return an array of the shape it "
            f"was given, {tuple(given.shape)}"
        )
    _refuse_unreal(custom, returned)
    return returned.astype(given.dtype)


def _array(custom: Bound, returned: Any) -> Any:
    """`returned` as a NumPy array.

    Raises:
        ConfigError: NumPy makes none of it, as of lists of unequal lengths.
    """
    try:
        return np.asarray(returned)
    except Exception as error:  # whatever an array of another package raises
        raise ConfigError(
            f"the detail {custom.name!r} returned {type(returned).__name__}, of which NumPy makes no array "
            f"({' '.join(str(error).split())}); it must return an array of the shape it was given"
        ) from error


def _refuse_unreal(custom: Bound, returned: Any) -> None:
    """Refuse text, objects and complex numbers, whose imaginary part would be lost.

    Raises:
        ConfigError: with their type.
    """
    # By what it is not: JAX's own small floats are of no kind that NumPy names.
    if returned.dtype.kind in _UNREAL:
        raise ConfigError(
            f"the detail {custom.name!r} returned {_UNREAL[returned.dtype.kind]} ({returned.dtype}); it must return "
            "real numbers"
        )


def added_loss(customs: Sequence[Bound], terms: Any, samples: Any) -> Any:
    """The sum of what custom details add to a policy loss: a scalar, 0 without any.

    Raises:
        ConfigError: one of them returned no scalar, or none that is real.
    """
    total: Any = 0.0
    for custom in customs:
        loss = custom(terms, samples)
        shape = getattr(loss, "shape", () if isinstance(loss, float | int) else None)
        if shape != ():
            raise ConfigError(
                f"the detail {custom.name!r} returned {_words(loss, shape)}; it must return a scalar, as a mean is"
            )
        if hasattr(loss, "dtype"):
            _refuse_unreal(custom, loss)
        total = total + loss
    return total


def _words(value: Any, shape: Any) -> str:
    return f"{type(value).__name__}" if shape is None else f"an array of shape {tuple(shape)}"
