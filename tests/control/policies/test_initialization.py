"""First parameters: orthogonality, bounds and variances of each scheme, gains, and which draws are shared."""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import numpy as np
import pytest

from minutiae.control.policies.distributions import Categorical, DiagonalGaussian
from minutiae.control.policies.initialization import SCHEMES, initialize, orthogonal
from minutiae.control.policies.policy import Policy
from minutiae.details import CATALOGUE, Config

POLICY = Policy(11, DiagonalGaussian(3), (64, 64), (64, 64), "tanh")
LARGE = Policy(300, DiagonalGaussian(3), (400,), (400,), "tanh")
GAINS = {f"initialization_{part}_gain": 1.0 for part in ("hidden", "policy_head", "value_head")}


def made(policy=POLICY, seed=0, **details):
    return initialize(np.random.default_rng(seed), policy, Config(environment="Hopper-v5", **details))


def leaves(tree):
    return jax.tree.leaves(tree)


def test_the_schemes_are_the_levels_of_the_detail():
    assert sorted(SCHEMES) == sorted(CATALOGUE["initialization"].levels.order)


def test_shapes_and_dtypes():
    parameters = made()
    shapes = jax.tree.map(lambda array: array.shape, parameters, is_leaf=lambda x: isinstance(x, np.ndarray))
    hidden = [{"weight": (11, 64), "bias": (64,)}, {"weight": (64, 64), "bias": (64,)}]
    assert shapes == {
        "policy": {
            "hidden": hidden,
            "head": {"weight": (64, 3), "bias": (3,)},
            "log_standard_deviation": (3,),
        },
        "value": {"hidden": hidden, "head": {"weight": (64, 1), "bias": (1,)}},
    }
    assert {array.dtype for array in leaves(parameters)} == {np.dtype(np.float32)}


def test_a_categorical_policy_has_no_standard_deviation():
    parameters = made(Policy(4, Categorical((3, 2)), (8,), (), "tanh"))
    assert "log_standard_deviation" not in parameters["policy"]
    assert parameters["policy"]["head"]["weight"].shape == (8, 5)
    assert parameters["value"]["hidden"] == [] and parameters["value"]["head"]["weight"].shape == (4, 1)


@pytest.mark.parametrize("shape", [(11, 64), (64, 64), (64, 3), (5, 1), (1, 5)])
def test_orthogonal_matrices_are_orthogonal(shape):
    weight = orthogonal(np.random.default_rng(0).standard_normal(shape))
    gram = weight.T @ weight if shape[0] >= shape[1] else weight @ weight.T
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=1e-12)


def test_orthogonal_signs_do_not_come_from_the_routine():
    # Uniform over the orthogonal group: the first entry is as often negative as positive; sd of 128 is 5.7.
    generator = np.random.default_rng(0)
    negative = sum(orthogonal(generator.standard_normal((3, 3)))[0, 0] < 0 for _ in range(128))
    assert 64 - 23 < negative < 64 + 23


def test_gains_scale_each_layer_of_the_orthogonal_default():
    parameters = made()
    for network, head_gain in (("policy", 0.01), ("value", 1.0)):
        for layer, gain in (
            *((layer, math.sqrt(2)) for layer in parameters[network]["hidden"]),
            (parameters[network]["head"], head_gain),
        ):
            singular = np.linalg.svd(layer["weight"], compute_uv=False)
            np.testing.assert_allclose(singular, np.full(min(layer["weight"].shape), gain), rtol=1e-5)
            assert not layer["bias"].any()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gains_multiply_every_scheme(scheme):
    one = made(initialization=scheme, **GAINS)
    half = made(initialization=scheme, **dict.fromkeys(GAINS, 0.5))
    for network in ("policy", "value"):
        for single, halved in zip(
            leaves([one[network]["hidden"], one[network]["head"]]),
            leaves([half[network]["hidden"], half[network]["head"]]),
            strict=True,
        ):
            np.testing.assert_allclose(halved, 0.5 * single, rtol=1e-6)


