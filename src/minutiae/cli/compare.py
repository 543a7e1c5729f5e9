"""`minutiae compare`: two groups of runs beside each other. The statistics and the page are made in `reports`."""

from __future__ import annotations

import sys
from pathlib import Path

from minutiae.cli.parsing import make_app

app = make_app(
    "compare", "Compare two groups of runs: difference with interval, tests, effect size, paired where seeds are."
)


@app.default
def compare(a: Path, b: Path, /, *, outcome: str = "final_return", output: Path | None = None) -> int:
    """
    Parameters
    ----------
    a
        A run, a group of runs, or a folder of these.
    b
        The other group; differences are A minus B.
    outcome
        final_return, best_return, area_under_curve, evaluation, evaluation_deterministic, or a column of the metrics.
    output
        An .html file for the same as a page with learning curves.
    """
    from minutiae.errors import ConfigError
    from minutiae.reports.comparison import compare as compared

    if output is not None and output.suffix.lower() != ".html":
        raise ConfigError(f"the page is an .html file, and {output} is none; change its ending")
    found = compared([a], [b], outcome)
    sys.stdout.write(found.text())
    if output is not None:
        sys.stdout.write(f"{found.write_page(output)}\n")
    return 0
