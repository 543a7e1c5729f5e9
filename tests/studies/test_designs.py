"""Factors and designs: cells by hand, orderings, errors by text. Fractions are in `test_fractions`."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from switch_factors import names_of, switches

from minutiae.errors import ConfigError
from minutiae.statistics import attribute, attribute_orderings
from minutiae.studies.designs import DESIGNS, Factor, make_design

CLIPPING = Factor("value_clipping", (None, 0.2))
ANNEALING = Factor("annealing", (None, True))
INIT = Factor("init", ("zero", "xavier", "orthogonal"))


# Factors and levels


def test_factor_keeps_levels_in_one_form():
    sizes = Factor("hidden_sizes", [[64, 64], (32,)])
    assert sizes.levels == ((64, 64), (32,))
    assert sizes.texts == ("64,64", "32")
    assert sizes.code([64, 64]) == 0
    assert sizes.code("32") == 1
    assert CLIPPING.texts == ("off", "0.2")
    assert [ANNEALING.code(level) for level in (None, "off", False, True, "on")] == [0, 0, 0, 1, 1]
    assert Factor("epochs", (True, 1)).code(1) == 1


@pytest.mark.parametrize(
    ("name", "levels", "words"),
    [
        ("a", (None,), "factor 'a' has 1 level and needs at least two; a level that all cells share belongs into"),
        ("a", (), "factor 'a' has 0 levels and needs at least two"),
        ("a", (1, 2, 1.0), "factor 'a' has the level 1.0 twice; list it once"),
        ("a", (None, "off"), "factor 'a' has the level off twice"),
        ("a", (None, False), "factor 'a' has the level off twice"),
        ("a", ([64], (64,)), "factor 'a' has the level 64 twice"),
        ("a", "ab", "factor 'a' needs a list of levels, not 'ab'"),
        ("a b", (1, 2), "factor name 'a b' must be text without blanks, colons, commas or equals signs"),
        ("a:b:c", (1, 2), "factor name 'a:b:c' must be text"),
        ("", (1, 2), "factor name '' must be text"),
    ],
)
def test_bad_factors(name, levels, words):
    with pytest.raises(ConfigError, match="^" + re.escape(words)):
        Factor(name, levels)


# Whole and one-at-a-time designs


def test_factorial_has_every_cell_once():
    design = make_design("factorial", [CLIPPING, INIT])
    assert design.cells == tuple(itertools.product((None, 0.2), ("zero", "xavier", "orthogonal")))
    assert design.codes().tolist() == [list(row) for row in itertools.product(range(2), range(3))]
    assert (design.resolution, design.aliases, design.generators, design.orderings) == (None, (), (), ())


def test_leave_one_out_takes_each_other_level_by_itself():
    design = make_design("leave_one_out", [CLIPPING, ANNEALING, INIT])
    assert design.cells == (
        (0.2, True, "orthogonal"),
        (None, True, "orthogonal"),
        (0.2, None, "orthogonal"),
        (0.2, True, "zero"),
        (0.2, True, "xavier"),
    )


def test_add_one_in_takes_each_other_level_by_itself():
    design = make_design("add_one_in", [CLIPPING, ANNEALING, INIT])
    assert design.cells == (
        (None, None, "zero"),
        (0.2, None, "zero"),
        (None, True, "zero"),
        (None, None, "xavier"),
        (None, None, "orthogonal"),
    )


def test_cells_are_those_listed_in_their_order():
    cells = [{"annealing": "on", "value_clipping": "off"}, {"value_clipping": 0.2, "annealing": None}]
    assert make_design("cells", [CLIPPING, ANNEALING], cells=cells).cells == ((None, True), (0.2, None))


@pytest.mark.parametrize("name", ["leave_one_out", "add_one_in", "factorial"])
@given(sizes=st.lists(st.integers(2, 4), min_size=1, max_size=4))
def test_sizes_of_designs(name, sizes):
    factors = [Factor(f"f{i}", tuple(range(size))) for i, size in enumerate(sizes)]
    design = make_design(name, factors)
    expected = np.prod(sizes) if name == "factorial" else 1 + sum(size - 1 for size in sizes)
    codes = design.codes()
    assert len(codes) == len(set(design.cells)) == expected
    for column, size in zip(codes.T, sizes, strict=True):
        assert set(column) == set(range(size))
    if name != "factorial":
        base = codes[0]
        assert ((codes[1:] != base).sum(axis=1) == 1).all()


# Permutations


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(1, 6), st.integers(0, 10**6))
def test_permutations_walk_from_start_to_end(k, pairs, seed):
    factors = switches(k)
    count = 2 if k == 2 else min(2 * pairs, 6)
    design = make_design("permutations", factors, orderings=count, seed=seed)
    names = names_of(design)
    assert len(set(design.orderings)) == count
    for forth, back in zip(design.orderings[::2], design.orderings[1::2], strict=True):
        assert forth == back[::-1]
        assert sorted(forth) == sorted(names)
    walked = {
        tuple(True if name in ordering[:step] else None for name in names)
        for ordering in design.orderings
        for step in range(k + 1)
    }
    assert walked == set(design.cells)
    assert len(design.cells) == len(walked)
    more = make_design("permutations", factors, orderings=count if k == 2 else count + (k > 3) * 2, seed=seed)
    assert more.orderings[:count] == design.orderings
    assert more.cells[: len(design.cells)] == design.cells


def test_permutations_never_change():
    """Kept studies would train other cells: these orderings are part of the store's format."""
    design = make_design("permutations", switches(4), orderings=4)
    assert design.orderings == (tuple("dcba"), tuple("abcd"), tuple("dbac"), tuple("cabd"))
    assert len(make_design("permutations", switches(12)).orderings) == 8
    assert len(make_design("permutations", switches(3)).orderings) == 6
    assert make_design("permutations", switches(12), seed=1).orderings[0] != design.orderings[0]


