"""The store: a folder of runs, the tasks they are trained in, and what became of them. Starts no process.

NAME/study.toml       the design
NAME/runs/RUN_ID/     a run directory for each config and seed
NAME/tasks/ID.json    runs that are trained together, decided once and for all: the bits of a run depend on it
NAME/failures/ID.json why a task failed, and how its runs were split for another try
NAME/claims/ID        who works on a task now
NAME/archive/         runs that were trained elsewhere and count here, see `archive`
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from minutiae.control.chunks import predicted_bytes
from minutiae.details import structure, to_toml
from minutiae.details.custom_source import source_hashes
from minutiae.errors import ConfigError, RunError
from minutiae.runs.atomic import write_atomic
from minutiae.runs.directory import RunDirectory, is_run
from minutiae.runs.documents import read_json, write_json
from minutiae.runs.origin import origin
from minutiae.studies.archive import Archive, ArchivedRun
from minutiae.studies.claims import Claims
from minutiae.studies.external import External
from minutiae.studies.study import PlannedRun, Study
from minutiae.studies.study_file import FILE, load_study, study_from_toml, study_to_toml

MOST_AGENTS = 8
"""Agents of one task: enough to share one program's costs, few enough that every core has work and a stop costs little.

It does not follow the machine's cores: a study gives the same bits on any number of them.
"""

MOST_BYTES = 2**30
"""What the rollouts of one task may need; fewer agents share it when theirs are large."""

_PLANNING = "planning"
_REMEDY = "delete it and run the study again; no run is lost"


@dataclass(frozen=True)
class Task:
    """Runs that are trained together as one population, in this order."""

    runs: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits of its runs."""
        return hashlib.sha256(" ".join(self.runs).encode()).hexdigest()[:16]


