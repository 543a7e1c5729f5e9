"""Choosing a setting and reporting it: on other seeds, or as Engstrom et al. did. Nothing is trained here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minutiae.errors import StatisticsError
from minutiae.statistics.bootstrap import bootstrap_interval
from minutiae.statistics.checks import as_sample, require_name
from minutiae.statistics.results import Interval, Vector
from minutiae.statistics.summaries import Statistic, optimality_gap, resolve_statistic

PROTOCOLS = ("held_out", "engstrom")
"""Where the reported figure comes from."""


@dataclass(frozen=True)
class Tuned(Interval):
    """The outcome of the chosen setting.

    Attributes:
        chosen: position of the setting.
        apparent: its statistic on the seeds that chose it.
        selection: runs of the chosen setting that took part in the choice.
        protocol: `held_out` or `engstrom`.
    """

    chosen: int
    apparent: float
    selection: int
    protocol: str


def choose_setting(returns: Sequence[Any], statistic: str | Statistic = "mean") -> int:
    """Position of the setting with the best statistic; the first of equal ones.

    Args:
        returns: one `[S_k]` per setting, at least 1 run in each.
        statistic: as in `bootstrap_interval`; the largest is best, of the optimality gap the smallest.

    Raises:
        StatisticsError: no settings, or values that are not finite.
    """
    return _best(_scores(_settings(returns, 1), statistic), statistic)


def tuned_interval(
    returns: Sequence[Any],
    fresh: Any = None,
    *,
    protocol: str = "held_out",
    statistic: str | Statistic = "mean",
    method: str | None = None,
    level: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Tuned:
    """Choose the best setting and report it with an interval.

    `held_out`: choose on `returns`, report on `fresh` runs of that setting (two stages: Patterson et al. 2024). The
    best of several noisy means is above its truth: of 4 equal settings with 5 seeds, by 1.03 standard errors.

    `engstrom`: what Engstrom et al. 2020 did for every configuration and algorithm: the setting with the best mean over
    its seeds is kept, and the same runs are reported, with a percentile bootstrap of the mean from 1,000 resamples.
    Biased upwards; for reproducing their numbers. In the case above its nominal 95 % interval covers 0.76, that of
    `held_out` 0.95.

    Args:
        returns: one `[S_k]` per setting: the runs that choose.
        fresh: runs that did not choose: one `[T]` of the setting that `choose_setting` gives, or one `[T_k]` per
            setting. Only for `held_out`.
        protocol: `held_out` or `engstrom`.
        statistic: as in `choose_setting`; `engstrom` takes the mean.
        method: of the interval, as in `bootstrap_interval`; `engstrom` takes the percentile.
        level: in (0, 1).
        resamples: 10,000 by default; 1,000 for `engstrom`.
        seed: makes the bootstrap repeatable.

    Raises:
        StatisticsError: fresh runs are missing, or given where the protocol reports the choosing ones.
    """
    require_name("protocol", protocol, PROTOCOLS)
    settings = _settings(returns, 2 if protocol == "engstrom" else 1)
    if protocol == "engstrom" and (fresh is not None or statistic != "mean" or method not in (None, "percentile")):
        raise StatisticsError(
            "protocol 'engstrom' reports the mean of the runs that chose, by percentile; leave out fresh, statistic "
            "and method, or use protocol='held_out'"
        )
    scores = _scores(settings, statistic)
    chosen = _best(scores, statistic)
    if protocol == "engstrom":
        reported, method, count = settings[chosen], "percentile", resamples or 1_000
        words = f"chosen among {len(settings)} settings on the same runs"
    else:
        reported, count = _fresh(fresh, chosen, len(settings)), resamples or 10_000
        words = f"chosen among {len(settings)} settings on other runs"
    found = bootstrap_interval(reported, statistic, method=method, level=level, resamples=count, seed=seed)
    return Tuned(
        found.estimate,
        found.low,
        found.high,
        level,
        f"{found.method}; {words}",
        found.n,
        chosen,
        float(scores[chosen]),
        len(settings[chosen]),
        protocol,
    )


def selection_optimism(returns: Any) -> float:
    """By how much the best mean overstates the chosen setting, by leaving each shared seed out of the choice once.

    The mean over all seeds of the best setting, minus the mean over seeds of what the setting chosen on the other seeds
    got on the one left out (Tibshirani and Tibshirani 2009). Slightly too large on average, since a seed less chooses
    a little worse.

    Args:
        returns: `[K, S]`, K settings on the same S seeds, S at least 2.

    Returns:
        In the unit of the outcome.

    Raises:
        StatisticsError: another shape or values that are not finite.
    """
    table = np.asarray(returns, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise StatisticsError(
            f"returns has shape {table.shape}; it must be finite, [settings, seeds], with at least 2 seeds; run every "
            f"setting on the same seeds"
        )
    others = table.sum(axis=1, keepdims=True) - table
    picked = table[np.argmax(others, axis=0), np.arange(table.shape[1])]
    return float(table.mean(axis=1).max() - picked.mean())


def _settings(returns: Sequence[Any], least: int) -> list[Vector]:
    if not len(returns):
        raise StatisticsError("returns has no settings; at least one is needed; give one array of runs per setting")
    return [as_sample(values, f"returns[{k}]", least) for k, values in enumerate(returns)]


def _scores(settings: Sequence[Vector], statistic: str | Statistic) -> Vector:
    function, _ = resolve_statistic(statistic)
    return np.array([float(function(values)) for values in settings])


def _best(scores: Vector, statistic: str | Statistic) -> int:
    smaller_is_better = resolve_statistic(statistic)[0] is optimality_gap
    return int(np.argmin(scores) if smaller_is_better else np.argmax(scores))


def _fresh(fresh: Any, chosen: int, settings: int) -> Vector:
    if fresh is None:
        raise StatisticsError(
            f"protocol 'held_out' needs fresh runs of setting {chosen}, on seeds that did not choose it; train some, "
            f"or ask for protocol='engstrom' by name"
        )
    rows = list(fresh)
    if rows and np.ndim(rows[0]) == 1:
        if len(rows) != settings:
            raise StatisticsError(
                f"fresh has {len(rows)} settings and returns {settings}; give one array for each, or only that of "
                f"setting {chosen}"
            )
        return as_sample(rows[chosen], f"fresh[{chosen}]")
    return as_sample(fresh, "fresh")
