"""The folder of one run: what lies where, and in which state it is. Knows no trainer; hands out paths."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from minutiae.errors import RunError, nearest
from minutiae.runs import config_file, policy
from minutiae.runs.atomic import is_unfinished, reason, remove_unfinished, write_failure
from minutiae.runs.checkpoints import Checkpoint, available, load_checkpoint, save_checkpoint, saved
from minutiae.runs.config_file import ConfigFile, read_config, write_config
from minutiae.runs.documents import read_json, write_json
from minutiae.runs.metrics import MetricsLog

GROUP_FILE = "group.json"
_RESULT = "result.json"
_RESULT_REMEDY = "delete it and resume the run to write it again"


class RunExists(RunError):
    """The place of a new run is taken."""


@dataclass(frozen=True)
class Result:
    """How a run ended: `finished`, or `diverged` with the `reasons`; `summary` is the trainer's own."""

    status: Literal["finished", "diverged"]
    reasons: tuple[str, ...] = ()
    summary: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status not in ("finished", "diverged"):
            raise ValueError(f"the status of a result is 'finished' or 'diverged', not {self.status!r}")
        if (self.status == "diverged") != bool(self.reasons):
            raise ValueError("a diverged run needs its reasons, and a finished run has none")


class RunDirectory:
    """One run on disk; `create` or `open` it.

    `config.toml` is written first and `result.json` last: a run without the second can be resumed.
    """

    def __init__(self, path: Path, contents: ConfigFile) -> None:
        self.path = path
        self.config_text = contents.config_text
        self.seed = contents.seed
        self.about = contents.about

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], config_text: str, seed: int, about: Mapping[str, str] | None = None
    ) -> RunDirectory:
        """Make the folder of a new run.

        Args:
            config_text: the complete config as TOML.
            seed: the agent's seed.
            about: where the run was made (versions, machine), text by name.

        Raises:
            RunError: the folder already holds a run or other files, or cannot be written.
        """
        path = Path(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            names = {name for name in os.listdir(path) if not is_unfinished(name)}
        except OSError as error:
            raise RunError(write_failure(path, error)) from error
        taken = f"{path} already holds a run; use 'minutiae resume {path}' or choose another name"
        if config_file.FILE in names:
            raise RunExists(taken)
        if names:
            raise RunExists(f"{path} holds other files ({_some(names)}); choose another name for the run")
        contents = ConfigFile(config_text, int(seed), dict(about or {}))
        try:
            write_config(path, contents)
        except FileExistsError as error:  # another process has made it since we looked
            raise RunExists(taken) from error
        return cls(path, contents)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunDirectory:
        """The run at `path`; only reads, and executes nothing that it finds there.

        Raises:
            RunError: nothing is there, it is not a run, or its config is damaged.
        """
        path = Path(path)
        if not path.exists():
            raise RunError(_missing(path))
        if not path.is_dir():
            raise RunError(f"{path} is a file; give the folder of the run, here perhaps {path.parent}")
        try:
            names = set(os.listdir(path))
        except OSError as error:
            raise RunError(f"cannot read {path}: {reason(error)}; check its permissions") from error
        if config_file.FILE not in names:
            if GROUP_FILE in names:
                raise RunError(f"{path} holds a group of runs; open one of them: {_some(_runs_in(path))}")
            inside = _runs_in(path)
            hint = f"open one of the runs in it: {_some(inside)}" if inside else "give the folder of a run"
            raise RunError(f"{path} is not a run: it has no {config_file.FILE}; {hint}")
        return cls(path, read_config(path))

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.name or self.path.resolve().name

    @property
    def finished(self) -> bool:
        """Whether the run has ended, well or not: `result.json` exists."""
        return (self.path / _RESULT).exists()

    @property
    def status(self) -> Literal["unfinished", "finished", "diverged"]:
        """`unfinished` (never resumed or still training), else the result's status."""
        result = self.result
        return "unfinished" if result is None else result.status

    @property
    def result(self) -> Result | None:
        """How the run ended, `None` while it has not.

        Raises:
            RunError: `result.json` is damaged.
        """
        path = self.path / _RESULT
        if not self.finished:
            return None
        document = read_json(path, _RESULT_REMEDY)
        status, reasons, summary = (document.get(key) for key in ("status", "reasons", "summary"))
        try:
            if not (isinstance(reasons, list) and all(isinstance(item, str) for item in reasons)):
                raise ValueError("'reasons' must be a list of text")
            if not isinstance(summary, dict):
                raise ValueError("'summary' must be an object")
            return Result(status, tuple(reasons), summary)  # type: ignore[arg-type]
        except ValueError as error:
            raise RunError(f"{path} is damaged: {reason(error)}; {_RESULT_REMEDY}") from error

    def finish(
        self,
        status: Literal["finished", "diverged"] = "finished",
        reasons: Sequence[str] = (),
        summary: Mapping[str, Any] | None = None,
    ) -> Result:
        """Write `result.json`, the run's last file; everything else must be on disk by now.

        Args:
            reasons: why it diverged, one sentence each; needed with `diverged`, refused with `finished`.
            summary: JSON; NaN and infinities become null.

        Raises:
            RunError: the run has ended before, or the file cannot be written.
        """
        result = Result(status, tuple(reasons), dict(summary or {}))
        if self.finished:
            raise RunError(f"{self.path} has ended before; train under another name, or delete its {_RESULT}")
        document = {"status": result.status, "reasons": list(result.reasons), "summary": result.summary}
        write_json(self.path / _RESULT, document)
        return result

    @property
    def metrics_path(self) -> Path:
        """`metrics.parquet`: what was measured, per iteration; a resumed run has the same, bit for bit."""
        return self.path / "metrics.parquet"

    @property
    def timing_path(self) -> Path:
        """`timing.parquet`: how long it took, per iteration; kept apart because it is never equal."""
        return self.path / "timing.parquet"

    @property
    def policy_path(self) -> Path:
        """`policy.safetensors`: the trained policy with its normalizer and spec."""
        return self.path / policy.FILE

    @property
    def checkpoint_path(self) -> Path:
        """The folder `checkpoint`."""
        return self.path / "checkpoint"

    def metrics(self) -> MetricsLog:
        """The metrics so far; an empty log when none were saved yet."""
        return _log(self.metrics_path)

    def timing(self) -> MetricsLog:
        """The timings so far; an empty log when none were saved yet."""
        return _log(self.timing_path)

    def save_checkpoint(self, iteration: int, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> Path:
        """`checkpoints.save_checkpoint` in this run."""
        return save_checkpoint(self.checkpoint_path, iteration, arrays, metadata)

    def checkpoints(self) -> list[int]:
        """Iterations with a readable checkpoint, newest last."""
        return available(self.checkpoint_path)

    def latest_checkpoint(self) -> Checkpoint | None:
        """The newest readable checkpoint; `None` when the run was stopped before it wrote any.

        Raises:
            RunError: there are checkpoints and none can be read: starting over would hide that.
        """
        return load_checkpoint(self.checkpoint_path) if saved(self.checkpoint_path) else None

    def remove_unfinished(self) -> None:
        """Remove what a killed writer left; for the one process that is about to train this run."""
        for folder in (self.path, self.checkpoint_path):
            remove_unfinished(folder)

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a folder with a run's config in it (which may still be damaged)."""
    return (Path(path) / config_file.FILE).is_file()


def _log(path: Path) -> MetricsLog:
    return MetricsLog.load(path) if path.exists() else MetricsLog(path)


def _missing(path: Path) -> str:
    runs = _runs_in(path.parent)
    if not path.is_absolute() and is_run(Path("runs") / path):
        return f"no run at {path}; did you mean {str(Path('runs') / path)!r}?"
    guess = nearest(path.name, runs)
    if guess is not None:
        return f"no run at {path}; did you mean {str(path.parent / guess)!r}?"
    return f"no run at {path}; " + (f"{path.parent} holds: {_some(runs)}" if runs else "check the path")


def _runs_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and is_run(entry.path))
    except OSError:
        return []


def _some(names: Sequence[str] | set[str], most: int = 8) -> str:
    listed = sorted(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")
