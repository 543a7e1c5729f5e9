"""Closed-form intervals: against SciPy and published tables, and how often they hold what they promise to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from simulated_returns import draw, true_mean

from minutiae.statistics import (
    StatisticsError,
    distribution_free_tolerance_interval,
    normal_tolerance_interval,
    student_interval,
)
from minutiae.statistics.intervals import normal_tolerance_factor


def test_student_interval_is_scipys():
    returns = np.random.default_rng(0).normal(size=7)
    found = student_interval(returns, level=0.9)
    theirs = stats.ttest_1samp(returns, 0).confidence_interval(0.9)
    assert (found.low, found.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    assert (found.estimate, found.n, found.level) == (pytest.approx(returns.mean()), 7, 0.9)


@pytest.mark.parametrize(
    ("population", "n", "expected"),
    [
        ("normal", 5, 0.95),
        ("normal", 40, 0.95),
        ("skewed", 5, 0.82),
        ("skewed", 10, 0.84),
        ("skewed", 40, 0.89),
        ("bimodal", 5, 0.94),
        ("bimodal", 10, 0.94),
        ("bimodal", 40, 0.95),
    ],
)
def test_cover_of_the_student_interval(population, n, expected):
    returns = draw(population, (6000, n), np.random.default_rng(n))
    half = np.array([(found := student_interval(row)).high - found.estimate for row in returns[:3]])
    scaled = returns.std(axis=1, ddof=1)
    np.testing.assert_allclose(half / scaled[:3], half[0] / scaled[0])
    held = np.abs(returns.mean(axis=1) - true_mean(population)) <= half[0] / scaled[0] * scaled
    assert held.mean() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    ("n", "coverage", "level"),
    [(2, 0.9, 0.95), (5, 0.9, 0.95), (10, 0.95, 0.95), (40, 0.5, 0.9), (50, 0.99, 0.99)],
)
@pytest.mark.parametrize("side", ["both", "lower"])
def test_normal_tolerance_holds_its_share_as_often_as_it_says(n, coverage, level, side):
    factor = normal_tolerance_factor(n, coverage, level, side)
    returns = np.random.default_rng(n).normal(size=(20_000, n))
    centre, half = returns.mean(axis=1), factor * returns.std(axis=1, ddof=1)
    inside = stats.norm.cdf(centre + half if side == "both" else np.inf) - stats.norm.cdf(centre - half)
    assert np.mean(inside >= coverage) == pytest.approx(level, abs=0.006)


def test_normal_tolerance_factors_of_the_standard():
    # ISO 16269-6, table of k for unknown mean and deviation, 95 % confidence: n = 10, 90 %: 2.8564; 95 %: 3.3935.
    assert normal_tolerance_factor(10, 0.9, 0.95) == pytest.approx(2.8564, abs=1e-4)
    assert normal_tolerance_factor(10, 0.95, 0.95) == pytest.approx(3.3935, abs=1e-4)
    # One-sided, n = 10, 90 % at 95 %: 2.3547.
    assert normal_tolerance_factor(10, 0.9, 0.95, "lower") == pytest.approx(2.3547, abs=1e-4)


def test_normal_tolerance_sides():
    returns = [1.0, 2.0, 3.0]
    both, lower, upper = (normal_tolerance_interval(returns, side=side) for side in ("both", "lower", "upper"))
    assert both.estimate == 2
    assert both.high - 2 == pytest.approx(2 - both.low)
    assert (lower.high, upper.low) == (np.inf, -np.inf)
    assert 2 - lower.low == pytest.approx(upper.high - 2)
    assert both.low < lower.low


def test_distribution_free_ends_by_hand():
    # Wilks: end to end of n = 46 holds 90 % with confidence 1 - 46 x 0.9^45 + 45 x 0.9^46 = 0.9520.
    found = distribution_free_tolerance_interval(np.arange(46.0)[::-1])
    assert (found.low, found.estimate, found.high) == (0, 22.5, 45)
    assert found.attained == pytest.approx(1 - 46 * 0.9**45 + 45 * 0.9**46)
    # One side of n = 29: 1 - 0.9^29 = 0.9529.
    lower = distribution_free_tolerance_interval(np.arange(29.0), side="lower")
    assert (lower.low, lower.high) == (0, np.inf)
    assert lower.attained == pytest.approx(1 - 0.9**29)


def test_distribution_free_leaves_out_what_it_can():
    found = distribution_free_tolerance_interval(np.arange(200.0), coverage=0.8)
    out = int(found.low) + int(199 - found.high) + 2
    assert found.attained == pytest.approx(stats.binom.cdf(200 - out, 200, 0.8))
    assert stats.binom.cdf(200 - out - 2, 200, 0.8) < 0.95 <= found.attained


@pytest.mark.parametrize("population", ["skewed", "bimodal"])
def test_distribution_free_holds_its_share_whatever_the_population(population):
    generator = np.random.default_rng(1)
    crowd = np.sort(draw(population, (200_000,), generator))
    held = []
    for _ in range(400):
        found = distribution_free_tolerance_interval(draw(population, (46,), generator))
        inside = np.searchsorted(crowd, found.high) - np.searchsorted(crowd, found.low)
        held.append(inside / len(crowd) >= 0.9)
    assert np.mean(held) == pytest.approx(0.952, abs=0.035)


def test_messages():
    text = "around 90% of runs at confidence 0.95 needs 46 runs and there are 5; add seeds .41 more., lower coverage"
    with pytest.raises(StatisticsError, match=text):
        distribution_free_tolerance_interval(np.arange(5.0))
    with pytest.raises(StatisticsError, match="coverage is 90; it must lie strictly between 0 and 1"):
        normal_tolerance_interval([1.0, 2.0], coverage=90)
    with pytest.raises(StatisticsError, match="unknown side 'left'; allowed: both, lower, upper"):
        normal_tolerance_interval([1.0, 2.0], side="left")
