"""Probability of improvement, Cliff's delta and performance profiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated_returns import covered, draw

from minutiae.statistics import StatisticsError, cliffs_delta, performance_profile, probability_of_improvement
from minutiae.statistics.improvement import mann_whitney_variance, mid_p_bounds, score_bounds, wins

samples = st.lists(st.integers(-5, 5), min_size=2, max_size=8)


def test_by_hand():
    # 3 beats 1 and 2, ties with 3; 1 ties with 1: (2 + 0.5 + 0.5) of 6.
    found = probability_of_improvement([3.0, 1.0], [1.0, 2.0, 3.0])
    assert (found.estimate, found.n) == (0.5, 5)
    assert cliffs_delta([3.0, 1.0], [1.0, 2.0, 3.0]).estimate == 0


@given(samples, samples)
def test_share_of_wins_is_scipys_mann_whitney(first, second):
    found = probability_of_improvement(first, second)
    theirs = stats.mannwhitneyu(first, second, method="asymptotic").statistic / (len(first) * len(second))
    assert found.estimate == pytest.approx(theirs)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


@given(samples, samples)
def test_swapping_arms_mirrors_the_interval(first, second):
    forth, back = probability_of_improvement(first, second), probability_of_improvement(second, first)
    assert back.estimate == pytest.approx(1 - forth.estimate)
    assert back.low == pytest.approx(1 - forth.high, abs=1e-8)
    assert back.high == pytest.approx(1 - forth.low, abs=1e-8)


def test_complete_separation_stays_open():
    score = probability_of_improvement(np.arange(5) + 9.0, np.arange(5.0))
    assert (score.estimate, score.high) == (1, 1)
    assert score.low == pytest.approx(0.643, abs=0.001)
    z = stats.norm.ppf(0.975)
    assert 1 - score.low == pytest.approx(z * np.sqrt(mann_whitney_variance(score.low, 5, 5)))
    bootstrap = probability_of_improvement(np.arange(5) + 9.0, np.arange(5.0), method="percentile")
    assert (bootstrap.low, bootstrap.high) == (1, 1)
    several = probability_of_improvement(np.arange(15.0).reshape(3, 5) + 99, np.arange(15.0).reshape(3, 5))
    # Three equal distances: the mean's is 1 / sqrt(3) of one.
    assert 1 - several.low == pytest.approx((1 - score.low) / np.sqrt(3))


@pytest.mark.parametrize(
    ("population", "n", "shift", "least", "most"),
    [
        ("normal", 5, 0.0, 0.92, 0.97),
        ("normal", 5, 1.0, 0.92, 0.99),
        ("normal", 10, 2.5, 0.93, 1.0),
        ("normal", 40, 1.0, 0.92, 0.98),
        ("skewed", 5, 0.5, 0.91, 0.97),
        ("skewed", 10, 0.5, 0.92, 0.98),
        ("bimodal", 10, 0.5, 0.93, 0.99),
        ("bimodal", 40, 0.5, 0.93, 0.99),
    ],
)
def test_cover_of_the_score_interval(population, n, shift, least, most):
    generator = np.random.default_rng(n)
    crowd = np.sort(draw(population, (200_000,), generator))
    truth = np.searchsorted(crowd, draw(population, (200_000,), generator) + shift).mean() / len(crowd)
    arms = draw(population, (2, 800, n), generator)
    shares = {wins(first + shift, second).mean() for first, second in zip(*arms, strict=True)}
    bounds = {share: score_bounds(share, n, n, 0.95) for share in shares}
    found = np.array([bounds[wins(first + shift, second).mean()] for first, second in zip(*arms, strict=True)])
    assert least <= covered(found, truth) <= most


def test_percentile_bootstrap_covers_less_at_five_runs():
    generator = np.random.default_rng(2)
    truth = stats.norm.cdf(1 / np.sqrt(2))
    found = [
        probability_of_improvement(1 + a, b, method="percentile", resamples=300)
        for a, b in generator.normal(size=(600, 2, 5))
    ]
    assert covered(np.array([(f.low, f.high) for f in found]), truth) == pytest.approx(0.88, abs=0.03)


def test_paired_by_hand():
    # Seeds: a win, a tie, a loss, a win: 2.5 of 4.
    found = probability_of_improvement([3.0, 1.0, 2.0, 9.0], [1.0, 1.0, 3.0, 8.0], paired=True)
    assert (found.estimate, found.n) == (0.625, 8)
    assert found.method == "mid-P interval of the probability of improvement with the same seed"
    # Five wins of five: half of p^5 is 2.5 %.
    sure = probability_of_improvement(np.arange(5.0) + 1, np.arange(5.0), paired=True)
    assert (sure.estimate, sure.high) == (1, 1)
    assert sure.low == pytest.approx(0.05 ** (1 / 5))
    several = probability_of_improvement(np.arange(10.0).reshape(2, 5) + 1, np.arange(10.0).reshape(2, 5), paired=True)
    assert 1 - several.low == pytest.approx((1 - sure.low) / np.sqrt(2))


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_mid_p_bounds_are_those_of_the_binomial_distribution(counts):
    k, n = counts
    low, high = mid_p_bounds(k / n, n, 0.95)
    assert 0 <= low <= k / n <= high <= 1
    if k:
        assert stats.binom.sf(k, n, low) + stats.binom.pmf(k, n, low) / 2 == pytest.approx(0.025)
    if k < n:
        assert stats.binom.cdf(k - 1, n, high) + stats.binom.pmf(k, n, high) / 2 == pytest.approx(0.025)


@given(samples)
def test_swapping_pairs_mirrors_the_interval(first):
    second = first[::-1]
    forth = probability_of_improvement(first, second, paired=True)
    back = probability_of_improvement(second, first, paired=True)
    assert back.estimate == pytest.approx(1 - forth.estimate)
    assert (back.low, back.high) == (pytest.approx(1 - forth.high, abs=1e-9), pytest.approx(1 - forth.low, abs=1e-9))


@pytest.mark.parametrize(
    ("population", "n", "shift", "rounded", "least", "most"),
    [
        ("normal", 5, 0.0, False, 0.92, 0.96),
        ("normal", 5, 1.0, False, 0.97, 1.0),
        ("normal", 10, 1.0, False, 0.96, 1.0),
        ("skewed", 10, 0.5, False, 0.93, 0.99),
        ("bimodal", 20, 0.5, False, 0.93, 0.98),
        # Ties, as of returns that are counts: the interval takes each for half a win.
        ("normal", 10, 0.5, True, 0.96, 1.0),
        ("bimodal", 20, 0.5, True, 0.96, 1.0),
    ],
)
def test_cover_of_the_paired_interval(population, n, shift, rounded, least, most):
    """A seed moves both arms alike, by as much as runs differ otherwise; it drops out of every pair."""
    generator = np.random.default_rng(n)

    def differences(count):
        seed = generator.normal(size=(count, n))
        first, second = (
            seed + draw(population, (count, n), generator) + shift,
            seed + draw(population, (count, n), generator),
        )
        return np.round(first) - np.round(second) if rounded else first - second

    truth = ((np.sign(differences(40_000)) + 1) / 2).mean()
    shares = ((np.sign(differences(4_000)) + 1) / 2).mean(axis=1)
    bounds = {share: mid_p_bounds(share, n, 0.95) for share in set(shares.tolist())}
    assert least <= covered(np.array([bounds[share] for share in shares.tolist()]), truth) <= most


def test_cover_of_the_paired_interval_over_environments():
    generator = np.random.default_rng(1)
    shifts = np.array([0.0, 1.0, 2.0])[:, None]
    truth = stats.norm.cdf(shifts / np.sqrt(2)).mean()
    found = [
        probability_of_improvement(first + shifts, second, paired=True)
        for first, second in generator.normal(size=(800, 2, 3, 5))
    ]
    assert 0.95 <= covered(np.array([(f.low, f.high) for f in found]), truth) <= 1.0


def test_paired_percentile_is_of_pairs():
    generator = np.random.default_rng(3)
    first = generator.normal(size=8)
    second = generator.normal(size=8)
    found = probability_of_improvement(first, second, paired=True, method="percentile", seed=4)
    share = (first > second).mean()
    binomial = stats.binom.ppf([0.025, 0.975], 8, share) / 8  # resampled wins are binomial
    assert (found.low, found.high) == (pytest.approx(binomial[0]), pytest.approx(binomial[1]))


def test_profile_by_hand():
    found = performance_profile([[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0, 9.0]], [0.0, 2.0, 3.5, 9.0])
    # Above 2: 2 of 4 and 1 of 4; "above" is strict.
    np.testing.assert_allclose(found.estimate, [1, (0.5 + 0.25) / 2, (0.25 + 0.25) / 2, 0])
    assert found.n == 8
    # n = 5, 95 %: the exact critical distance of Kolmogorov is 0.5633 (Massey 1951).
    five = performance_profile([1.0, 2, 3, 4, 5], [2.5])
    assert five.high[0] - five.estimate[0] == pytest.approx(1 - 0.6)
    assert five.estimate[0] - five.low[0] == pytest.approx(0.5633, abs=1e-4)


def test_pointwise_bounds_are_scipys_wilson():
    found = performance_profile(np.arange(12.0), [3.5], band="pointwise")
    theirs = stats.binomtest(8, 12).proportion_ci(0.95, method="wilson")
    assert (found.low[0], found.high[0]) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


@pytest.mark.parametrize(("n", "environments"), [(5, 1), (10, 1), (40, 1), (10, 3)])
@pytest.mark.parametrize("population", ["skewed", "bimodal"])
def test_cover_of_profiles(population, n, environments):
    generator = np.random.default_rng(n)
    at = np.quantile(draw(population, (20_000,), generator), np.linspace(0.01, 0.99, 60))
    crowd = draw(population, (200_000,), generator)
    truth = np.mean([(crowd + 2 * e > at[:, None]).mean(axis=1) for e in range(environments)], axis=0)
    whole, points = [], []
    for _ in range(500):
        runs = draw(population, (environments, n), generator) + 2 * np.arange(environments)[:, None]
        band = performance_profile(runs, at)
        whole.append(((band.low <= truth) & (truth <= band.high)).all())
        band = performance_profile(runs, at, band="pointwise")
        points.append(((band.low <= truth) & (truth <= band.high)).mean())
    # Few thresholds can be missed by less than all, so a little over the level.
    assert 0.93 <= np.mean(whole) <= (1.0 if environments > 1 else 0.985)
    assert 0.93 <= np.mean(points) <= (1.0 if environments > 1 else 0.97)


def test_messages():
    with pytest.raises(StatisticsError, match="unknown band 'point'; did you mean 'pointwise'"):
        performance_profile([1.0, 2.0], [1.0], band="point")
    with pytest.raises(StatisticsError, match="at has 0 runs; at least 1"):
        performance_profile([1.0, 2.0], [])
    with pytest.raises(StatisticsError, match="unknown method 'bca'; allowed: score, percentile"):
        probability_of_improvement([1.0, 2.0], [1.0, 2.0], method="bca")
    with pytest.raises(StatisticsError, match="unknown method 'score'; allowed: mid_p, percentile"):
        probability_of_improvement([1.0, 2.0], [1.0, 2.0], paired=True, method="score")
    with pytest.raises(StatisticsError, match="paired arms need the same seeds in the same order"):
        probability_of_improvement([1.0, 2.0], [1.0, 2.0, 3.0], paired=True)
