"""Rates, shares and splits against numbers worked by hand."""

from __future__ import annotations

from itertools import accumulate

import pytest

from measuring import arithmetic
from measuring.arithmetic import Plan, Split


def test_a_window_lasts_about_as_long_as_asked_and_holds_one_end_of_a_segment() -> None:
    # 4 s at 10,000 steps/s are 40,000 steps: 20 iterations of 2,000.
    plan = arithmetic.plan(4.0, 10_000.0, 2_000, arithmetic.THOROUGH)
    assert (plan.warm, plan.window, plan.iterations, plan.segment) == (2, 20, 22, 12)
    assert plan.warm < plan.segment < plan.iterations


def test_a_slow_machine_still_gets_iterations_enough() -> None:
    for shortest in (arithmetic.THOROUGH, arithmetic.QUICK):
        plan = arithmetic.plan(4.0, 1_000.0, 32_768, shortest)
        assert plan == shortest
        # Two intervals at least: an ordinary one, and the one that a save falls into.
        assert plan.warm < plan.segment < plan.iterations


def test_a_segments_end_is_charged_to_all_iterations_of_a_usual_segment() -> None:
    # Iterations 1 and 2 are slow and do not count; 3, 4, 6 take 1 s; 5 follows a save and takes 1.5 s.
    plan = Plan(warm=2, window=4)
    assert plan.segment == 4
    times = list(accumulate([9.0, 5.0, 1.0, 1.0, 1.5, 1.0]))
    pace = arithmetic.pace(times, plan, natural_segment=10)
    assert pace.ordinary == pytest.approx(1.0)
    assert pace.charged == pytest.approx(1.0 + 0.5 / 10)


def test_a_save_that_cost_nothing_is_not_credited() -> None:
    times = list(accumulate([9.0, 5.0, 1.0, 1.0, 0.9, 1.0]))
    assert arithmetic.pace(times, Plan(2, 4), natural_segment=10).charged == pytest.approx(1.0)


def test_iterations_after_another_worker_finished_do_not_count() -> None:
    plan = Plan(warm=2, window=4)
    quick = list(accumulate([2.0, 1.0, 1.0, 1.0, 1.0, 1.0]))  # done at 7 s
    slow = list(accumulate([2.0, 2.0, 2.0, 0.5, 0.5, 0.5]))  # alone from 7 s on, and then faster
    rate = arithmetic.population_rate([quick, slow], plan, natural_segment=10, steps=100)
    # 100 steps in 1 s, and 100 in (2 + 0.5) / 2 s: iterations 3 and 4, done at 6 and 6.5 s, count.
    # Its fifth is done at 7 s and follows the save, which took less than an ordinary iteration.
    assert rate == pytest.approx(100 / 1.0 + 100 / 1.25)


def test_a_worker_that_never_left_its_warm_iterations_is_an_error() -> None:
    plan = Plan(warm=2, window=4)
    with pytest.raises(ValueError, match="no iteration beyond the first 2 was finished while all workers trained"):
        arithmetic.population_rate([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3.0, 6.0, 9.0, 12.0, 15.0, 18.0]], plan, 10, 100)


def test_drift_cancels_in_a_share() -> None:
    # The machine slows from 100 to 80; half-way, at 90, a row that does 45 does half of what is possible.
    assert arithmetic.share(45.0, 100.0, 80.0) == pytest.approx(0.5)


def test_ratios_are_medians_of_what_each_round_says() -> None:
    shares = {"ours": [0.6, 0.8, 0.6], "peer": [0.06, 0.04, 0.05]}
    # 10, 20 and 12 times as fast.
    assert arithmetic.ratios(shares, "ours", ["peer", "absent"]) == {"peer": pytest.approx(12.0)}
    assert arithmetic.ratios(shares, "peer", ["peer"]) == {"peer": 1.0}


def test_a_split_adds_up_to_the_iteration() -> None:
    # 2,000 steps at 20,000 steps/s take 0.10 s of the 0.15 s of collecting.
    split = arithmetic.split(iteration=0.25, collecting=0.15, learning=0.08, steps=2_000, stepping_rate=20_000.0)
    assert vars(split) == pytest.approx({"stepping": 0.10, "acting": 0.05, "learning": 0.08, "writing": 0.02})
    assert split.iteration == pytest.approx(0.25)
    assert split.shares() == pytest.approx({"stepping": 0.4, "acting": 0.2, "learning": 0.32, "writing": 0.08})


def test_stepping_is_never_estimated_beyond_collecting() -> None:
    split = arithmetic.split(iteration=0.2, collecting=0.1, learning=0.1, steps=2_000, stepping_rate=10_000.0)
    assert (split.stepping, split.acting) == (0.1, 0.0)


def test_the_median_of_splits_is_taken_part_by_part() -> None:
    splits = [Split(1, 5, 2, 0), Split(2, 4, 9, 1), Split(3, 3, 3, 2)]
    assert arithmetic.median_split(splits) == Split(2, 4, 3, 1)
