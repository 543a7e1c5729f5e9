"""Fractions: against published tables, orthogonal, and their aliases against products and against least squares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from switch_factors import names_of, switches

from minutiae.statistics import estimate_effects
from minutiae.studies.designs import Design, make_design
from minutiae.studies.fractions import best_columns, defining_words, find_columns, word_lengths


def words_of(design: Design) -> list[set[str]]:
    return [set(word.split(":")) for word in defining_words(design.generators)]


# Numbers of defining words of length 3, 4, 5, 6 of minimum aberration fractions: Chen, Sun and Wu 1993 (16, 32 and 64
# runs); Block and Mee 2005 (128 runs).
PUBLISHED = {
    (3, 2): (1, 0, 0, 0),
    (7, 3): (7, 7, 0, 0),
    (5, 4): (0, 0, 1, 0),
    (6, 4): (0, 3, 0, 0),
    (7, 4): (0, 7, 0, 0),
    (8, 4): (0, 14, 0, 0),
    (9, 4): (4, 14, 8, 0),
    (10, 4): (8, 18, 16, 8),
    (11, 4): (12, 26, 28, 24),
    (15, 4): (35, 105, 168, 280),
    (6, 5): (0, 0, 0, 1),
    (7, 5): (0, 1, 2, 0),
    (8, 5): (0, 3, 4, 0),
    (9, 5): (0, 6, 8, 0),
    (10, 5): (0, 10, 16, 0),
    (11, 5): (0, 25, 0, 27),
    (16, 5): (0, 140, 0, 448),
    (8, 6): (0, 0, 2, 1),
    (9, 6): (0, 1, 4, 2),
    (10, 6): (0, 2, 8, 4),
    (11, 6): (0, 4, 14, 8),
    (12, 6): (0, 6, 24, 16),
    (10, 7): (0, 0, 3, 3),
    (11, 7): (0, 0, 6, 6),
}


@pytest.mark.parametrize(("factors", "exponent"), PUBLISHED)
def test_least_aberration_as_published(factors, exponent):
    columns = best_columns(factors, exponent, 3)
    lengths = (*word_lengths(columns, exponent), 0, 0, 0, 0, 0)
    assert lengths[:3] == (1, 0, 0)
    assert lengths[3:7] == PUBLISHED[factors, exponent]


# The most factors that 2^m cells hold at a resolution: projective spaces, odd columns, and for V and VI the largest
# linear codes of distance 5 and 6 (Draper and Lin 1990; Brouwer's tables).
@pytest.mark.parametrize(
    ("resolution", "largest"),
    [
        (3, {2: 3, 3: 7, 4: 15, 5: 31}),
        (4, {3: 4, 4: 8, 5: 16, 6: 32}),
        (5, {4: 5, 5: 6, 6: 8, 7: 11, 8: 17}),
        (6, {5: 6, 6: 7, 7: 9, 8: 12, 9: 18}),
    ],
)
def test_most_factors_at_a_resolution(resolution, largest):
    for exponent, factors in largest.items():
        assert find_columns(factors, exponent, resolution) is not None
        assert find_columns(factors + 1, exponent, resolution) is None


def test_keeps_resolution_where_the_plain_search_loses_it():
    # 2^(m-1) factors have resolution IV (odd columns); adding the best factor each time ends with words of length 3.
    assert word_lengths(find_columns(34, 7, 3), 7)[3] > 0
    assert word_lengths(best_columns(34, 7, 3), 7)[3] == 0


def test_seven_factors_in_eight_runs():
    """2^(7-4), resolution III (Box and Hunter 1961): D = AB, E = AC, F = BC, G = ABC."""
    design = make_design("fractional", switches(7), runs=8)
    assert design.resolution == 3
    assert design.generators == ("d = a:b", "e = a:c", "f = b:c", "g = a:b:c")
    assert design.aliases == (
        "a = b:d = c:e = f:g",
        "b = a:d = c:f = e:g",
        "c = a:e = b:f = d:g",
        "d = a:b = c:g = e:f",
        "e = a:c = b:g = d:f",
        "f = a:g = b:c = d:e",
        "g = a:f = b:e = c:d",
    )


def test_eight_factors_in_sixteen_runs():
    """2^(8-4), resolution IV (Montgomery 2017, table 8.14): E = ABC and its like, seven groups of four interactions."""
    design = make_design("fractional", switches(8), runs=16)
    assert design.resolution == 4
    assert design.generators == ("e = a:b:c", "f = a:b:d", "g = a:c:d", "h = b:c:d")
    assert [line.count("=") for line in design.aliases] == [3] * 7
    assert sorted(map(len, words_of(design))) == [4] * 14 + [8]


def test_five_factors_in_sixteen_runs():
    """2^(5-1), resolution V: E = ABCD."""
    design = make_design("fractional", switches(5), resolution=5)
    assert (design.resolution, design.generators, design.aliases) == (5, ("e = a:b:c:d",), ())
    assert "defining relation I = a:b:c:d:e" in design.describe()
    # Row by row: e is on when an even number of the others is off.
    assert all(row[4] == (row[:4] == 0).sum() % 2 ^ 1 for row in design.codes())


@pytest.mark.parametrize(
    ("factors", "options", "runs", "resolution"),
    [
        (4, {}, 8, 4),
        (7, {}, 16, 4),
        (7, {"resolution": 3}, 8, 3),
        (8, {"resolution": 5}, 64, 5),
        (12, {"resolution": 4}, 32, 4),
        (6, {"runs": 32}, 32, 6),
        (6, {"runs": 32, "resolution": 4}, 32, 6),
        (6, {"resolution": 4, "runs": 64}, 64, None),
        (3, {}, 8, None),
        (1, {}, 2, None),
        (31, {"resolution": 3}, 32, 3),
    ],
)
def test_size_of_a_fraction(factors, options, runs, resolution):
    design = make_design("fractional", switches(factors), **options)
    assert (len(design.cells), design.resolution) == (runs, resolution)
    assert design.cells[-1] == (True,) * factors


@st.composite
def fractions(draw: st.DrawFn) -> Design:
    factors = draw(st.integers(2, 10))
    exponent = draw(st.integers(factors.bit_length(), min(factors, 6)))
    return make_design("fractional", switches(factors), runs=2**exponent)


@settings(deadline=None, max_examples=40)
@given(fractions())
def test_fractions_are_orthogonal(design):
    codes = design.codes()
    runs = len(codes)
    assert (codes.sum(axis=0) * 2 == runs).all()
    # Any R - 1 factors of a fraction of resolution R show all their combinations equally often (Box and Hunter 1961).
    strength = min((design.resolution or len(design.factors) + 1) - 1, 4)
    for columns in itertools.combinations(range(codes.shape[1]), strength):
        _, counts = np.unique(codes[:, columns], axis=0, return_counts=True)
        assert counts.tolist() == [runs / 2**strength] * 2**strength


@settings(deadline=None, max_examples=40)
@given(fractions())
def test_words_and_aliases_are_complete(design):
    signs = 2 * design.codes() - 1
    names = names_of(design)
    products = {
        ":".join(names[i] for i in chosen): signs[:, list(chosen)].prod(axis=1)
        for size in range(1, len(names) + 1)
        for chosen in itertools.combinations(range(len(names)), size)
    }
    constant = [name for name, column in products.items() if abs(column.sum()) == len(column)]
    assert all((products[name] == 1).all() for name in constant)
    assert (signs == -1).all(axis=1).any() == all(name.count(":") % 2 for name in constant)
    words = list(defining_words(design.generators))
    assert {frozenset(word.split(":")) for word in words} == {frozenset(name.split(":")) for name in constant}
    assert design.resolution == (min(word.count(":") + 1 for word in words) if words else None)
    groups: dict[bytes, list[str]] = {}
    for name, column in products.items():
        if name.count(":") < 2:
            groups.setdefault(column.tobytes(), []).append(name)
    assert sorted(design.aliases) == sorted(" = ".join(group) for group in groups.values() if len(group) > 1)


@settings(deadline=None, max_examples=25)
@given(fractions())
def test_aliases_are_what_least_squares_cannot_tell_apart(design):
    levels = np.repeat(design.codes(), 2, axis=0)
    outcome = np.random.default_rng(0).normal(size=len(levels))
    found = estimate_effects(levels, outcome, names_of(design), simultaneous="none")
    groups = [line.replace(":", " x ").split(" = ") for line in design.aliases]
    expected = {name: set(group) - {name} for group in groups for name in group}
    assert {entry.name: set(entry.confused_with) for entry in found.aliased} == expected
