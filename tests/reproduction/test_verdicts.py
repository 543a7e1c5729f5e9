"""Verdicts follow from intervals; claims are judged rightly on runs whose truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_reproductions import evidence, tables_data

from minutiae.reproduction.claims import CLAIMS, PARITY, judge
from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.protocol import item_named, protocol_of
from minutiae.reproduction.verdicts import (
    CONTRADICTED,
    MISSING,
    SUPPORTED,
    UNTOLD,
    above,
    alike,
    alike_by_factor,
    below,
    higher,
    together,
    within,
)
from minutiae.statistics import Interval
from synthetic_studies import study_data

PAPER = {"ppo": 2513.0, "ppo-m": 2142.0, "trpo": 2043.0, "trpo+": 2466.0, "ppo-noclip": 2371.0}
"""The means of Table 2 on Hopper."""


def statuses(found: Evidence, item: str = "table2", task: str = "Hopper") -> dict[str, str]:
    return {verdict.claim.name: verdict.finding.status for verdict in judge(found, item, [task])}


def interval(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 0.95, "", 5)


def test_a_difference_by_hand() -> None:
    # Means 12 and 2, both deviations 1: the standard error is sqrt(2/3), t(0.975, 4) = 2.776, so 10 +- 2.27.
    found = higher(np.array([11.0, 12, 13]), np.array([1.0, 2, 3]), "a − b")
    assert found.status == SUPPORTED
    assert found.words == "a − b +10.0 [7.7, 12.3]"
    assert higher(np.array([1.0, 2, 3]), np.array([11.0, 12, 13]), "").status == CONTRADICTED
    assert higher(np.array([1.0, 2, 3]), np.array([0.0, 2, 4]), "").status == UNTOLD
    assert higher(np.array([1.0]), np.array([0.0, 2]), "").status == MISSING


def test_what_is_not_told_says_how_many_agents_would_tell() -> None:
    # Means differ by 1 with deviations 1 and 1: the textbook number is 17 per arm.
    found = higher(np.array([1.0, 2, 3]), np.array([0.0, 1, 2]), "")
    assert (found.status, found.needed) == (UNTOLD, 17)


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [(-1, 1, SUPPORTED), (-3, 1, UNTOLD), (1, 3, UNTOLD), (2.5, 3, CONTRADICTED), (-4, -2.1, CONTRADICTED)],
)
def test_likeness_needs_the_whole_interval(low: float, high: float, status: str) -> None:
    assert within(interval(low, high), 2.0) == status


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=6), st.floats(-100, 100))
def test_above_and_below_never_agree_on_more_than_doubt(sample: list[float], bound: float) -> None:
    pair = {above(np.array(sample), bound, "").status, below(np.array(sample), bound, "").status}
    assert pair in ({SUPPORTED, CONTRADICTED}, {UNTOLD})


def test_statements_together() -> None:
    yes, no = above(np.array([1.0, 1.1]), 0.0, "a"), above(np.array([-1.0, -1.1]), 0.0, "b")
    doubt, none = above(np.array([-1.0, 1.1]), 0.0, "c"), above(np.array([]), 0.0, "d")
    assert together([yes, yes]).status == SUPPORTED
    assert together([yes, no]).status == CONTRADICTED
    assert together([yes, doubt]).status == UNTOLD
    assert together([no, doubt]).status == CONTRADICTED
    assert together([yes, none]).status == MISSING


def test_the_articles_means_support_its_claims(tmp_path: Path) -> None:
    found = evidence(tmp_path, PAPER)
    assert statuses(found) == {
        "details over algorithm": SUPPORTED,
        "details help PPO": SUPPORTED,
        "details help TRPO": SUPPORTED,
    }
    assert statuses(found, "table3") == {
        "details help PPO": SUPPORTED,
        "clipping not needed": SUPPORTED,
        "details over clipping": SUPPORTED,
    }


def test_an_algorithm_that_matters_more_contradicts(tmp_path: Path) -> None:
    # TRPO+ below PPO-M: the details' 300 is less than the algorithm's 500.
    found = evidence(tmp_path, {**PAPER, "ppo": 2800.0, "ppo-m": 2500.0, "trpo": 2000.0, "trpo+": 2300.0})
    assert statuses(found)["details over algorithm"] == CONTRADICTED


def test_details_that_harm_still_matter(tmp_path: Path) -> None:
    found = evidence(tmp_path, {**PAPER, "ppo": 1500.0, "ppo-m": 2500.0, "trpo": 2400.0, "trpo+": 1400.0})
    told = {verdict.claim.name: verdict.finding for verdict in judge(found, "table2", ["Hopper"])}
    assert told["details over algorithm"].status == SUPPORTED
    assert told["details over algorithm"].words.endswith("(the details harm)")
    assert told["details help PPO"].status == told["details help TRPO"].status == CONTRADICTED


def test_much_noise_is_told_as_doubt(tmp_path: Path) -> None:
    found = evidence(tmp_path, PAPER, deviation=900.0)
    assert set(statuses(found).values()) == {UNTOLD}


def test_a_gap_beyond_the_margin_is_no_parity(tmp_path: Path) -> None:
    gap = 1 - 2 * PARITY
    assert statuses(evidence(tmp_path, {**PAPER, "ppo-noclip": PAPER["ppo"] * gap}), "table3")[
        "clipping not needed"
    ] == CONTRADICTED  # fmt: skip


def test_claims_wait_for_runs_that_are_missing(tmp_path: Path) -> None:
    found = evidence(tmp_path, PAPER, leave_out=("trpo",))
    assert statuses(found)["details over algorithm"] == MISSING
    assert statuses(found)["details help PPO"] == SUPPORTED
    assert statuses(found, task="Walker2d")["details help PPO"] == MISSING


def test_the_claim_of_humanoid_is_made_of_humanoid_only(tmp_path: Path) -> None:
    found = evidence(tmp_path, {**PAPER, "trpo+": 3000.0}, tasks=("Hopper", "Humanoid"))
    told = [
        (v.task, v.finding.status)
        for v in judge(found, "table2", ["Hopper", "Humanoid"])
        if v.claim.name == "TRPO+ over PPO"
    ]
    assert told == [("Humanoid", SUPPORTED)]


def kl_of(preset: str, i: np.ndarray) -> np.ndarray:
    """PPO-M's rises, PPO's peaks, the rest is flat."""
    x = i / i.max()
    return {"ppo-m": 0.01 + 0.02 * x, "ppo": 0.01 + 0.02 * np.sin(np.pi * x)}.get(preset, np.full(len(i), 0.03))


def test_the_trust_region_as_the_article_tells_it(tmp_path: Path) -> None:
    found = evidence(tmp_path, PAPER, kl=kl_of)
    assert set(statuses(found, "figure3").values()) == {SUPPORTED}
    assert set(statuses(found, "figure4").values()) == {SUPPORTED}


@pytest.mark.parametrize(
    ("claim", "item", "options"),
    [
        ("ratio not bounded", "figure3", {"ratio": 1.1}),
        ("ratio not bounded on fresh samples", "figure4", {"ratio": 1.1}),
        ("KL within TRPO's bound", "figure3", {"kl": lambda preset, i: np.full(len(i), 0.2)}),
        ("PPO-M's KL rises", "figure3", {"kl": lambda preset, i: 0.02 - 0.01 * i / i.max()}),
        ("PPO's KL peaks", "figure3", {"kl": lambda preset, i: 0.01 + 0.01 * i / i.max()}),
        ("fresh samples tell the same", "figure4", {"fresh": 2.0}),
    ],
)
def test_other_trust_regions_contradict(claim: str, item: str, options: dict[str, object], tmp_path: Path) -> None:
    assert statuses(evidence(tmp_path, PAPER, **options), item)[claim] == CONTRADICTED


def test_thirds_of_training_by_hand(tmp_path: Path) -> None:
    data = tables_data(tmp_path, PAPER, agents=2)
    # 30 iterations whose KL is their number: the thirds' means are 5.5, 15.5 and 25.5.
    curves = data.curves.with_columns(data.curves["iteration"].cast(float).alias("kl_exact_batch"))
    found = Evidence(type(data)(data.study, data.folder, data.frame, curves, data.about))
    assert found.thirds("Hopper", "ppo", "kl_exact_batch").tolist() == [[5.5, 15.5, 25.5]] * 2
    # Only iterations 10, 20 and 30 were looked at on fresh samples.
    assert found.means("Hopper", "ppo", "kl_exact_batch", like="kl_exact_held_out").tolist() == [20.0, 20.0]


def test_a_margin_by_hand() -> None:
    first, second = np.array([10.0, 11, 12]), np.array([10.0, 11, 12])
    assert alike(first, second, 5.0, "a − b").status == SUPPORTED
    assert alike(first, second, 2.0, "a − b").status == UNTOLD


def test_every_claim_says_where_it_is_made_and_how_it_is_judged() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names))
    for claim in CLAIMS:
        assert claim.where
        assert claim.rule
        assert claim.text.endswith((".", ")."))


def landscape(tmp_path: Path, truth: dict[str, float]) -> Evidence:
    """Figure 1 on runs whose outcome is a sum of what each detail is worth, and 100 for the better learning rate."""
    item = item_named("figure1")
    assert item.study is not None
    study = item.study(protocol_of(item, ["walker2d"], 3, [8e-5, 2.2e-4]))

    def mean(_: str, codes: dict[str, int], setting: dict[str, int]) -> float:
        return 1000 + sum(truth.get(name, 0.0) * code for name, code in codes.items()) + 100 * setting["learning_rate"]

    return Evidence(study_data(study, mean, tmp_path))


def test_figure_1_as_the_article_tells_it(tmp_path: Path) -> None:
    gains = {"reward_normalization": 300, "learning_rate_annealing": 200, "network_initialization": 100}
    found = landscape(tmp_path, {**gains, "value_clipping": -80})
    assert statuses(found, "figure1", "Walker2d") == {
        "reward normalization": SUPPORTED,
        "annealing": SUPPORTED,
        "initialization": SUPPORTED,
        "value clipping": SUPPORTED,
    }


def test_figure_1_told_otherwise(tmp_path: Path) -> None:
    found = landscape(tmp_path, {"reward_normalization": -300, "value_clipping": 200})
    told = statuses(found, "figure1", "Walker2d")
    assert (told["reward normalization"], told["value clipping"]) == (CONTRADICTED, CONTRADICTED)
    assert (told["annealing"], told["initialization"]) == (UNTOLD, UNTOLD)
    assert statuses(found, "figure1", "Humanoid")["annealing"] == MISSING


def test_an_infinite_ratio_is_above_every_bound_and_no_movement_tells_nothing(tmp_path: Path) -> None:
    data = tables_data(tmp_path, PAPER, ratio=1.1)
    one = data.curves["iteration"] == 7
    curves = data.curves.with_columns(
        ratio_max_batch=pl.when(one).then(np.inf).otherwise("ratio_max_batch"), kl_exact_held_out=0.0
    )
    found = Evidence(type(data)(data.study, data.folder, data.frame, curves, data.about))
    assert statuses(found, "figure3")["ratio not bounded"] == SUPPORTED
    assert statuses(found, "figure4")["fresh samples tell the same"] == UNTOLD


def test_halfcheetah_is_judged(tmp_path: Path) -> None:
    found = evidence(tmp_path, PAPER, item="halfcheetah")
    assert set(statuses(found, "halfcheetah", "HalfCheetah").values()) == {SUPPORTED}


def test_a_factor_by_hand() -> None:
    # Ratios 2, 2 and 2 exactly: no spread, so the interval is the factor itself.
    twice = alike_by_factor(np.array([2.0, 4, 6]), np.array([1.0, 2, 3]), 1.5, "a over b:")
    assert twice.status == CONTRADICTED
    assert twice.words.startswith("a over b: 2")
    assert alike_by_factor(np.array([1.0, 2.1, 3]), np.array([1.0, 2, 3.1]), 1.5, "").status == SUPPORTED
    assert alike_by_factor(np.array([0.0, 2]), np.array([1.0, 2]), 1.5, "").status == UNTOLD


def test_any_task_that_is_asked_for_is_judged(tmp_path: Path) -> None:
    claimed = {claim.name for claim in CLAIMS if "halfcheetah" in claim.items}
    found = judge(evidence(tmp_path, PAPER, item="halfcheetah"), "halfcheetah", ["Swimmer"])
    assert {verdict.claim.name for verdict in found} == claimed
