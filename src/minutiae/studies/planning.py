"""What a study will cost and what it can show, before it runs: runs, time and memory, the smallest effect it can find.

The time comes from training the first task of every structure for a moment, in a process and a folder of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from minutiae.control.chunks import predicted_bytes
from minutiae.control.workers import usable_cores, worker_variables
from minutiae.details import Config, structure, to_toml
from minutiae.errors import RunError
from minutiae.studies.store import Task, plan_tasks
from minutiae.studies.study import PlannedRun, Study

START_SECONDS = 10.0
"""What starting a worker and loading its program takes, about; a program that was never compiled takes longer."""


@dataclass(frozen=True)
class Measured:
    """One structure on this machine, by one worker: seconds per iteration of a whole task, and peak memory in bytes."""

    seconds: float
    memory: int


@dataclass(frozen=True)
class Plan:
    """A study before it runs.

    Attributes:
        study: the design.
        runs: all that will be trained; settings that tuning has yet to choose stand in by the first of the grid.
        tasks: how they batch into populations.
        workers: processes at a time.
        measured: by the first run's id of each measured task; empty when nothing was measured.
    """

    study: Study
    runs: tuple[PlannedRun, ...]
    tasks: tuple[Task, ...]
    workers: int
    measured: dict[str, Measured]

    @cached_property
    def steps(self) -> int:
        """Environment steps of all runs; 0 for somebody else's command, which does not tell."""
        if self.study.command is not None:
            return 0
        return sum(run.own.iterations * run.own.samples_per_iteration for run in self.runs)

    @property
    def seconds(self) -> float | None:
        """How long it takes, about; `None` when nothing was measured. Workers are taken not to hinder each other."""
        if not self.measured:
            return None
        by_id = {run.id: run for run in self.runs}
        durations = []
        for task in self.tasks:
            config, per_iteration = by_id[task.runs[0]].own, self._of(task, by_id)
            durations.append(START_SECONDS + config.iterations * per_iteration.seconds)
        return max(max(durations), sum(durations) / self.workers)

    @property
    def memory(self) -> int | None:
        """Bytes that all workers together need at most; `None` when nothing was measured."""
        if not self.measured:
            return None
        by_id = {run.id: run for run in self.runs}
        needs = sorted((self._of(task, by_id).memory for task in self.tasks), reverse=True)
        return sum(needs[: self.workers])

    def _of(self, task: Task, by_id: dict[str, PlannedRun]) -> Measured:
        """The measurement of the task's structure, scaled to its number of agents."""
        config = by_id[task.runs[0]].own
        for first, measured in self.measured.items():
            if structure(by_id[first].own) == structure(config):
                agents = next(len(one.runs) for one in self.tasks if one.runs[0] == first)
                fewer = (agents - len(task.runs)) * predicted_bytes(config)
                return Measured(measured.seconds * len(task.runs) / agents, measured.memory - fewer)
        raise KeyError(task.id)

    def detectable(self, deviation: float, effects: int | None = None) -> float:
        """The smallest difference between two levels of a factor that 80 % of such studies would find at 5 %.

        For two levels of a factor that half of the cells have each, as in factorial designs, in one environment.

        Args:
            deviation: of the outcome over seeds, in its own unit.
            effects: how many effects are looked at together (Holm's first step); `None` is one.
        """
        from minutiae.statistics import detectable_difference

        levels = max(len(factor.levels) for factor in self.study.factors)
        runs = self.study.seeds * max(1, len(self.study.layout.cells) // levels)
        return detectable_difference(deviation, max(2, runs), significance=0.05 / (effects or 1))


def plan_study(study: Study, workers: int | None = None, measure: bool = True) -> Plan:
    """What `study` will train on this machine.

    Args:
        workers: processes at a time; `None` is one for each core.
        measure: train the first task of every structure for two iterations.

    Raises:
        RunError: a task cannot be trained; the text says why.
    """
    first = study.first_runs()
    runs = first
    if study.tuning is not None and study.tuning.protocol == "held_out":
        guess = {(run.environment, run.cell): study.settings[0] for run in first}
        runs = [*first, *study.final_runs(guess)]
    unique = tuple({run.id: run for run in runs}.values())
    stages = [first, [run for run in unique if run.id not in {run.id for run in first}]]
    tasks = tuple(task for stage in stages if stage for task in plan_tasks(stage, study.population))
    measured = dict(_measure(unique, tasks)) if measure and study.command is None else {}
    return Plan(study, unique, tasks, workers or len(usable_cores()), measured)


def _measure(runs: Sequence[PlannedRun], tasks: Sequence[Task]) -> Iterator[tuple[str, Measured]]:
    by_id = {run.id: run for run in runs}
    seen = set()
    for task in tasks:
        members = [by_id[run] for run in task.runs]
        shape = structure(members[0].own)
        if shape not in seen:
            seen.add(shape)
            yield task.runs[0], measured([(run.own, run.seed) for run in members])


def measured(agents: Sequence[tuple[Config, int]]) -> Measured:
    """Train `agents`, of equal structure, for a moment in a process of its own.

    Raises:
        RunError: it fails; the text is the process's last line.
    """
    document = [[to_toml(config), seed] for config, seed in agents]
    process = subprocess.run(
        [sys.executable, "-P", "-m", "minutiae.studies.measuring"],
        env=worker_variables(),
        input=json.dumps(document),
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        said = process.stderr.strip().splitlines()
        raise RunError(f"the study's first task cannot be trained: {said[-1] if said else 'it said nothing'}")
    return Measured(**json.loads(process.stdout.splitlines()[-1]))


__all__ = ["Measured", "Plan", "measured", "plan_study"]
