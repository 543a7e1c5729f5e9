"""What every estimate looks like when it is handed over. No computation lives here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
"""A float64 array; its shape is stated where it is used."""


@dataclass(frozen=True)
class Interval:
    """An estimate and how sure we are of it.

    Attributes:
        estimate: in the unit of the outcome, unless the function that made it says otherwise.
        low: lower end, at most `high`; minus infinity when the data cannot bound it.
        high: upper end; infinity when the data cannot bound it.
        level: the share of repetitions of the whole study in which [low, high] is meant to hold the truth.
        method: how the interval was made, in words.
        n: number of runs behind it.
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str
    n: int


@dataclass(frozen=True)
class ToleranceInterval(Interval):
    """Where most runs lie, as opposed to where their mean lies: [low, high] holds `coverage` of all future runs.

    Attributes:
        coverage: share of the population of runs inside, in (0, 1).
        attained: confidence that the ends really have; at least `level`.
    """

    coverage: float
    attained: float


@dataclass(frozen=True)
class Band:
    """A curve and its band.

    Attributes:
        at: `[K]`, where the curve is evaluated.
        estimate: `[K]`.
        low: `[K]`.
        high: `[K]`.
        level: confidence, in (0, 1); of each point or of all points together, as `method` says.
        method: how the band was made, in words.
        n: number of runs behind it.
    """

    at: Vector
    estimate: Vector
    low: Vector
    high: Vector
    level: float
    method: str
    n: int
