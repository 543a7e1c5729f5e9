"""Shapley values: identities of the game, hand-worked games, and intervals that cover."""

from __future__ import annotations

import itertools
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_returns import covered, draw, true_mean

from minutiae.statistics import StatisticsError, attribute, attribute_orderings, shapley_weights
from minutiae.statistics.contrasts import Contrasts

games = st.integers(1, 5).flatmap(lambda k: st.lists(st.floats(-1e3, 1e3), min_size=2**k, max_size=2**k).map(np.array))


def players(values):
    return int(np.log2(len(values)))


@given(games)
def test_efficiency(values):
    found = shapley_weights(players(values)) @ values
    assert found.sum() == pytest.approx(values[-1] - values[0], abs=1e-9)


@given(games)
def test_is_the_mean_marginal_over_all_orderings(values):
    # The definition by orderings, which the weights by coalitions must equal.
    k = players(values)
    total = np.zeros(k)
    for order in itertools.permutations(range(k)):
        held = 0
        for player in order:
            total[player] += values[held | 1 << player] - values[held]
            held |= 1 << player
    np.testing.assert_allclose(shapley_weights(k) @ values, total / factorial(k), atol=1e-8)


@given(games, st.data())
def test_null_player(values, data):
    k = players(values)
    player = data.draw(st.integers(0, k - 1))
    # A player that never matters: its coalitions are worth what they are worth without it.
    values = values[np.arange(2**k) & ~(1 << player)]
    assert (shapley_weights(k) @ values)[player] == pytest.approx(0, abs=1e-9)


@given(games.filter(lambda values: len(values) > 2), st.data())
def test_symmetry(values, data):
    k = players(values)
    a, b = data.draw(st.lists(st.integers(0, k - 1), min_size=2, max_size=2, unique=True))
    coalitions = np.arange(2**k)
    swapped = coalitions & ~(1 << a | 1 << b) | (coalitions >> a & 1) << b | (coalitions >> b & 1) << a
    found = shapley_weights(k) @ (values + values[swapped])
    assert found[a] == pytest.approx(found[b], abs=1e-8)


@given(games, st.floats(-10, 10))
def test_linearity(values, factor):
    k = players(values)
    other = np.cos(np.arange(2**k))
    weights = shapley_weights(k)
    np.testing.assert_allclose(
        weights @ (values + factor * other), weights @ values + factor * (weights @ other), atol=1e-7
    )


def runs_of(values, seeds=2, names=("a", "b", "c")):
    """All cells of a game, `seeds` runs each around the cell's value."""
    k = players(values)
    levels = np.repeat((np.arange(2**k)[:, None] >> np.arange(k)) & 1, seeds, axis=0)
    offsets = np.linspace(-1, 1, seeds)
    return levels, np.repeat(values, seeds) + np.tile(offsets, 2**k), np.tile(np.arange(seeds), 2**k), names[:k]


def test_two_factors_by_hand():
    # v: off 10, a 14, b 20, both 30. a: ((14 - 10) + (30 - 20)) / 2 = 7; b: ((20 - 10) + (30 - 14)) / 2 = 13.
    levels, outcome, seeds, names = runs_of(np.array([10.0, 14, 20, 30]))
    found = attribute(levels, outcome, names, seed_of_run=seeds)
    assert found.names == ("a", "b")
    np.testing.assert_allclose([part.estimate for part in found.shapley], [7, 13])
    # They disagree: leaving one out says 10 and 16 of a gain of 20, adding one in 4 and 10.
    np.testing.assert_allclose([part.estimate for part in found.leave_one_out], [10, 16])
    np.testing.assert_allclose([part.estimate for part in found.add_one_in], [4, 10])
    assert (found.gain.estimate, found.start.estimate, found.end.estimate) == (20, 10, 30)
    # Seeds move all cells alike: shared, nothing is uncertain but the level.
    assert (found.gain.low, found.gain.high) == (20, 20)
    assert found.start.low < 10 < found.start.high
    alone = attribute(levels, outcome, names, method="student")
    assert alone.gain.low < 20 < alone.gain.high


