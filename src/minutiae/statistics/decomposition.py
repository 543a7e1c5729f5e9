"""Algorithm or details? The 2 x 2 of step rule and details: AAI, ACLI (Engstrom et al. 2020) and Shapley values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minutiae.errors import StatisticsError
from minutiae.statistics.cells import CellUnits, gather
from minutiae.statistics.checks import as_sample, require_count, require_equal_sizes, require_share
from minutiae.statistics.contrasts import Contrasts
from minutiae.statistics.results import Interval, Vector
from minutiae.statistics.simultaneous import bonferroni_quantile, symmetric_root


@dataclass(frozen=True)
class LargestEffect(Interval):
    """The largest of two absolute differences, as the paper reports it.

    Attributes:
        bias: by how much it is expected to overstate the truth, estimated; at least 0.
        corrected: the estimate minus the bias; at least 0.
        parts: the two differences with their signs; [low, high] follows from these.
    """

    bias: float
    corrected: float
    parts: tuple[Interval, Interval]


@dataclass(frozen=True)
class Decomposition:
    """What the step rule does and what the details do.

    Attributes:
        aai: average algorithmic improvement, as the paper calls it: the larger effect of the step rule.
        acli: average code-level improvement: the larger effect of the details.
        algorithm: Shapley value of the step rule in the gain.
        details: Shapley value of the details; the two sum to the gain.
        interaction: effect of the details with the second rule minus that with the first.
        gain: second rule with details minus first rule without.
        level: of each of these.
        method: in words.
        n: number of runs.
    """

    aai: LargestEffect
    acli: LargestEffect
    algorithm: Interval
    details: Interval
    interaction: Interval
    gain: Interval
    level: float
    method: str
    n: int


_CELLS = ("first rule, details off", "first rule, details on", "second rule, details off", "second rule, details on")

# Columns are `_CELLS`.
_RULE = np.array([[0, -1, 0, 1], [-1, 0, 1, 0]], dtype=np.float64)
_DETAILS = np.array([[0, 0, -1, 1], [-1, 1, 0, 0]], dtype=np.float64)
_SUMMARY = np.stack([_RULE.mean(axis=0), _DETAILS.mean(axis=0), _DETAILS[0] - _DETAILS[1], np.array([-1.0, 0, 0, 1])])


def decompose(
    returns: Sequence[Sequence[Any]],
    *,
    paired: bool,
    method: str = "studentized",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Decomposition:
    """AAI, ACLI and Shapley values of one environment's 2 x 2.

    With TRPO as the first rule and PPO as the second (Engstrom et al. 2020, section 5):
    AAI = max(|PPO - TRPO+|, |PPO-M - TRPO|), ACLI = max(|PPO - PPO-M|, |TRPO+ - TRPO|).

    A maximum of absolute values is biased upwards: with 5 runs of deviation 600 in every cell and no effect at all,
    both come out at 428 on the average. The bias is estimated by adding the estimated noise once more (a parametric
    bootstrap). Near zero that sees too little of it, and 277 of the 428 are left; with effects of 0 and 100 at 80 runs
    it leaves 6 of 37. Where one effect of 1000 stands alone there is no bias at 5 runs, and correction takes 60 away.
    The interval is that of both differences together, folded: it holds the truth at least as often as its level says
    (measured 0.96 to 0.99), and starts at 0 when neither difference is clear.

    Args:
        returns: `returns[rule][details]`, each `[S]`: rule 0 the first, 1 the second; details 0 off, 1 on.
        paired: true when run i of all four cells has the same seed.
        method: of the plain figures: `student`, `percentile`, `basic`, `bca` or `studentized`.
        level: in (0, 1).
        resamples: at least 100; also the number of noise draws of the bias.
        seed: makes both repeatable.

    Raises:
        StatisticsError: not 2 x 2, too few runs, or cells that cannot be paired.
    """
    require_share(level, "level")
    require_count(resamples, "resamples", 100)
    units = _units(returns, paired)
    summary = units.contrasts(_SUMMARY).intervals(method, level, resamples, seed)
    aai = _largest(units.contrasts(_RULE), level, resamples, seed)
    acli = _largest(units.contrasts(_DETAILS), level, resamples, seed)
    words = f"2 x 2 of step rule and details; {summary[0].method}"
    algorithm, details, interaction, gain = summary
    return Decomposition(aai, acli, algorithm, details, interaction, gain, level, words, units.n)


def largest_effect_bias(differences: Vector, covariance: Vector, draws: int, generator: np.random.Generator) -> float:
    """E max |d + noise| - max |d|, noise normal with the covariance of the estimates: at least 0 (Jensen).

    Args:
        differences: `[m]`.
        covariance: `[m, m]`, of their estimates.
        draws: number of noise draws.
        generator: where they come from.
    """
    noise = generator.standard_normal((draws, len(differences))) @ symmetric_root(covariance)
    # Noise and its negative together: the sum of both maxima is never below twice the maximum, so neither is the mean.
    largest = np.abs(differences + np.concatenate([noise, -noise])).max(axis=1).mean()
    return max(0.0, float(largest - np.abs(differences).max()))


def _largest(contrasts: Contrasts, level: float, draws: int, seed: int) -> LargestEffect:
    differences, errors, freedom = contrasts.estimates, contrasts.errors, contrasts.degrees_of_freedom
    half = bonferroni_quantile(2, freedom, level) * errors
    words = f"Student t intervals of both differences together, {contrasts.words}"
    parts = [
        Interval(float(d), float(d - h), float(d + h), level, words, contrasts.n)
        for d, h in zip(differences, half, strict=True)
    ]
    # If each |d_i| is within its bounds, their maximum is between the largest lower and the largest upper bound.
    low = max(0.0, *(max(part.low, -part.high) for part in parts))
    high = max(max(abs(part.low), abs(part.high)) for part in parts)
    estimate = float(np.abs(differences).max())
    bias = largest_effect_bias(differences, contrasts.covariance, draws, np.random.default_rng(seed))
    method = f"larger of two absolute differences; {words}; bias by {2 * draws:,} noise draws, seed {seed}"
    corrected = max(0.0, estimate - bias)
    return LargestEffect(estimate, low, high, level, method, contrasts.n, bias, corrected, (parts[0], parts[1]))


def _units(returns: Sequence[Sequence[Any]], paired: bool) -> CellUnits:
    if len(returns) != 2 or any(len(row) != 2 for row in returns):
        raise StatisticsError(
            f"returns has {len(returns)} rules with {', '.join(str(len(row)) for row in returns)} cells; it must be "
            f"returns[rule][details], 2 x 2; leave out other cells"
        )
    samples = [as_sample(returns[r][d], f"returns[{r}][{d}]") for r in (0, 1) for d in (0, 1)]
    if paired:
        for cell, sample in zip(_CELLS[1:], samples[1:], strict=True):
            require_equal_sizes(samples[:1], [sample], (f"the cell of {_CELLS[0]}", f"that of {cell}"))
    sizes = [len(sample) for sample in samples]
    seeds = np.concatenate([np.arange(size) for size in sizes]) if paired else None
    cell_of_run = np.repeat(np.arange(4), sizes)
    return gather(cell_of_run, np.concatenate(samples), 4, seeds, None, lambda cell: _CELLS[cell])
