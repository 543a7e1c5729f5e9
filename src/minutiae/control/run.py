"""A run as its user sees it: where it lies, how it ended, its metrics and its policy. Reads only; trains nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from minutiae.details import Config, from_toml
from minutiae.runs.directory import RunDirectory, is_run
from minutiae.runs.group import RunGroup, is_group

if TYPE_CHECKING:
    import polars

    from minutiae.control.trained_policy import TrainedPolicy


class Run:
    """One run on disk, finished or not."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self.path = directory.path
        self.name = directory.name
        self.seed = directory.seed
        self.config: Config = from_toml(directory.config_text)

    @property
    def status(self) -> str:
        """`unfinished`, `finished` or `diverged`."""
        return self._directory.status

    @property
    def result(self) -> dict[str, Any] | None:
        """`status`, `reasons` and the summary (`final_return`, `iterations`, `steps`); `None` while unfinished."""
        result = self._directory.result
        if result is None:
            return None
        return {"status": result.status, "reasons": list(result.reasons), **result.summary}

    def metrics(self) -> polars.DataFrame:
        """One row per iteration: returns, lengths and every diagnostic of the update."""
        return self._directory.metrics().frame()

    def timing(self) -> polars.DataFrame:
        """One row per iteration: seconds per agent spent collecting, learning and writing."""
        return self._directory.timing().frame()

    def policy(self) -> TrainedPolicy:
        """The trained policy, which acts on raw observations."""
        from minutiae.control.trained_policy import load

        return load(self.path)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {self.status})"


def open_run(path: str | Path) -> Run:
    """The run at `path`.

    Raises:
        RunError: nothing is there, it is not a run, or it is damaged.
    """
    return Run(RunDirectory.open(path))


def open_runs(path: str | Path) -> list[Run]:
    """The run at `path`, or every run of the group there, or every run in the folder, however deep.

    Raises:
        RunError: there is none, or one is damaged.
    """
    return [open_run(folder) for folder in run_paths(path)]


def run_paths(path: str | Path) -> list[Path]:
    """The folders that `open_runs` opens; `path` itself where no run is found, which `open_run` then explains."""
    path = Path(path)
    if is_run(path):
        return [path]
    if is_group(path):
        group = RunGroup.open(path)
        return [group.member_path(name) for name in group.members if name not in group.missing]
    return sorted(config.parent for config in path.glob("**/config.toml") if is_run(config.parent)) or [path]


__all__ = ["Run", "open_run", "open_runs", "run_paths"]
