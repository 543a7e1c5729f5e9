"""`minutiae metrics`: every column is there, in words. That training measures just these is tested with studies."""

from __future__ import annotations

import pytest

from minutiae.cli.main import main
from minutiae.control.metrics import METRICS


def test_every_metric_is_listed_with_its_meaning_and_unit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert heads == list(METRICS)
    assert all(metric.meaning and metric.unit and not metric.meaning.endswith(".") for metric in METRICS.values())
    assert main(["metrics", "kl_k3_batch"]) == 0
    assert capsys.readouterr().out == (
        "kl_k3_batch [nats]\n"
        "  estimate of the same KL from the actions taken: mean of (r − 1) − log r; over the samples of the\n"
        "  update, after it\n"
    )
    assert main(["metrics", "kl_k3_bach"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("minutiae: unknown metric 'kl_k3_bach'; did you mean 'kl_k3_batch'?")
    assert error.endswith("run: minutiae metrics\n")
