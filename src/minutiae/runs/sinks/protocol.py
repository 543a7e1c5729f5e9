"""What a sink is: where the numbers of a run go besides its own files. No service is named here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from minutiae.runs.directory import RunDirectory
from minutiae.runs.documents import read_json, write_json

_STATE = "sinks.json"


@runtime_checkable
class Sink(Protocol):
    """Receives the metrics of one run while it trains.

    A sink object serves one run at a time: `open`, any number of `log`, `close`, and possibly again. Yours is
    correct when it passes `minutiae.runs.sinks.testing.SinkContract`.
    """

    name: str

    def open(self, run: RunDirectory, config: Mapping[str, Any], resume_from: int | None) -> None:
        """Get ready for the points of `run`.

        Args:
            run: the run on disk; `sink_state(run, name)` is the place to keep the id of a remote run.
            config: levels by detail, plain text and numbers.
            resume_from: environment steps at the checkpoint that training goes on from, `None` when it starts
                from the beginning. Points after it may have been received before a kill and come again, with
                equal values; each step must show once.
        """

    def log(self, iteration: int, step: int, metrics: Mapping[str, Any]) -> None:
        """Take the metrics of one iteration: numbers and flags by name; leave out `None` and text.

        Args:
            iteration: iterations completed, increasing.
            step: environment steps so far, increasing.
        """

    def close(self) -> None:
        """Flush everything; called once per `open`, and harmless when called again."""


def numbers_of(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The values that a curve can show, as floats: numbers and flags; not `None`, not text."""
    return {name: float(value) for name, value in metrics.items() if value is not None and not isinstance(value, str)}


def sink_state(run: RunDirectory, name: str) -> dict[str, Any]:
    """What the sink `name` kept in this run's `sinks.json`; empty when it kept nothing."""
    path = run.path / _STATE
    if not path.exists():
        return {}
    state = read_json(path, "delete it; the sinks then start new remote runs").get(name, {})
    return state if isinstance(state, dict) else {}


def save_sink_state(run: RunDirectory, name: str, state: Mapping[str, Any]) -> None:
    """Keep `state` (JSON) for the sink `name` in this run's `sinks.json`, beside what the others keep."""
    path = run.path / _STATE
    others = read_json(path, "delete it; the sinks then start new remote runs") if path.exists() else {}
    write_json(path, {**others, name: dict(state)})
