"""Regular two-level fractions: which columns they have, their words and their aliases. No names of designs here.

A fraction of 2^m cells gives each factor a column: the set of basic factors whose product it is, as the bits of a
number from 1 to 2^m - 1. A word is a set of factors whose columns cancel; the shortest one's length is the resolution
(Montgomery 2017, chapter 8; Box and Hunter 1961). Aberration: Fries and Hunter 1980. The search adds factor after
factor, as in Chen, Sun and Wu 1993.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from minutiae.errors import ConfigError

WIDTH = 64
"""Partial fractions kept while searching, fewer in large searches: enough for the published fractions in the tests.

Not always for the largest known: 23 factors of resolution V need 512 cells, and the search says 1,024.
"""

MOST_FACTORS = 60
"""Above it the counts of words outgrow 64 bits."""

MOST_BASIC = 12
"""The search goes up to 2^12 cells; more is no longer a small part of anything that can be trained."""


@lru_cache(maxsize=256)
def find_columns(factors: int, exponent: int, at_least: int = 3) -> tuple[int, ...] | None:
    """Columns of a fraction of 2^exponent cells of at least a resolution, with the least aberration found.

    Aberration compares the numbers of words of length 3, 4, 5, ... in this order; fewer is better, so that a higher
    resolution comes first.

    Args:
        factors: k, more than `exponent`.
        exponent: m, the number of basic factors; they come first, in order.
        at_least: resolution, 3 or more.

    Returns:
        k columns, or `None` when the search finds no fraction of that resolution.
    """
    if not _has_room(factors, exponent, at_least):
        return None
    columns = np.arange(1, 2**exponent)
    found = _search(factors, exponent, at_least, columns)
    if found is None and at_least % 2 == 0:
        # Columns of odd size make all words even; whenever a fraction of an even resolution exists, such a one does.
        found = _search(factors, exponent, at_least, columns[np.bitwise_count(columns) % 2 == 1])
    return found


def _search(factors: int, exponent: int, at_least: int, choices: NDArray[np.intp]) -> tuple[int, ...] | None:
    """Add factor after factor, keeping the partial fractions of least aberration."""
    points = np.arange(2**exponent)
    width = max(8, min(WIDTH, 2**19 // (factors * 2**exponent)))
    found = [tuple(1 << basic for basic in range(exponent))]
    for _ in range(exponent, factors):
        best: dict[tuple[int, ...], tuple[int, ...]] = {}
        for columns in found:
            pattern = _extended_patterns(columns, points)
            allowed = np.setdiff1d(choices, columns)
            allowed = allowed[~pattern[allowed, 1:at_least].any(axis=1)]
            # One column for each pattern: the others mostly give the same fraction with the factors renamed. Numbers
            # of words of length 3 to 8, mixed into one (overflow does no harm), tell patterns apart well enough.
            mixed = pattern[allowed, 3:9] @ np.int64(1_000_003) ** np.arange(pattern[:, 3:9].shape[1])
            for column in allowed[np.unique(mixed, return_index=True)[1]].tolist():
                best.setdefault(tuple(pattern[column].tolist()), (*columns, column))
        found = [best[lengths] for lengths in sorted(best)[:width]]
        if not found:
            return None
    return (*found[0][:exponent], *sorted(found[0][exponent:]))


def _has_room(factors: int, exponent: int, resolution: int) -> bool:
    """Hamming's bound: products of up to (R - 1) / 2 factors all differ; an even R is R - 1 with one factor more."""
    if resolution % 2 == 0:
        factors, exponent = factors - 1, exponent - 1
    return sum(comb(factors, size) for size in range((resolution - 1) // 2 + 1)) <= 2**exponent


def _extended_patterns(columns: Sequence[int], points: NDArray[np.intp]) -> NDArray[np.int64]:
    """Numbers of words by length when each possible column is added: `[2^m, k + 2]`, lengths 0 .. k + 1."""
    length = len(columns) + 1
    # How many of the columns are "on" at each point of the basic factors.
    weights = (np.bitwise_count(points[:, None] & np.array(columns)) & 1).sum(axis=1)
    indicators = (weights == np.arange(length)[:, None]).astype(np.int64)
    ones = indicators.sum(axis=1, keepdims=True)
    on = (ones - _walsh(indicators)) // 2
    counts = np.zeros((len(points), length + 1), dtype=np.int64)
    counts[:, :-1] += (ones - on).T
    counts[:, 1:] += on.T
    return counts @ _krawtchouk(length) // len(points)


def _walsh(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Walsh-Hadamard transform over the last axis, whose length is a power of two."""
    shape, step = values.shape, 1
    while step < shape[-1]:
        parts = values.reshape(*shape[:-1], -1, 2, step)
        values = np.stack([parts[..., 0, :] + parts[..., 1, :], parts[..., 0, :] - parts[..., 1, :]], axis=-2)
        step *= 2
    return values.reshape(shape)


@lru_cache(maxsize=64)
def _krawtchouk(length: int) -> NDArray[np.int64]:
    """Krawtchouk polynomials `[weight, degree]`: MacWilliams' way from weights of a code to words of its dual."""
    return np.array(
        [
            [
                sum((-1) ** i * comb(weight, i) * comb(length - weight, degree - i) for i in range(degree + 1))
                for degree in range(length + 1)
            ]
            for weight in range(length + 1)
        ],
        dtype=np.int64,
    )


def word_lengths(columns: Sequence[int], exponent: int) -> tuple[int, ...]:
    """Numbers of defining words of length 0, 1, ..., k; the empty word counts as one of length 0."""
    points = np.arange(2**exponent)
    weights = (np.bitwise_count(points[:, None] & np.array(columns)) & 1).sum(axis=1)
    counts = np.bincount(weights, minlength=len(columns) + 1)
    return tuple((counts @ _krawtchouk(len(columns)) // len(points)).tolist())


def codes_of(columns: Sequence[int], exponent: int) -> NDArray[np.intp]:
    """Level codes `[2^m, k]` of the fraction that holds the cell of ones; the first factor varies slowest."""
    points = np.arange(2**exponent)
    bits = (points[:, None] >> np.arange(exponent)[::-1]) & 1
    # A product of -1s and 1s is 1 when an even number of its factors is at -1 (code 0).
    masks = (np.array(columns)[:, None] >> np.arange(exponent)) & 1
    return 1 - ((1 - bits) @ masks.T & 1)


def generators_of(columns: Sequence[int], exponent: int, names: Sequence[str]) -> tuple[str, ...]:
    """`e = a:b:c` for every factor that is not basic."""
    return tuple(
        f"{name} = {':'.join(names[basic] for basic in range(exponent) if column >> basic & 1)}"
        for name, column in zip(names[exponent:], columns[exponent:], strict=True)
    )


def aliases_of(columns: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """`a = b:c = d:e`: one line per group of main effects and two-way interactions that are confounded."""
    groups: dict[int, list[str]] = {}
    for name, column in zip(names, columns, strict=True):
        groups.setdefault(column, []).append(name)
    for (a, first), (b, second) in combinations(zip(names, columns, strict=True), 2):
        groups.setdefault(first ^ second, []).append(f"{a}:{b}")
    return tuple(" = ".join(group) for group in groups.values() if len(group) > 1)


@dataclass(frozen=True)
class Fraction:
    """A regular fraction with its factors' names.

    Attributes:
        codes: `[2^m, k]` level codes 0 and 1.
        resolution: length of the shortest word; `None` for the whole factorial, which has none.
        generators: `e = a:b:c` for each factor that is not basic.
        aliases: `a = b:c = d:e`, each group of main effects and two-way interactions that are confounded.
    """

    codes: NDArray[np.intp]
    resolution: int | None
    generators: tuple[str, ...]
    aliases: tuple[str, ...]


def choose_fraction(names: Sequence[str], runs: int | None, resolution: int | None) -> Fraction:
    """The best fraction of `runs` cells, or the smallest of at least `resolution` (4 when neither is given).

    Raises:
        ConfigError: a number of runs that is no power of two or does not fit the factors, or too high a resolution.
    """
    k = len(names)
    if k > MOST_FACTORS:
        raise ConfigError(f"fractional takes at most {MOST_FACTORS} factors and got {k}; leave some out")
    if resolution is not None and not (is_whole(resolution) and resolution >= 3):
        raise ConfigError(
            f"resolution = {resolution!r} must be a whole number of at least 3; at 3 main effects are clear of each "
            f"other, at 4 of two-way interactions, at 5 those of each other"
        )
    wanted = resolution or (4 if runs is None else 3)
    exponent = _smallest(k, wanted) if runs is None else _exponent_of(runs, k)
    columns = best_columns(k, exponent, wanted)
    if columns is None:
        raise ConfigError(
            f"no fraction of {runs} runs with resolution {wanted} was found for {k} factors; the smallest has "
            f"{2 ** _smallest(k, wanted)} runs"
        )
    lengths = word_lengths(columns, exponent)
    shortest = next((length for length, words in enumerate(lengths) if length and words), None)
    names_of = generators_of(columns, exponent, names), aliases_of(columns, names)
    return Fraction(codes_of(columns, exponent), shortest, *names_of)


def best_columns(factors: int, exponent: int, resolution: int) -> tuple[int, ...] | None:
    """As `find_columns`, also for the whole factorial; asks for more resolution until there is none to be had."""
    if factors == exponent:
        return tuple(1 << basic for basic in range(factors))
    best = None
    # A search that must keep a resolution looks at other partial fractions than one that may lose it.
    while (found := find_columns(factors, exponent, resolution)) is not None:
        best, lengths = found, word_lengths(found, exponent)
        resolution = 1 + next(length for length, words in enumerate(lengths) if length and words)
    return best


def _smallest(factors: int, resolution: int) -> int:
    """The m of the smallest fraction 2^m of at least that resolution, or of the whole factorial."""
    for exponent in range(factors.bit_length(), min(factors, MOST_BASIC + 1)):
        if find_columns(factors, exponent, resolution) is not None:
            return exponent
    if factors > MOST_BASIC:
        raise ConfigError(
            f"no fraction of at most {2**MOST_BASIC:,} runs has resolution {resolution} for {factors} factors; ask for "
            f"a lower resolution or use permutations"
        )
    return factors


def _exponent_of(runs: int, factors: int) -> int:
    allowed = [2**m for m in range(factors.bit_length(), min(factors, MOST_BASIC) + 1)]
    if not is_whole(runs) or runs not in allowed:
        raise ConfigError(
            f"runs = {runs!r} is no size of a fraction of {factors} factors of two levels; allowed: "
            f"{', '.join(map(str, allowed))}"
        )
    return runs.bit_length() - 1


def is_whole(value: object) -> bool:
    """Whether it is an integer and no flag."""
    return isinstance(value, int) and not isinstance(value, bool)


def defining_words(generators: Sequence[str]) -> tuple[str, ...]:
    """All words of the defining relation from lines `e = a:b:c`, shortest first: 2^p - 1 of them for p lines."""
    sets = [frozenset(line.replace(" = ", ":").split(":")) for line in generators]
    words: list[frozenset[str]] = [frozenset()]
    for generator in sets:
        words += [word ^ generator for word in words]
    order = {name: None for line in generators for name in line.split(" = ")[1].split(":")}
    order |= {line.split(" = ")[0]: None for line in generators}
    place = {name: i for i, name in enumerate(order)}
    spelled = [sorted(word, key=place.__getitem__) for word in words[1:]]
    return tuple(":".join(word) for word in sorted(spelled, key=len))
