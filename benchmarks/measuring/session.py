"""One run of the benchmark: rounds of rows, each between two measurements of the ceiling, and their medians."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from measuring import arithmetic, processes
from measuring.arithmetic import Plan, Split
from measuring.rows import PEERS, SAMPLES, Row

CEILING_ROWS = 16
EXPECTED_SHARE = 0.6
"""Of the ceiling, to choose how many iterations fill a window."""


class Effort(NamedTuple):
    """How often every row is measured, for how many seconds, and for how many iterations at least."""

    rounds: int
    seconds: float
    shortest: Plan


THOROUGH = Effort(2, 4.0, arithmetic.THOROUGH)
QUICK = Effort(1, 1.5, arithmetic.QUICK)


class Reading(NamedTuple):
    """What one round says of one row; `first_iteration` and `split` are of rows of ours only."""

    rate: float
    share: float
    peak_bytes: int | None
    first_iteration: float | None = None
    split: Split | None = None


class Session:
    """Measures `rows`, every one in every round.

    Args:
        environment: an id that EnvPool knows.
        rows: in the order in which they are measured.
        effort: rounds, and the length of a window; the ceiling's are half as long.
        cores: that this process may use.
        say: told what is being measured.
    """

    def __init__(
        self, environment: str, rows: Sequence[Row], effort: Effort, cores: int, say: Callable[[str], None]
    ) -> None:
        self.environment, self.rows = environment, list(rows)
        self.rounds, self._seconds, self._shortest = effort
        self._cores, self._say = cores, say
        self.ceilings: list[float] = []
        self.ceiling_peak_bytes: int | None = None
        self.readings: dict[str, list[Reading]] = defaultdict(list)

    def measure(self) -> None:
        """Measure everything.

        Raises:
            MeasurementError: a measuring process did not get to its end.
        """
        with tempfile.TemporaryDirectory() as caches:
            self._measure_ceiling()
            for number in range(1, self.rounds + 1):
                for row in self.rows:
                    self._say(f"round {number} of {self.rounds}: {row.title}")
                    # Every row compiles for itself in the first round, and finds its own programs in later ones.
                    self._measure(row, Path(caches) / row.name)

    def _measure_ceiling(self) -> float:
        arguments = [self.environment, str(CEILING_ROWS), str(self._seconds / 2)]
        outcome = processes.run("measuring.ceiling", arguments)
        self.ceilings.append(outcome.printed["steps"] / outcome.printed["seconds"])
        self.ceiling_peak_bytes = max(filter(None, (self.ceiling_peak_bytes, outcome.peak_bytes)), default=None)
        return self.ceilings[-1]

    def _measure(self, row: Row, cache: Path) -> None:
        before = self.ceilings[-1]
        with processes.busy_neighbour() if row.neighbour else nullcontext():
            result = self._train(row, cache) if row.trains_minutiae else self._peer(row)
        share = arithmetic.share(result.rate, before, self._measure_ceiling())
        self.readings[row.name].append(result._replace(share=share))

    def _train(self, row: Row, cache: Path) -> Reading:
        cores = min(row.cores or self._cores, self._cores)
        ceiling = self.ceilings[-1] * cores / self._cores
        plan = arithmetic.plan(self._seconds, EXPECTED_SHARE * ceiling, row.agents * SAMPLES, self._shortest)
        arguments = {
            "environment": self.environment,
            "preset_name": row.preset,
            "agents": row.agents,
            "details": dict(row.details),
            "cores": row.cores,
            "iterations": plan.iterations,
            "segment": plan.segment,
        }
        outcome = processes.run("measuring.training", [json.dumps(arguments)], {"XDG_CACHE_HOME": str(cache)})
        printed = outcome.printed
        natural, clocks = printed["natural_segment"], printed["clocks"]
        rate = arithmetic.population_rate(clocks, plan, natural, SAMPLES)
        workers = printed["workers"]
        counted = slice(plan.warm, None)
        split = arithmetic.split(
            iteration=row.agents * SAMPLES / rate,
            collecting=_mean(printed["collecting"][counted]),
            learning=_mean(printed["learning"][counted]),
            steps=row.agents * SAMPLES // workers,
            stepping_rate=ceiling / workers,
        )
        first = max(times[0] for times in clocks) - outcome.started
        return Reading(rate, 0.0, outcome.peak_bytes, first, split)

    def _peer(self, row: Row) -> Reading:
        arguments = {
            "library": row.library,
            "environment": self.environment,
            "environments": row.environments,
            "samples": SAMPLES,
            "warm": self._shortest.warm,
            "seconds": self._seconds,
        }
        outcome = processes.run("measuring.peers", [json.dumps(arguments)])
        times = outcome.printed["clock"][self._shortest.warm - 1 :]
        rate = SAMPLES * (len(times) - 1) / (times[-1] - times[0])
        return Reading(rate, 0.0, outcome.peak_bytes)

    def ceiling(self) -> dict[str, Any]:
        """The ceiling of the whole run, and how far it drifted."""
        return {
            "steps_per_second": median(self.ceilings),
            "lowest": min(self.ceilings),
            "highest": max(self.ceilings),
            "measured": len(self.ceilings),
            "share_of_ceiling": 1.0,
            "peak_bytes": self.ceiling_peak_bytes,
        }

    def results(self) -> dict[str, dict[str, Any]]:
        """Every row by name: medians over the rounds."""
        shares = {name: [reading.share for reading in readings] for name, readings in self.readings.items()}
        return {row.name: self._result(row, shares) for row in self.rows}

    def _result(self, row: Row, shares: dict[str, list[float]]) -> dict[str, Any]:
        readings = self.readings[row.name]
        peaks = [reading.peak_bytes for reading in readings if reading.peak_bytes is not None]
        result: dict[str, Any] = {
            "name": row.name,
            "title": row.title,
            "steps_per_second": median(reading.rate for reading in readings),
            "share_of_ceiling": median(shares[row.name]),
            "share_lowest": min(shares[row.name]),
            "share_highest": max(shares[row.name]),
            "peak_bytes": max(peaks, default=None),
            "times_as_fast_as": arithmetic.ratios(shares, row.name, PEERS),
        }
        splits = [reading.split for reading in readings if reading.split is not None]
        if splits:
            firsts = [reading.first_iteration for reading in readings if reading.first_iteration is not None]
            result["seconds_per_iteration"] = vars(arithmetic.median_split(splits))
            result["first_iteration_seconds"] = {
                "empty_cache": firsts[0],
                "warm_cache": median(firsts[1:]) if firsts[1:] else None,
            }
        return result


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
