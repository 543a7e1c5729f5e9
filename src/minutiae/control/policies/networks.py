"""Multilayer perceptrons as functions on pytrees, for NumPy and JAX arrays. No distributions, no training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minutiae.objectives.arrays import Array


def tanh(x: Array) -> Array:
    """tanh(x), in (-1, 1)."""
    return x.__array_namespace__().tanh(x)


def relu(x: Array) -> Array:
    """max(x, 0), with derivative 0 at 0 (a plain maximum would have 1/2 there in JAX)."""
    return x.__array_namespace__().where(x > 0, x, 0)


def leaky_relu(x: Array) -> Array:
    """x where positive, else x / 100 (the slope of PyTorch's and JAX's default)."""
    return x.__array_namespace__().where(x > 0, x, 0.01 * x)


def elu(x: Array) -> Array:
    """x where positive, else exp(x) - 1 (Clevert et al. 2016 with alpha = 1)."""
    xp = x.__array_namespace__()
    # The inner minimum keeps the exponential of the branch that is not chosen finite, and with it the
    # derivative.
    return xp.where(x > 0, x, xp.expm1(xp.minimum(x, 0)))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), written with tanh so that nothing overflows."""
    return 0.5 * (1 + tanh(0.5 * x))


def swish(x: Array) -> Array:
    """x sigmoid(x) (Ramachandran et al. 2017)."""
    return x * sigmoid(x)


ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "tanh": tanh,
    "relu": relu,
    "leaky_relu": leaky_relu,
    "elu": elu,
    "swish": swish,
    "sigmoid": sigmoid,
}
"""The levels of the detail `activation`."""


def affine(layer: Mapping[str, Array], x: Array) -> Array:
    """x weight + bias: `[..., B, in]` -> `[..., B, out]`; `weight` `[..., in, out]`, `bias` `[..., out]`."""
    y = x @ layer["weight"]
    y += layer["bias"][..., None, :]  # in place on NumPy, on an array that only this function has seen
    return y


def forward(parameters: Mapping[str, Any], x: Array, activation: str) -> Array:
    """The output of a multilayer perceptron.

    Args:
        parameters: `{"hidden": [{"weight": [in, out], "bias": [out]}, ...], "head": {"weight", "bias"}}`,
            every array with the same optional leading axes (a population's P).
        x: `[..., B, in]`, with the same leading axes or broadcasting against them.
        activation: a name in `ACTIVATIONS`.

    Returns:
        `[..., B, out]`, dtype of the inputs.
    """
    activate = ACTIVATIONS[activation]
    for layer in parameters["hidden"]:
        x = activate(affine(layer, x))
    return affine(parameters["head"], x)
