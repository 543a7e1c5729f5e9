"""From intervals to verdicts: supported, contradicted, or not to be told from so few runs. Knows no claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from minutiae.errors import StatisticsError
from minutiae.reports.study.words import interval
from minutiae.statistics import Interval, seeds_needed, student_interval, welch_test
from minutiae.statistics.results import Vector

SUPPORTED, CONTRADICTED, UNTOLD, MISSING = "supported", "contradicted", "cannot tell", "too few runs"
STATUSES = (SUPPORTED, CONTRADICTED, UNTOLD, MISSING)


@dataclass(frozen=True)
class Finding:
    """One statement about one quantity.

    Attributes:
        status: one of `STATUSES`.
        words: what was compared, with its interval.
        needed: agents per cell at which a difference as large as the one seen would be found with power 0.8; `None`
            where that is settled or has no answer.
    """

    status: str
    words: str
    needed: int | None = None


def nothing() -> Finding:
    """Of a comparison whose runs are missing."""
    return Finding(MISSING, "")


def higher(first: Vector, second: Vector, words: str) -> Finding:
    """Whether the mean of `first` is above that of `second`: Welch's 95 % interval of the difference.

    Args:
        first: `[S]`.
        second: `[S']`.
        words: what is subtracted from what.
    """
    if min(len(first), len(second)) < 2:
        return nothing()
    found = welch_test(first, second, paired=False)
    status = _side(found, 0.0)
    return Finding(
        status, f"{words} {interval(found, sign=True)}", _needed(first, second) if status == UNTOLD else None
    )


def above(sample: Vector, bound: float, words: str) -> Finding:
    """Whether the mean of a sample is above a bound: Student's 95 % interval.

    Args:
        sample: `[S]`.
        bound: in its unit.
        words: what it is.

    A mean that is infinite is above every bound.
    """
    if len(sample) < 2:
        return nothing()
    if np.isposinf(sample).any():
        return Finding(SUPPORTED, f"{words} infinite in {np.isposinf(sample).sum()} of {len(sample)} runs")
    if not np.isfinite(sample).all():
        return Finding(UNTOLD, f"{words} not finite in every run")
    found = student_interval(sample)
    return Finding(_side(found, bound), f"{words} {interval(found)}")


def of_interval(found: Interval, words: str) -> Finding:
    """Whether a quantity is above 0, by an interval that stands already."""
    return Finding(_side(found, 0.0), f"{words} {interval(found, sign=True)}")


def below(sample: Vector, bound: float, words: str) -> Finding:
    """As `above`, on the other side."""
    found = above(sample, bound, words)
    turned = {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED}
    return Finding(turned.get(found.status, found.status), found.words)


def alike(first: Vector, second: Vector, margin: float, words: str) -> Finding:
    """Whether two means differ by less than a margin: the whole 95 % interval must lie within it (equivalence).

    Contradicted when the whole interval lies beyond the margin.

    Args:
        first: `[S]`.
        second: `[S']`.
        margin: above 0, in their unit.
        words: what is subtracted from what.
    """
    if min(len(first), len(second)) < 2:
        return nothing()
    found = welch_test(first, second, paired=False)
    return Finding(within(found, margin), f"{words} {interval(found, sign=True)}, margin ±{margin:,.0f}")


def alike_by_factor(first: Vector, second: Vector, factor: float, words: str) -> Finding:
    """Whether two quantities of the same runs agree within a factor: Student's 95 % interval of their mean log ratio.

    Args:
        first, second: `[S]`, not negative. Where a run has none of one of them there is no ratio, and no verdict.
        factor: above 1.
        words: what is divided by what.
    """
    if len(first) < 2 or len(first) != len(second):
        return nothing()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(first / second)
    if not np.isfinite(logs).all():
        return Finding(UNTOLD, f"{words} no finite ratio in every run")
    found = student_interval(logs)
    estimate, low, high = (float(end) for end in np.exp([found.estimate, found.low, found.high]))
    shown = replace(found, estimate=estimate, low=low, high=high)
    return Finding(within(found, float(np.log(factor))), f"{words} {interval(shown)}")


def within(found: Interval, margin: float) -> str:
    """The status of "between -margin and margin" by an interval."""
    if -margin < found.low and found.high < margin:
        return SUPPORTED
    return CONTRADICTED if found.low > margin or found.high < -margin else UNTOLD


def together(findings: Sequence[Finding]) -> Finding:
    """All of several statements: supported if each is, contradicted if one is (an intersection-union test)."""
    statuses = [finding.status for finding in findings]
    if MISSING in statuses:
        return nothing()
    status = (
        CONTRADICTED if CONTRADICTED in statuses else SUPPORTED if set(statuses) == {SUPPORTED} else UNTOLD
    )  # fmt: skip
    needed = [finding.needed for finding in findings if finding.needed is not None]
    return Finding(status, "; ".join(f.words for f in findings), max(needed) if needed and status == UNTOLD else None)


def _side(found: Interval, bound: float) -> str:
    return SUPPORTED if found.low > bound else CONTRADICTED if found.high < bound else UNTOLD


def _needed(first: Vector, second: Vector) -> int | None:
    difference = float(first.mean() - second.mean())
    deviations = float(np.std(first, ddof=1)), float(np.std(second, ddof=1))
    try:
        return int(seeds_needed(difference, deviations).estimate)
    except StatisticsError:  # no difference or no spread at all
        return None
