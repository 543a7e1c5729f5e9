"""Statistics of one sample against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minutiae.statistics import (
    StatisticsError,
    interquartile_mean,
    mean,
    median,
    normalize_scores,
    optimality_gap,
)
from minutiae.statistics.summaries import mean_like


def test_by_hand():
    # 8 runs lose two at each end: (2 + 3 + 4 + 5) / 4 = 3.5; one run of 100 moves the mean only.
    runs = np.array([0.0, 1, 2, 3, 4, 5, 6, 100])
    assert interquartile_mean(runs) == 3.5
    assert median(runs) == 3.5
    assert mean(runs) == 15.125
    # Capped at 3: 0 + 1 + 2 + 3 x 5 = 18; 3 - 18 / 8 = 0.75.
    assert optimality_gap(runs, 3.0) == 0.75
    assert optimality_gap(runs + 3, 3.0) == 0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_interquartile_mean_is_scipys_trimmed_mean(values):
    runs = np.array(values)
    assert interquartile_mean(runs) == pytest.approx(stats.trim_mean(runs, 0.25), abs=1e-6)


def test_statistics_work_along_the_last_axis():
    runs = np.random.default_rng(0).normal(size=(2, 3, 9))
    for statistic in (mean, median, interquartile_mean, optimality_gap):
        expected = [[statistic(row) for row in part] for part in runs]
        np.testing.assert_allclose(statistic(runs), expected)


def test_error_of_the_interquartile_mean_is_right_for_many_runs():
    # Spread of the statistic over 4,000 samples of 40 against its mean estimated error.
    runs = np.random.default_rng(1).lognormal(size=(4000, 40))
    errors = mean_like(interquartile_mean)(runs).std(axis=1, ddof=1) / np.sqrt(40)
    assert errors.mean() == pytest.approx(interquartile_mean(runs).std(), rel=0.06)


def test_normalize_scores():
    np.testing.assert_array_equal(normalize_scores([[10, 60], [110, 210]], 10, 110), [[0, 0.5], [1, 2]])
    with pytest.raises(StatisticsError, match="zero is 5 and one is 5; they must be two different finite returns"):
        normalize_scores([1.0], 5, 5)
