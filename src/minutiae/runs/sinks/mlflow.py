"""MLflow. Imported only when asked for; the tracking server is the one that the user's environment names."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from minutiae.errors import MinutiaeError
from minutiae.runs.directory import RunDirectory
from minutiae.runs.sinks.protocol import numbers_of, save_sink_state, sink_state

Item = TypeVar("Item")

_MOST_PARAMETERS = 100
_MOST_METRICS = 1000


class MlflowSink:
    """Logs to one MLflow run for each run directory, whose `sinks.json` keeps its id.

    The server is `MLFLOW_TRACKING_URI`, the experiment `MLFLOW_EXPERIMENT_NAME` (else `minutiae`). A resumed
    run goes on in the same MLflow run; MLflow would store a repeated point twice, so each metric skips the
    steps it has.
    """

    name = "mlflow"

    def __init__(self) -> None:
        try:
            import mlflow
        except ImportError as error:
            raise MinutiaeError(
                "the sink 'mlflow' needs a package; install it with \"pip install 'minutiae[mlflow]'\""
            ) from error
        self._mlflow = mlflow
        self._client: Any = None
        self._run_id = ""
        self._last_steps: dict[str, int] = {}

    def open(self, run: RunDirectory, config: Mapping[str, Any], resume_from: int | None) -> None:
        """Start the MLflow run with the config as its parameters, or go on with it."""
        self._client = self._mlflow.MlflowClient()
        self._run_id = str(sink_state(run, self.name).get("run_id", ""))
        self._last_steps = {}
        if self._run_id:
            self._client.update_run(self._run_id, status="RUNNING")
            for name in self._client.get_run(self._run_id).data.metrics:
                history = self._client.get_metric_history(self._run_id, name)
                self._last_steps[name] = max(point.step for point in history)
            return
        created = self._client.create_run(self._experiment(), run_name=run.name)
        self._run_id = created.info.run_id
        parameter = self._mlflow.entities.Param
        parameters = [parameter(name, str(level)) for name, level in {**config, "seed": run.seed}.items()]
        for some in _batches(parameters, _MOST_PARAMETERS):
            self._client.log_batch(self._run_id, params=some)
        # Last, so that a run which is resumed has its parameters.
        save_sink_state(run, self.name, {"run_id": self._run_id})

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "minutiae")
        existing = self._client.get_experiment_by_name(name)
        return existing.experiment_id if existing is not None else self._client.create_experiment(name)

    def log(self, iteration: int, step: int, metrics: Mapping[str, Any]) -> None:
        """Send one iteration at its environment step, without the points that the server has."""
        if self._client is None:
            raise RuntimeError("this MLflow sink is not open")
        now = int(time.time() * 1000)
        points = [
            self._mlflow.entities.Metric(name, value, now, step)
            for name, value in numbers_of(metrics).items()
            if step > self._last_steps.get(name, -1)
        ]
        for some in _batches(points, _MOST_METRICS):
            self._client.log_batch(self._run_id, metrics=some)

    def close(self) -> None:
        """Mark the MLflow run as ended; going on with it opens it again."""
        if self._client is not None:
            self._client.set_terminated(self._run_id)
            self._client = None


def _batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """`items` in pieces of at most `size`, the most that one request may carry."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
