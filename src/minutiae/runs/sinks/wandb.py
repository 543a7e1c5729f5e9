"""Weights & Biases. Imported only when asked for; holds no key: the user's environment does."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import Any

from minutiae.errors import MinutiaeError
from minutiae.runs.directory import RunDirectory
from minutiae.runs.sinks.protocol import numbers_of, save_sink_state, sink_state

_STEP = "step"


class WandbSink:
    """Logs to one Weights & Biases run for each run directory, whose `sinks.json` keeps its id.

    Project, entity and mode are those of `WANDB_PROJECT` (else `minutiae`), `WANDB_ENTITY` and `WANDB_MODE`.
    A resumed run goes on in the same remote run and skips the iterations that the server already has. Offline
    no server can be asked: the iterations between the last checkpoint and a kill are in both local folders.
    """

    name = "wandb"

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as error:
            raise MinutiaeError(
                "the sink 'wandb' needs a package; install it with \"pip install 'minutiae[wandb]'\""
            ) from error
        self._wandb = wandb
        self._run: Any = None

    def open(self, run: RunDirectory, config: Mapping[str, Any], resume_from: int | None) -> None:
        """Start the remote run, or go on with it."""
        remote_id = sink_state(run, self.name).get("id") or secrets.token_hex(8)
        save_sink_state(run, self.name, {"id": remote_id})
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", "minutiae"),
            id=remote_id,
            name=run.name,
            dir=str(run.path),
            config={**config, "seed": run.seed},
            resume="allow",
            # The agents of a population log side by side from one process.
            reinit="create_new",
        )
        self._run.define_metric(_STEP)
        self._run.define_metric("*", step_metric=_STEP)

    def log(self, iteration: int, step: int, metrics: Mapping[str, Any]) -> None:
        """Send one iteration, unless the server has it."""
        if self._run is None:
            raise RuntimeError("this Weights & Biases sink is not open")
        if iteration >= self._run.starting_step:
            self._run.log({**numbers_of(metrics), _STEP: step}, step=iteration)

    def close(self) -> None:
        """Wait until everything is sent."""
        if self._run is not None:
            self._run.finish()
            self._run = None
