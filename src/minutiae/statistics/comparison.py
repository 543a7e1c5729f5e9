"""Is one arm better than another? Welch's test and permutation tests, with the intervals that belong to them.

Effect sizes without a unit are in `magnitude` and `improvement`, numbers of seeds in `planning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from minutiae.statistics.checks import (
    as_strata,
    require_count,
    require_equal_environments,
    require_equal_sizes,
    require_share,
)
from minutiae.statistics.contrasts import Contrasts
from minutiae.statistics.resampling import chunks
from minutiae.statistics.results import Interval, Vector


@dataclass(frozen=True)
class Comparison(Interval):
    """Mean of the first arm minus mean of the second, with a test of no difference.

    Attributes:
        p_value: two-sided.
        statistic: t of Welch's test; the difference itself of a permutation test.
        degrees_of_freedom: of t; `None` for a permutation test.
    """

    p_value: float
    statistic: float
    degrees_of_freedom: float | None


def _arms(first: Any, second: Any, paired: bool) -> tuple[tuple[Vector, ...], tuple[Vector, ...]]:
    arms = as_strata(first, "first"), as_strata(second, "second")
    require_equal_environments(*arms, ("first", "second"))
    if paired:
        require_equal_sizes(*arms, ("first", "second"))
    return arms


def _over(environments: int) -> str:
    return f" over {environments} environments" if environments > 1 else ""


def welch_test(first: Any, second: Any, *, paired: bool, level: float = 0.95) -> Comparison:
    """t test of equal means without equal variances (Welch 1947); paired, of the differences of each seed.

    With several environments the difference is the mean over them, and every arm of every environment has a variance
    of its own. Measured cover of the nominal 95 % interval with 5 runs per arm: 0.96 for normal returns, 0.95 with
    deviations of 4 to 1; log-normal returns 0.98 against their like, 0.92 against normal ones.

    Args:
        first: `[S]` of one environment, or E arrays `[S_e]`; at least 2 runs in each.
        second: as `first`, the same environments in the same order.
        paired: true when run i of both arms has the same seed.
        level: in (0, 1).

    Raises:
        StatisticsError: too few runs, values that are not finite, or arms that do not fit together.
    """
    require_share(level, "level")
    arms = _arms(first, second, paired)
    count = len(arms[0])
    if paired:
        parts = [(a - b)[:, None] / count for a, b in zip(*arms, strict=True)]
    else:
        parts = [sign * arm[:, None] / count for sign, side in zip((1, -1), arms, strict=True) for arm in side]
    contrast = Contrasts(tuple(parts), sum(len(arm) for side in arms for arm in side), "")
    estimate, error = float(contrast.estimates[0]), float(contrast.errors[0])
    freedom = float(contrast.degrees_of_freedom[0])
    half = float(scipy.stats.t.ppf((1 + level) / 2, freedom)) * error
    # Without any spread a difference is certain.
    t = estimate / error if error > 0 else float(np.copysign(np.inf, estimate)) if estimate else 0.0
    words = ("paired t test" if paired else "Welch's t test") + _over(count)
    p_value = float(2 * scipy.stats.t.sf(abs(t), freedom))
    return Comparison(estimate, estimate - half, estimate + half, level, words, contrast.n, p_value, t, freedom)


def permutation_test(
    first: Any,
    second: Any,
    *,
    paired: bool,
    level: float = 0.95,
    resamples: int = 20_000,
    seed: int = 0,
) -> Comparison:
    """Test of equal means by rearranging runs within environments (Fisher 1935; Pitman 1937).

    Unpaired, runs are shuffled between the arms; paired, the signs of the seeds' differences are. All arrangements are
    tried when there are at most `resamples` of them (8 runs against 8: 12,870; 14 pairs: 16,384), else random ones. The
    p-value is twice the smaller tail, the observed arrangement counted. The interval holds all shifts of the first arm
    that the test does not reject; few runs cannot reject at all, and the interval is infinite: 5 pairs have no p below
    2 / 32. Exact if the arms differ by a shift only.

    Args:
        first: as in `welch_test`.
        second: as in `welch_test`.
        paired: as in `welch_test`.
        level: in (0, 1).
        resamples: at least 100.
        seed: makes random arrangements repeatable.

    Raises:
        StatisticsError: as `welch_test`.
    """
    require_share(level, "level")
    require_count(resamples, "resamples", 100)
    arms = _arms(first, second, paired)
    count = len(arms[0])
    exact = (
        prod(2 ** len(a) if paired else comb(len(a) + len(b), len(a)) for a, b in zip(*arms, strict=True)) <= resamples
    )
    tried = None if exact else resamples
    generator = np.random.default_rng(seed)
    each = [
        _signs(a - b, tried, generator) if paired else _shuffles(a, b, tried, generator)
        for a, b in zip(*arms, strict=True)
    ]
    combine = _all_sums if exact else np.add
    differences, kept = (reduce(combine, [e[i] for e in each]) / count for i in (0, 1))
    observed = float(np.mean([a.mean() - b.mean() for a, b in zip(*arms, strict=True)]))
    if not exact:
        differences, kept = np.append(differences, observed), np.append(kept, 1.0)
    # Sums of the same numbers in another order differ in their last bits.
    slack = 1e-10 * float(np.abs(differences).max(initial=0.0))
    p_value = min(1.0, 2 * min(float(np.mean(sign * (differences - observed) >= -slack)) for sign in (1, -1)))
    low, high = _shifts(observed, differences, kept, level)
    arrangements = f"all {len(differences):,}" if exact else f"{len(differences) - 1:,} random"
    kind = "sign changes of paired differences" if paired else "permutations"
    words = f"permutation test, {arrangements} {kind}{_over(count)}" + ("" if exact else f", seed {seed}")
    n = sum(len(arm) for side in arms for arm in side)
    return Comparison(observed, low, high, level, words, n, p_value, observed, None)


def _signs(differences: Vector, tried: int | None, generator: np.random.Generator) -> tuple[Vector, Vector]:
    """Mean difference after changing signs, and the share of a common shift that stays in it: both `[arrangements]`.

    All changes for `tried` None, else that many random ones.
    """
    n = len(differences)
    if tried is None:
        flipped = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        signs = 1.0 - 2 * flipped
        return signs @ differences / n, np.asarray(signs.mean(axis=1), np.float64)
    parts = []
    for part in chunks(tried, n):
        signs = 1.0 - 2 * generator.integers(0, 2, (part, n))
        parts.append((signs @ differences / n, signs.mean(axis=1)))
    return np.concatenate([d for d, _ in parts]), np.concatenate([k for _, k in parts])


def _shuffles(
    first: Vector, second: Vector, tried: int | None, generator: np.random.Generator
) -> tuple[Vector, Vector]:
    """Difference of means after shuffling, and the share of a shift of the first arm that stays in it."""
    m, n = len(first), len(second)
    pooled = np.concatenate([first, second])

    def means(chosen: NDArray[np.intp]) -> tuple[Vector, Vector]:
        # Weight 1/m for the runs that are called first now, -1/n for the rest.
        weights = np.full((len(chosen), m + n), -1 / n)
        np.put_along_axis(weights, chosen, 1 / m, axis=1)
        return weights @ pooled, weights[:, :m].sum(axis=1)

    if tried is None:
        return means(np.array(list(combinations(range(m + n), m))))
    parts = [means(generator.random((part, m + n)).argsort(axis=1)[:, :m]) for part in chunks(tried, m + n)]
    return np.concatenate([d for d, _ in parts]), np.concatenate([k for _, k in parts])


def _all_sums(a: Vector, b: Vector) -> Vector:
    return np.add.outer(a, b).reshape(-1)


def _shifts(observed: float, differences: Vector, kept: Vector, level: float) -> tuple[float, float]:
    """All shifts that the permutation test would not reject.

    Were the first arm shifted by s, arrangement i would give differences[i] - kept[i] s against observed - s: it
    reaches the observed one from t_i = (observed - differences[i]) / (1 - kept[i]) on. So the bounds are order
    statistics of t (Tritchler 1984).
    """
    moved = kept < 1 - 1e-9
    turning = np.sort((observed - differences[moved]) / (1 - kept[moved]))
    allowed = int(np.floor((1 - level) / 2 * len(differences) + 1e-9)) - int((~moved).sum())
    if allowed < 0:
        return -np.inf, np.inf
    return float(turning[allowed]), float(turning[len(turning) - 1 - allowed])