@given(st.integers(0, 2**31), st.sampled_from(["student", "percentile", "bca", "studentized"]))
def test_values_sum_to_the_gain_over_environments(seed, method):
    generator = np.random.default_rng(seed)
    levels, _, seeds, names = runs_of(np.zeros(8), seeds=3)
    levels, seeds = np.tile(levels, (2, 1)), np.tile(seeds, 2)
    environments = np.repeat(["Hopper", "Walker"], len(levels) // 2)
    found = attribute(
        levels,
        1e3 * generator.normal(size=len(levels)),
        names,
        seed_of_run=seeds,
        environment_of_run=environments,
        method=method,
        resamples=100,
    )
    assert sum(part.estimate for part in found.shapley) == pytest.approx(found.gain.estimate, abs=1e-9)
    assert found.n == 48
    assert "seeds within 2 environments" in found.method


def test_environments_count_equally_whatever_their_runs():
    levels, outcome, _, names = runs_of(np.array([0.0, 1.0]), seeds=2)
    more_levels, more_outcome, _, _ = runs_of(np.array([0.0, 3.0]), seeds=6)
    found = attribute(
        np.concatenate([levels, more_levels]),
        np.concatenate([outcome, more_outcome]),
        names,
        environment_of_run=[0] * 4 + [1] * 12,
    )
    assert found.gain.estimate == pytest.approx(2)


def test_start_and_end_choose_the_game():
    # Factor b has three levels; from (1, 0) to (1, 2) only b moves, and runs at b = 1 or a = 0 do not count.
    levels = np.repeat([[a, b] for a in (0, 1) for b in (0, 1, 2)], 2, axis=0)
    outcome = levels @ [100.0, 7.0] + np.tile([-1.0, 1], 6)
    found = attribute(levels, outcome, ["a", "b"], start=[1, 0], end=[1, 2])
    assert (found.names, found.n) == (("b",), 4)
    assert found.shapley[0].estimate == found.gain.estimate == 14
    backwards = attribute(levels, outcome, ["a", "b"], start=[1, 2], end=[1, 0])
    assert backwards.gain.estimate == -14


def test_reordering_runs_changes_nothing():
    generator = np.random.default_rng(1)
    levels, outcome, seeds, names = runs_of(generator.normal(size=8), seeds=4)
    order = generator.permutation(len(levels))
    plain = attribute(levels, outcome, names, seed_of_run=seeds)
    shuffled = attribute(levels[order], outcome[order], names, seed_of_run=seeds[order])
    for one, two in zip(plain.shapley, shuffled.shapley, strict=True):
        np.testing.assert_allclose([one.estimate, one.low, one.high], [two.estimate, two.low, two.high])


# The figures in the docstring of `attribute`.
@pytest.mark.parametrize(
    ("population", "expected"),
    [
        ("normal", {"studentized": 0.95, "student": 0.95, "bca": 0.84, "percentile": 0.83}),
        ("skewed", {"studentized": 0.95, "student": 0.96, "bca": 0.81, "percentile": 0.83}),
    ],
)
def test_cover_at_five_shared_seeds(population, expected):
    # 1,500 studies as 1,500 contrasts of one stratum: factor 0 of 2^3 cells with no effect, 5 seeds.
    generator = np.random.default_rng(2)
    values = draw(population, (5, 1500, 8), generator) - true_mean(population)
    units = Contrasts((values @ shapley_weights(3)[0],), 40, "")
    for method, share in expected.items():
        found = covered(units.bounds(method, 0.95, 1000, generator), 0.0)
        assert found == pytest.approx(share, abs=0.025), method


def test_unpaired_cells_cover_too():
    generator = np.random.default_rng(3)
    weights = shapley_weights(2)[0]
    strata = tuple(draw("skewed", (5, 1500), generator) * weight for weight in weights)
    units = Contrasts(strata, 20, "")
    truth = true_mean("skewed") * weights.sum()
    assert covered(units.bounds("student", 0.95, 100, generator), truth) == pytest.approx(0.96, abs=0.02)
    assert covered(units.bounds("studentized", 0.95, 1000, generator), truth) == pytest.approx(0.95, abs=0.03)


def test_sampled_equals_exact_when_all_orderings_are_there():
    levels, outcome, seeds, names = runs_of(np.random.default_rng(4).normal(size=8), seeds=3)
    orderings = list(itertools.permutations(range(3)))
    exact = attribute(levels, outcome, names, seed_of_run=seeds)
    sampled = attribute_orderings(orderings, levels, outcome, names, seed_of_run=seeds, resamples=200)
    for part in ("shapley", "leave_one_out", "add_one_in"):
        np.testing.assert_allclose(
            [one.estimate for one in getattr(sampled, part)], [one.estimate for one in getattr(exact, part)]
        )
    assert sampled.gain.estimate == pytest.approx(exact.gain.estimate)


@given(st.integers(0, 2**31), st.integers(2, 6), st.booleans())
def test_sampled_values_sum_to_the_gain(seed, count, shared):
    generator = np.random.default_rng(seed)
    orderings = [generator.permutation(4) for _ in range(count)]
    prefixes = sorted({tuple(np.isin(range(4), o[:i]).astype(int)) for o in orderings for i in range(5)})
    levels = np.repeat(prefixes, 2, axis=0)
    outcome = generator.normal(size=len(levels))
    seeds = np.tile([0, 1], len(prefixes)) if shared else None
    found = attribute_orderings(orderings, levels, outcome, "abcd", seed_of_run=seeds, resamples=100)
    assert sum(part.estimate for part in found.shapley) == pytest.approx(found.gain.estimate, abs=1e-9)
    lasts, firsts = {int(o[-1]) for o in orderings}, {int(o[0]) for o in orderings}
    # Only cells that some ordering visited can say what one factor alone does.
    assert [i for i, part in enumerate(found.leave_one_out) if part is not None] == sorted(lasts)
    assert [i for i, part in enumerate(found.add_one_in) if part is not None] == sorted(firsts)


def test_sampled_orderings_by_name_and_their_cover():
    # Truth by all orderings of a game with interactions; 12 random orderings, 5 shared seeds, no factor special.
    generator = np.random.default_rng(5)
    k, names = 4, ("a", "b", "c", "d")
    values = 3 * generator.normal(size=16)
    truth = (shapley_weights(k) @ values)[0]
    held = 0
    for _ in range(150):
        orderings = [generator.permutation(k) for _ in range(12)]
        prefixes = sorted({tuple(np.isin(range(k), o[:i]).astype(int)) for o in orderings for i in range(k + 1)})
        levels = np.repeat(prefixes, 5, axis=0)
        outcome = np.repeat([values[p @ (1 << np.arange(k))] for p in np.array(prefixes)], 5)
        outcome = outcome + draw("normal", outcome.shape, generator)
        found = attribute_orderings(
            [[names[f] for f in o] for o in orderings],
            levels,
            outcome,
            names,
            seed_of_run=np.tile(np.arange(5), len(prefixes)),
            resamples=200,
        )
        held += found.shapley[0].low <= truth <= found.shapley[0].high
    assert 0.86 <= held / 150 <= 0.98


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(start=[1, 1]), r"start and end are both \[1, 1\]; some factor must differ"),
        (dict(end=[1, 2]), r"end is \[1, 2\]; it must have one level code for each of a, b, from 0 to 1, 1"),
        (dict(drop=[2, 3]), r"cell \(a=1, b=0\) has 0 runs; every cell needs at least 2 in every environment"),
        (dict(drop=[2]), r"cell \(a=1, b=0\) has 1 run; every cell needs at least 2"),
        (dict(drop=[2], shared=True), r"cell \(a=1, b=0\) has 0 runs of one of the 2 seeds.*seed_of_run=None"),
        (dict(drop=[0, 2, 4, 6], shared=True), "the cells share a single seed; at least 2 are needed"),
        (dict(method="bcaa"), "unknown interval method 'bcaa'; did you mean 'bca'"),
    ],
)
def test_messages(change, text):
    levels, outcome, seeds, names = runs_of(np.arange(4.0))
    kept = np.delete(np.arange(8), change.pop("drop", []))
    shared = change.pop("shared", False)
    with pytest.raises(StatisticsError, match=text):
        attribute(levels[kept], outcome[kept], names, seed_of_run=seeds[kept] if shared else None, **change)


def test_messages_of_orderings():
    levels, outcome, seeds, names = runs_of(np.arange(4.0))
    with pytest.raises(StatisticsError, match=r"ordering \[0, 0\] must hold each of a, b once"):
        attribute_orderings([[0, 0], [0, 1]], levels, outcome, names)
    with pytest.raises(StatisticsError, match="1 ordering given; at least 2 are needed"):
        attribute_orderings([["a", "b"]], levels, outcome, names, seed_of_run=seeds)
    with pytest.raises(StatisticsError, match=r"17 factors differ and exact Shapley values need all 2.17 cells"):
        attribute(np.repeat([[0] * 17, [1] * 17], 2, axis=0), np.zeros(4), [f"f{i}" for i in range(17)])
