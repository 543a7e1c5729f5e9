"""From what the user asked for to the sinks of one run. No service can end a training run from here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from minutiae.errors import ConfigError, MinutiaeError, unknown
from minutiae.runs.atomic import reason
from minutiae.runs.directory import RunDirectory
from minutiae.runs.sinks.mlflow import MlflowSink
from minutiae.runs.sinks.protocol import Sink
from minutiae.runs.sinks.tensorboard import TensorBoardSink
from minutiae.runs.sinks.wandb import WandbSink

SinkChoice: TypeAlias = str | Sink | Callable[[], Sink]

SINKS: dict[str, Callable[[], Sink]] = {
    "tensorboard": TensorBoardSink,
    "wandb": WandbSink,
    "mlflow": MlflowSink,
}


class Sinks:
    """Several sinks as one.

    Failing to open is an error, because nothing is lost yet. A sink that fails later is dropped with a
    warning and training goes on: its numbers are in the run's own files. Errors of minutiae (a full disk) are
    not held back.
    """

    name = "all"

    def __init__(self, members: Iterable[Sink]) -> None:
        self._members = list(members)

    def open(self, run: RunDirectory, config: Mapping[str, Any], resume_from: int | None) -> None:
        """Open each; when one cannot be opened, close those that were.

        Raises:
            MinutiaeError: a sink could not be opened.
        """
        for index, sink in enumerate(self._members):
            try:
                sink.open(run, config, resume_from)
            except Exception as error:
                Sinks(self._members[:index]).close()
                if isinstance(error, MinutiaeError):
                    raise
                raise MinutiaeError(
                    f"the sink {sink.name!r} could not be opened: {reason(error)}; "
                    "check its service and settings, or train without it"
                ) from error

    def log(self, iteration: int, step: int, metrics: Mapping[str, Any]) -> None:
        """Hand the metrics to each."""
        for sink in list(self._members):
            try:
                sink.log(iteration, step, metrics)
            except MinutiaeError:
                raise
            except Exception as error:
                self._members.remove(sink)
                _warn(sink, f"failed at iteration {iteration} and gets no more points", error)

    def close(self) -> None:
        """Close each."""
        for sink in self._members:
            try:
                sink.close()
            except Exception as error:
                _warn(sink, "could not be closed and may lack its last points", error)

    def __iter__(self) -> Iterator[Sink]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def make_sinks(choices: Iterable[SinkChoice] = (), runs: int = 1) -> Sinks:
    """The sinks of one run: TensorBoard always, then those chosen; call it once for each run.

    Args:
        choices: names (`wandb`, `mlflow`), sink objects, or functions (classes) that make one when called.
        runs: how many runs are trained together. An object serves one run, so several need a function.

    Raises:
        ConfigError: an unknown name, something that is no sink, or one object for several runs.
        MinutiaeError: the package of a named sink is not installed; the text has the command that installs
        it.
    """
    members: list[Sink] = []
    for choice in ["tensorboard", *([choices] if isinstance(choices, str) else choices)]:
        sink = _make(choice, runs)
        if sink.name not in [member.name for member in members]:
            members.append(sink)
    return Sinks(members)


def _make(choice: SinkChoice, runs: int) -> Sink:
    if isinstance(choice, str):
        if choice not in SINKS:
            raise ConfigError(unknown("sink", choice, SINKS, "or pass a sink object"))
        return SINKS[choice]()
    if isinstance(choice, type) or not isinstance(choice, Sink):
        made = choice() if callable(choice) else None
        if not isinstance(made, Sink):
            raise ConfigError(
                f"{choice!r} is no sink; pass a name ({', '.join(SINKS)}), an object with name, open, log "
                "and close, or a function that makes one"
            )
        return made
    if runs > 1:
        raise ConfigError(
            f"the sink object {choice.name!r} serves one run and {runs} are trained together; pass a "
            f"function that makes one for each, such as sinks=[{type(choice).__name__}]"
        )
    return choice


def _warn(sink: Sink, what: str, error: Exception) -> None:
    warnings.warn(
        f"the sink {sink.name!r} {what}: {reason(error)}; the run's own files have every number",
        RuntimeWarning,
        stacklevel=3,
    )
