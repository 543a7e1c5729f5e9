"""Effects: recovered, checked against statsmodels, aliases found, and intervals that hold together."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated_returns import draw, true_mean
from statsmodels.stats.multitest import multipletests

from minutiae.statistics import StatisticsError, estimate_effects, holm, simple_effects
from minutiae.statistics.contrasts import Contrasts
from minutiae.statistics.design import as_design, coded, factor_pairs, interaction_contrasts, main_contrasts, null_space
from minutiae.statistics.simultaneous import bonferroni_quantile, max_t_draws, symmetric_root

NAMES = ("annealing", "clipping", "init")


def factorial(*sizes: int, seeds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Levels of all runs and the seed of each."""
    cells = np.array(list(itertools.product(*map(range, sizes))))
    return np.repeat(cells, seeds, axis=0), np.tile(np.arange(seeds), len(cells))


def test_two_by_two_by_hand():
    # Means 10, 14, 20, 30 for (0,0), (0,1), (1,0), (1,1), two seeds one above and one below.
    levels, seeds = factorial(2, 2, seeds=2)
    outcome = np.repeat([10.0, 14, 20, 30], 2) + np.where(seeds == 0, 1, -1)
    found = estimate_effects(levels, outcome, ["a", "b"])
    # a: (20 + 30)/2 - (10 + 14)/2 = 13; b: (14 + 30)/2 - (10 + 20)/2 = 7; a x b: (30 - 20) - (14 - 10) = 6.
    assert [effect.name for effect in found.effects] == ["a", "b", "a x b"]
    np.testing.assert_allclose([effect.estimate for effect in found.effects], [13, 7, 6])
    # Residuals +-1, 8 of them, 4 degrees of freedom: variance 2. Error of a: sqrt(2 (1/4 + 1/4)) = 1; of a x b: 2.
    assert found.deviation == pytest.approx(np.sqrt(2))
    np.testing.assert_allclose([effect.standard_error for effect in found.effects], [1, 1, 2])
    assert found["a"].degrees_of_freedom == 4
    assert found["a"].p_value == pytest.approx(2 * stats.t.sf(13, 4))
    assert found.aliased == ()


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 4)])
@pytest.mark.parametrize("blocked", [False, True])
def test_agrees_with_statsmodels(sizes, blocked):
    levels, seeds = factorial(*sizes, seeds=3)
    outcome = np.random.default_rng(0).normal(size=len(levels)) + levels @ [1.0, 2.0, 3.0] + 5 * seeds
    frame = pd.DataFrame(levels, columns=["a", "b", "c"]).assign(y=outcome, seed=seeds)
    right = "(C(a, Sum) + C(b, Sum) + C(c, Sum))**2" + (" + C(seed)" if blocked else "")
    fit = smf.ols(f"y ~ {right}", frame).fit()
    found = estimate_effects(levels, outcome, ["a", "b", "c"], block=seeds if blocked else None, simultaneous="none")
    assert found.deviation == pytest.approx(np.sqrt(fit.mse_resid))
    assert found.effects[0].degrees_of_freedom == fit.df_resid
    # statsmodels' effect of level l is measured from the grand mean, so a[l] - a[0] is ours.
    last = sizes[0] - 1
    sought = np.zeros(len(fit.params))
    position = {name: i for i, name in enumerate(fit.params.index)}
    for code in range(last):
        # Level `last` is minus the sum of the others.
        sought[position[f"C(a, Sum)[S.{code}]"]] -= 1 + (code == 0)
    test = fit.t_test(sought)
    ours = found["a" if last == 1 else f"a={last}"]
    assert ours.estimate == pytest.approx(test.effect[0])
    assert ours.standard_error == pytest.approx(test.sd[0, 0])
    assert ours.p_value == pytest.approx(float(test.pvalue))
    np.testing.assert_allclose([ours.low, ours.high], test.conf_int()[0])


