"""From clock readings to rates, shares and splits: pure functions on numbers. Nothing is timed or printed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median


@dataclass(frozen=True)
class Plan:
    """How long a row trains: `warm` iterations that do not count, then `window` that do, a segment's end among them."""

    warm: int
    window: int

    @property
    def iterations(self) -> int:
        """Of the whole run."""
        return self.warm + self.window

    @property
    def segment(self) -> int:
        """Iterations per segment, so that exactly one ends within the window."""
        return self.warm + (self.window + 1) // 2


THOROUGH = Plan(warm=2, window=4)
QUICK = Plan(warm=1, window=2)
"""The shortest plans. Compiling ends within the first iteration, so the second is an ordinary one already."""


def plan(seconds: float, expected_rate: float, steps_per_iteration: int, shortest: Plan) -> Plan:
    """A window of about `seconds`, no shorter than `shortest`, when `expected_rate` steps are done per second."""
    return Plan(shortest.warm, max(shortest.window, round(seconds * expected_rate / steps_per_iteration)))


@dataclass(frozen=True)
class Pace:
    """One run's seconds per iteration, `ordinary` and with its share of a segment's end, `charged`."""

    ordinary: float
    charged: float


def pace(times: Sequence[float], plan: Plan, natural_segment: int, until: float = float("inf")) -> Pace:
    """What an iteration takes, and what it takes when a segment's end is charged to all of its iterations.

    Args:
        times: when iterations 1, 2, ... were done, in seconds.
        plan: which of them count.
        natural_segment: iterations per segment outside of the benchmark.
        until: readings after it do not count (another worker had finished, and left its core).

    Raises:
        ValueError: too few readings count.
    """
    # Saving follows the last iteration of a segment, so it lies within the interval that ends with the next one.
    after_save = plan.segment + 1
    intervals = {i: times[i - 1] - times[i - 2] for i in range(plan.warm + 1, len(times) + 1) if times[i - 1] <= until}
    ordinary = [interval for i, interval in intervals.items() if i != after_save]
    if not ordinary:
        raise ValueError(f"no iteration beyond the first {plan.warm} was finished while all workers trained")
    usual = fmean(ordinary)
    extra = max(0.0, intervals.get(after_save, usual) - usual)
    return Pace(usual, usual + extra / natural_segment)


def population_rate(clocks: Sequence[Sequence[float]], plan: Plan, natural_segment: int, steps: int) -> float:
    """Environment steps per second of all runs together, while all of them train.

    Args:
        clocks: one list of times per run.
        plan: as in `pace`.
        natural_segment: as in `pace`.
        steps: of one run's iteration.
    """
    until = min(times[-1] for times in clocks)
    return sum(steps / pace(times, plan, natural_segment, until).charged for times in clocks)


@dataclass(frozen=True)
class Split:
    """Seconds of one iteration of one worker. `stepping` is an estimate; `writing` is all that is neither of the rest:
    tables, event files, and at a segment's end checkpoints and a fresh pool."""

    stepping: float
    acting: float
    learning: float
    writing: float

    @property
    def iteration(self) -> float:
        """The whole of it."""
        return self.stepping + self.acting + self.learning + self.writing

    def shares(self) -> dict[str, float]:
        """Each part's share of the iteration."""
        return {name: value / self.iteration for name, value in vars(self).items()}


def split(iteration: float, collecting: float, learning: float, steps: int, stepping_rate: float) -> Split:
    """Part an iteration of `iteration` seconds; its `steps` would be stepped at `stepping_rate` per second alone."""
    stepping = min(collecting, steps / stepping_rate)
    writing = max(0.0, iteration - collecting - learning)
    return Split(stepping, collecting - stepping, learning, writing)


def median_split(splits: Sequence[Split]) -> Split:
    """Part by part."""
    return Split(*(median(getattr(one, part) for one in splits) for part in Split.__dataclass_fields__))


def share(rate: float, ceiling_before: float, ceiling_after: float) -> float:
    """`rate` over the ceiling measured just before and just after it, so that a slow drift of the machine cancels."""
    return rate / fmean((ceiling_before, ceiling_after))


def ratios(shares: Mapping[str, Sequence[float]], name: str, peers: Sequence[str]) -> dict[str, float]:
    """How many times as fast as each peer that was measured: the median over rounds of the ratio of shares."""
    return {
        peer: median(mine / theirs for mine, theirs in zip(shares[name], shares[peer], strict=True))
        for peer in peers
        if peer in shares
    }