class Store:
    """A study on disk.

    Attributes:
        path: the folder.
        study: as the folder's `study.toml` has it.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self.study = path, study

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """The store in a folder, for reading: modules that its study names are not imported.

        Raises:
            RunError: there is none.
            ConfigError: its `study.toml` is damaged.
        """
        path = Path(path)
        if not (path / FILE).is_file():
            raise RunError(f"{path} holds no study: it has no {FILE}; run: minutiae study run FILE.toml")
        return cls(path, load_study(path / FILE, stored=True))

    @classmethod
    def create(cls, path: str | Path, study: Study) -> Store:
        """The store in a folder, for `study` from now on: what was trained for an earlier one is kept.

        Raises:
            RunError: the folder holds something else, or cannot be written.
        """
        path = Path(path)
        if path.exists() and not (path / FILE).is_file() and (not path.is_dir() or any(path.iterdir())):
            raise RunError(f"{path} holds other files and no {FILE}; choose another name for the study")
        text = study_to_toml(study).encode()
        read_back = study_from_toml(text.decode(), stored=True)
        if [run.id for run in read_back.first_runs()] != [run.id for run in study.first_runs()]:
            raise ConfigError("this study cannot be written to a file and read back; give levels as numbers or text")
        if not (path / FILE).is_file() or (path / FILE).read_bytes() != text:
            write_atomic(path / FILE, text)
        return cls(path, study)

    def run_path(self, run: str) -> Path:
        """The folder of a run."""
        return self.path / "runs" / run

    @cached_property
    def archive(self) -> Archive:
        """Runs that were trained elsewhere and count here."""
        return Archive(self.path / "archive")

    def ended(self, run: str) -> bool:
        """Whether a run has ended, well or diverged, here or elsewhere."""
        return (self.run_path(run) / "result.json").exists() or run in self.archive.runs

    def elsewhere(self, run: str) -> ArchivedRun | None:
        """A run that is archived and was not trained here, else `None`."""
        return None if (self.run_path(run) / "result.json").exists() else self.archive.runs.get(run)

    def claims(self) -> Claims:
        """Claims for this process."""
        return Claims(self.path / "claims")

    def tasks(self) -> list[Task]:
        """All tasks in the order in which they were planned; one that was split is replaced by its parts.

        Raises:
            RunError: a task's file is damaged.
        """
        found = []
        for file in (self.path / "tasks").glob("*.json"):
            document = read_json(file, _REMEDY)
            runs, order = document.get("runs"), document.get("order")
            if not isinstance(runs, list) or not runs or not isinstance(order, int):
                raise RunError(f"{file} is damaged: it needs 'runs' and 'order'; {_REMEDY}")
            task = Task(tuple(runs))
            parts = [Task((run,)) for run in task.runs] if self.failure(task) and len(task.runs) > 1 else [task]
            found.append((order, file.name, parts))
        return [task for _, _, parts in sorted(found, key=lambda one: one[:2]) for task in parts]

    def finished(self, task: Task) -> bool:
        """Whether every run of a task has ended, well or diverged."""
        return all(self.ended(run) for run in task.runs)

    def fail(self, task: Task, reason: str) -> None:
        """Note why a task failed. From now on the runs of a task of several are tasks of their own."""
        write_json(self.path / "failures" / f"{task.id}.json", {"runs": list(task.runs), "reason": reason})

    def failure(self, task: Task) -> str | None:
        """Why a task failed, `None` when it did not (yet)."""
        file = self.path / "failures" / f"{task.id}.json"
        if not file.exists():
            return None
        return str(read_json(file, _REMEDY).get("reason"))

    def forget_failures(self) -> None:
        """Let runs that failed alone be tried again: their cause may have been mended since."""
        for task in self.tasks():
            if len(task.runs) == 1:
                (self.path / "failures" / f"{task.id}.json").unlink(missing_ok=True)

    def plan(self, runs: Iterable[PlannedRun], claims: Claims) -> bool:
        """Make run directories and tasks for those of `runs` that have none; false when another process is at it.

        What is archived needs none.

        Killed in between, it leaves run directories without a task, which the next call places.

        Raises:
            RunError: the folder cannot be written.
            ConfigError: a run there was trained with another config.
        """
        wanted = {run.id: run for run in runs if run.id not in self.archive.runs}
        placed = {run for task in self.tasks() for run in task.runs}
        if wanted.keys() <= placed:
            return True
        if not claims.take(_PLANNING):
            return False
        try:
            planned = self.tasks()
            placed = {run for task in planned for run in task.runs}
            missing = [run for name, run in wanted.items() if name not in placed]
            for run in missing:
                self._make(run)
            order = len(list((self.path / "tasks").glob("*.json")))
            for number, task in enumerate(plan_tasks(missing, self.study.population)):
                write_json(self.path / "tasks" / f"{task.id}.json", {"order": order + number, "runs": list(task.runs)})
        finally:
            claims.release(_PLANNING)
        return True

    def _make(self, run: PlannedRun) -> None:
        path = self.run_path(run.id)
        if not is_run(path):
            about = origin()
            if not isinstance(run.config, External):
                about |= source_hashes(run.config)
            text = run.config.text if isinstance(run.config, External) else to_toml(run.config)
            RunDirectory.create(path, text, run.seed, about=about)


def _most_agents(run: PlannedRun) -> int:
    if isinstance(run.config, External):
        return 1
    return max(1, min(MOST_AGENTS, MOST_BYTES // predicted_bytes(run.config)))


def plan_tasks(runs: Sequence[PlannedRun], most: int | None = None) -> list[Task]:
    """Runs of equal structure and budget, in their order, cut into tasks; the same for every machine.

    The tasks with most environment steps come first, so that no worker begins a long one when the others are through;
    of equal ones, those with the first seeds of each structure.

    Args:
        most: agents in one task, at most; `None` is `MOST_AGENTS`, or fewer where their rollouts are large.
    """
    groups: dict[object, list[PlannedRun]] = {}
    for run in runs:
        kind = run.id if isinstance(run.config, External) else (structure(run.config), run.config.steps)
        groups.setdefault(kind, []).append(run)
    tasks: list[tuple[int, int, Task]] = []
    for members in groups.values():
        steps = 0 if isinstance(members[0].config, External) else members[0].config.steps
        limit = most or _most_agents(members[0])
        count = -(-len(members) // limit)
        size, larger = divmod(len(members), count)
        start = 0
        for number in range(count):
            end = start + size + (number < larger)
            tasks.append((-steps * (end - start), start, Task(tuple(run.id for run in members[start:end]))))
            start = end
    return [task for *_, task in sorted(tasks, key=lambda one: one[:2])]