def test_recovers_effects_of_several_levels_from_unbalanced_runs():
    generator = np.random.default_rng(1)
    levels, _ = factorial(3, 2, seeds=4)
    kept = np.delete(np.arange(len(levels)), [0, 1, 2, 9, 17])
    truth = {(0, 0): 0.0, (1, 0): 5.0, (2, 0): 7.0, (0, 1): 1.0, (1, 1): 2.0, (2, 1): 12.0}
    means = np.array([truth[tuple(row)] for row in levels])
    outcome = means + 1e-6 * generator.normal(size=len(levels))
    found = estimate_effects(levels[kept], outcome[kept], ["init", "clip"], labels={"init": ["zero", "xavier", "orth"]})
    expected = {
        "init=xavier": (5 + 2) / 2 - 0.5,
        "init=orth": (7 + 12) / 2 - 0.5,
        "clip": (1 + 2 + 12) / 3 - 4,
        "init=xavier x clip": (2 - 5) - (1 - 0),
        "init=orth x clip": (12 - 7) - 1,
    }
    assert {e.name: pytest.approx(e.estimate, abs=1e-5) for e in found.effects} == expected


def test_half_fraction_says_what_it_cannot_tell():
    # 2^(3-1) with init = annealing x clipping: every main effect is one with the interaction of the other two.
    levels = np.repeat([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], 3, axis=0)
    outcome = np.random.default_rng(2).normal(size=12)
    found = estimate_effects(levels, outcome, NAMES)
    assert found.effects == ()
    lost = {entry.name: set(entry.confused_with) for entry in found.aliased}
    assert lost == {
        "annealing": {"clipping x init"},
        "clipping": {"annealing x init"},
        "init": {"annealing x clipping"},
        "annealing x clipping": {"init"},
        "annealing x init": {"clipping"},
        "clipping x init": {"annealing"},
    }
    with pytest.raises(StatisticsError, match="init cannot be told apart from annealing x clipping in these cells"):
        found["init"]


def test_half_fraction_without_interactions_names_what_biases():
    levels = np.repeat([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], 3, axis=0)
    outcome = 4.0 * levels[:, 2] + np.tile([-1.0, 0, 1], 4)
    found = estimate_effects(levels, outcome, NAMES, interactions=False)
    assert found["init"].estimate == pytest.approx(4)
    assert found["init"].confounded_with == ("annealing x clipping",)
    assert "main effects only" in found["init"].method


def test_resolution_four_keeps_main_effects_and_loses_pairs():
    base = np.array(list(itertools.product((0, 1), repeat=3)))
    levels = np.repeat(np.column_stack([base, base.sum(axis=1) % 2]), 2, axis=0)
    outcome = 3.0 * levels[:, 0] + np.random.default_rng(3).normal(size=16)
    found = estimate_effects(levels, outcome, ["a", "b", "c", "d"])
    assert [effect.name for effect in found.effects] == ["a", "b", "c", "d"]
    assert {entry.name: entry.confused_with for entry in found.aliased}["a x b"] == ("c x d",)
    assert len(found.aliased) == 6


@pytest.mark.parametrize("start", [0, 1])
def test_one_at_a_time_designs(start):
    # add-one-in (start 0) and leave-one-out (start 1): effects rest on two cells and on the absence of interactions.
    cells = np.vstack([np.full(3, start), np.full((3, 3), start) + np.eye(3, dtype=int) * (1 - 2 * start)])
    levels = np.repeat(cells, 4, axis=0)
    outcome = levels @ [1.0, 10.0, 100.0] + np.tile([-1, 1, -1, 1], 4)
    alone = estimate_effects(levels, outcome, NAMES, interactions=False)
    np.testing.assert_allclose([effect.estimate for effect in alone.effects], [1, 10, 100])
    # If annealing worked only together with another detail, these two cells would book that under annealing.
    assert alone["annealing"].confounded_with == ("annealing x clipping", "annealing x init")
    everything = estimate_effects(levels, outcome, NAMES)
    assert everything.effects == ()
    assert "annealing x init" in {e.name: e.confused_with for e in everything.aliased}["annealing"]


