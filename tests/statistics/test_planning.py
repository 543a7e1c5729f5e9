"""Power and numbers of seeds, against statsmodels and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower

from minutiae.statistics import StatisticsError, detectable_difference, power, seeds_needed


@pytest.mark.parametrize("seeds", [2, 5, 10, 64])
@pytest.mark.parametrize("effect", [0.1, 0.5, 1.5])
def test_power_is_statsmodels(seeds, effect):
    for theirs, paired in ((TTestIndPower(), False), (TTestPower(), True)):
        # Theirs is NaN where the answer is 1 to sixteen digits.
        expected = np.nan_to_num(theirs.power(effect, seeds, 0.05), nan=1.0)
        assert power(-600 * effect, 600.0, seeds, paired=paired) == pytest.approx(expected, abs=1e-6)


def test_power_of_unequal_arms_by_simulation():
    generator = np.random.default_rng(0)
    first = 3 * generator.normal(size=(20_000, 6)) + 3
    second = generator.normal(size=(20_000, 12))
    found = np.mean(stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue < 0.05)
    assert power(3.0, (3.0, 1.0), (6, 12)) == pytest.approx(found, abs=0.015)


def test_power_at_its_limits():
    assert power(0.0, 1.0, 5) == pytest.approx(0.05)
    assert power(1e6, 1.0, 5) == 1


def test_seeds_for_a_gap_of_the_paper():
    # Walker2d: 300 points at a deviation of 600. The normal approximation says 2 (2.8016 / 0.5)^2 = 62.8.
    found = seeds_needed(300, 600.0, done=5)
    assert (found.estimate, found.missing) == (64, 59)
    assert found.power == pytest.approx(0.8015, abs=1e-3)
    assert found.estimate == np.ceil(TTestIndPower().solve_power(0.5, power=0.8, alpha=0.05))
    assert power(300, 600.0, 63) < 0.8 <= power(300, 600.0, 64)
    assert (found.low, found.high, found.n) == (64, 64, 0)


def test_seeds_from_a_pilot_are_uncertain():
    found = seeds_needed(300, 600.0, pilot=5)
    # The deviation lies between 600 sqrt(4 / 11.14) = 359 and 600 sqrt(4 / 0.4844) = 1724.
    assert found.low == seeds_needed(300, 600 * np.sqrt(4 / stats.chi2.ppf(0.975, 4))).estimate
    assert found.high == seeds_needed(300, 600 * np.sqrt(4 / stats.chi2.ppf(0.025, 4))).estimate
    assert found.high / found.estimate == pytest.approx(8.2, abs=0.2)
    assert "5 pilot runs" in found.method


def test_the_interval_of_seeds_covers():
    generator = np.random.default_rng(1)
    truth = seeds_needed(1.0, 1.0).estimate
    found = [seeds_needed(1.0, float(row.std(ddof=1)), pilot=6) for row in generator.normal(size=(200, 6))]
    assert np.mean([f.low <= truth <= f.high for f in found]) == pytest.approx(0.95, abs=0.045)


@pytest.mark.parametrize("paired", [False, True])
def test_detectable_difference_inverts_power(paired):
    found = detectable_difference(600.0, 5, paired=paired)
    assert power(found, 600.0, 5, paired=paired) == pytest.approx(0.8)
    assert seeds_needed(found * 1.0001, 600.0, paired=paired).estimate == 5


def test_messages():
    with pytest.raises(StatisticsError, match="seeds is 1; it must be a whole number of at least 2"):
        power(1.0, 1.0, 1)
    with pytest.raises(StatisticsError, match=r"deviations is 0\.0; it must be a finite number above 0"):
        power(1.0, 0.0, 5)
    with pytest.raises(StatisticsError, match="difference is 0; it must be a finite number above 0"):
        seeds_needed(0, 1.0)
    with pytest.raises(StatisticsError, match="needs more than 10,000,000 seeds per arm; no study can show it"):
        seeds_needed(1e-6, 1.0)
    with pytest.raises(StatisticsError, match=r"target is 0.04; it must exceed significance \(0.05\)"):
        detectable_difference(1.0, 5, target=0.04)
