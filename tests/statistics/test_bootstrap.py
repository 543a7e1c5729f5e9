"""Bootstrap intervals: measured cover, agreement with SciPy, exact bounds of tiny samples, repeatability."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated_returns import covered, draw, true_mean

from minutiae.statistics import (
    StatisticsError,
    bootstrap_difference,
    bootstrap_interval,
    interquartile_mean,
    mean,
    median,
    optimality_gap,
)
from minutiae.statistics.bootstrap import Arms, bounds_of, error_of
from minutiae.statistics.resampling import acceleration, quantiles_of_each, studentized_bounds
from minutiae.statistics.summaries import mean_like

# The table of `bootstrap_interval`: nominal 95 % of the mean, measured with 15,000 studies.
MEASURED = {
    ("normal", 5): {"percentile": 0.84, "basic": 0.84, "bca": 0.84, "studentized": 0.95},
    ("skewed", 5): {"percentile": 0.72, "basic": 0.69, "bca": 0.73, "studentized": 0.89},
    ("bimodal", 5): {"percentile": 0.93, "basic": 0.68, "bca": 0.94, "studentized": 0.94},
    ("normal", 10): {"percentile": 0.90, "basic": 0.90, "bca": 0.90, "studentized": 0.95},
    ("skewed", 10): {"percentile": 0.81, "basic": 0.77, "bca": 0.83, "studentized": 0.91},
    ("bimodal", 10): {"percentile": 0.92, "basic": 0.88, "bca": 0.97, "studentized": 1.00},
    ("normal", 40): {"percentile": 0.94, "basic": 0.94, "bca": 0.94, "studentized": 0.95},
    ("skewed", 40): {"percentile": 0.89, "basic": 0.86, "bca": 0.90, "studentized": 0.93},
    ("bimodal", 40): {"percentile": 0.94, "basic": 0.93, "bca": 0.95, "studentized": 0.97},
}


@pytest.mark.parametrize(("population", "n"), MEASURED)
def test_cover_of_the_mean(population, n):
    generator = np.random.default_rng(n)
    arms = Arms((draw(population, (60_000 // (n + 20), n), generator),), ((n,),))
    for method, expected in MEASURED[population, n].items():
        bounds = bounds_of(arms, mean, method, 0.95, 1000, generator)
        assert covered(bounds, true_mean(population)) == pytest.approx(expected, abs=0.025), method


@pytest.mark.parametrize("statistic", [median, interquartile_mean])
@pytest.mark.parametrize(
    ("population", "n", "least", "most"),
    # Of the median and the interquartile mean; bimodal medians lie in the gap, where no bootstrap helps.
    [("normal", 10, 0.90, 0.97), ("skewed", 10, 0.88, 0.96), ("normal", 40, 0.92, 0.97), ("skewed", 40, 0.91, 0.97)],
)
def test_cover_of_robust_statistics(statistic, population, n, least, most):
    generator = np.random.default_rng(n)
    truth = float(statistic(draw(population, (400_001,), generator)))
    arms = Arms((draw(population, (600, n), generator),), ((n,),))
    share = covered(bounds_of(arms, statistic, "percentile", 0.95, 400, generator), truth)
    assert least <= share <= most
    if statistic is interquartile_mean:
        share = covered(bounds_of(arms, statistic, "studentized", 0.95, 400, generator), truth)
        assert 0.92 <= share <= 0.985


def test_cover_of_the_interquartile_mean_over_environments():
    # Three environments of 5 runs with different scales: pooling helps, the percentile covers more than at 5 runs.
    generator = np.random.default_rng(0)
    scales = np.repeat([1.0, 2.0, 4.0], 5)
    truth = float(interquartile_mean((generator.normal(size=(100_000, 3)) * [1.0, 2.0, 4.0]).reshape(-1)))
    arms = Arms((generator.normal(size=(800, 15)) * scales,), ((5, 5, 5),))
    assert 0.88 <= covered(bounds_of(arms, interquartile_mean, "percentile", 0.95, 400, generator), truth) <= 0.97


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("sizes", [(12,), (6, 9)])
def test_agrees_with_scipy(method, sizes):
    generator = np.random.default_rng(4)
    samples = [generator.lognormal(size=size) for size in sizes]

    def pooled(*parts, axis):
        return stats.trim_mean(np.concatenate(parts, axis=axis), 0.25, axis=axis)

    theirs = stats.bootstrap(
        samples, pooled, method=method, n_resamples=20_000, rng=np.random.default_rng(0)
    ).confidence_interval
    ours = bootstrap_interval(samples, "interquartile_mean", method=method, resamples=20_000)
    spread = ours.high - ours.low
    assert abs(ours.low - theirs.low) < 0.03 * spread
    assert abs(ours.high - theirs.high) < 0.03 * spread


def test_acceleration_of_the_mean_is_a_sixth_of_its_skewness():
    # ET93: for a mean, a = sum d^3 / (6 (sum d^2)^1.5).  0, 0, 0, 4: d = -1, -1, -1, 3: 24 / (6 x 12^1.5) = 0.09623.
    values = np.array([0.0, 0.0, 0.0, 4.0])
    assert acceleration([values - values.mean()]) == pytest.approx(24 / (6 * 12**1.5))
    assert acceleration([np.zeros(3)]) == 0


def test_percentile_bounds_of_two_runs():
    # Resampled means of 0 and 1 are 0, 1/2 and 1 with odds 1 : 2 : 1, so 95 % bounds are the runs, 40 % ones 1/2.
    wide = bootstrap_interval([0.0, 1.0], method="percentile")
    assert (wide.estimate, wide.low, wide.high, wide.n) == (0.5, 0.0, 1.0, 2)
    narrow = bootstrap_interval([0.0, 1.0], method="percentile", level=0.4)
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_studentized_bounds_are_open_where_resamples_have_no_spread():
    # Half of all resamples of two runs are one run twice: their t is infinite, and nothing bounds the mean.
    found = bootstrap_interval([0.0, 1.0], method="studentized")
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_hand_worked_studentized_bounds():
    # Ratios (draw - 1) / error: -2, -1, 0, 1, 4; their 20 % tails rounded outwards are -2 and 4 (shares 0.1, 0.9 of 5).
    draws, errors = np.array([-1.0, 0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0, 1.0, 0.5])
    low, high = studentized_bounds(draws, errors, np.array(1.0), np.array(2.0), 0.8)
    assert (low, high) == (1 - 2 * 4, 1 + 2 * 2)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca", "studentized"])
def test_equal_runs_give_a_point(method):
    found = bootstrap_interval([3.0] * 6, method=method)
    assert (found.low, found.estimate, found.high) == (3.0, 3.0, 3.0)


def test_strata_are_resampled_within():
    # No spread inside any environment, so none in the statistic, however far apart environments are.
    found = bootstrap_interval([[0.0] * 4, [100.0] * 4], method="percentile")
    assert (found.low, found.estimate, found.high) == (50.0, 50.0, 50.0)
    assert "stratified over 2 environments" in found.method


def test_paired_difference_cancels_what_seeds_share():
    generator = np.random.default_rng(3)
    seed_effect = 100 * generator.normal(size=8)
    first, second = seed_effect + 1, seed_effect
    paired = bootstrap_difference(first, second, paired=True, method="percentile")
    assert (paired.low, paired.high) == (pytest.approx(1), pytest.approx(1))
    unpaired = bootstrap_difference(first, second, paired=False, method="percentile")
    assert unpaired.high - unpaired.low > 50
    assert unpaired.n == paired.n == 16


@pytest.mark.parametrize("paired", [True, False])
def test_bca_difference_agrees_with_scipy(paired):
    generator = np.random.default_rng(5)
    first, second = generator.lognormal(size=9), generator.normal(size=9)

    def difference(a, b, axis):
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    theirs = stats.bootstrap(
        (first, second), difference, paired=paired, method="BCa", n_resamples=20_000, rng=np.random.default_rng(0)
    ).confidence_interval
    ours = bootstrap_difference(first, second, paired=paired, method="bca", resamples=20_000)
    assert ours.low == pytest.approx(theirs.low, abs=0.03 * (ours.high - ours.low))
    assert ours.high == pytest.approx(theirs.high, abs=0.03 * (ours.high - ours.low))


def test_error_of_differences():
    generator = np.random.default_rng(6)
    first, second = generator.normal(size=7), generator.normal(size=7)
    likes = mean_like(mean)
    separate = error_of((first, second), ((7,), (7,)), False, likes)
    assert separate == pytest.approx(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 7))
    assert error_of((first, second), ((7,), (7,)), True, likes) == pytest.approx(stats.sem(first - second))


@pytest.mark.parametrize("method", ["percentile", "bca", "studentized"])
def test_a_seed_repeats_and_no_global_state_is_touched(method):
    returns = np.random.default_rng(7).normal(size=9)
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    one, two = (bootstrap_interval(returns, method=method, seed=5) for _ in range(2))
    assert one == two
    assert one != bootstrap_interval(returns, method=method, seed=6)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_the_default_method_is_the_one_that_covers():
    returns = np.random.default_rng(8).normal(size=9)
    assert bootstrap_interval(returns).method.startswith("studentized bootstrap of the mean, 10,000 resamples, seed 0")
    assert bootstrap_interval(returns, "median").method.startswith("BCa bootstrap of the median")


def test_own_statistics_and_targets():
    returns = np.array([0.5, 1.5, 2.5, 3.5])
    gap = bootstrap_interval(returns, functools.partial(optimality_gap, target=3.0), method="percentile")
    assert gap.estimate == pytest.approx(3 - (0.5 + 1.5 + 2.5 + 3) / 4)
    best = bootstrap_interval(returns, lambda values: values.max(axis=-1), method="percentile")
    assert (best.estimate, best.high) == (3.5, 3.5)


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=12),
    st.integers(-100, 100),
    st.floats(0.01, 100),
    st.sampled_from(["percentile", "basic", "bca"]),
)
def test_intervals_move_with_shift_and_unit(values, shift, unit, method):
    returns = np.array(values, dtype=float)
    plain = bootstrap_interval(returns, method=method, resamples=100)
    moved = bootstrap_interval(shift + unit * returns, method=method, resamples=100)
    assert moved.low == pytest.approx(shift + unit * plain.low, abs=1e-7 * (1 + unit))
    assert moved.high == pytest.approx(shift + unit * plain.high, abs=1e-7 * (1 + unit))


def test_quantiles_of_each_row():
    draws = np.random.default_rng(9).normal(size=(3, 50))
    shares = np.array([[0.1, 0.9], [0.0, 1.0], [0.333, 0.5]])
    expected = [np.quantile(row, share) for row, share in zip(draws, shares, strict=True)]
    np.testing.assert_allclose(quantiles_of_each(draws, shares), expected)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (dict(returns=[1.0]), "returns has 1 run; at least 2 are needed; add seeds"),
        (dict(returns=[[1.0, 2.0], [1.0]]), r"returns\[1\] has 1 run; at least 2"),
        (dict(returns=[1.0, np.nan, 2.0]), "1 of 3 values that are not finite .* at 1.*last valid return"),
        (dict(returns=np.zeros((2, 2, 2))), r"returns\[0\] has shape \(2, 2\); it must be one number per run"),
        (dict(returns=[1.0, 2.0], statistic="meen"), "unknown statistic 'meen'; did you mean 'mean'"),
        (dict(returns=[1.0, 2.0], method="bcaa"), "unknown bootstrap method 'bcaa'; did you mean 'bca'"),
        (dict(returns=[1.0, 2.0], level=95), "level is 95; it must lie strictly between 0 and 1; 0.95 is usual"),
        (dict(returns=[1.0, 2.0], resamples=10), "resamples is 10; it must be a whole number of at least 100"),
        (
            dict(returns=[1.0, 2.0], statistic="median", method="studentized"),
            "needs a standard error and the median has none here; .* use method='bca'",
        ),
    ],
)
def test_messages(arguments, text):
    with pytest.raises(StatisticsError, match=text):
        bootstrap_interval(**arguments)


def test_messages_of_differences():
    with pytest.raises(StatisticsError, match=r"first has \(3,\) runs per environment and second \(2,\).*paired=False"):
        bootstrap_difference([1, 2, 3], [1, 2], paired=True)
    with pytest.raises(StatisticsError, match="first has 2 environments and second 1; both arms need the same ones"):
        bootstrap_difference([[1, 2], [3, 4]], [1, 2], paired=False)
