"""Figures of runs: bands that say what they can, axes that tell their scale. Curves themselves are tested elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PolyCollection

from minutiae.reports.study.canvas import WIDE, panels
from minutiae.reports.study.curves import CellCurve, EnvironmentCurves
from minutiae.reports.study.run_figures import curves_picture


def test_a_band_on_a_logarithmic_axis_is_above_zero_and_a_number() -> None:
    mean, half = np.array([2.0, 0.0, -1.0, np.nan]), np.array([1e6, 1.0, 1.0, 1.0])
    low, high = CellCurve((), np.empty((4, 4)), mean, half).band(logarithmic=True)
    assert 0 < low[0] < high[0] < np.inf
    assert np.isnan([*low[1:], *high[1:]]).all()


@pytest.mark.parametrize(("n", "bands", "colored"), [(1, 0, 1), (3, 0, 4), (4, 1, 1)])
def test_few_seeds_are_lines_and_not_a_band_and_the_note_says_which(n: int, bands: int, colored: int) -> None:
    values = np.arange(1.0, n + 1)[:, None] * np.ones(5)
    cell = CellCurve((), values, values.mean(axis=0), np.ones(5))
    found = EnvironmentCurves("Hopper-v5", "return_mean", np.arange(5.0), (cell,))
    picture = curves_picture(found, (), {}, "curves", "mean return")
    (axes,) = (figure := picture.draw(WIDE)).axes
    assert len([one for one in axes.collections if isinstance(one, PolyCollection)]) == bands
    assert len(axes.get_lines()) == colored
    (note,) = (text.get_text().replace("\n", " ") for text in figure.texts if "mean over seeds" in text.get_text())
    assert ("Band:" in note, "Thin lines in color" in note) == (bool(bands), colored > 1)
    assert f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n} run" in note


@settings(deadline=None, max_examples=30)
@given(low=st.floats(-1e6, 1e6), reach=st.floats(1e-2, 1e7))
def test_an_axis_has_at_least_two_numbers(low: float, reach: float) -> None:
    (axes, *_) = panels(WIDE, ["one"] * 4, "")[1]
    axes.set(xlim=(low, low + reach), ylim=(low, low + reach))
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        assert len([tick for tick in axis.get_majorticklocs() if limits[0] <= tick <= limits[1]]) >= 2