def test_orderings_as_a_design():
    # Cells on the way of two orderings of three factors, some shared: six of eight cells, effects still recovered.
    orders = ([0, 1, 2], [2, 1, 0])
    cells = {tuple(np.isin(np.arange(3), order[:i]).astype(int)) for order in orders for i in range(4)}
    levels = np.repeat(np.array(sorted(cells)), 3, axis=0)
    outcome = levels @ [1.0, 2.0, 3.0] + np.tile([-1e-3, 0, 1e-3], len(cells))
    found = estimate_effects(levels, outcome, NAMES, interactions=False)
    np.testing.assert_allclose([effect.estimate for effect in found.effects], [1, 2, 3], atol=1e-9)


@given(st.lists(st.integers(0, 11), min_size=3, max_size=12, unique=True), st.integers(0, 2**31))
def test_any_cells_give_true_effects_or_none(chosen, seed):
    # Outcomes that follow the model exactly: what is reported must be true, and what is aliased must be able to change
    # without any run showing it.
    cells = np.array(list(itertools.product(range(2), range(3), range(2))))[chosen]
    if any(len(np.unique(column)) < size for column, size in zip(cells.T, (2, 3, 2), strict=True)):
        return
    levels = np.repeat(cells, 2, axis=0)
    design = as_design(levels, NAMES)
    pairs = factor_pairs(design)
    columns = coded(design, levels, pairs)
    coefficients = np.random.default_rng(seed).normal(size=columns.shape[1])
    contrasts = {c.name: c for c in main_contrasts(design, pairs) + interaction_contrasts(design, pairs, pairs)}
    found = estimate_effects(levels, columns @ coefficients, NAMES, simultaneous="none")
    assert {e.name for e in found.effects} | {e.name for e in found.aliased} == set(contrasts)
    for effect in found.effects:
        assert effect.estimate == pytest.approx(contrasts[effect.name].weights @ coefficients, abs=1e-9)
    hidden = null_space(columns)
    for entry in found.aliased:
        assert np.abs(contrasts[entry.name].weights @ hidden).max() > 1e-6
        assert entry.confused_with


def test_blocks_that_swallow_a_factor():
    # Each level of "clip" has seeds of its own: a block mean moves both.
    levels, _ = factorial(2, 2, seeds=4)
    seeds = np.arange(16) % 4 + 4 * levels[:, 1]
    outcome = np.random.default_rng(4).normal(size=16)
    found = estimate_effects(levels, outcome, ["a", "clip"], block=seeds)
    assert [effect.name for effect in found.effects] == ["a", "a x clip"]
    assert found.aliased[0].name == "clip"
    assert "block" in found.aliased[0].confused_with


def test_blocking_removes_what_seeds_share():
    levels, seeds = factorial(2, 2, seeds=5)
    outcome = 100.0 * seeds + levels[:, 0] + 0.01 * np.random.default_rng(5).normal(size=20)
    blocked = estimate_effects(levels, outcome, ["a", "b"], block=seeds)
    assert blocked["a"].estimate == pytest.approx(1, abs=0.02)
    assert blocked["a"].adjusted_p_value < 0.001
    assert estimate_effects(levels, outcome, ["a", "b"])["a"].p_value > 0.9


def test_separate_errors_are_welchs_and_paired_ones():
    levels, seeds = factorial(2, seeds=6)
    outcome = np.random.default_rng(6).normal(size=12) * np.where(levels[:, 0], 5.0, 1.0) + seeds
    on, off = outcome[6:], outcome[:6]
    welch = estimate_effects(levels, outcome, ["a"], errors="separate", simultaneous="none")["a"]
    theirs = stats.ttest_ind(on, off, equal_var=False)
    assert (welch.p_value, welch.degrees_of_freedom) == (pytest.approx(theirs.pvalue), pytest.approx(theirs.df))
    paired = estimate_effects(levels, outcome, ["a"], block=seeds, errors="separate", simultaneous="none")["a"]
    assert paired.p_value == pytest.approx(stats.ttest_rel(on, off).pvalue)
    assert paired.degrees_of_freedom == 5


