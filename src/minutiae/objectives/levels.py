"""Choosing between the levels of a detail by data: a switch is a number, not a branch. No equations here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minutiae.objectives.arrays import Array, Scalar


def by_level(code: Scalar, branches: Sequence[Array]) -> Array:
    """The branch that `code` names: entry `code` of `branches`.

    A plain number (Python or NumPy) selects on the spot. A JAX array or tracer selects by data: every
    branch has been computed and passes through `where`, so the branches must be finite with finite
    derivatives everywhere (a NaN derivative in a branch that was not chosen would still reach the
    gradient).

    Args:
        code: index of the level, as `Detail.encode` gives it (a whole number, possibly as float), shape [].
        branches: one array of floating point per level, in the catalogue's order; shapes broadcast.

    Returns:
        The chosen array. A code beyond the last level gives NaN when it is traced, so that the run stops.

    Raises:
        IndexError: a plain number that is not the index of a branch.
    """
    if isinstance(code, (int, float, np.generic, np.ndarray)):
        index = int(code)
        if index != code or not 0 <= index < len(branches):
            raise IndexError(f"level code {code} is none of 0..{len(branches) - 1}")
        return branches[index]

    import jax.numpy as jnp

    chosen: Array = jnp.nan
    for index, branch in enumerate(branches):
        chosen = jnp.where(code == index, branch, chosen)
    return chosen
