"""`minutiae metrics`: what the columns of `metrics.parquet` mean. The text is made in `reports`."""

from __future__ import annotations

import sys

from minutiae.cli.parsing import make_app
from minutiae.reports.metric_pages import metrics_text

app = make_app("metrics", "List what training measures, each with its meaning and unit.")


@app.default
def metrics(name: str | None = None, /) -> int:
    """
    Parameters
    ----------
    name
        A metric, as in kl_exact_batch; left out: all.
    """
    sys.stdout.write(metrics_text(name))
    return 0