def test_simple_effects_flip_with_the_learning_rate():
    levels, seeds = factorial(2, 3, seeds=3)
    outcome = np.where(levels[:, 0] == 1, np.array([5.0, 1.0, -4.0])[levels[:, 1]], 0) + 0.1 * seeds
    found = simple_effects(
        levels,
        outcome,
        ["clipping", "learning_rate"],
        of="clipping",
        given="learning_rate",
        labels={"learning_rate": ["1e-4", "3e-4", "1e-3"]},
        block=seeds,
    )
    assert {effect.name: pytest.approx(effect.estimate) for effect in found.effects} == {
        "clipping | learning_rate=1e-4": 5,
        "clipping | learning_rate=3e-4": 1,
        "clipping | learning_rate=1e-3": -4,
    }
    assert "two-way interactions, blocked" in found.method


def test_simple_effects_per_environment():
    # The environment as a factor; blocks are pairs of environment and seed.
    levels, seeds = factorial(2, 2, seeds=4)
    outcome = np.where(levels[:, 1], 1000.0, 1.0) * levels[:, 0] + 7 * seeds
    block = [f"{environment}/{seed}" for environment, seed in zip(levels[:, 1], seeds, strict=True)]
    found = simple_effects(
        levels, outcome, ["a", "environment"], of="a", given="environment", block=block, errors="separate"
    )
    np.testing.assert_allclose([effect.estimate for effect in found.effects], [1, 1000])


def test_holm_is_statsmodels():
    p_values = np.random.default_rng(7).random(9) ** 3
    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1])


def test_max_t_quantiles_at_their_limits():
    # Fully correlated: one t. Independent, many degrees: Sidak's normal quantile.
    one = np.quantile(max_t_draws(np.ones((4, 4)), 6, 200_000, 0), 0.95)
    assert one == pytest.approx(stats.t.ppf(0.975, 6), rel=0.01)
    sidak = stats.norm.ppf(1 - (1 - 0.95 ** (1 / 4)) / 2)
    assert np.quantile(max_t_draws(np.eye(4), np.inf, 200_000, 0), 0.95) == pytest.approx(sidak, rel=0.01)
    # Independent estimates, one variance on 10 degrees: P(all |Z| < q S) integrated over S.
    q = np.quantile(max_t_draws(np.eye(3), 10, 200_000, 0), 0.95)
    inside = stats.chi(10, scale=10**-0.5).expect(lambda s: (2 * stats.norm.cdf(q * s) - 1) ** 3)
    assert inside == pytest.approx(0.95, abs=0.002)


def _weights(levels):
    """Weights of runs of all main effects and interactions, with blocks gone (they are orthogonal to all of them)."""
    design = as_design(levels, NAMES)
    pairs = factor_pairs(design)
    contrasts = main_contrasts(design, pairs) + interaction_contrasts(design, pairs, pairs)
    return np.array([c.weights for c in contrasts]) @ np.linalg.pinv(coded(design, levels, pairs))


