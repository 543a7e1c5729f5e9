"""Designs: which combinations of levels a study trains. Nothing is trained, stored or estimated here.

A cell holds one level per factor. A factor's first level is where studies start (off), its last where they end (on).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutiae.details import is_custom
from minutiae.errors import ConfigError, unknown
from minutiae.studies.factors import Cell, Factor
from minutiae.studies.fractions import choose_fraction, defining_words, is_whole

MOST_CELLS = 65_536
"""Cells beyond which a design is taken for a slip."""

ROMAN = ("0", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


@dataclass(frozen=True)
class Design:
    """Cells to train, and what is known beforehand of what they can tell apart.

    Attributes:
        name: one of `DESIGNS`.
        factors: k factors, none twice.
        cells: C different cells, k levels each, in an order that does not depend on the machine.
        resolution: length of the shortest defining word of a fraction; `None` where nothing was left out regularly.
        aliases: of a fraction, `a = b:c` for the main effects and two-way interactions that cannot be told apart.
        generators: of a fraction, `e = a:b:c` for each factor that is not basic.
        orderings: of permutations, the factors' names in the order in which they go to their last level.
    """

    name: str
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]
    resolution: int | None = None
    aliases: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    orderings: tuple[tuple[str, ...], ...] = ()

    def codes(self) -> NDArray[np.intp]:
        """Positions of the levels, `[C, k]`: what `minutiae.statistics` takes as `levels`."""
        rows = [[factor.code(level) for factor, level in zip(self.factors, cell, strict=True)] for cell in self.cells]
        return np.array(rows, dtype=np.intp).reshape(len(self.cells), len(self.factors))

    def describe(self, most: int = 12) -> str:
        """A few plain lines: size, levels, and of a fraction its resolution, generators and aliases.

        Args:
            most: lines shown of each kind.
        """
        whole = math.prod(len(factor.levels) for factor in self.factors)
        size = f"{self.name}: {count(len(self.cells), 'cell')} of {whole:,} for {count(len(self.factors), 'factor')}"
        lines = [size + ("" if self.resolution is None else f", resolution {roman(self.resolution)}")]
        lines += _shown([f"{factor.name}: {', '.join(factor.texts)}" for factor in self.factors], most, "factors")
        if self.generators:
            lines += _shown([f"generator {line}" for line in self.generators], most, "generators")
            if len(self.generators) <= 3:
                lines.append(f"  defining relation I = {' = '.join(defining_words(self.generators))}")
            lines += _shown([f"aliased {line}" for line in self.aliases], most, "groups of aliases")
            if not self.aliases:
                lines.append("  main effects and two-way interactions are clear of each other")
        lines += _shown([f"ordering {', '.join(ordering)}" for ordering in self.orderings], most, "orderings")
        return "\n".join(lines)


def make_design(
    name: str,
    factors: Iterable[Factor],
    *,
    runs: int | None = None,
    resolution: int | None = None,
    orderings: int | None = None,
    seed: int = 0,
    cells: Sequence[Mapping[str, Any]] | None = None,
) -> Design:
    """The design of that name.

    - `factorial`: every combination.
    - `fractional`: a regular fraction for factors of two levels. The smallest found of at least `resolution` (4 when
      neither option is given: main effects clear of two-way interactions), or the best found of `runs` cells: highest
      resolution, then least aberration. It holds the cell of all last levels, and that of all first levels only where
      every defining word has even length.
    - `leave_one_out`: all factors at their last level, and each factor alone at each of its other levels.
    - `add_one_in`: all factors at their first level, and each factor alone at each of its other levels.
    - `permutations`: from all first to all last levels of factors of two levels, one factor at a time, in random
      orders; each order comes with its reverse, which makes sampled Shapley values steadier. More orderings of the same
      seed begin with the fewer.
    - `cells`: those listed, each a mapping from every factor's name to a level or its text.

    Args:
        name: one of `DESIGNS`.
        factors: at least one.
        runs: for `fractional`, number of cells, a power of two below 2^k (2^k gives the whole factorial).
        resolution: for `fractional`, at least 3.
        orderings: for `permutations`, an even number, 8 by default or all there are if those are fewer.
        seed: for `permutations`, at least 0.
        cells: for `cells`.

    Raises:
        ConfigError: an unknown name, an option of another design, or factors that the design cannot take.
    """
    if name not in _MAKERS:
        raise ConfigError(unknown("design", str(name), DESIGNS))
    given = tuple(factors)
    _check_factors(given)
    options = {"runs": runs, "resolution": resolution, "orderings": orderings, "seed": seed, "cells": cells}
    maker, accepted = _MAKERS[name]
    for option, value in options.items():
        if option not in accepted and value is not None and (option, value) != ("seed", 0):
            owner = next(design for design, (_, own) in _MAKERS.items() if option in own)
            raise ConfigError(f"{option} is an option of the design {owner}, not of {name}; leave it out")
    return maker(given, **{option: options[option] for option in accepted})


def _check_factors(factors: tuple[Factor, ...]) -> None:
    if not factors:
        raise ConfigError("a design needs at least one factor; name a detail and two of its levels")
    seen: set[str] = set()
    for factor in factors:
        if factor.name in seen:
            raise ConfigError(f"factor {factor.name!r} is listed twice; give all its levels at once")
        seen.add(factor.name)


def _from_codes(name: str, factors: tuple[Factor, ...], codes: Iterable[Sequence[int]], **more: Any) -> Design:
    """Different cells in the order in which they first come."""
    different = dict.fromkeys(tuple(row) for row in codes)
    cells = tuple(tuple(f.levels[code] for f, code in zip(factors, row, strict=True)) for row in different)
    return Design(name, factors, cells, **more)


def _factorial(factors: tuple[Factor, ...]) -> Design:
    sizes = [len(factor.levels) for factor in factors]
    _check_size("factorial", math.prod(sizes), "use fractional or permutations, or fewer factors")
    return _from_codes("factorial", factors, product(*map(range, sizes)))


def _fractional(factors: tuple[Factor, ...], runs: int | None, resolution: int | None) -> Design:
    _require_two_levels("fractional", factors, "split it into factors of two levels or use factorial")
    for factor in factors:
        if is_custom(factor.name):  # aliases are written with colons
            raise ConfigError(
                f"a fractional design cannot name the factor {factor.name!r}; give it a short name, as in "
                f"short = {{ off = {{}}, on = {{ {factor.name!r} = ... }} }}"
            )
    fraction = choose_fraction([factor.name for factor in factors], runs, resolution)
    return _from_codes(
        "fractional",
        factors,
        fraction.codes.tolist(),
        resolution=fraction.resolution,
        aliases=fraction.aliases,
        generators=fraction.generators,
    )


def _one_at_a_time(name: str, factors: tuple[Factor, ...], base: list[int]) -> Design:
    changed = [
        [*base[:f], code, *base[f + 1 :]]
        for f, factor in enumerate(factors)
        for code in range(len(factor.levels))
        if code != base[f]
    ]
    return _from_codes(name, factors, [base, *changed])


def _leave_one_out(factors: tuple[Factor, ...]) -> Design:
    return _one_at_a_time("leave_one_out", factors, [len(factor.levels) - 1 for factor in factors])


def _add_one_in(factors: tuple[Factor, ...]) -> Design:
    return _one_at_a_time("add_one_in", factors, [0] * len(factors))


def _permutations(factors: tuple[Factor, ...], orderings: int | None, seed: int) -> Design:
    _require_two_levels("permutations", factors, "list only the first and the last or use factorial")
    k = len(factors)
    if k < 2:
        raise ConfigError("permutations of 1 factor has one ordering; use factorial")
    possible = math.factorial(k)
    count = min(8, possible) if orderings is None else orderings
    if not _at_least(count, 2) or count % 2:
        raise ConfigError(
            f"orderings = {count!r} must be an even whole number of at least 2, since each comes with its reverse"
        )
    if count > possible:
        raise ConfigError(
            f"orderings = {count}, but {k} factors have only {possible}; use factorial, which has them all"
        )
    if not _at_least(seed, 0):
        raise ConfigError(f"seed = {seed!r} must be a whole number of at least 0")
    orders = _draw_orders(k, count, seed)
    paths = [[int(f in order[:step]) for f in range(k)] for order in orders for step in range(k + 1)]
    names = tuple(tuple(factors[f].name for f in order) for order in orders)
    return _from_codes("permutations", factors, paths, orderings=names)


def _draw_orders(k: int, count: int, seed: int) -> list[tuple[int, ...]]:
    """Different random orders of 0 .. k - 1, each followed by its reverse; a smaller count gives the beginning."""
    # Python promises the same `random()` for the same seed forever, NumPy does not: a grown study keeps its cells.
    generator = random.Random(seed)
    orders: dict[tuple[int, ...], None] = {}
    while len(orders) < count:
        keys = [generator.random() for _ in range(k)]
        order = tuple(sorted(range(k), key=keys.__getitem__))
        orders.setdefault(order)
        orders.setdefault(order[::-1])
    return list(orders)


def _listed(factors: tuple[Factor, ...], cells: Sequence[Mapping[str, Any]] | None) -> Design:
    if not cells:
        raise ConfigError("the design cells needs a list of cells; give each as a mapping from factor to level")
    names = [factor.name for factor in factors]
    seen: dict[tuple[int, ...], int] = {}
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, Mapping):
            raise ConfigError(f"cell {number} is {cell!r}; it must be a mapping from every factor to a level")
        for given in cell:
            if given not in names:
                raise ConfigError(unknown(f"factor in cell {number}", str(given), names))
        for name in names:
            if name not in cell:
                raise ConfigError(f"cell {number} has no level of {name!r}; give every factor a level in every cell")
        row = tuple(factor.find(cell[factor.name], f" in cell {number}") for factor in factors)
        if row in seen:
            raise ConfigError(f"cell {number} repeats cell {seen[row]}; list it once, seeds are what repeats a cell")
        seen[row] = number
    for factor, used in zip(factors, map(set, zip(*seen, strict=True)), strict=True):
        for code, text in enumerate(factor.texts):
            if code not in used:
                raise ConfigError(f"no cell has {factor.name} = {text}; add one or take the level out of the factor")
    return _from_codes("cells", factors, seen)


def _require_two_levels(name: str, factors: tuple[Factor, ...], remedy: str) -> None:
    for factor in factors:
        if len(factor.levels) != 2:
            raise ConfigError(
                f"{name} takes factors of two levels and {factor.name!r} has {len(factor.levels)}; {remedy}"
            )


def _check_size(name: str, cells: int, remedy: str) -> None:
    if cells > MOST_CELLS:
        raise ConfigError(f"{name} has {cells:,} cells here, and at most {MOST_CELLS:,} are allowed; {remedy}")


def _at_least(value: Any, least: int) -> bool:
    return is_whole(value) and value >= least


def count(number: int, noun: str) -> str:
    """`1 cell`, `2,048 cells`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _shown(lines: Sequence[str], most: int, noun: str) -> list[str]:
    rest = len(lines) - most
    return [f"  {line}" for line in lines[:most]] + ([f"  and {rest} more {noun}"] if rest > 0 else [])


def roman(resolution: int) -> str:
    """A resolution as the literature writes it: 4 is IV."""
    return ROMAN[resolution] if resolution < len(ROMAN) else str(resolution)


_MAKERS: Mapping[str, tuple[Callable[..., Design], tuple[str, ...]]] = {
    "factorial": (_factorial, ()),
    "fractional": (_fractional, ("runs", "resolution")),
    "leave_one_out": (_leave_one_out, ()),
    "add_one_in": (_add_one_in, ()),
    "permutations": (_permutations, ("orderings", "seed")),
    "cells": (_listed, ("cells",)),
}

DESIGNS: tuple[str, ...] = tuple(_MAKERS)
"""Names that `make_design` takes."""
