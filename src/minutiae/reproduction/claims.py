"""The claims of Engstrom et al. 2020, each with the rule that judges it. Draws nothing and reads no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minutiae.errors import MinutiaeError
from minutiae.reports.study.analysis import effects_of
from minutiae.reports.study.words import interval
from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.protocol import TRUST_REGION
from minutiae.reproduction.published import ALGORITHMS
from minutiae.reproduction.verdicts import (
    CONTRADICTED,
    SUPPORTED,
    UNTOLD,
    Finding,
    above,
    alike,
    alike_by_factor,
    below,
    higher,
    nothing,
    of_interval,
    together,
)
from minutiae.statistics import Effect

PARITY = 0.15
"""Share of PPO's mean that counts as "on a par"; the article's own means differ by 0.13 on Walker2d, 0.06 and 0.03."""

NEGLIGIBLE = 0.05
"""Share of the mean return below which a gain counts as none."""

LIKENESS = 1.5
"""A factor within which training and fresh samples count as telling the same."""


@dataclass(frozen=True)
class Claim:
    """Something the article says that runs can support or contradict.

    Attributes:
        name: short.
        text: what is claimed.
        where: in the article.
        rule: how it is judged, in words.
        items: whose page tells it.
        judge: from the evidence and a task.
        tasks: it is claimed of; `None` is whichever are asked for.
    """

    name: str
    text: str
    where: str
    rule: str
    items: tuple[str, ...]
    judge: Callable[[Evidence, str], Finding]
    tasks: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Verdict:
    """A claim, judged in one task."""

    claim: Claim
    task: str
    finding: Finding


def judge(evidence: Evidence, item: str, tasks: Sequence[str]) -> list[Verdict]:
    """Every claim of an item, task by task."""
    return [
        Verdict(claim, task, claim.judge(evidence, task) if task in evidence.tasks else nothing())
        for claim in CLAIMS
        if item in claim.items
        for task in tasks
        if claim.tasks is None or task in claim.tasks
    ]


def _higher(first: str, second: str, words: str) -> Callable[[Evidence, str], Finding]:
    return lambda found, task: higher(found.returns(task, first), found.returns(task, second), words)


def _details_matter_more(found: Evidence, task: str) -> Finding:
    """Whether the main effect of the details is larger than that of the algorithm, both without their signs.

    D = ((PPO - PPO-M) + (TRPO+ - TRPO)) / 2 and A = ((PPO - TRPO+) + (PPO-M - TRPO)) / 2 are the two, so
    D + A = PPO - TRPO and D - A = TRPO+ - PPO-M, and |D| > |A| just when these two have the same sign.
    """
    parts = [
        higher(found.returns(task, first), found.returns(task, second), words)
        for first, second, words in (
            ("ppo", "trpo", "details plus algorithm, PPO − TRPO"),
            ("trpo+", "ppo-m", "details minus algorithm, TRPO+ − PPO-M"),
        )
    ]
    statuses = {part.status for part in parts}
    whole = together(parts)
    if statuses == {CONTRADICTED}:
        return Finding(SUPPORTED, f"{whole.words} (the details harm)")
    if CONTRADICTED in statuses and UNTOLD in statuses:
        return Finding(UNTOLD, whole.words, max(part.needed or 0 for part in parts) or None)
    return whole


def _on_a_par(found: Evidence, task: str) -> Finding:
    ppo = found.returns(task, "ppo")
    margin = PARITY * abs(float(ppo.mean())) if len(ppo) else 0.0
    return alike(found.returns(task, "ppo-noclip"), ppo, margin, "PPO-NoClip − PPO")


def _ratio_passes(metric: str) -> Callable[[Evidence, str], Finding]:
    def judged(found: Evidence, task: str) -> Finding:
        bound = 1 + found.config(task, "ppo").ratio_clipping
        return above(found.means(task, "ppo", metric), bound, f"largest ratio of PPO, bound {bound:g}:")

    return judged


def _kl_within(found: Evidence, task: str) -> Finding:
    bound = found.config(task, "trpo").max_kl
    parts = [
        below(found.means(task, preset, "kl_exact_batch"), bound, f"mean KL of {name}, TRPO's bound {bound:g}:")
        for preset, name in (("ppo", "PPO"), ("ppo-m", "PPO-M"))
    ]
    return together(parts)


def _trend(preset: str, later: int, earlier: int, words: str) -> Callable[[Evidence, str], Finding]:
    def judged(found: Evidence, task: str) -> Finding:
        thirds = found.thirds(task, preset, "kl_exact_batch")
        return above(thirds[:, later] - thirds[:, earlier], 0.0, words)

    return judged


def _peaks(found: Evidence, task: str) -> Finding:
    rises = _trend("ppo", 1, 0, "PPO's mean KL, middle minus first third:")(found, task)
    return together([rises, _trend("ppo", 1, 2, "middle minus last third:")(found, task)])


def _held_out_alike(found: Evidence, task: str) -> Finding:
    parts = []
    for preset in TRUST_REGION:
        fresh = found.means(task, preset, "kl_exact_held_out", like="kl_exact_batch")
        seen = found.means(task, preset, "kl_exact_batch", like="kl_exact_held_out")
        parts.append(alike_by_factor(fresh, seen, LIKENESS, f"{ALGORITHMS[preset]}, fresh over training KL:"))
    return together(parts)


def _main_effect(found: Evidence, task: str, factor: str) -> tuple[Effect, float] | None:
    """The main effect of a factor over all cells at their best learning rate, and the mean of their runs."""
    try:
        runs = found.runs(task)
        effects = effects_of(runs, found.data.study.layout).effects
    except MinutiaeError:  # no runs, or too few for any effect
        return None
    return next(((effect, float(runs.values.mean())) for effect in effects if effect.name == factor), None)


def _raises(factor: str) -> Callable[[Evidence, str], Finding]:
    def judged(found: Evidence, task: str) -> Finding:
        mine = _main_effect(found, task, factor)
        return of_interval(mine[0], f"main effect of {factor}") if mine else nothing()

    return judged


def _no_gain(found: Evidence, task: str) -> Finding:
    """Of value clipping: a gain is ruled out but for a negligible one."""
    mine = _main_effect(found, task, "value_clipping")
    if mine is None:
        return nothing()
    effect, mean = mine
    margin = NEGLIGIBLE * abs(mean)
    words = f"main effect of value_clipping {interval(effect, sign=True)}, negligible below {margin:,.0f}"
    return Finding(CONTRADICTED if effect.low > 0 else SUPPORTED if effect.high < margin else UNTOLD, words)


_HIGHER = "Welch's 95 % interval of the difference lies above 0; contradicted if it lies below"
_MEAN = "Student's 95 % interval of the mean over agents lies {}; contradicted if it lies on the other side"
_PASSES = _MEAN.format("above 1 + ε")
_RISES = _MEAN.format("above 0")

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "details over algorithm",
        "The details make more of a difference than the choice of PPO or TRPO (ACLI over AAI).",
        "section 5, Table 2",
        "the details' main effect is larger than the algorithm's just when PPO − TRPO and TRPO+ − PPO-M have the same "
        "sign; both signs must be clear, by Welch's 95 % intervals",
        ("table2", "halfcheetah"),
        _details_matter_more,
    ),
    Claim(
        "details help PPO", "The details improve PPO.", "section 5, Table 2", _HIGHER,
        ("table2", "table3", "halfcheetah"), _higher("ppo", "ppo-m", "PPO − PPO-M"),
    ),
    Claim(
        "details help TRPO", "The details improve TRPO.", "section 5, Table 2", _HIGHER,
        ("table2", "halfcheetah"), _higher("trpo+", "trpo", "TRPO+ − TRPO"),
    ),
    Claim(
        "TRPO+ over PPO", "TRPO with the details beats PPO.", "section 5, Table 2", _HIGHER,
        ("table2",), _higher("trpo+", "ppo", "TRPO+ − PPO"), ("Humanoid",),
    ),
    Claim(
        "clipping not needed", "PPO without clipping is on a par with PPO.", "section 5, Table 3",
        f"the difference is less than {PARITY:.0%} of PPO's mean: the whole of Welch's 95 % interval lies within",
        ("table3",), _on_a_par,
    ),
    Claim(
        "details over clipping", "PPO without clipping but with the details beats PPO-M, which clips without them.",
        "section 5, Table 3", _HIGHER, ("table3",), _higher("ppo-noclip", "ppo-m", "PPO-NoClip − PPO-M"),
    ),
    Claim(
        "ratio not bounded", "Clipping does not keep the largest ratio of a batch within 1 + ε.",
        "section 4, Figures 2 and 3", _PASSES, ("figure2", "figure3"), _ratio_passes("ratio_max_batch"),
    ),
    Claim(
        "KL within TRPO's bound", "PPO and PPO-M keep their mean KL below the radius of TRPO.",
        "section 4, Figures 2 and 3", _MEAN.format("below TRPO's radius, for both"), ("figure2", "figure3"), _kl_within,
    ),
    Claim(
        "PPO-M's KL rises", "Without the details the mean KL of PPO rises over training.",
        "section 4, Figures 2 and 3", _RISES, ("figure2", "figure3"),
        _trend("ppo-m", 2, 0, "PPO-M's mean KL, last minus first third:"),
    ),
    Claim(
        "PPO's KL peaks", "With the details the mean KL of PPO peaks in the middle of training and falls then.",
        "section 4, Figures 2 and 3", _MEAN.format("above 0, for both differences"), ("figure2", "figure3"), _peaks,
    ),
    Claim(
        "fresh samples tell the same", "On samples that the update has not seen, KL looks as it does on its own batch.",
        "appendix, Figure 4", f"mean KL on both agrees within a factor of {LIKENESS:g}, for PPO, PPO-M and TRPO",
        ("figure4",), _held_out_alike,
    ),
    Claim(
        "ratio not bounded on fresh samples", "On fresh samples, too, the largest ratio passes 1 + ε.",
        "appendix, Figure 4", _PASSES, ("figure4",), _ratio_passes("ratio_max_held_out"),
    ),
    *(
        Claim(
            name, f"{text} raises final returns, whatever the other details are.", "section 3, Figure 1",
            "the main effect over the 16 cells, each at its best learning rate, lies on one side of 0 "
            "(intervals of all effects hold together)",
            ("figure1",), _raises(factor),
        )
        for name, text, factor in (
            ("reward normalization", "Reward normalization", "reward_normalization"),
            ("annealing", "Annealing Adam's learning rate", "learning_rate_annealing"),
            ("initialization", "Orthogonal initialization with scaled layers", "network_initialization"),
        )
    ),
    Claim(
        "value clipping", "Value clipping does not raise final returns (the article names it among no gains).",
        "section 3, Figure 1", f"the main effect is at most {NEGLIGIBLE:.0%} of the mean return, by the whole interval",
        ("figure1",), _no_gain,
    ),
)  # fmt: skip