@pytest.mark.parametrize(
    ("scheme", "bound"),
    # in 300, out 400: Glorot sqrt(6 / 700) = 0.0926; PyTorch 1 / sqrt(300) = 0.0577
    [("xavier_uniform", math.sqrt(6 / 700)), ("torch_default", 1 / math.sqrt(300))],
)
def test_uniform_schemes_fill_their_bounds(scheme, bound):
    weight = made(LARGE, initialization=scheme, **GAINS)["policy"]["hidden"][0]["weight"]
    assert np.abs(weight).max() <= bound and np.abs(weight).max() > 0.999 * bound
    # variance of a uniform is bound^2 / 3, and each tenth of the range holds a tenth of the draws
    np.testing.assert_allclose(weight.std(), bound / math.sqrt(3), rtol=0.01)
    counts, _ = np.histogram(weight, bins=10, range=(-bound, bound))
    np.testing.assert_allclose(counts / weight.size, np.full(10, 0.1), atol=0.005)


@pytest.mark.parametrize(("scheme", "variance"), [("lecun_normal", 1 / 300), ("he_normal", 2 / 300)])
def test_normal_schemes_have_their_variance(scheme, variance):
    weight = made(LARGE, initialization=scheme, **GAINS)["policy"]["hidden"][0]["weight"]
    np.testing.assert_allclose(weight.var(), variance, rtol=0.02)
    # not truncated: beyond two standard deviations lie 4.55 % of a normal
    share = (np.abs(weight) > 2 * math.sqrt(variance)).mean()
    np.testing.assert_allclose(share, 0.0455, atol=0.003)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_biases_are_zero_except_in_pytorch(scheme):
    bias = made(LARGE, initialization=scheme, **GAINS)["policy"]["hidden"][0]["bias"]
    if scheme == "torch_default":
        assert 0.9 / math.sqrt(300) < np.abs(bias).max() <= 1 / math.sqrt(300)
    else:
        assert not bias.any()


def test_initial_standard_deviation():
    log_std = made(initial_log_standard_deviation=-0.5)["policy"]["log_standard_deviation"]
    np.testing.assert_array_equal(log_std, np.full(3, -0.5))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_same_seed_same_parameters_and_other_seed_others(scheme):
    jax.tree.map(np.testing.assert_array_equal, made(initialization=scheme), made(initialization=scheme))
    first, other = (made(seed=seed, initialization=scheme)["policy"]["head"]["weight"] for seed in (0, 1))
    assert (first != other).all()


def test_one_seed_shares_its_draws_between_schemes():
    # Every scheme but the orthogonal one is a monotone map of the same draws: equal order within a layer.
    orders = [
        np.argsort(made(initialization=scheme, **GAINS)["value"]["hidden"][0]["weight"], axis=None)
        for scheme in SCHEMES
        if scheme != "orthogonal"
    ]
    for order in orders[1:]:
        np.testing.assert_array_equal(order, orders[0])


def test_layers_of_equal_shape_are_shared_between_architectures():
    wide = made(replace(POLICY, value_hidden_sizes=(256, 256)))
    deep = made(replace(POLICY, policy_hidden_sizes=(64, 64, 64)))
    base = made()
    jax.tree.map(np.testing.assert_array_equal, wide["policy"], base["policy"])
    jax.tree.map(np.testing.assert_array_equal, deep["policy"]["hidden"][:2], base["policy"]["hidden"])
    jax.tree.map(np.testing.assert_array_equal, deep["policy"]["head"], base["policy"]["head"])
    jax.tree.map(np.testing.assert_array_equal, deep["value"], base["value"])


def test_policy_and_value_networks_draw_apart():
    parameters = made()
    policy, value = (parameters[network]["hidden"][0]["weight"] for network in ("policy", "value"))
    assert (policy != value).all()
