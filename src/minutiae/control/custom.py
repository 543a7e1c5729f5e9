"""Running custom details, and what they must return. No such detail lives here; finding them is `details.custom`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minutiae.details import Bound
from minutiae.errors import ConfigError


def changed_rewards(customs: Sequence[Sequence[Bound]], rewards: Any, terminated: Any, truncated: Any) -> Any:
    """Raw rewards `[P, T, N]` of one rollout as each agent's custom details make them; the given array stays.

    Raises:
        ConfigError: one of them returned another shape.
    """
    if not any(customs):
        return rewards
    changed = rewards.copy()
    for agent, details in enumerate(customs):
        for detail in details:
            returned = np.asarray(detail(changed[agent].copy(), terminated[agent], truncated[agent]))
            changed[agent] = same_shape(detail, returned, changed[agent])
    return changed


def same_shape(custom: Bound, returned: Any, given: Any) -> Any:
    """`returned`, in the type of `given`.

    Raises:
        ConfigError: it is of another shape.
    """
    shape = getattr(returned, "shape", None)
    if shape != given.shape:
        raise ConfigError(
            f"the detail {custom.name!r} returned {_words(returned, shape)}; it must return an array of the shape it "
            f"was given, {tuple(given.shape)}"
        )
    return returned.astype(given.dtype)


def added_loss(customs: Sequence[Bound], terms: Any, samples: Any) -> Any:
    """The sum of what custom details add to a policy loss: a scalar, 0 without any.

    Raises:
        ConfigError: one of them returned no scalar.
    """
    total: Any = 0.0
    for custom in customs:
        loss = custom(terms, samples)
        shape = getattr(loss, "shape", () if isinstance(loss, float | int) else None)
        if shape != ():
            raise ConfigError(
                f"the detail {custom.name!r} returned {_words(loss, shape)}; it must return a scalar, as a mean is"
            )
        total = total + loss
    return total


def _words(value: Any, shape: Any) -> str:
    return f"{type(value).__name__}" if shape is None else f"an array of shape {tuple(shape)}"
