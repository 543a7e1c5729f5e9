"""Which effects a set of runs can tell apart: coding of levels, contrasts of cell means, aliases. No outcomes here.

Levels are coded to sum to zero over each factor, so that leaving a factor out of a row averages over its levels.
Montgomery 2017, "Design and Analysis of Experiments" (M17).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutiae.errors import StatisticsError
from minutiae.statistics.checks import as_codes, require_name
from minutiae.statistics.results import Vector


@dataclass(frozen=True)
class Design:
    """Runs as combinations of levels.

    Attributes:
        levels: `[R, k]`, codes 0 .. L_f - 1 of each run.
        names: k factors.
        labels: the levels' names of each factor, in the order of the codes.
    """

    levels: NDArray[np.intp]
    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each factor."""
        return tuple(len(labels) for labels in self.labels)

    def index(self, name: str) -> int:
        """Position of a factor.

        Raises:
            StatisticsError: there is none of that name.
        """
        require_name("factor", name, self.names)
        return self.names.index(name)

    def cells(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The distinct cells `[C, k]` in lexical order, and each run's cell `[R]`."""
        cells, of_run = np.unique(self.levels, axis=0, return_inverse=True)
        return cells, of_run.reshape(-1)


@dataclass(frozen=True)
class Contrast:
    """A difference of cell means, as weights of the coded columns.

    Attributes:
        name: `annealing` for a factor of two levels, `init=orthogonal` for one of more, ` x ` between two factors.
        factors: the one or two factors it is about.
        weights: `[columns]`.
    """

    name: str
    factors: tuple[str, ...]
    weights: Vector


def as_design(levels: Any, names: Sequence[str], labels: Mapping[str, Sequence[str]] | None = None) -> Design:
    """Check and wrap level codes.

    Args:
        levels: `[R, k]` whole numbers; code 0 is the level that effects are measured against (off, usually).
        names: k different names.
        labels: names of a factor's levels by code; without them the codes are the names.

    Raises:
        StatisticsError: shapes that do not fit, codes that are not 0, 1, 2, ..., or a factor of one level.
    """
    codes = np.asarray(levels)
    if codes.ndim != 2 or codes.shape[1] != len(names) or not codes.size or len(set(names)) != len(names):
        raise StatisticsError(
            f"levels has shape {codes.shape} for the factors {', '.join(names)}; it must be [runs, {len(names)}] with "
            f"one column per factor and no name twice; build one row of level codes per run"
        )
    whole = codes.astype(np.intp)
    if not np.array_equal(whole, codes) or whole.min() < 0:
        raise StatisticsError("levels must hold whole numbers from 0 up; code each level by its position")
    given = labels or {}
    for name in given:
        require_name("factor", name, names)
    texts = []
    for name, column in zip(names, whole.T, strict=True):
        seen = np.unique(column)
        if len(seen) < 2 or seen[-1] != len(seen) - 1:
            raise StatisticsError(
                f"factor {name!r} has the level codes {', '.join(map(str, seen))}; at least two are needed, counted "
                f"0, 1, 2, ... without gaps; leave out a factor that does not vary"
            )
        text = tuple(given.get(name, tuple(map(str, seen))))
        if len(text) != len(seen):
            raise StatisticsError(f"factor {name!r} has {len(seen)} levels and {len(text)} labels; give one label each")
        texts.append(text)
    return Design(whole, tuple(names), tuple(texts))


def factor_pairs(design: Design) -> list[tuple[int, int]]:
    """All pairs of factors."""
    return list(combinations(range(len(design.names)), 2))


def coded(design: Design, points: NDArray[np.intp], pairs: Sequence[tuple[int, int]]) -> Vector:
    """Columns of a linear model: constant, main effects, products for `pairs`.

    Args:
        design: for the numbers of levels.
        points: `[P, k]` level codes; -1 averages over the factor's levels.
        pairs: pairs of factors that interact.

    Returns:
        `[P, columns]`.
    """
    blocks = []
    for size, column in zip(design.sizes, points.T, strict=True):
        # Deviations from the mean of all levels: the last level is minus the sum of the others. Row -1 is "average".
        table = np.vstack([np.eye(size - 1), -np.ones(size - 1), np.zeros(size - 1)])
        blocks.append(table[column])
    products = [(blocks[a][:, :, None] * blocks[b][:, None, :]).reshape(len(points), -1) for a, b in pairs]
    return np.concatenate([np.ones((len(points), 1)), *blocks, *products], axis=1)


def _row(design: Design, pairs: Sequence[tuple[int, int]], fixed: Mapping[int, int]) -> Vector:
    point = np.full((1, len(design.names)), -1, dtype=np.intp)
    for factor, level in fixed.items():
        point[0, factor] = level
    return coded(design, point, pairs)[0]


def label_of(design: Design, factor: int, level: int) -> str:
    """`annealing` when there is one alternative to the reference level, else `annealing=cosine`."""
    name = design.names[factor]
    return name if design.sizes[factor] == 2 else f"{name}={design.labels[factor][level]}"


def main_contrasts(design: Design, pairs: Sequence[tuple[int, int]]) -> list[Contrast]:
    """Mean at each level minus mean at level 0, each averaged equally over all other factors (M17, chapter 5)."""
    return [
        Contrast(
            label_of(design, f, level),
            (design.names[f],),
            _row(design, pairs, {f: level}) - _row(design, pairs, {f: 0}),
        )
        for f, size in enumerate(design.sizes)
        for level in range(1, size)
    ]


def interaction_contrasts(
    design: Design, pairs: Sequence[tuple[int, int]], of: Sequence[tuple[int, int]]
) -> list[Contrast]:
    """Differences of differences: effect of one factor with the other at a level, minus with it at level 0.

    Textbooks on two-level designs halve it (M17, chapter 6); undivided, it is in the outcome's unit and means the
    same with more levels.
    """
    contrasts = []
    for a, b in of:
        for i in range(1, design.sizes[a]):
            for j in range(1, design.sizes[b]):
                both, neither = _row(design, pairs, {a: i, b: j}), _row(design, pairs, {a: 0, b: 0})
                alone = _row(design, pairs, {a: i, b: 0}) + _row(design, pairs, {a: 0, b: j})
                name = f"{label_of(design, a, i)} x {label_of(design, b, j)}"
                contrasts.append(Contrast(name, (design.names[a], design.names[b]), both + neither - alone))
    return contrasts


def simple_contrasts(design: Design, pairs: Sequence[tuple[int, int]], of: int, given: int) -> list[Contrast]:
    """Effect of `of` at every level of `given`, averaged over the others: `annealing | init=xavier`."""
    return [
        Contrast(
            f"{label_of(design, of, i)} | {design.names[given]}={design.labels[given][j]}",
            (design.names[of], design.names[given]),
            _row(design, pairs, {of: i, given: j}) - _row(design, pairs, {of: 0, given: j}),
        )
        for i in range(1, design.sizes[of])
        for j in range(design.sizes[given])
    ]


def block_columns(block: Any, runs: int) -> Vector:
    """Indicators of all blocks but the first: `[R, blocks - 1]`; no columns for `None`."""
    if block is None:
        return np.empty((runs, 0))
    codes, count = as_codes(block, "block", runs)
    return np.eye(count)[codes][:, 1:]


@dataclass(frozen=True)
class Aliased:
    """An effect that these runs cannot estimate.

    Attributes:
        name: the effect.
        confused_with: effects (or `mean`, or `block`) that move the outcome of these runs in the same way.
        reason: one sentence.
    """

    name: str
    confused_with: tuple[str, ...]
    reason: str


def null_space(columns: Vector) -> Vector:
    """Orthonormal directions of the coefficients that leave every fitted run as it is: `[columns, directions]`."""
    # Thousands of runs have the null space of their triangle.
    square = np.linalg.qr(columns, mode="r") if len(columns) > columns.shape[1] else columns
    _, singular, rows = np.linalg.svd(square, full_matrices=True)
    rank = int((singular > singular[0] * max(columns.shape) * np.finfo(np.float64).eps * 10).sum())
    return np.asarray(rows[rank:].T)


def find_aliased(contrasts: Sequence[Contrast], columns: Vector, block_count: int) -> list[Aliased]:
    """The contrasts that no weighting of the runs estimates, and what each is confused with (M17, section 8.2).

    A contrast is estimable when it is blind to the null space. Two that are not, and see the same part of it, can only
    be estimated together.

    Args:
        contrasts: with weights of the leading columns.
        columns: `[R, columns + blocks]`.
        block_count: number of trailing block columns.
    """
    hidden = null_space(columns)
    width = columns.shape[1] - block_count
    constant = Contrast("mean", (), np.eye(1, width)[0])
    everything = [constant, *contrasts]
    seen = np.array([contrast.weights @ hidden[:width] for contrast in everything])
    lengths = np.linalg.norm(seen, axis=1)
    lost = lengths > 1e-8 * np.array([np.linalg.norm(contrast.weights) for contrast in everything])
    aliased = []
    for i, contrast in enumerate(everything):
        if i == 0 or not lost[i]:
            continue
        related = [
            other.name
            for j, other in enumerate(everything)
            if j != i and lost[j] and abs(seen[i] @ seen[j]) > 1e-8 * lengths[i] * lengths[j]
        ]
        if np.abs(hidden[width:] @ seen[i]).max(initial=0.0) > 1e-8 * lengths[i]:
            related.append("block")
        aliased.append(Aliased(contrast.name, tuple(related), _reason(contrast.name, related)))
    return aliased


def _reason(name: str, related: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(related[:most]) + (f" and {len(related) - most} more" if len(related) > most else "")
    return f"{name} cannot be told apart from {shown or 'what these cells leave out'} in these cells; add cells that do"