def test_all_orderings_give_the_exact_shapley_values():
    design = make_design("permutations", switches(3), orderings=6)
    codes = design.codes()
    outcome = np.random.default_rng(0).normal(size=8)
    seeds = np.zeros(8, dtype=int)
    both = np.concatenate([codes, codes]), np.concatenate([outcome, outcome]), np.concatenate([seeds, seeds + 1])
    exact = attribute(both[0], both[1], names_of(design), seed_of_run=both[2], resamples=100)
    sampled = attribute_orderings(
        design.orderings, both[0], both[1], names_of(design), seed_of_run=both[2], resamples=100
    )
    np.testing.assert_allclose(
        [value.estimate for value in sampled.shapley], [value.estimate for value in exact.shapley]
    )


# Errors and text


@pytest.mark.parametrize(
    ("name", "factors", "options", "words"),
    [
        (
            "fractionel",
            3,
            {},
            "unknown design 'fractionel'; did you mean 'fractional'? allowed: factorial, fractional,",
        ),
        ("factorial", 0, {}, "a design needs at least one factor; name a detail and two of its levels"),
        ("factorial", 17, {}, "factorial has 131,072 cells here, and at most 65,536 are allowed; use fractional or"),
        ("factorial", 3, {"runs": 4}, "runs is an option of the design fractional, not of factorial; leave it out"),
        ("fractional", 3, {"seed": 1}, "seed is an option of the design permutations, not of fractional"),
        ("add_one_in", 3, {"cells": []}, "cells is an option of the design cells, not of add_one_in"),
        (
            "fractional",
            5,
            {"runs": 12},
            "runs = 12 is no size of a fraction of 5 factors of two levels; allowed: 8, 16, 32",
        ),
        (
            "fractional",
            7,
            {"runs": 4},
            "runs = 4 is no size of a fraction of 7 factors of two levels; allowed: 8, 16, 32",
        ),
        ("fractional", 7, {"runs": True}, "runs = True is no size"),
        ("fractional", 7, {"resolution": 2}, "resolution = 2 must be a whole number of at least 3; at 3 main effects"),
        (
            "fractional",
            7,
            {"runs": 16, "resolution": 5},
            "no fraction of 16 runs with resolution 5 was found for 7 factors; the smallest has 64 runs",
        ),
        (
            "fractional",
            30,
            {"resolution": 12},
            "no fraction of at most 4,096 runs has resolution 12 for 30 factors; ask for a lower resolution or use",
        ),
        ("fractional", 61, {}, "fractional takes at most 60 factors and got 61; leave some out"),
        ("permutations", 1, {}, "permutations of 1 factor has one ordering; use factorial"),
        ("permutations", 4, {"orderings": 5}, "orderings = 5 must be an even whole number of at least 2, since each"),
        ("permutations", 4, {"orderings": 0}, "orderings = 0 must be an even whole number"),
        ("permutations", 3, {"orderings": 8}, "orderings = 8, but 3 factors have only 6; use factorial"),
        ("permutations", 3, {"seed": -1}, "seed = -1 must be a whole number of at least 0"),
        ("cells", 3, {}, "the design cells needs a list of cells; give each as a mapping from factor to level"),
    ],
)
def test_bad_designs(name, factors, options, words):
    with pytest.raises(ConfigError, match="^" + re.escape(words)):
        make_design(name, switches(factors), **options)


