"""Effects of several environments on one scale, and their mean: each environment counts in a unit of its own.

Averaged as they are, the environment with the largest returns decides. A unit is a stated range of returns, which is
known, or how much runs of one cell differ, which is estimated and makes the interval wider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from minutiae.errors import StatisticsError
from minutiae.statistics.checks import as_codes, as_sample, require_share
from minutiae.statistics.least_squares import Effect, Effects
from minutiae.statistics.magnitude import small_sample_correction
from minutiae.statistics.results import Vector
from minutiae.statistics.simultaneous import bonferroni_quantile, holm


@dataclass(frozen=True)
class Unit:
    """What 1 is in one environment.

    Attributes:
        size: in the unit of the outcome, above 0.
        degrees_of_freedom: behind an estimated size, above 0; infinite for a stated one.

    Raises:
        StatisticsError: one of them is not above 0, or the size is not finite.
    """

    size: float
    degrees_of_freedom: float = np.inf

    def __post_init__(self) -> None:
        if not (np.isfinite(self.size) and self.size > 0):
            raise StatisticsError(f"the size of a unit is {self.size}; give a finite one above 0")
        if not self.degrees_of_freedom > 0:
            raise StatisticsError(f"the degrees of freedom of a unit are {self.degrees_of_freedom}; give some above 0")


def range_unit(low: float, high: float) -> Unit:
    """The distance between two outcomes, as those of a random policy and of a good one.

    Raises:
        StatisticsError: they are equal, in the wrong order, or not finite.
    """
    if not np.isfinite(high - low) or high <= low:
        raise StatisticsError(f"the range is {low} to {high}; give two finite outcomes, the lower one first")
    return Unit(float(high - low))


def deviation_unit(outcome: Any, cell_of_run: Any, seed_of_run: Any = None) -> Unit:
    """How much the runs of one cell differ in one environment: their deviation, pooled over cells.

    It is divided by Hedges' correction, so that an effect counted in it is unbiased for normal runs. Cells that share
    seeds say less about it than as many cells of their own would: its degrees of freedom are (tr C)^2 / tr C^2 for
    each seed but one, C being the covariance of cells over seeds (Satterthwaite 1946; tr C^2 as Bai and Saranadasa
    1996).

    Args:
        outcome: `[R]`, finite.
        cell_of_run: `[R]` labels of any kind; runs of one cell differ by their seed only.
        seed_of_run: `[R]` labels when cells share seeds; those that not all cells have exactly once are then left out.
            `None` when runs are unrelated.

    Raises:
        StatisticsError: shapes that do not fit, too few runs, or runs that do not differ within cells.
    """
    y = as_sample(outcome, "outcome")
    cells, count = as_codes(cell_of_run, "cell_of_run", len(y))
    sizes = np.bincount(cells)
    means = np.bincount(cells, y) / sizes
    freedom = float(len(y) - count)
    variance = float(((y - means[cells]) ** 2).sum()) / max(freedom, 1.0)
    if freedom < 2 or variance <= 0:
        raise StatisticsError(
            f"the runs {'do not differ' if freedom >= 2 else 'are too few to differ'} within cells, so there is no "
            "deviation to count in; add seeds, or state a range"
        )
    if seed_of_run is not None:
        freedom = min(freedom, _shared_freedom(y, cells, as_codes(seed_of_run, "seed_of_run", len(y))[0], freedom))
    return Unit(variance**0.5 / small_sample_correction(max(freedom, 2.0)), freedom)


def _shared_freedom(y: Vector, cells: np.ndarray, seeds: np.ndarray, most: float) -> float:
    """Degrees of freedom of the pooled variance of cells that share seeds; at least those of one cell."""
    table = np.full((seeds.max() + 1, cells.max() + 1), np.nan)
    table[seeds, cells] = y
    runs = np.zeros(table.shape, int)
    np.add.at(runs, (seeds, cells), 1)
    table = table[(runs == 1).all(axis=1)]
    left = len(table) - 1
    if left < 2:
        return float(max(2, left)) if left > 0 else most
    covariance = np.atleast_2d(np.cov(table, rowvar=False))
    trace = float(np.trace(covariance))
    # Both traces without the part that sampling adds to them, by which few seeds would be far off.
    squares = left**2 / ((left - 1) * (left + 2)) * (float((covariance**2).sum()) - trace**2 / left)
    shares = trace**2 / squares - 2 / left if squares > 0 else np.inf
    return float(left * np.clip(shares, 1.0, table.shape[1]))


def pool_effects(effects: Mapping[str, Effects], units: Mapping[str, Unit], *, level: float = 0.95) -> Effects:
    """The mean over environments of each effect, in units of its environment, every environment counting the same.

    The standard error is that of independent effects over units: (error^2 / unit^2 + d^2 / 2 f) summed, d being the
    effect in units and f the unit's degrees of freedom (delta method); degrees of freedom by Welch 1947. Intervals are
    Bonferroni's and p-values Holm's, together for all effects of the table.

    Measured cover of nominal 95 % (2^2 factorial, three environments with deviations of 1, 10 and 100, five seeds that
    cells share and that make half of the variance; one effect alone): for effects of 0, 1 and 3 deviations 0.95, 0.94
    and 0.94 with normal returns. With log-normal ones 0.97, 0.61 and 0.51, for few of them cannot tell their deviation:
    whether there is an effect is still told rightly, how many deviations it has is not; state ranges then.

    Args:
        effects: of each environment, as `estimate_effects` gives them; those that some environment lacks are left out.
        units: of each environment.
        level: in (0, 1).

    Raises:
        StatisticsError: no environment, one without a unit, or no effect that all have.
    """
    require_share(level, "level")
    if not effects:
        raise StatisticsError("there is no environment to average over; give the effects of at least one")
    missing = [name for name in effects if name not in units]
    if missing:
        raise StatisticsError(f"{', '.join(missing)} has no unit; give one for each environment")
    tables = {name: {effect.name: effect for effect in found.effects} for name, found in effects.items()}
    first = next(iter(tables.values()))
    names = [name for name in first if all(name in table for table in tables.values())]
    if not names:
        raise StatisticsError("no effect is estimated in every environment, so none can be averaged; add runs")
    moments = [_pooled([(table[name], units[place]) for place, table in tables.items()]) for name in names]
    estimates, errors, freedoms = (np.array(column) for column in zip(*moments, strict=True))
    certain = np.where(estimates == 0, 0.0, np.copysign(np.inf, estimates))
    ratios = np.divide(estimates, errors, out=certain, where=errors > 0)
    alone = 2 * scipy.stats.t.sf(np.abs(ratios), freedoms)
    half = bonferroni_quantile(len(names), freedoms, level) * errors
    n = sum(found.n for found in effects.values())
    method = f"mean of the effects in {len(tables)} environments, together: p-values by Holm, intervals by Bonferroni"
    pooled = tuple(
        Effect(
            float(estimates[i]), float(estimates[i] - half[i]), float(estimates[i] + half[i]), level, method, n,
            name, first[name].factors, float(errors[i]), float(freedoms[i]), float(alone[i]), float(adjusted),
            tuple(dict.fromkeys(other for table in tables.values() for other in table[name].confounded_with)),
        )
        for i, (name, adjusted) in enumerate(zip(names, holm(alone), strict=True))
    )  # fmt: skip
    return Effects(pooled, (), None, level, method, n)


def _pooled(parts: Sequence[tuple[Effect, Unit]]) -> tuple[float, float, float]:
    """Mean, standard error and degrees of freedom of one effect over environments."""
    sizes = np.array([effect.estimate / unit.size for effect, unit in parts])
    noise = np.array([(effect.standard_error / unit.size) ** 2 for effect, unit in parts])
    units = np.array([size**2 / (2 * unit.degrees_of_freedom) for size, (_, unit) in zip(sizes, parts, strict=True)])
    terms = np.concatenate([noise, units])
    freedom = np.array([*(effect.degrees_of_freedom for effect, _ in parts), *(u.degrees_of_freedom for _, u in parts)])
    total = terms.sum()
    spread = float((terms**2 / freedom).sum())
    welch = total**2 / spread if spread > 0 else float(freedom.min())
    return float(sizes.mean()), float(np.sqrt(total)) / len(parts), float(welch)
