"""Least squares on runs: from contrasts to a table of effects with errors and intervals. Which contrasts: `effects`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from minutiae.errors import StatisticsError, unknown
from minutiae.statistics.checks import as_codes, as_sample, require_count, require_name, require_share
from minutiae.statistics.contrasts import Contrasts
from minutiae.statistics.design import (
    Aliased,
    Contrast,
    Design,
    block_columns,
    coded,
    factor_pairs,
    find_aliased,
    null_space,
)
from minutiae.statistics.results import Interval, Vector
from minutiae.statistics.simultaneous import adjusted_by, bonferroni_quantile, holm, max_t_draws

ERRORS = ("pooled", "separate")
"""One variance of all residuals, or one of each cell's runs (of each contrast's blocks when seeds are shared)."""

SIMULTANEOUS = ("max_t", "bootstrap", "holm", "none")
"""How intervals and p-values are made to hold for all effects of a table at once."""


@dataclass(frozen=True)
class Effect(Interval):
    """One effect, in the unit of the outcome.

    Attributes:
        name: `annealing`, `init=orthogonal`, `annealing x init` or `annealing | init=xavier`.
        factors: the factors it is about.
        standard_error: of the estimate.
        degrees_of_freedom: behind the standard error.
        p_value: two-sided t test of no effect, alone.
        adjusted_p_value: the same for all effects of the table together.
        confounded_with: interactions left out of the model that these cells would add to this estimate if they existed.
    """

    name: str
    factors: tuple[str, ...]
    standard_error: float
    degrees_of_freedom: float
    p_value: float
    adjusted_p_value: float
    confounded_with: tuple[str, ...]


@dataclass(frozen=True)
class Effects:
    """A table of effects.

    Attributes:
        effects: all that the runs can estimate.
        aliased: all that they cannot, and why.
        deviation: of the residuals, in the unit of the outcome; `None` when errors are separate.
        level: of all intervals together (of each alone when `simultaneous` is `none`).
        method: how it was made, in words.
        n: number of runs.
    """

    effects: tuple[Effect, ...]
    aliased: tuple[Aliased, ...]
    deviation: float | None
    level: float
    method: str
    n: int

    def __getitem__(self, name: str) -> Effect:
        """The effect of that name.

        Raises:
            StatisticsError: it is aliased, or there is none of that name.
        """
        for effect in self.effects:
            if effect.name == name:
                return effect
        for aliased in self.aliased:
            if aliased.name == name:
                raise StatisticsError(aliased.reason)
        raise StatisticsError(unknown("effect", name, [effect.name for effect in self.effects]))


@dataclass(frozen=True)
class Options:
    """How errors and intervals are made; see `effects.estimate_effects`."""

    errors: str
    simultaneous: str
    level: float
    draws: int
    seed: int

    def check(self) -> None:
        """Refuse unknown names, shares outside (0, 1), and a bootstrap of pooled errors."""
        require_name("errors", self.errors, ERRORS)
        require_name("simultaneous method", self.simultaneous, SIMULTANEOUS)
        require_share(self.level, "level")
        require_count(self.draws, "draws", 100)
        if self.simultaneous == "bootstrap" and self.errors == "pooled":
            raise StatisticsError(
                "the bootstrap of max t computes the errors of each resample from its own units; "
                "it goes with errors='separate'; say so, or use simultaneous='max_t'"
            )


def fit_contrasts(
    design: Design,
    pairs: Sequence[tuple[int, int]],
    contrasts: Sequence[Contrast],
    outcome: Any,
    block: Any,
    options: Options,
) -> Effects:
    """The contrasts that the runs can estimate, with errors and intervals, and those that they cannot.

    Raises:
        StatisticsError: as `effects.estimate_effects`.
    """
    options.check()
    y = as_sample(outcome, "outcome")
    if len(y) != len(design.levels):
        raise StatisticsError(f"outcome has {len(y)} runs and levels {len(design.levels)}; give one row for each run")
    blocks = block_columns(block, len(y))
    columns = np.concatenate([coded(design, design.levels, pairs), blocks], axis=1)
    aliased = find_aliased(contrasts, columns, blocks.shape[1])
    lost = {entry.name for entry in aliased}
    kept = [contrast for contrast in contrasts if contrast.name not in lost]
    method = _words(pairs, block is not None, options)
    if not kept:
        return Effects((), tuple(aliased), None, options.level, method, len(y))
    sought = np.array([np.pad(c.weights, (0, blocks.shape[1])) for c in kept])
    # Of all weightings of runs that estimate the contrasts, the one of least variance (Gauss and Markov).
    weights = sought @ np.linalg.pinv(columns, rcond=1e-10)
    confounded = _confounded(design, pairs, weights)
    deviation, resampled = None, None
    if options.errors == "pooled":
        moments, deviation = _pooled(columns, weights, y)
    else:
        resampled = _separate(design, weights, y, block)
        moments = resampled.estimates, resampled.covariance, resampled.degrees_of_freedom
    table = _table(kept, confounded, moments, resampled, options, method, len(y))
    return Effects(table, tuple(aliased), deviation, options.level, method, len(y))


_Moments = tuple[Vector, Vector, Vector]
"""Estimates `[m]`, their covariance `[m, m]`, and degrees of freedom `[m]`."""


def _pooled(columns: Vector, weights: Vector, y: Vector) -> tuple[_Moments, float]:
    rank = columns.shape[1] - null_space(columns).shape[1]
    freedom = len(y) - rank
    if freedom < 1:
        raise StatisticsError(
            f"{len(y)} runs leave no degrees of freedom beside {rank} coefficients, so there is no error to measure; "
            f"add seeds, or leave out interactions"
        )
    residual = y - columns @ np.linalg.lstsq(columns, y, rcond=1e-10)[0]
    variance = float(residual @ residual) / freedom
    return (weights @ y, variance * weights @ weights.T, np.full(len(weights), float(freedom))), variance**0.5


def _separate(design: Design, weights: Vector, y: Vector, block: Any) -> Contrasts:
    """Units are runs within cells, or blocks with the same cells: weights then are equal within a stratum."""
    cells, cell_of_run = design.cells()
    if block is None:
        unit_of_run: NDArray[np.intp] = np.arange(len(y))
        kinds: list[tuple[int, ...]] = [(int(cell),) for cell in cell_of_run]
    else:
        unit_of_run, count = as_codes(block, "block", len(y))
        kinds = [tuple(np.sort(cell_of_run[unit_of_run == unit]).tolist()) for unit in range(count)]
    share = np.zeros((len(kinds), len(weights)))
    np.add.at(share, unit_of_run, (weights * y).T)
    strata: dict[tuple[int, ...], list[int]] = {}
    for unit, kind in enumerate(kinds):
        strata.setdefault(kind, []).append(unit)
    single = [kind for kind, units in strata.items() if len(units) < 2]
    if single:
        what = "run" if block is None else "block"
        raise StatisticsError(
            f"cell {tuple(cells[single[0][0]].tolist())} has a single {what} of its kind, so separate errors have no "
            f"spread to measure; give every cell at least two seeds (all cells the same when blocked), or use "
            f"errors='pooled'"
        )
    words = "runs within cells" if block is None else "blocks"
    return Contrasts(tuple(len(units) * share[units] for units in strata.values()), len(y), words)


def _confounded(design: Design, pairs: Sequence[tuple[int, int]], weights: Vector) -> list[tuple[str, ...]]:
    """Per effect, the omitted interactions that its weighting of runs lets in (Box and Wilson 1951)."""
    found: list[list[str]] = [[] for _ in weights]
    for a, b in factor_pairs(design):
        if (a, b) in pairs:
            continue
        width = coded(design, design.levels, []).shape[1]
        product = coded(design, design.levels, [(a, b)])[:, width:]
        leak = np.abs(weights @ product).max(axis=1)
        for i in np.flatnonzero(leak > 1e-8):
            found[i].append(f"{design.names[a]} x {design.names[b]}")
    return [tuple(names) for names in found]


def _table(
    contrasts: Sequence[Contrast],
    confounded: Sequence[tuple[str, ...]],
    moments: _Moments,
    resampled: Contrasts | None,
    options: Options,
    method: str,
    n: int,
) -> tuple[Effect, ...]:
    estimates, covariance, freedom = moments
    errors = np.sqrt(np.diag(covariance))
    # Without any spread a difference is certain: its t is infinite, and 0 for no difference.
    certain = np.where(estimates == 0, 0.0, np.copysign(np.inf, estimates))
    ratios = np.divide(estimates, errors, out=certain, where=errors > 0)
    alone = 2 * scipy.stats.t.sf(np.abs(ratios), freedom)
    together, quantiles = _together(ratios, alone, moments, errors, resampled, options)
    return tuple(
        Effect(
            float(estimates[i]),
            float(estimates[i] - quantiles[i] * errors[i]),
            float(estimates[i] + quantiles[i] * errors[i]),
            options.level,
            method,
            n,
            contrast.name,
            contrast.factors,
            float(errors[i]),
            float(freedom[i]),
            float(alone[i]),
            float(together[i]),
            confounded[i],
        )
        for i, contrast in enumerate(contrasts)
    )


def _together(
    ratios: Vector, alone: Vector, moments: _Moments, errors: Vector, resampled: Contrasts | None, options: Options
) -> tuple[Vector, Vector]:
    """Adjusted p-values and half-widths in standard errors, both `[m]`."""
    freedom = moments[2]
    if options.simultaneous == "none":
        return alone, scipy.stats.t.ppf((1 + options.level) / 2, freedom)
    if options.simultaneous == "holm":
        return holm(alone), bonferroni_quantile(len(ratios), freedom, options.level)
    if options.simultaneous == "bootstrap" and resampled is not None:
        largest = _bootstrap_max_t(resampled, options)
    else:
        scale = np.where(errors > 0, errors, 1.0)
        correlation = moments[1] / np.outer(scale, scale)
        # With separate errors the degrees of freedom differ; the least is the careful choice.
        largest = max_t_draws(correlation, float(freedom.min()), options.draws, options.seed)
    quantile = float(np.quantile(largest, options.level, method="higher"))
    return adjusted_by(largest, ratios), np.full(len(ratios), quantile)


def _bootstrap_max_t(resampled: Contrasts, options: Options) -> Vector:
    drawn, errors = resampled.draws(options.draws, np.random.default_rng(options.seed))
    difference = np.abs(drawn - resampled.estimates[:, None])
    flat = errors <= 1e-12 * resampled.errors[:, None]
    ratios = np.where(flat, np.where(difference > 0, np.inf, 0.0), difference / np.where(flat, 1.0, errors))
    return np.asarray(ratios.max(axis=0))


def _words(pairs: Sequence[tuple[int, int]], blocked: bool, options: Options) -> str:
    model = "main effects and two-way interactions" if pairs else "main effects only"
    together = {
        "max_t": f"together by max t ({options.draws:,} draws, seed {options.seed})",
        "bootstrap": f"together by bootstrapped max t ({options.draws:,} resamples, seed {options.seed})",
        "holm": "together: p-values by Holm, intervals by Bonferroni",
        "none": "each effect alone",
    }[options.simultaneous]
    blocks = ", blocked" if blocked else ""
    return f"least squares on runs, {model}{blocks}, {options.errors} errors, {together}"
