"""Gradient clipping and the optimizer step of one network. Optax does the moments; the details around it live here."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from minutiae.details import CATALOGUE

Numbers = dict[str, Any]

ADAM_DECAY_1 = 0.9
ADAM_DECAY_2 = 0.999
RMSPROP_DECAY = 0.99
RMSPROP_EPSILON = 1e-5

BEFORE_CORRECTION = CATALOGUE["adam_epsilon_style"].encode("before_correction")
JOINT, PER_NETWORK, POLICY_ONLY = (
    CATALOGUE["gradient_clipping_scope"].encode(level) for level in ("joint", "per_network", "policy_only")
)


def initial_optimizer(optimizer: str, parameters: Any) -> Any:
    """The optimizer state of one network's parameter vector `[D]` at the start of training, as NumPy arrays.

    All of Optax's transformations used here start from zeros. Asking only for the shapes keeps JAX from compiling a
    small program for each of them before the first iteration.
    """
    vector = jax.ShapeDtypeStruct(parameters.shape, parameters.dtype)
    shapes = jax.eval_shape(_transformation(optimizer, 0.0).init, vector)
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


def _transformation(optimizer: str, epsilon: Any) -> optax.GradientTransformation:
    if optimizer == "adam":
        return optax.scale_by_adam(b1=ADAM_DECAY_1, b2=ADAM_DECAY_2, eps=epsilon)
    if optimizer == "rmsprop":
        return optax.scale_by_rms(decay=RMSPROP_DECAY, eps=RMSPROP_EPSILON)
    return optax.identity()


def adam_epsilon(numbers: Numbers, count: Any) -> Any:
    """The epsilon that stands beside sqrt(v-hat) at update `count` + 1.

    `after_correction` adds epsilon to the corrected root (Kingma and Ba 2015, Algorithm 1; PyTorch, Optax);
    `before_correction` adds it to the uncorrected root (their section 2, "epsilon hat"; TensorFlow 1), which is the
    same as dividing it by sqrt(1 - decay_2^t).
    """
    epsilon = numbers["adam_epsilon"]
    correction = jnp.sqrt(1.0 - ADAM_DECAY_2 ** (count + 1.0))
    return jnp.where(numbers["adam_epsilon_style"] == BEFORE_CORRECTION, epsilon / correction, epsilon)


def optimizer_step(
    optimizer: str, parameters: Any, state: Any, gradient: Any, learning_rate: Any, numbers: Numbers
) -> tuple[Any, Any]:
    """One descent step of one network's vector `[D]` -> (parameters, optimizer state)."""
    epsilon = adam_epsilon(numbers, state.count) if optimizer == "adam" else 0.0
    direction, state = _transformation(optimizer, epsilon).update(gradient, state)
    return parameters - learning_rate * direction, state


def clip_scales(policy_norm: Any, value_norm: Any, numbers: Numbers, joint: bool) -> tuple[Any, Any]:
    """Factors in (0, 1] for the two networks' gradients: min(1, c / (norm + 1e-6)), PyTorch's `clip_grad_norm_`.

    Scope `joint` measures both networks together when one optimizer serves both, and each alone otherwise.
    """
    limit = numbers["gradient_clipping"]
    scope = numbers["gradient_clipping_scope"]
    joint_norm = jnp.sqrt(policy_norm**2 + value_norm**2)
    together = jnp.logical_and(scope == JOINT, joint)
    policy_scale = jnp.minimum(1.0, limit / (jnp.where(together, joint_norm, policy_norm) + 1e-6))
    value_scale = jnp.minimum(1.0, limit / (jnp.where(together, joint_norm, value_norm) + 1e-6))
    return policy_scale, jnp.where(scope == POLICY_ONLY, 1.0, value_scale)
