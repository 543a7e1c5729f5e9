"""Numbers and cells as people read them. Nothing is computed here that is not a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from minutiae.statistics import Interval

if TYPE_CHECKING:
    from minutiae.reports.study.counted import Factor

OUTCOMES = {
    "final_return": "final return",
    "best_return": "best return",
    "area_under_curve": "area under the learning curve",
    "evaluation": "evaluation return",
    "evaluation_deterministic": "evaluation return of the deterministic policy",
}
LAST = 5
"""Iterations at the end that outcomes are the mean of."""

EXPLAINED = {
    "best_return": "the mean return of the best iteration",
    "area_under_curve": "the return averaged over all of training",
    "evaluation": "the mean return of the trained policy on fresh episodes, actions sampled",
    "evaluation_deterministic": "the mean return of the trained policy on fresh episodes, most likely actions taken",
}


def outcome_words(name: str) -> str:
    """`final return` of `final_return`."""
    return OUTCOMES.get(name, name)


def explained(name: str, iterations: int | None = None) -> str:
    """What the outcome is, in a clause.

    Args:
        iterations: of the shortest run, where known: shorter runs than `LAST` are averaged whole.
    """
    if iterations is None or iterations >= LAST:
        over = "over the last five iterations"
    else:
        over = "in the only iteration" if iterations == 1 else f"over all {iterations} iterations"
    if name == "final_return":
        return f"the mean return {over}"
    return EXPLAINED.get(name, f"the metric {name}, its mean {over}")


def decimals(scale: float) -> int:
    """Decimals that show two digits of something as large as `scale`."""
    if not math.isfinite(scale) or scale == 0:
        return 2
    return min(8, max(0, 1 - math.floor(math.log10(abs(scale)))))


def number(value: float | None, scale: float | None = None, sign: bool = False) -> str:
    """A number with a true minus sign and commas, to the digits that `scale` (itself by default) deserves."""
    if value is None or math.isnan(value):
        return "none"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    places = decimals(value / 10 if scale is None else scale)
    text = f"{value:+,.{places}f}" if sign else f"{value:,.{places}f}"
    if float(text.replace(",", "")) == 0:
        text = text.replace("-", "").replace("+", "±" if sign else "")
    return text.replace("-", "−")


def interval(found: Interval, sign: bool = False) -> str:
    """`+412 [220, 604]`, to two digits of half its width."""
    return f"{number(found.estimate, _scale(found), sign)} {bounds(found)}"


def bounds(found: Interval) -> str:
    """`[220, 604]`, or that the runs do not bound it."""
    if math.isinf(found.low) and math.isinf(found.high):
        return "[too few runs to bound]"
    return f"[{number(found.low, _scale(found))}, {number(found.high, _scale(found))}]"


def _scale(found: Interval) -> float:
    half = (found.high - found.low) / 2
    return half if math.isfinite(half) and half > 0 else found.estimate / 10


def p_value(value: float) -> str:
    """Two digits, and no more than the draws behind it can tell."""
    return "< 0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def capitalized(text: str) -> str:
    """The first letter large, the others as they are."""
    return text[:1].upper() + text[1:]


def clear(found: Interval) -> bool:
    """Whether the interval leaves out zero."""
    return found.low > 0 or found.high < 0


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """`1 seed`, `2,000 seeds`."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def listed(items: Sequence[str]) -> str:
    """`a, b and c`."""
    items = list(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "none"


def cell_words(codes: Sequence[int], factors: Sequence[Factor]) -> str:
    """A cell by what differs from all first levels: `all off`, `a + b`, `all on except c`."""
    switches = all(len(factor.levels) == 2 for factor in factors)
    changed = [
        change_words(factor, int(code)) for factor, code in zip(factors, codes, strict=True) if code and factor.levels
    ]
    off = all(factor.levels[0] == "off" for factor in factors)
    if not changed:
        return "all off" if off else "all at first level" if len(factors) > 1 else first_words(factors)
    if switches and len(factors) > 1:
        kept = [factor.name for factor, code in zip(factors, codes, strict=True) if not code]
        if not kept:
            return "all on" if off else "all changed"
        if len(factors) > 3 and len(kept) == 1:
            return f"all {'on' if off else 'changed'} except {kept[0]}"
    return " + ".join(changed)


def first_words(factors: Sequence[Factor]) -> str:
    """The first level of a lone factor."""
    return named_level(factors[0], 0) if factors else "all runs"


def change_words(factor: Factor, code: int) -> str:
    """`annealing` for the only other level than off, else `annealing=cosine`."""
    if len(factor.levels) == 2 and factor.levels[0] == "off":
        return factor.name
    return named_level(factor, code)


def named_level(factor: Factor, code: int) -> str:
    """`annealing=cosine`; of the nameless factor of a comparison the level alone."""
    return f"{factor.name}={factor.levels[code]}" if factor.name else factor.levels[code]


def arrow(factor: Factor) -> str:
    """From the first level to the last: `off → max`."""
    return f"{factor.levels[0]} → {factor.levels[-1]}"
