"""How many seeds a difference needs, and how small a difference the seeds can show. No data are tested here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from minutiae.errors import StatisticsError
from minutiae.statistics.checks import require_count, require_positive, require_share
from minutiae.statistics.noncentral_t import noncentral_t_cdf
from minutiae.statistics.results import Interval

_MOST_SEEDS = 10_000_000


@dataclass(frozen=True)
class SeedsNeeded(Interval):
    """Seeds per arm; `n` is the number of pilot runs per arm behind the deviation, 0 when it was given as known.

    Attributes:
        missing: seeds per arm still to run beside those that are done.
        power: that the estimate attains.
    """

    missing: int
    power: float


def power(
    difference: float,
    deviations: float | tuple[float, float],
    seeds: int | tuple[int, int],
    *,
    paired: bool = False,
    significance: float = 0.05,
) -> float:
    """Probability that the two-sided t test finds a true difference of means (noncentral t distribution).

    Args:
        difference: true difference, in the unit of the outcome, of either sign.
        deviations: of runs, one number or one per arm; paired: of the differences of a seed.
        seeds: per arm, at least 2.
        paired: whether both arms share seeds.
        significance: in (0, 1), the chance of a false alarm.

    Returns:
        In (0, 1). Exact for normal returns and equal deviations and seeds, else with Welch's degrees of freedom.

    Raises:
        StatisticsError: numbers outside these ranges.
    """
    require_share(significance, "significance")
    sizes = seeds if isinstance(seeds, tuple) else (seeds, seeds)
    for size in sizes:
        require_count(size, "seeds", 2)
    return _power(difference, _pair(deviations), (float(sizes[0]), float(sizes[1])), paired, significance)


def _pair(deviations: float | tuple[float, float]) -> tuple[float, float]:
    pair = deviations if isinstance(deviations, tuple) else (deviations, deviations)
    for deviation in pair:
        require_positive(deviation, "deviations")
    return pair


def _power(
    difference: float, deviations: tuple[float, float], sizes: tuple[float, float], paired: bool, significance: float
) -> float:
    if paired:
        error, freedom = deviations[0] / sizes[0] ** 0.5, sizes[0] - 1
    else:
        parts = [deviation**2 / size for deviation, size in zip(deviations, sizes, strict=True)]
        error = sum(parts) ** 0.5
        freedom = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    critical = float(scipy.stats.t.ppf(1 - significance / 2, freedom))
    shift = abs(difference) / error
    below = noncentral_t_cdf(critical, freedom, shift) - noncentral_t_cdf(-critical, freedom, shift)
    return min(1.0, max(0.0, 1 - below))


def seeds_needed(
    difference: float,
    deviations: float | tuple[float, float],
    *,
    paired: bool = False,
    target: float = 0.8,
    significance: float = 0.05,
    done: int = 0,
    pilot: int = 0,
    level: float = 0.95,
) -> SeedsNeeded:
    """The fewest seeds per arm at which a true difference is found with probability `target`.

    A deviation from a pilot is uncertain, and with it the number of seeds: [low, high] follows from the chi-squared
    interval of the deviation. (From 5 runs a deviation may be 0.6 to 2.9 times what it seems, and the seeds 0.36 to 8
    times.)

    Args:
        difference: to be found, in the unit of the outcome; not 0.
        deviations: of runs, one number or one per arm; paired: of the differences of a seed.
        paired: whether both arms share seeds.
        target: power, in (0, 1), above `significance`.
        significance: in (0, 1).
        done: seeds per arm that exist already.
        pilot: runs per arm that the deviations come from, at least 2; 0 takes them as known.
        level: of the interval, in (0, 1).

    Returns:
        Seeds per arm in total, the interval, and how many are missing.

    Raises:
        StatisticsError: numbers outside these ranges, or more than 10 million seeds.
    """
    require_positive(abs(difference), "difference")
    for share, name in ((target, "target"), (significance, "significance"), (level, "level")):
        require_share(share, name)
    require_count(done, "done", 0)
    pair = _pair(deviations)

    def fewest(scale: float) -> int:
        scaled = (pair[0] * scale, pair[1] * scale)
        return _fewest(difference, scaled, paired, target, significance)

    scales = (1.0, 1.0)
    words = "noncentral t power, deviation taken as known"
    if pilot:
        require_count(pilot, "pilot", 2)
        arms = 2 if isinstance(deviations, tuple) and not paired else 1
        freedom = arms * (pilot - 1)
        tails = scipy.stats.chi2.ppf([(1 + level) / 2, (1 - level) / 2], freedom)
        scales = (float((freedom / tails[0]) ** 0.5), float((freedom / tails[1]) ** 0.5))
        words = f"noncentral t power, deviation from {pilot} pilot runs per arm"
    total = fewest(1.0)
    attained = _power(difference, pair, (total, total), paired, significance)
    low, high = fewest(scales[0]), fewest(scales[1])
    return SeedsNeeded(total, low, high, level, words, pilot, max(0, total - done), attained)


def _fewest(
    difference: float, deviations: tuple[float, float], paired: bool, target: float, significance: float
) -> int:
    few, many = 1, 2
    while _power(difference, deviations, (many, many), paired, significance) < target:
        few, many = many, 2 * many
        if many > _MOST_SEEDS:
            raise StatisticsError(
                f"a difference of {difference:g} with deviations of {deviations[0]:g} and {deviations[1]:g} needs more "
                f"than {_MOST_SEEDS:,} seeds per arm; no study can show it; ask for a larger one"
            )
    while many - few > 1:
        middle = (few + many) // 2
        enough = _power(difference, deviations, (middle, middle), paired, significance) >= target
        few, many = (few, middle) if enough else (middle, many)
    return many


def detectable_difference(
    deviations: float | tuple[float, float],
    seeds: int,
    *,
    paired: bool = False,
    target: float = 0.8,
    significance: float = 0.05,
) -> float:
    """The true difference that `seeds` per arm find with probability `target`, in the unit of the outcome.

    Args:
        deviations: as in `power`.
        seeds: per arm, at least 2.
        paired: as in `power`.
        target: power, in (0, 1), above `significance`.
        significance: in (0, 1).

    Raises:
        StatisticsError: numbers outside these ranges.
    """
    pair = _pair(deviations)
    require_count(seeds, "seeds", 2)
    require_share(target, "target")
    require_share(significance, "significance")
    if target <= significance:
        raise StatisticsError(f"target is {target}; it must exceed significance ({significance}); 0.8 is usual")
    unit = float(np.hypot(*pair)) / seeds**0.5
    most = unit
    while _power(most, pair, (seeds, seeds), paired, significance) < target:
        most *= 2
    return float(
        scipy.optimize.brentq(
            lambda d: _power(d, pair, (seeds, seeds), paired, significance) - target, 0, most, rtol=1e-10
        )
    )
