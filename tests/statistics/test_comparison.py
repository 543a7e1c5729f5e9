"""Two arms: Welch, permutations, effect sizes; against SciPy and statsmodels, by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated_returns import covered, draw, true_mean
from statsmodels.stats.weightstats import CompareMeans

from minutiae.statistics import StatisticsError, hedges_g, permutation_test, welch_test
from minutiae.statistics.contrasts import Contrasts
from minutiae.statistics.magnitude import noncentrality_bounds, small_sample_correction
from minutiae.statistics.noncentral_t import noncentral_t_cdf

GENERATOR = np.random.default_rng(0)
FIRST, SECOND = GENERATOR.lognormal(size=6), GENERATOR.normal(size=6)


def test_welch_is_scipys_and_statsmodels():
    found = welch_test(FIRST, SECOND[:4], paired=False)
    theirs = stats.ttest_ind(FIRST, SECOND[:4], equal_var=False)
    assert (found.statistic, found.p_value) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))
    assert found.degrees_of_freedom == pytest.approx(theirs.df)
    low, high = CompareMeans.from_data(FIRST, SECOND[:4]).tconfint_diff(usevar="unequal")
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.n == 10


def test_paired_is_scipys():
    found = welch_test(FIRST, SECOND, paired=True, level=0.8)
    theirs = stats.ttest_rel(FIRST, SECOND)
    interval = theirs.confidence_interval(0.8)
    assert (found.p_value, found.low, found.high) == (
        pytest.approx(theirs.pvalue),
        pytest.approx(interval.low),
        pytest.approx(interval.high),
    )


def test_several_environments_by_hand():
    # Differences 2 and 4; variances of the four means 1/2 ... each: error sqrt(4 x 0.5) / 2.
    found = welch_test([[2.0, 4.0], [4.0, 6.0]], [[0.0, 2.0], [0.0, 2.0]], paired=False)
    # Each arm has variance 2, its mean 1: error sqrt(4) / 2 = 1, degrees 4^2 / 4 = 4.
    assert (found.estimate, found.statistic, found.degrees_of_freedom) == (3, 3, 4)
    assert found.method == "Welch's t test over 2 environments"


# The figures in the docstring of `welch_test`.
@pytest.mark.parametrize(
    ("populations", "scale", "expected"),
    [
        (("normal", "normal"), 1, 0.96),
        (("normal", "normal"), 4, 0.95),
        (("skewed", "skewed"), 1, 0.98),
        (("bimodal", "bimodal"), 1, 0.96),
        (("skewed", "normal"), 1, 0.92),
    ],
)
def test_cover_at_five_runs(populations, scale, expected):
    generator = np.random.default_rng(1)
    first, second = (draw(p, (5, 4000), generator) - true_mean(p) for p in populations)
    bounds = Contrasts((scale * first, -second), 10, "").bounds("student", 0.95, 100, generator)
    assert covered(bounds, 0.0) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("paired", [False, True])
def test_exact_permutations_are_scipys(paired):
    def difference(a, b, axis):
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    theirs = stats.permutation_test(
        (FIRST, SECOND), difference, permutation_type="samples" if paired else "independent", n_resamples=np.inf
    )
    found = permutation_test(FIRST, SECOND, paired=paired)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert f"all {64 if paired else 924} " in found.method


def test_permutations_by_hand():
    # 3 against 3, fully apart: 20 arrangements, the observed one and its mirror are extreme: 2 / 20.
    apart = permutation_test([10.0, 11, 12], [0.0, 1, 2], paired=False, level=0.9)
    assert apart.p_value == pytest.approx(0.1)
    # At 90 % one arrangement per tail may be lost, the identity: bounds are the extreme shifts between runs, 8 and 12.
    assert (apart.low, apart.high) == (pytest.approx(8), pytest.approx(12))
    # At 95 % none may be: no shift can be rejected.
    assert permutation_test([10.0, 11, 12], [0.0, 1, 2], paired=False).high == np.inf
    # 5 pairs that agree: 2 / 32, never below 0.05.
    pairs = permutation_test(np.arange(5) + 7.0, np.arange(5.0), paired=True)
    assert pairs.p_value == 2 / 32
    assert (pairs.low, pairs.high) == (-np.inf, np.inf)


@given(
    st.lists(st.integers(-9, 9), min_size=4, max_size=5),
    st.lists(st.integers(-9, 9), min_size=4, max_size=5),
    st.sampled_from([0.3, 0.05, 0.02]),
)
def test_interval_ends_where_the_test_begins_to_reject(first, second, alpha):
    a, b = (
        np.array(first) + 1e-3 * np.arange(len(first)) ** 2,
        np.array(second) + 1e-3 * np.sqrt(np.arange(len(second))),
    )
    found = permutation_test(a, b, paired=False, level=1 - alpha)
    for bound, outwards in ((found.low, -1), (found.high, 1)):
        if np.isfinite(bound):
            assert permutation_test(a - bound - 1e-6 * outwards * -1, b, paired=False).p_value > alpha
            assert permutation_test(a - bound - 1e-6 * outwards, b, paired=False).p_value <= alpha + 1e-12


def test_permutation_interval_covers():
    # Exact whatever the distribution: skewed and bimodal, 5 against 5, 252 arrangements.
    generator = np.random.default_rng(2)
    for population in ("skewed", "bimodal"):
        arms = draw(population, (300, 2, 5), generator)
        found = [permutation_test(a + 3, b, paired=False) for a, b in arms]
        share = covered(np.array([(f.low, f.high) for f in found]), 3.0)
        # Ten of 252 arrangements lie outside at most: 1 - 12 / 252 = 0.952.
        assert share == pytest.approx(0.955, abs=0.03)


def test_random_permutations_are_near_the_exact_ones():
    exact = permutation_test(FIRST, SECOND, paired=False)
    sampled = permutation_test(FIRST, SECOND, paired=False, resamples=900)
    assert "900 random" in sampled.method
    assert sampled.p_value == pytest.approx(exact.p_value, abs=0.05)
    assert sampled.low == pytest.approx(exact.low, abs=0.3)
    assert sampled == permutation_test(FIRST, SECOND, paired=False, resamples=900)


def test_permutations_stay_within_environments():
    # Environments 1000 apart: shuffling between them would drown the difference of 1.
    first = [[1.0, 1.1, 1.2, 1.3], [1001.0, 1001.1, 1001.2, 1001.3]]
    second = [[0.0, 0.1, 0.2, 0.3], [1000.0, 1000.1, 1000.2, 1000.3]]
    found = permutation_test(first, second, paired=False)
    assert found.p_value == pytest.approx(2 / 70**2)
    assert found.low == pytest.approx(1, abs=0.25)
    assert permutation_test(first, second, paired=True).p_value == pytest.approx(2 / 2**8)


def test_hedges_g_by_hand():
    # Means 3 and 1, pooled variance 1, 4 degrees: d = 2, J(4) = gamma(2) / (sqrt(2) gamma(1.5)) = 0.7979.
    found = hedges_g([2.0, 3.0, 4.0], [0.0, 1.0, 2.0], paired=False)
    assert small_sample_correction(4) == pytest.approx(1 / (np.sqrt(2) * np.sqrt(np.pi) / 2))
    assert found.estimate == pytest.approx(2 * 0.79788, abs=1e-4)
    assert small_sample_correction(50) == pytest.approx(1 - 3 / 199, abs=1e-4)
    t, scale = 2 / np.sqrt(2 / 3), np.sqrt(2 / 3)
    assert stats.nct.cdf(t, 4, found.low / scale) == pytest.approx(0.975)
    assert stats.nct.cdf(t, 4, found.high / scale) == pytest.approx(0.025)


def test_paired_hedges_g():
    found = hedges_g(FIRST, SECOND, paired=True)
    differences = FIRST - SECOND
    assert found.estimate == pytest.approx(small_sample_correction(5) * differences.mean() / differences.std(ddof=1))
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("n", [5, 10, 40])
def test_cover_and_bias_of_hedges_g(n):
    generator = np.random.default_rng(3)
    arms = generator.normal(size=(2, 300, n))
    found = [hedges_g(a + 0.8, b, paired=False) for a, b in zip(*arms, strict=True)]
    assert covered(np.array([(f.low, f.high) for f in found]), 0.8) == pytest.approx(0.95, abs=0.035)
    estimates = np.array([f.estimate for f in found])
    assert estimates.mean() == pytest.approx(0.8, abs=3 * estimates.std() / np.sqrt(300))


@pytest.mark.parametrize("t", [-60.0, -3.0, 0.0, 0.5, 25.0, 80.0])
@pytest.mark.parametrize("freedom", [1, 8, 158])
def test_noncentrality_bounds_far_out(t, freedom):
    low, high = noncentrality_bounds(t, freedom, 0.95)
    assert low < high
    assert noncentral_t_cdf(t, freedom, low) == pytest.approx(0.975, abs=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, 158, 2000])
def test_noncentral_t_is_scipys_where_that_is_finite(freedom):
    compared = 0
    for t in (-60.0, -3.0, -0.5, 0.0, 0.5, 1.98, 12.7, 80.0):
        for shift in (-50.0, -3.0, 0.0, 1.0, 8.5, 90.0):
            theirs = stats.nct.cdf(t, freedom, shift)
            ours = noncentral_t_cdf(t, freedom, shift)
            # A NaN of theirs hides a 0 or a 1.
            expected = theirs if np.isfinite(theirs) else round(ours)
            assert ours == pytest.approx(expected, abs=1e-7)
            compared += np.isfinite(theirs)
    assert compared >= 24


def test_no_spread():
    certain = welch_test([2.0, 2.0], [1.0, 1.0], paired=False)
    assert (certain.p_value, certain.low, certain.high) == (0, 1, 1)
    same = welch_test([1.0, 1.0], [1.0, 1.0], paired=False)
    assert (same.p_value, same.statistic) == (1, 0)
    with pytest.raises(StatisticsError, match="the runs have no spread, so their difference has no size in deviations"):
        hedges_g([2.0, 2.0], [1.0, 1.0], paired=False)
    # 0.1 + 3 - 0.1 is 3 but for its last bit.
    runs = np.array([0.1, 0.7, 1.3, 2.9])
    with pytest.raises(StatisticsError, match="the runs have no spread"):
        hedges_g(runs + 3, runs, paired=True)


def test_messages():
    with pytest.raises(StatisticsError, match=r"first has \(3,\) runs per environment and second \(2,\)"):
        welch_test([1, 2, 3], [1, 2], paired=True)
    with pytest.raises(StatisticsError, match="first has 2 runs; at least 3 are needed"):
        hedges_g([1.0, 2.0], [1.0, 3.0], paired=True)
    with pytest.raises(StatisticsError, match="resamples is 5"):
        permutation_test([1.0, 2.0], [1.0, 3.0], paired=False, resamples=5)