def test_draws_do_not_depend_on_which_eigenvectors_a_library_picks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A balanced design has equal eigenvalues, whose eigenvectors differ between machines."""
    correlation = np.eye(4)
    correlation[0, 1] = correlation[1, 0] = 0.5  # eigenvalues 1/2, 1, 1, 3/2
    before = max_t_draws(correlation, 8, 1000, 0)
    found = np.linalg.eigh

    def turned(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = found(matrix)
        c, s = np.cos(0.7), np.sin(0.7)
        vectors = vectors.copy()
        vectors[:, 1:3] = vectors[:, 1:3] @ np.array([[c, -s], [s, c]])
        vectors[:, 3] *= -1
        return values, vectors

    monkeypatch.setattr(np.linalg, "eigh", turned)
    np.testing.assert_allclose(turned(correlation)[1].T @ turned(correlation)[1], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(max_t_draws(correlation, 8, 1000, 0), before, rtol=1e-12)
    root = symmetric_root(correlation)
    np.testing.assert_allclose(root @ root, correlation, atol=1e-12)


def test_weights_of_the_simulation_are_those_of_the_function():
    levels, seeds = factorial(2, 2, 2, seeds=5)
    outcome = np.random.default_rng(0).normal(size=40)
    found = estimate_effects(levels, outcome, NAMES, block=seeds)
    np.testing.assert_allclose([effect.estimate for effect in found.effects], _weights(levels) @ outcome)


@pytest.mark.parametrize(
    ("population", "spreads", "expected"),
    # The figures in the docstring of `estimate_effects`.
    [
        ("normal", 1.0, 0.95),
        ("skewed", 1.0, 0.98),
        ("bimodal", 1.0, 0.94),
        ("normal", (1.0, 6.0), 0.95),
        ("skewed", (1.0, 6.0), 0.92),
    ],
)
def test_simultaneous_cover_of_pooled_errors(population, spreads, expected):
    # 2^3 with 5 shared seeds, no effect: all six intervals must hold 0 at once in 95 % of studies.
    generator = np.random.default_rng(8)
    levels, seeds = factorial(2, 2, 2, seeds=5)
    weights = _weights(levels)
    scale = np.where(levels[:, 0], *np.broadcast_to(spreads, 2)[::-1])
    outcome = draw(population, (4000, 40), generator) * scale + 3 * draw("normal", (4000, 5), generator)[:, seeds]
    outcome -= true_mean(population) * scale
    columns = np.column_stack(
        [coded(as_design(levels, NAMES), levels, [(0, 1), (0, 2), (1, 2)]), np.eye(5)[seeds][:, 1:]]
    )
    projection = columns @ np.linalg.pinv(columns)
    freedom = 40 - 11
    deviation = np.sqrt(((outcome - outcome @ projection) ** 2).sum(axis=1) / freedom)
    ratios = np.abs(outcome @ weights.T) / (deviation[:, None] * np.linalg.norm(weights, axis=1))
    covariance = weights @ weights.T
    correlation = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    quantile = np.quantile(max_t_draws(correlation, freedom, 50_000, 0), 0.95)
    assert np.mean(ratios.max(axis=1) <= quantile) == pytest.approx(expected, abs=0.015)
    careful = np.mean(ratios.max(axis=1) <= bonferroni_quantile(6, freedom, 0.95))
    assert np.mean(ratios.max(axis=1) <= quantile) <= careful <= 0.99


@pytest.mark.parametrize("population", ["normal", "skewed"])
def test_simultaneous_cover_of_separate_errors(population):
    # As above with one variance per contrast from 5 seeds: max t falls short, for it trusts correlations from 5 seeds;
    # the bootstrap is too careful; Bonferroni, which asks for no correlation, is right.
    generator = np.random.default_rng(9)
    levels, seeds = factorial(2, 2, 2, seeds=5)
    weights = _weights(levels)
    held = {"max_t": 0, "bootstrap": 0, "holm": 0}
    for _ in range(400):
        outcome = draw(population, (40,), generator)
        units = np.zeros((5, 6))
        np.add.at(units, seeds, 5 * (weights * outcome).T)
        contrasts = Contrasts((units,), 40, "")
        largest = np.max(np.abs(contrasts.estimates) / contrasts.errors)
        scale = contrasts.errors
        correlation = contrasts.covariance / np.outer(scale, scale)
        held["max_t"] += largest <= np.quantile(max_t_draws(correlation, 4.0, 3000, 0), 0.95)
        held["holm"] += largest <= bonferroni_quantile(6, 4.0, 0.95)
        drawn, errors = contrasts.draws(1000, generator)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.abs(drawn - contrasts.estimates[:, None]) / errors
        held["bootstrap"] += largest <= np.nanquantile(ratios.max(axis=0), 0.95, method="higher")
    assert held["max_t"] / 400 == pytest.approx(0.92, abs=0.045)
    assert held["holm"] / 400 == pytest.approx(0.96, abs=0.035)
    assert held["bootstrap"] / 400 >= 0.975


@pytest.mark.parametrize("simultaneous", ["max_t", "bootstrap", "holm", "none"])
def test_adjusted_p_values_and_intervals_agree(simultaneous):
    generator = np.random.default_rng(10)
    levels, seeds = factorial(2, 2, 2, seeds=8)
    outcome = generator.normal(size=64) + levels @ [0.6, 0.3, 0.0]
    found = estimate_effects(
        levels, outcome, NAMES, block=seeds, errors="separate", simultaneous=simultaneous, draws=20_000
    )
    for effect in found.effects:
        assert effect.low <= effect.estimate <= effect.high
        assert effect.adjusted_p_value >= effect.p_value or simultaneous == "bootstrap"
        outside = effect.low > 0 or effect.high < 0
        # Holm's later steps reject more than Bonferroni's intervals show.
        assert outside == (effect.adjusted_p_value < 0.05) or simultaneous == "holm"
    assert found == estimate_effects(
        levels, outcome, NAMES, block=seeds, errors="separate", simultaneous=simultaneous, draws=20_000
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(names=["a"]), r"levels has shape \(8, 2\) for the factors a; it must be \[runs, 1\]"),
        (dict(outcome=np.zeros(7)), "outcome has 7 runs and levels 8; give one row for each run"),
        (dict(levels=np.full((8, 2), 1)), "factor 'a' has the level codes 1; at least two are needed, counted 0, 1"),
        (dict(levels=np.full((8, 2), 0.5)), "levels must hold whole numbers from 0 up"),
        (dict(interactions=[("a", "c")]), "unknown factor 'c'; allowed: a, b"),
        (dict(interactions=[("a", "a")]), "factor 'a' cannot interact with itself"),
        (dict(block=[0, 1]), r"block has shape \(2,\); it must be one label per run, shape \[8\]"),
        (dict(labels={"a": ["off"]}), "factor 'a' has 2 levels and 1 labels; give one label each"),
        (dict(errors="robust"), "unknown errors 'robust'; allowed: pooled, separate"),
        (dict(simultaneous="bootstrap"), "it goes with errors='separate'"),
        (dict(block=np.arange(8), errors="separate"), ""),
    ],
)
def test_messages(change, text):
    levels, seeds = factorial(2, 2, seeds=2)
    arguments = dict(levels=levels, outcome=np.arange(8.0), names=["a", "b"], block=seeds) | change
    if not text:
        # Every run a block of its own: nothing can be estimated, and the table says so.
        assert all("block" in entry.confused_with for entry in estimate_effects(**arguments).aliased)
        return
    with pytest.raises(StatisticsError, match=text):
        estimate_effects(**arguments)


def test_messages_about_too_few_runs():
    levels, _ = factorial(2, 2)
    with pytest.raises(StatisticsError, match=r"4 runs leave no degrees of freedom beside 4 coefficients.*add seeds"):
        estimate_effects(levels, np.arange(4.0), ["a", "b"])
    with pytest.raises(StatisticsError, match=r"cell \(0, 0\) has a single run of its kind.*errors='pooled'"):
        estimate_effects(levels, np.arange(4.0), ["a", "b"], errors="separate")
    with pytest.raises(StatisticsError, match="unknown effect 'c'; allowed: a, b, a x b"):
        estimate_effects(np.repeat(levels, 2, axis=0), np.arange(8.0), ["a", "b"])["c"]
