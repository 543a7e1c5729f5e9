"""What training tells whoever watches: one small record per iteration of a run. No display and no file here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

Status = Literal["starting", "training", "finished", "diverged", "retrying"]


@dataclass(frozen=True)
class Progress:
    """One run after one iteration.

    `return_mean` is of the episodes that ended in this iteration, `None` when none did; `steps` and `total_steps` are
    environment steps; `message` explains every status but `training` and `finished`.
    """

    run: str
    path: Path
    iteration: int
    iterations: int
    steps: int
    total_steps: int
    return_mean: float | None = None
    status: Status = "training"
    message: str | None = None

    def to_json(self) -> str:
        """One line, for the pipe between a worker process and its parent."""
        return json.dumps({**asdict(self), "path": str(self.path)})

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Progress:
        return cls(**{**fields, "path": Path(fields["path"])})


Listener: TypeAlias = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """The listener of those who do not watch."""
