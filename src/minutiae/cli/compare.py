"""`minutiae compare`: two groups of runs beside each other. The statistics and the page are made in `reports`."""

from __future__ import annotations

import sys
from pathlib import Path

from minutiae.cli.parsing import make_app

app = make_app(
    "compare", "Compare two groups of runs: difference with interval, tests, effect size, paired where seeds are."
)


@app.default
def compare(
    a: Path,
    b: Path | None = None,
    /,
    *,
    a_cell: str | None = None,
    b_cell: str | None = None,
    outcome: str | None = None,
    output: Path | None = None,
) -> int:
    """
    Parameters
    ----------
    a
        A run, a group of runs, a study (of which the reported runs count), or a folder of runs.
    b
        The other group; differences are A minus B. Left out: two cells of A are compared.
    a_cell
        Of a study: only cells with these levels, as in value_clipping=max,reward_scaling=off.
    b_cell
        The same for B.
    outcome
        final_return, best_return, area_under_curve, evaluation, evaluation_deterministic, a column of the metrics, or
        an outcome of a study over a command; left out: the study's first, or final_return.
    output
        An .html file for the same as a page with learning curves.
    """
    from minutiae.errors import ConfigError
    from minutiae.reports.comparison import compare as compared

    if output is not None and output.suffix.lower() != ".html":
        raise ConfigError(f"the page is an .html file, and {output} is none; change its ending")
    if b is None and (a_cell is None or b_cell is None):
        raise ConfigError("B is missing: name another group of runs, or two cells of a study by --a-cell and --b-cell")
    found = compared([a], [a if b is None else b], outcome, a_cell=a_cell, b_cell=b_cell)
    sys.stdout.write(found.text())
    if output is not None:
        sys.stdout.write(f"{found.write_page(output)}\n")
    return 0
