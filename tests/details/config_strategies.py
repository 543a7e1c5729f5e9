"""Hypothesis strategies for levels and for whole configs that are valid."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from minutiae.details import CATALOGUE, Config
from minutiae.details.conditions import applies
from minutiae.details.levels import Choice, Flag, Integer, Levels, Number, Sizes

names = st.from_regex(r"[A-Za-z][A-Za-z0-9\"\\\[\]:#/é=-]{0,12}-v[0-9]", fullmatch=True)


def levels_of_kind(levels: Levels) -> st.SearchStrategy[Any]:
    """Any level of one kind, inside its bounds."""
    if isinstance(levels, Choice):
        return st.sampled_from(levels.order)
    if isinstance(levels, Flag):
        return st.sampled_from([True, None])
    if isinstance(levels, Sizes):
        return st.lists(st.integers(1, 300), min_size=1, max_size=4).map(tuple)
    if isinstance(levels, Integer):
        low = int(levels.at_least or 0)
        strategy: st.SearchStrategy[Any] = st.integers(low, int(levels.at_most or 10**9))
    elif isinstance(levels, Number):
        strategy = st.floats(
            min_value=levels.above if levels.above is not None else levels.at_least,
            max_value=levels.below if levels.below is not None else levels.at_most,
            exclude_min=levels.above is not None,
            exclude_max=levels.below is not None,
            allow_nan=False,
            allow_infinity=False,
        )
    else:
        return names
    return st.one_of(st.none(), strategy) if levels.off else strategy


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """A valid config: any details that apply, at any of their levels."""
    levels = {
        name: draw(st.one_of(st.just(entry.default), levels_of_kind(entry.levels)))
        for name, entry in CATALOGUE.items()
        if name != "environment"
    }
    levels["environment"] = draw(names)
    levels["environments"] = draw(st.integers(1, 8))
    levels["minibatches"] = draw(st.integers(1, 16))
    levels["rollout_length"] = levels["minibatches"] * draw(st.integers(2, 64))
    levels["steps"] = levels["environments"] * levels["rollout_length"] + draw(st.integers(0, 10**6))
    levels["fisher_fraction"] = draw(st.floats(0.5, 1.0))
    levels = {name: levels[name] for name in CATALOGUE}
    for name, entry in CATALOGUE.items():
        if not applies(name, levels, CATALOGUE):
            levels[name] = entry.default
    return Config(**levels)
