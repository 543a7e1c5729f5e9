"""Action distributions: static facts in the class, every method a pure function of a dict. No networks here.

`d` is `{"mean": [..., B, A], "log_std": [..., A]}` for `DiagonalGaussian` and
`{"logits": [..., B, sum(sizes)]}` for `Categorical`. The leading axes are a population's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from minutiae.errors import ConfigError
from minutiae.objectives import densities
from minutiae.objectives.arrays import Array, namespace

QUADRATURE_NODES = 8
"""Of the Gauss-Hermite rule in a squashed Gaussian's entropy.

Eight are exact to 0.001 nats per dimension for a standard deviation up to 1, and to 0.03 up to 2 (before
the tanh).
"""


def _rounded(limits: tuple[float, ...], towards: float) -> np.ndarray:
    """`limits` as float32 `[A]`, where they are none the nearest one in the direction of `towards`."""
    exact = np.asarray(limits, np.float64)
    nearest = exact.astype(np.float32)
    outside = nearest < exact if towards > 0 else nearest > exact
    return np.where(outside, np.nextafter(nearest, np.float32(towards)), nearest)


@dataclass(frozen=True)
class Bounds:
    """The limits of a box of actions, one pair per dimension, possibly infinite; hashable.

    Args:
        low: A numbers.
        high: A numbers, each greater than its `low`.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    @cached_property
    def low_array(self) -> np.ndarray:
        """`low` as float32 `[A]`, rounded into the box: a simulator may refuse what lies outside by a last bit."""
        return _rounded(self.low, np.inf)

    @cached_property
    def high_array(self) -> np.ndarray:
        """`high` as float32 `[A]`, rounded into the box."""
        return _rounded(self.high, -np.inf)

    @cached_property
    def center(self) -> np.ndarray:
        """Middle of the box, float32 `[A]`; for finite bounds."""
        return 0.5 * (self.low_array + self.high_array)

    @cached_property
    def half_width(self) -> np.ndarray:
        """Half the length of every side, float32 `[A]`; for finite bounds."""
        return 0.5 * (self.high_array - self.low_array)

    @property
    def finite(self) -> bool:
        """Whether every limit is a finite number."""
        return all(math.isfinite(limit) for limit in (*self.low, *self.high))


@dataclass(frozen=True)
class DiagonalGaussian:
    """Independent Gaussians with a log standard deviation that does not depend on the state.

    With `squash`, the environment sees center + half_width tanh(x), while actions everywhere in minutiae,
    and in these methods, are x, the sample *before* the tanh: no inverse tanh is ever needed (Haarnoja et
    al. 2018, appendix C; Andrychowicz et al. 2021, choice C63). `log_prob` and `entropy` are then those of
    the bounded action.

    Args:
        size: A, at least 1.
        squash: the finite bounds of the tanh, or `None` for a plain Gaussian.

    Raises:
        ConfigError: `squash` has an infinite side.
    """

    size: int
    squash: Bounds | None = None
    actions_are_integers: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.squash is not None and not self.squash.finite:
            raise ConfigError(
                "action_bound 'tanh' needs finite bounds and this action space has an infinite one; "
                "use 'clip_at_environment', 'clip_stored' or 'off'"
            )

    @property
    def parameter_size(self) -> int:
        """Outputs that the policy's head needs."""
        return self.size

    @property
    def action_size(self) -> int:
        """Numbers in one action."""
        return self.size

    def log_prob(self, d: Mapping[str, Array], actions: Array) -> Array:
        """Log density of `actions` `[..., B, A]` (before any tanh) -> `[..., B]`, in nats."""
        plain = densities.gaussian_log_density(actions, d["mean"], d["log_std"][..., None, :])
        return plain if self.squash is None else plain - self._log_jacobian(actions)

    def kl(self, old: Mapping[str, Array], new: Mapping[str, Array]) -> Array:
        """Exact KL(old || new) -> `[..., B]`. The tanh, being one-to-one, changes nothing."""
        old_log_std, new_log_std = old["log_std"][..., None, :], new["log_std"][..., None, :]
        return densities.gaussian_divergence(old["mean"], old_log_std, new["mean"], new_log_std)

    def entropy(self, d: Mapping[str, Array]) -> Array:
        """Differential entropy -> `[..., B]`, in nats.

        Plain: exact. Squashed: the Gaussian's entropy plus the mean log Jacobian of the tanh over
        reparameterized actions mean + std z. Each dimension's mean is a one-dimensional Gaussian integral,
        taken by Gauss-Hermite quadrature (its nodes are the z): differentiable in both parameters, free of
        sampling noise and of the stored actions.
        """
        mean, log_std = d["mean"], d["log_std"]
        xp = namespace(mean, log_std)
        plain = xp.broadcast_to(densities.gaussian_entropy(log_std)[..., None], mean.shape[:-1])
        if self.squash is None:
            return plain
        nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
        weights = weights / weights.sum()
        std = xp.exp(log_std)[..., None, :]
        return plain + sum(
            float(weight) * self._log_jacobian(mean + float(node) * std)
            for node, weight in zip(nodes, weights, strict=True)
        )

    def sample(self, d: Mapping[str, Array], noise: Array) -> Array:
        """mean + std noise -> `[..., B, A]` (before any tanh); `noise` standard normal of that shape."""
        log_std = d["log_std"]
        return d["mean"] + namespace(log_std).exp(log_std)[..., None, :] * noise

    def spread(self, parameters: Mapping[str, Array], noise: Array) -> Array:
        """What a sample adds to the network's output, of a whole rollout at once: std noise.

        Args:
            parameters: the policy's; the standard deviation does not depend on the observation.
            noise: `[..., T, B, A]`.
        """
        log_std = parameters["log_standard_deviation"]
        return namespace(log_std).exp(log_std)[..., None, None, :] * noise

    def drawn(self, output: Array, spread: Array) -> Array:
        """The sample `[..., B, A]` from the network's output and its part of `spread`; the same as `sample`."""
        return output + spread

    def mode(self, d: Mapping[str, Array]) -> Array:
        """The mean -> `[..., B, A]`, before any tanh (under one it is the median of the bounded action)."""
        return d["mean"]

    def noise(self, generator: np.random.Generator, shape_prefix: tuple[int, ...]) -> np.ndarray:
        """Standard normal float32 `[*shape_prefix, A]` for `sample`."""
        return generator.standard_normal((*shape_prefix, self.size), np.float32)

    def _log_jacobian(self, x: Array) -> Array:
        """log |d action / d x| of the squash, summed over dimensions: `[..., A]` -> `[...]`."""
        assert self.squash is not None
        scale = float(np.log(self.squash.half_width.astype(np.float64)).sum())
        return namespace(x).sum(densities.tanh_log_derivative(x), -1) + scale


