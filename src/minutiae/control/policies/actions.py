"""From sampled actions to the environment: what is stored and what the simulator gets. No log densities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from minutiae.control.policies.distributions import Bounds, Categorical, DiagonalGaussian, Distribution
from minutiae.errors import ConfigError, UnsupportedEnvironment, unknown

if TYPE_CHECKING:
    import gymnasium

ACTION_BOUNDS = ("clip_at_environment", "clip_stored", "tanh")
"""The levels of the detail `action_bound` beside off (`None`)."""


def to_stored(sample: np.ndarray, bounds: Bounds, action_bound: str | None) -> np.ndarray:
    """The action that enters the batch, and whose log probability is taken: clipped for `clip_stored` only.

    Args:
        sample: `[..., A]`, as the distribution drew it.
        bounds: of the environment's actions.
        action_bound: a level of the detail `action_bound`.

    Returns:
        `[..., A]`.
    """
    return np.clip(sample, bounds.low_array, bounds.high_array) if action_bound == "clip_stored" else sample


def to_environment(stored: np.ndarray, bounds: Bounds, action_bound: str | None) -> np.ndarray:
    """The action that the simulator gets: as stored (off), clipped, or center + half width x tanh(stored).

    Arguments and result as in `to_stored`.
    """
    if action_bound is None:
        return stored
    if action_bound == "tanh":
        # The clip below only mends rounding at the very edge.
        stored = bounds.center + bounds.half_width * np.tanh(stored)
    # Two functions of NumPy's core cost a third of the time of `np.clip`, at every step of acting.
    return np.minimum(np.maximum(stored, bounds.low_array), bounds.high_array)


@dataclass(frozen=True)
class ContinuousActions:
    """Actions of a box.

    Args:
        bounds: of the flattened box, A pairs.
        shape: of one action.
        action_bound: a level of the detail `action_bound`.
    """

    bounds: Bounds
    shape: tuple[int, ...]
    action_bound: str | None

    def to_stored(self, sample: np.ndarray) -> np.ndarray:
        """`[..., A]` as drawn -> `[..., A]` as stored."""
        return to_stored(sample, self.bounds, self.action_bound)

    def to_environment(self, stored: np.ndarray) -> np.ndarray:
        """`[R, A]` as stored -> `[R, *shape]` for the pool."""
        return to_environment(stored, self.bounds, self.action_bound).reshape(len(stored), *self.shape)


@dataclass(frozen=True)
class DiscreteActions:
    """Actions of one or several finite choices.

    Args:
        starts: the smallest number of each choice.
        shape: of one action; () for a single choice.
    """

    starts: tuple[int, ...]
    shape: tuple[int, ...] = field(default=())

    def to_stored(self, sample: np.ndarray) -> np.ndarray:
        """Stored as drawn: whole numbers from 0 on, `[..., len(starts)]`."""
        return sample

    def to_environment(self, stored: np.ndarray) -> np.ndarray:
        """`[R, len(starts)]` as stored -> int64 `[R, *shape]` for the pool."""
        return (stored.astype(np.int64) + np.asarray(self.starts)).reshape(len(stored), *self.shape)


ActionInterface: TypeAlias = ContinuousActions | DiscreteActions


def actions_of(space: gymnasium.Space[Any], action_bound: str | None) -> tuple[Distribution, ActionInterface]:
    """The distribution that suits an action space, and the way from its samples to the environment.

    Args:
        space: a Gymnasium Box (any shape, flattened), Discrete, MultiDiscrete or MultiBinary, of one row.
        action_bound: a level of the detail `action_bound`; it concerns boxes only.

    Raises:
        ConfigError: an unknown `action_bound`, or `tanh` where a bound is infinite.
        UnsupportedEnvironment: any other space, or a box of integers.
    """
    from gymnasium import spaces

    if action_bound is not None and action_bound not in ACTION_BOUNDS:
        raise ConfigError(unknown("action_bound", action_bound, ("off", *ACTION_BOUNDS)))
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        bounds = Bounds(tuple(space.low.ravel().tolist()), tuple(space.high.ravel().tolist()))
        squash = bounds if action_bound == "tanh" else None
        return DiagonalGaussian(len(bounds.low), squash), ContinuousActions(bounds, space.shape, action_bound)
    if isinstance(space, spaces.Discrete):
        return Categorical((int(space.n),)), DiscreteActions((int(space.start),))
    if isinstance(space, spaces.MultiDiscrete):
        starts = tuple(int(start) for start in space.start.ravel())
        return Categorical(tuple(int(n) for n in space.nvec.ravel())), DiscreteActions(starts, space.shape)
    if isinstance(space, spaces.MultiBinary):
        size = int(np.prod(space.shape))
        return Categorical((2,) * size), DiscreteActions((0,) * size, space.shape)
    raise UnsupportedEnvironment(
        f"no action distribution for the space {space}; allowed: Box of floats, Discrete, MultiDiscrete, "
        "MultiBinary; wrap the environment to offer one of these"
    )
