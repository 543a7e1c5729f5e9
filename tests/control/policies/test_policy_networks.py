"""Networks and the policy: reference outputs, activations, slopes, and the population axis."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference_vectors
from minutiae.control.policies.distributions import Categorical, DiagonalGaussian
from minutiae.control.policies.networks import ACTIVATIONS, forward
from minutiae.control.policies.policy import Policy
from minutiae.details import CATALOGUE

X = np.array([-30.0, -2.0, -0.5, 0.0, 0.5, 2.0, 30.0])


def random_network(seed, sizes, leading=()):
    generator = np.random.default_rng(seed)
    layers = [
        {
            "weight": generator.normal(size=(*leading, inputs, outputs)).astype(np.float32),
            "bias": generator.normal(size=(*leading, outputs)).astype(np.float32),
        }
        for inputs, outputs in pairwise(sizes)
    ]
    return {"hidden": layers[:-1], "head": layers[-1]}


def test_reference_policy(library):
    vector = reference_vectors.load("gaussian")
    parameters = jax.tree.map(library.asarray, reference_vectors.parameters(vector, "p_param_"))
    policy = Policy(11, DiagonalGaussian(3), (64, 64), (), "tanh")
    distribution = policy.distribution_of(parameters, library.asarray(vector["states"]))
    np.testing.assert_allclose(distribution["mean"], vector["p_mean"], rtol=1e-6)
    np.testing.assert_allclose(np.exp(distribution["log_std"]), vector["p_std"], rtol=1e-6)
    actions = library.asarray(vector["actions"])
    np.testing.assert_allclose(policy.distribution.log_prob(distribution, actions), vector["p_log_prob"], rtol=1e-6)
    np.testing.assert_allclose(policy.distribution.entropy(distribution), np.full(40, vector["p_entropy"]), rtol=1e-6)


def test_hand_worked_forward(library):
    # relu: [1, 2] [[1, -1], [1, 1]] + [0, -2] = [3, 1 - 2] -> [3, 0]; head [2, 5] . [3, 0] + 0.5 = 6.5
    parameters = {
        "hidden": [{"weight": library.asarray([[1.0, -1.0], [1.0, 1.0]]), "bias": library.asarray([0.0, -2.0])}],
        "head": {"weight": library.asarray([[2.0], [5.0]]), "bias": library.asarray([0.5])},
    }
    np.testing.assert_array_equal(forward(parameters, library.asarray([[1.0, 2.0]]), "relu"), [[6.5]])


def test_forward_leaves_its_inputs_alone():
    parameters, x = random_network(0, (3, 4, 2)), np.ones((5, 3), np.float32)
    before = jax.tree.map(np.copy, parameters)
    forward(parameters, x, "tanh")
    forward(random_network(0, (3, 2)), x, "tanh")
    np.testing.assert_array_equal(x, np.ones((5, 3)))
    jax.tree.map(np.testing.assert_array_equal, parameters, before)


def test_a_network_without_hidden_layers_is_linear():
    parameters, x = random_network(0, (3, 2)), np.float32([[1, 2, 3]])
    np.testing.assert_allclose(
        forward(parameters, x, "tanh"), x @ parameters["head"]["weight"] + parameters["head"]["bias"]
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_numpy_and_jax_agree_in_float32(activation):
    parameters, x = random_network(1, (11, 64, 64, 3)), np.random.default_rng(2).normal(size=(16, 11))
    on_host = forward(parameters, x.astype(np.float32), activation)
    traced = jax.jit(forward, static_argnums=2)(parameters, x.astype(np.float32), activation)
    assert on_host.dtype == np.float32 and traced.dtype == jnp.float32
    scale = float(np.abs(on_host).max())
    np.testing.assert_allclose(on_host, traced, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("leading", [(4,), (2, 3)])
def test_leading_axes_equal_a_loop_over_agents(leading):
    parameters = random_network(3, (5, 8, 2), leading)
    x = np.random.default_rng(4).normal(size=(*leading, 6, 5)).astype(np.float32)
    together = forward(parameters, x, "tanh")
    for agent in np.ndindex(*leading):
        alone = forward(jax.tree.map(lambda array, agent=agent: array[agent], parameters), x[agent], "tanh")
        np.testing.assert_allclose(together[agent], alone, rtol=1e-5, atol=1e-6)


def test_the_activations_are_the_levels_of_the_detail():
    assert sorted(ACTIVATIONS) == sorted(CATALOGUE["activation"].levels.order)


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("tanh", np.tanh(X)),
        ("relu", np.maximum(X, 0)),
        ("leaky_relu", [-0.3, -0.02, -0.005, 0, 0.5, 2, 30]),
        ("elu", [np.exp(-30) - 1, np.exp(-2) - 1, np.exp(-0.5) - 1, 0, 0.5, 2, 30]),
        ("sigmoid", 1 / (1 + np.exp(-X))),
        ("swish", X / (1 + np.exp(-X))),
    ],
)
def test_activation_values(library, activation, expected):
    np.testing.assert_allclose(ACTIVATIONS[activation](library.asarray(X)), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slopes_of_the_activations_are_finite_and_match_differences(activation):
    function = ACTIVATIONS[activation]
    far = jax.vmap(jax.grad(function))(jnp.float32([-1e4, -100.0, 0.0, 100.0, 1e4]))
    assert jnp.isfinite(far).all()
    with jax.enable_x64(True):
        slopes = jax.vmap(jax.grad(function))(jnp.asarray([-2.0, -0.5, 0.5, 2.0]))
    x, step = np.array([-2.0, -0.5, 0.5, 2.0]), 1e-6
    np.testing.assert_allclose(slopes, (function(x + step) - function(x - step)) / (2 * step), rtol=1e-6)


def test_a_dead_unit_at_exactly_zero_has_no_slope():
    assert jax.grad(ACTIVATIONS["relu"])(jnp.float32(0.0)) == 0.0


def test_value_drops_the_last_axis():
    policy = Policy(3, DiagonalGaussian(2), (4,), (8,), "tanh")
    parameters, x = random_network(0, (3, 8, 1), (2,)), np.ones((2, 5, 3), np.float32)
    assert policy.value(parameters, x).shape == (2, 5)


def test_a_categorical_policy_has_logits_only():
    policy = Policy(3, Categorical((2, 3)), (4,), (), "tanh")
    distribution = policy.distribution_of(random_network(0, (3, 4, 5)), np.ones((7, 3), np.float32))
    assert {name: array.shape for name, array in distribution.items()} == {"logits": (7, 5)}


def test_a_policy_is_a_static_argument():
    policies = [Policy(3, DiagonalGaussian(2), (4,), (8,), "tanh") for _ in range(2)]
    assert policies[0] == policies[1] and hash(policies[0]) == hash(policies[1])