ON, OFF = {"annealing": True, "init": "zero"}, {"annealing": None, "init": "xavier"}


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            [ON, {"anealing": True}],
            "unknown factor in cell 2 'anealing'; did you mean 'annealing'? allowed: annealing, init",
        ),
        (
            [ON, OFF | {"init": "xaver"}],
            "unknown level of init in cell 2 'xaver'; did you mean 'xavier'? allowed: zero,",
        ),
        ([ON, {"annealing": True}], "cell 2 has no level of 'init'; give every factor a level in every cell"),
        ([ON, OFF, ON | {"annealing": "on"}], "cell 3 repeats cell 1; list it once, seeds are what repeats a cell"),
        ([ON, OFF], "no cell has init = orthogonal; add one or take the level out of the factor"),
        ([ON, "on"], "cell 2 is 'on'; it must be a mapping from every factor to a level"),
    ],
)
def test_bad_cells(cells, words):
    with pytest.raises(ConfigError, match="^" + re.escape(words)):
        make_design("cells", [ANNEALING, INIT], cells=cells)


def test_factors_twice_or_of_too_many_levels():
    with pytest.raises(ConfigError, match=r"^factor 'init' is listed twice; give all its levels at once$"):
        make_design("factorial", [INIT, INIT])
    with pytest.raises(ConfigError, match=r"^fractional takes factors of two levels and 'init' has 3; split it"):
        make_design("fractional", [ANNEALING, INIT])
    with pytest.raises(ConfigError, match=r"^permutations takes factors of two levels and 'init' has 3; list only"):
        make_design("permutations", [ANNEALING, INIT])


def test_description_in_plain_lines():
    assert make_design("fractional", switches(4)).describe().splitlines() == [
        "fractional: 8 cells of 16 for 4 factors, resolution IV",
        "  a: off, on",
        "  b: off, on",
        "  c: off, on",
        "  d: off, on",
        "  generator d = a:b:c",
        "  defining relation I = a:b:c:d",
        "  aliased a:b = c:d",
        "  aliased a:c = b:d",
        "  aliased a:d = b:c",
    ]
    assert make_design("add_one_in", [CLIPPING, INIT]).describe().splitlines() == [
        "add_one_in: 4 cells of 6 for 2 factors",
        "  value_clipping: off, 0.2",
        "  init: zero, xavier, orthogonal",
    ]
    assert "  ordering d, c, b, a" in make_design("permutations", switches(4)).describe()
    assert "  and 8 more factors" in make_design("fractional", switches(20)).describe()


def test_names_of_designs():
    assert DESIGNS == ("factorial", "fractional", "leave_one_out", "add_one_in", "permutations", "cells")
