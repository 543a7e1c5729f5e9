"""The first parameters of a policy, drawn on the host. One function per scheme; no training state here.

Every weight matrix starts as standard normal draws from its own generator, which depends on the seed, on
the network (policy or value) and on the layer's place in it, and on nothing else. The schemes are
transformations of these draws: so agents of one seed share their draws across schemes, and layers of equal
shape across architectures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from minutiae.control.policies.distributions import DiagonalGaussian
from minutiae.control.policies.policy import Policy

if TYPE_CHECKING:
    from minutiae.details import Config


def orthogonal(draws: np.ndarray) -> np.ndarray:
    """Orthonormal columns, or rows where columns outnumber rows, uniformly distributed (Saxe et al. 2014).

    Args:
        draws: standard normal float64 `[in, out]`.

    Returns:
        `[in, out]`.
    """
    tall = draws if draws.shape[0] >= draws.shape[1] else draws.T
    q, r = np.linalg.qr(tall)
    # Without the signs the distribution would depend on the routine's convention (Mezzadri 2007).
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return q if draws.shape[0] >= draws.shape[1] else q.T


def xavier_uniform(draws: np.ndarray) -> np.ndarray:
    """Uniform within +- sqrt(6 / (in + out)) (Glorot & Bengio 2010, equation 16); `[in, out]`."""
    return math.sqrt(6 / sum(draws.shape)) * _to_uniform(draws)


def lecun_normal(draws: np.ndarray) -> np.ndarray:
    """Normal of variance 1 / in, not truncated (LeCun et al. 1998); `[in, out]`."""
    return draws / math.sqrt(draws.shape[0])


def he_normal(draws: np.ndarray) -> np.ndarray:
    """Normal of variance 2 / in, not truncated (He et al. 2015, equation 10); `[in, out]`."""
    return draws * math.sqrt(2 / draws.shape[0])


def torch_default(draws: np.ndarray) -> np.ndarray:
    """Uniform within +- 1 / sqrt(in): PyTorch's `nn.Linear`, for weights and bias; `[in, out]`."""
    return _to_uniform(draws) / math.sqrt(draws.shape[0])


SCHEMES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "orthogonal": orthogonal,
    "xavier_uniform": xavier_uniform,
    "lecun_normal": lecun_normal,
    "he_normal": he_normal,
    "torch_default": torch_default,
}
"""The levels of the detail `initialization`."""


def initialize(generator: np.random.Generator, policy: Policy, config: Config) -> dict[str, Any]:
    """The first parameters of one agent.

    The gains multiply what the scheme gives, whichever it is; biases are 0 but for `torch_default`.

    Args:
        generator: its seed decides every draw; it is spawned from, not drawn from.
        policy: whose parameters to make.
        config: read for `initialization`, the three `initialization_*_gain` and
            `initial_log_standard_deviation`.

    Returns:
        Parameters as `Policy` describes them, NumPy float32.
    """
    policy_stream, value_stream = generator.spawn(2)
    inputs, outputs = policy.observation_size, policy.distribution.parameter_size
    policy_sizes = (inputs, *policy.policy_hidden_sizes, outputs)
    value_sizes = (inputs, *policy.value_hidden_sizes, 1)
    parameters = {
        "policy": _network(policy_stream, policy_sizes, config, config.initialization_policy_head_gain),
        "value": _network(value_stream, value_sizes, config, config.initialization_value_head_gain),
    }
    if isinstance(policy.distribution, DiagonalGaussian):
        size, level = policy.distribution.size, config.initial_log_standard_deviation
        parameters["policy"]["log_standard_deviation"] = np.full(size, level, np.float32)
    return parameters


def _network(
    generator: np.random.Generator, sizes: tuple[int, ...], config: Config, head_gain: float
) -> dict[str, Any]:
    # The head's generator comes first: its draws do not depend on the number of layers before it.
    head_stream, *hidden_streams = generator.spawn(len(sizes) - 1)
    scheme, hidden_gain = config.initialization, config.initialization_hidden_gain
    hidden = [
        _layer(stream, inputs, outputs, scheme, hidden_gain)
        for stream, (inputs, outputs) in zip(hidden_streams, pairwise(sizes[:-1]), strict=True)
    ]
    return {"hidden": hidden, "head": _layer(head_stream, sizes[-2], sizes[-1], scheme, head_gain)}


def _layer(
    generator: np.random.Generator, inputs: int, outputs: int, scheme: str, gain: float
) -> dict[str, np.ndarray]:
    weight = gain * SCHEMES[scheme](generator.standard_normal((inputs, outputs)))
    bias = np.zeros(outputs)
    if scheme == "torch_default":
        bias = gain * _to_uniform(generator.standard_normal(outputs)) / math.sqrt(inputs)
    return {"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)}


def _to_uniform(draws: np.ndarray) -> np.ndarray:
    """Standard normal draws to uniform ones within (-1, 1), monotonically: 2 Phi(z) - 1 = erf(z / sqrt 2)."""
    return np.vectorize(math.erf, otypes=[np.float64])(draws / math.sqrt(2))
