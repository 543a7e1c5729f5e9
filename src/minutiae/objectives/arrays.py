"""Which array library an equation runs on, and the recurrence that two of them share. No equations here."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A NumPy or JAX array, or a tracer. Every function here follows the library and the dtype of its inputs."""

Scalar: TypeAlias = Any
"""A Python number, or an array (or tracer) of shape []: what may differ between the agents of one program."""


def namespace(*arrays: Array) -> Any:
    """The array library of `arrays`: the first that is not NumPy, so traced and constant arrays mix."""
    for array in arrays:
        declared = getattr(array, "__array_namespace__", None)
        if declared is not None:
            library = declared()
            if library is not np:
                return library
    return np


def require_equal_shapes(**arrays: Array) -> None:
    """Refuse arguments that would broadcast: `[B]` against `[B, 1]` gives a loss over all `[B, B]` pairs.

    Raises:
        ValueError: the shapes of the named arrays differ.
    """
    shapes = {name: np.shape(array) for name, array in arrays.items()}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"these arrays must have one shape: {listed}; reshape the odd one before the call")


def reverse_linear_recurrence(inputs: Array, decays: Array) -> Array:
    """Solve `y[t] = inputs[t] + decays[t] * y[t + 1]` with `y[T] = 0`, backwards along axis 0.

    Args:
        inputs: `[T, ...]`, T at least 1.
        decays: same shape as `inputs`.

    Returns:
        `[T, ...]`, dtype of `inputs`.
    """
    if namespace(inputs, decays) is np:
        solution = np.empty_like(inputs)
        following = np.zeros_like(inputs[0])
        for t in range(len(inputs) - 1, -1, -1):
            following = inputs[t] + decays[t] * following
            solution[t] = following
        return solution

    import jax.numpy as jnp
    from jax import lax

    def step(following: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        current = at[0] + at[1] * following
        return current, current

    # A plain scan: measured on the CPU it beats unrolled scans and lax.associative_scan, and compiles
    # fastest.
    _, solution = lax.scan(step, jnp.zeros_like(inputs[0]), (inputs, decays), reverse=True)
    return solution
