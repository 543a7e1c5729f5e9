"""AAI and ACLI: the paper's table, the bias of a maximum, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from minutiae.statistics import StatisticsError, decompose
from minutiae.statistics.decomposition import largest_effect_bias
from minutiae.statistics.simultaneous import bonferroni_quantile


def around(mean, deviation=0.0, n=4):
    return mean + deviation * np.linspace(-1, 1, n)


@pytest.mark.parametrize(
    ("trpo", "trpo_plus", "ppo_m", "ppo", "aai", "acli"),
    # Engstrom et al. 2020, table 2. Hopper prints 421 and 99 from unrounded means: 2466 - 2043 is 423.
    [(2791, 3050, 2735, 3292, 242, 557), (2043, 2466, 2142, 2513, 99, 423), (586, 1030, 674, 806, 224, 444)],
    ids=["Walker2d", "Hopper", "Humanoid"],
)
def test_the_papers_table(trpo, trpo_plus, ppo_m, ppo, aai, acli):
    returns = [[around(trpo), around(trpo_plus)], [around(ppo_m), around(ppo)]]
    found = decompose(returns, paired=False)
    assert (found.aai.estimate, found.acli.estimate) == (aai, acli)
    # Without spread there is no bias and nothing to doubt.
    assert (found.aai.bias, found.aai.low, found.aai.high) == (0, aai, aai)
    assert found.gain.estimate == ppo - trpo
    assert found.algorithm.estimate == ((ppo - trpo_plus) + (ppo_m - trpo)) / 2
    assert found.algorithm.estimate + found.details.estimate == found.gain.estimate
    assert found.interaction.estimate == (ppo - ppo_m) - (trpo_plus - trpo)
    assert found.n == 16


def test_interval_is_the_folded_simultaneous_one():
    generator = np.random.default_rng(0)
    returns = [[generator.normal(size=6) for _ in range(2)], [3 + generator.normal(size=6) for _ in range(2)]]
    found = decompose(returns, paired=True)
    first, second = found.aai.parts
    differences = returns[1][1] - returns[0][1]
    half = bonferroni_quantile(2, 5, 0.95) * stats.sem(differences)
    assert (first.low, first.high) == (
        pytest.approx(differences.mean() - half),
        pytest.approx(differences.mean() + half),
    )
    assert found.aai.high == max(first.high, second.high)
    assert found.aai.low == max(first.low, second.low, 0)
    # The rule moves by 3, the details by nothing: their interval must reach 0.
    assert found.acli.low == 0


def test_bias_of_a_maximum_by_hand():
    # One difference of 0 with noise of deviation 1: E |noise| = sqrt(2 / pi). Two independent: 2 / sqrt(pi).
    generator = np.random.default_rng(1)
    assert largest_effect_bias(np.zeros(1), np.eye(1), 100_000, generator) == pytest.approx(
        np.sqrt(2 / np.pi), abs=0.01
    )
    assert largest_effect_bias(np.zeros(2), np.eye(2), 100_000, generator) == pytest.approx(
        2 / np.sqrt(np.pi), abs=0.01
    )
    # Far from zero and from each other there is none.
    assert largest_effect_bias(np.array([50.0, -9.0]), np.eye(2), 10_000, generator) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "effects", "plain_bias", "left_bias"),
    # The figures in the docstring: deviation 600, bias of the plain figure, and what is left of it once corrected.
    [(5, (0.0, 0.0), 428, 277), (5, (0.0, 1000.0), 0, -60), (80, (0.0, 100.0), 37, 6)],
)
def test_bias_and_cover(n, effects, plain_bias, left_bias):
    generator = np.random.default_rng(2)
    plain, corrected, held = [], [], []
    truth = max(map(abs, effects))
    for _ in range(400):
        trpo, trpo_plus, ppo_m, ppo = 600 * generator.normal(size=(4, n))
        found = decompose([[trpo, trpo_plus], [ppo_m + effects[0], ppo + effects[1]]], paired=False, resamples=200).aai
        plain.append(found.estimate - truth)
        corrected.append(found.corrected - truth)
        held.append(found.low <= truth <= found.high)
    error = np.std(plain) / 20
    assert np.mean(plain) == pytest.approx(plain_bias, abs=3 * error)
    assert np.mean(corrected) == pytest.approx(left_bias, abs=3 * error)
    assert np.mean(held) >= 0.94


def test_a_clear_effect_covers_near_the_level():
    # One large and one small difference: the interval is Bonferroni's of the large one.
    generator = np.random.default_rng(3)
    held = []
    for _ in range(400):
        trpo, trpo_plus, ppo_m, ppo = generator.lognormal(size=(4, 5))
        found = decompose([[trpo, trpo_plus], [ppo_m, ppo + 20]], paired=True, resamples=100).aai
        held.append(found.low <= 20 <= found.high)
    assert 0.95 <= np.mean(held) <= 1.0


def test_messages():
    with pytest.raises(
        StatisticsError, match=r"returns has 2 rules with 2, 1 cells; it must be returns\[rule\]\[details\]"
    ):
        decompose([[[1, 2], [1, 2]], [[1, 2]]], paired=False)
    with pytest.raises(
        StatisticsError, match=r"first rule, details off has \(2,\) runs .* second rule, details on \(3,\)"
    ):
        decompose([[[1, 2], [1, 2]], [[1, 2], [1, 2, 3]]], paired=True)
    with pytest.raises(StatisticsError, match=r"returns\[1\]\[0\] has 1 run; at least 2"):
        decompose([[[1, 2], [1, 2]], [[1], [1, 2, 3]]], paired=False)
