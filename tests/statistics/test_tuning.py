"""Choosing a setting: on other seeds, or as the paper did, and what that does to the figure."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_returns import covered

from minutiae.statistics import StatisticsError, bootstrap_interval, choose_setting, selection_optimism, tuned_interval

RETURNS = [[1.0, 2.0, 3.0], [4.0, 5.0, 9.0], [5.0, 5.0, 5.0]]


def test_chooses_the_best():
    assert choose_setting(RETURNS) == 1
    assert choose_setting(RETURNS, "median") == 1
    assert choose_setting(RETURNS, lambda values: values.min(axis=-1)) == 2
    # Of the optimality gap the smallest is best.
    assert choose_setting([[0.1, 0.2], [0.9, 1.4]], "optimality_gap") == 1


def test_held_out_reports_other_runs():
    found = tuned_interval(RETURNS, [6.0, 6.5, 7.0, 8.0])
    assert (found.chosen, found.apparent, found.selection, found.protocol) == (1, 6, 3, "held_out")
    plain = bootstrap_interval([6.0, 6.5, 7.0, 8.0])
    assert (found.estimate, found.low, found.high, found.n) == (plain.estimate, plain.low, plain.high, 4)
    assert "chosen among 3 settings on other runs" in found.method
    table = tuned_interval(RETURNS, [[0.0, 0.0], [6.0, 8.0], [0.0, 0.0]])
    assert table.estimate == 7


def test_the_papers_protocol_by_name():
    found = tuned_interval(RETURNS, protocol="engstrom")
    plain = bootstrap_interval(RETURNS[1], method="percentile", resamples=1_000)
    assert (found.estimate, found.low, found.high, found.n) == (6, plain.low, plain.high, 3)
    assert "1,000 resamples" in found.method
    assert "on the same runs" in found.method


def test_cover_and_bias_of_both_protocols():
    # Four equal settings, 5 seeds: the best of four means is 1.03 / sqrt(5) too high.
    generator = np.random.default_rng(0)
    studies = generator.normal(size=(500, 4, 5))
    fresh = generator.normal(size=(500, 5))
    paper = [tuned_interval(study, protocol="engstrom", resamples=400) for study in studies]
    honest = [tuned_interval(study, more, resamples=400) for study, more in zip(studies, fresh, strict=True)]
    assert np.mean([f.estimate for f in paper]) == pytest.approx(1.03 / np.sqrt(5), abs=0.04)
    assert np.mean([f.estimate for f in honest]) == pytest.approx(0, abs=0.06)
    assert covered(np.array([(f.low, f.high) for f in paper]), 0.0) == pytest.approx(0.76, abs=0.05)
    assert covered(np.array([(f.low, f.high) for f in honest]), 0.0) == pytest.approx(0.95, abs=0.03)


def test_optimism_by_hand():
    # Without seed 0 the sums are 9 and 8: setting 0, which got 0 on it. Without seed 1: setting 1, 4. Seed 2: 1, 4.
    table = [[0.0, 4.0, 5.0], [5.0, 4.0, 4.0]]
    assert selection_optimism(table) == pytest.approx(13 / 3 - (0 + 4 + 4) / 3)


def test_optimism_is_about_right():
    studies = np.random.default_rng(1).normal(size=(2000, 4, 5))
    found = np.mean([selection_optimism(study) for study in studies])
    # Equal settings: what is left out owes the choice nothing, so all of 1.03 / sqrt(5) is optimism.
    assert found == pytest.approx(1.03 / np.sqrt(5), abs=0.06)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (dict(), "protocol 'held_out' needs fresh runs of setting 1, on seeds that did not choose it"),
        (
            dict(fresh=[[1.0, 2.0]]),
            "fresh has 1 settings and returns 3; give one array for each, or only that of setting 1",
        ),
        (dict(fresh=[1.0, 2.0], protocol="engstrom"), "'engstrom' reports the mean of the runs that chose"),
        (dict(statistic="median", protocol="engstrom"), "leave out fresh, statistic and method"),
        (dict(protocol="same"), "unknown protocol 'same'; allowed: held_out, engstrom"),
    ],
)
def test_messages(arguments, text):
    with pytest.raises(StatisticsError, match=text):
        tuned_interval(RETURNS, **arguments)


def test_messages_about_shapes():
    with pytest.raises(StatisticsError, match="returns has no settings; at least one is needed"):
        choose_setting([])
    with pytest.raises(StatisticsError, match=r"returns has shape \(2,\); it must be finite, \[settings, seeds\]"):
        selection_optimism([1.0, 2.0])