@dataclass(frozen=True)
class Categorical:
    """One or several independent categorical variables, whose log probabilities add up (Huang et al. 2022).

    Actions are whole numbers `[..., B, len(sizes)]`, each from 0 on. Logits must be finite: forbid a
    category with a large negative number (-1e8), not with minus infinity.

    Args:
        sizes: number of categories of each variable, each at least 1.
    """

    sizes: tuple[int, ...]
    actions_are_integers: ClassVar[bool] = True

    @property
    def parameter_size(self) -> int:
        """Outputs that the policy's head needs."""
        return sum(self.sizes)

    @property
    def action_size(self) -> int:
        """Numbers in one action."""
        return len(self.sizes)

    def log_prob(self, d: Mapping[str, Array], actions: Array) -> Array:
        """Log probability of `actions` `[..., B, len(sizes)]` -> `[..., B]`, in nats."""
        return sum(
            densities.categorical_log_probability(actions[..., i], logits)
            for i, logits in enumerate(self._parts(d["logits"]))
        )

    def kl(self, old: Mapping[str, Array], new: Mapping[str, Array]) -> Array:
        """Exact KL(old || new) -> `[..., B]`."""
        pairs = zip(self._parts(old["logits"]), self._parts(new["logits"]), strict=True)
        return sum(densities.categorical_divergence(old_logits, new_logits) for old_logits, new_logits in pairs)

    def entropy(self, d: Mapping[str, Array]) -> Array:
        """Exact entropy -> `[..., B]`, in nats."""
        return sum(densities.categorical_entropy(logits) for logits in self._parts(d["logits"]))

    def sample(self, d: Mapping[str, Array], noise: Array) -> Array:
        """The largest of logit + noise of each variable -> whole numbers `[..., B, len(sizes)]`.

        With Gumbel noise of the logits' shape this is an exact sample (Gumbel 1954; Maddison et al. 2014).
        """
        return self._largest(d["logits"] + noise)

    def spread(self, parameters: Mapping[str, Array], noise: Array) -> Array:
        """What a sample adds to the network's output: the noise itself."""
        return noise

    def drawn(self, output: Array, spread: Array) -> Array:
        """The sample `[..., B, len(sizes)]` from the network's output and its part of `spread`, as `sample`."""
        return self._largest(output + spread)

    def mode(self, d: Mapping[str, Array]) -> Array:
        """The most probable category of each variable -> whole numbers `[..., B, len(sizes)]`."""
        return self._largest(d["logits"])

    def noise(self, generator: np.random.Generator, shape_prefix: tuple[int, ...]) -> np.ndarray:
        """Standard Gumbel float32 `[*shape_prefix, sum(sizes)]` for `sample`."""
        return generator.gumbel(size=(*shape_prefix, sum(self.sizes))).astype(np.float32)

    def _parts(self, logits: Array) -> Iterator[Array]:
        start = 0
        for size in self.sizes:
            yield logits[..., start : start + size]
            start += size

    def _largest(self, scores: Array) -> Array:
        xp = namespace(scores)
        return xp.stack([xp.argmax(part, -1) for part in self._parts(scores)], -1)


Distribution: TypeAlias = DiagonalGaussian | Categorical
