"""`minutiae plot`: learning curves to a file. The figure is made in `reports`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from minutiae.cli.parsing import make_app

app = make_app("plot", "Draw learning curves: one for each config, with a band over its seeds.")


@app.default
def plot(
    *runs: Annotated[Path, Parameter(required=True)],
    output: Path = Path("learning_curves.png"),
    metric: str = "return_mean",
    x: str = "steps",
) -> int:
    """
    Parameters
    ----------
    runs
        Runs, groups of runs (trained with --seeds), or folders of these.
    output
        A .png, .svg or .pdf file.
    metric
        A column of metrics.parquet; minutiae metrics lists them.
    x
        steps or iteration.
    """
    from minutiae.reports.learning_curves import plot as draw

    sys.stdout.write(f"{draw(runs, output, metric, x)}\n")
    return 0
