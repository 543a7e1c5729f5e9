"""What a study will cost and what it can show: runs done and left, time and memory, the smallest effect it can find.

The time comes from training the first task of every structure for a moment, in a process and a folder of their own.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from minutiae.control.chunks import predicted_bytes
from minutiae.control.workers import worker_count, worker_variables
from minutiae.details import Config, structure, to_toml
from minutiae.errors import RunError
from minutiae.studies.results import planned_runs, study_frame
from minutiae.studies.store import Store, Task, plan_tasks
from minutiae.studies.study import STAGES, PlannedRun, Study
from minutiae.studies.study_file import FILE

START_SECONDS = 10.0
"""What starting a worker and loading its program takes, about; a program that was never compiled takes longer."""


@dataclass(frozen=True)
class Measured:
    """One structure on this machine, by one worker: seconds per iteration of a whole task, and peak memory in bytes."""

    seconds: float
    memory: int


@dataclass(frozen=True)
class Plan:
    """A study before it runs, or while some of it is done.

    Attributes:
        study: the design.
        runs: all of the study; settings that tuning has yet to choose stand in by the first of the grid.
        done: ids of the runs that have ended in the study's folder.
        tasks: how the others batch into populations.
        workers: processes at a time.
        measured: by the first run's id of each measured task; empty when nothing was measured.
    """

    study: Study
    runs: tuple[PlannedRun, ...]
    done: frozenset[str]
    tasks: tuple[Task, ...]
    workers: int
    measured: dict[str, Measured]

    @cached_property
    def left(self) -> tuple[PlannedRun, ...]:
        """The runs that are still to be trained."""
        return tuple(run for run in self.runs if run.id not in self.done)

    @cached_property
    def steps(self) -> int:
        """Environment steps of the runs that are left; 0 for somebody else's command, which does not tell."""
        if self.study.command is not None:
            return 0
        return sum(run.own.iterations * run.own.samples_per_iteration for run in self.left)

    @cached_property
    def remainders(self) -> tuple[str, ...]:
        """What rounding to whole iterations does to the steps of its configs, one sentence for each that differs."""
        said = (run.own.remainder for run in self.runs if isinstance(run.config, Config))
        return tuple(dict.fromkeys(text for text in said if text is not None))

    @property
    def seconds(self) -> float | None:
        """How long what is left takes, about; `None` when nothing was measured.

        Each worker that is through takes the next task, as in training. Workers are taken not to hinder each other,
        and what unfinished runs have done already not to count.
        """
        if not self.measured:
            return None
        by_id = {run.id: run for run in self.runs}
        free = [0.0] * self.workers
        for task in self.tasks:
            config, per_iteration = by_id[task.runs[0]].own, self._of(task, by_id)
            heapq.heappush(free, heapq.heappop(free) + START_SECONDS + config.iterations * per_iteration.seconds)
        return max(free)

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


def plan_study(
    study: Study, workers: int | None = None, measure: bool = True, folder: str | Path | None = None
) -> Plan:
    """What `study` will train on this machine.

    Args:
        workers: processes at a time; `None` is one for each core.
        measure: train the first task of every structure that is left for two iterations.
        folder: where the study is, or will be, trained; what has ended there is done. `None` takes nothing for done.

    Raises:
        ConfigError: the number of workers.
        RunError: a task cannot be trained, or the folder is damaged; the text says why.
    """
    count = worker_count(workers)
    store = Store(Path(folder), study) if folder is not None and (Path(folder) / FILE).is_file() else None
    first = study.first_runs()
    known = first if store is None else planned_runs(store)
    if study.tuning is not None and study.tuning.protocol == "held_out" and len(known) == len(first):
        known = [*first, *study.final_runs(dict.fromkeys(study.places, study.settings[0]))]
    unique = tuple({run.id: run for run in known}.values())
    done = frozenset(run.id for run in unique if store is not None and store.ended(run.id))
    tasks = _tasks_left(store, study, unique, done)
    measured = dict(_measure(unique, tasks)) if measure and study.command is None else {}
    return Plan(study, unique, done, tasks, count, measured)


def _tasks_left(
    store: Store | None, study: Study, runs: Sequence[PlannedRun], done: frozenset[str]
) -> tuple[Task, ...]:
    """The populations that a store has begun, and new ones for runs that are in none, tuning first."""
    wanted = {run.id for run in runs}
    begun = [] if store is None else [task for task in store.tasks() if not store.finished(task)]
    placed = {run for task in begun for run in task.runs}
    tasks = [Task(tuple(run for run in task.runs if run in wanted)) for task in begun if wanted & set(task.runs)]
    missing = [run for run in runs if run.id not in placed and run.id not in done]
    for stage in STAGES:
        mine = [run for run in missing if run.stage == stage]
        tasks += plan_tasks(mine, study.population) if mine else []
    return tuple(tasks)


def pilot_deviation(study: Study, folder: str | Path) -> float | None:
    """The deviation of the first outcome within cells, pooled, of the study's runs that ended in `folder`.

    `None` without two runs in any cell.
    """
    if not (Path(folder) / FILE).is_file():
        return None
    import polars

    name = study.outcomes[0]
    frame = study_frame(Store(Path(folder), study))
    ended = frame.filter(polars.col(name).is_not_null()).unique("run_id", maintain_order=True)
    tuned = [] if study.tuning is None else [factor.name for factor in study.tuning.grid]
    spread = ended.group_by("environment", "cell", "stage", *tuned, maintain_order=True).agg(
        polars.col(name).var().alias("v"), polars.len().alias("n")
    )
    spread = spread.filter(polars.col("n") > 1)
    if not len(spread):
        return None
    variances, weights = spread["v"].to_numpy(), spread["n"].to_numpy() - 1
    return float((variances * weights).sum() / weights.sum()) ** 0.5


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
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-P", "-m", "minutiae.studies.measuring"],
            stdin=pipe, stdout=pipe, stderr=errors, env=worker_variables(), text=True,
        ) as process,
    ):  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it died; its words tell why
            process.stdin.write(json.dumps(document) + "\n")
            process.stdin.flush()
        # The pipe stays open meanwhile: when this process dies, the other hears of it and ends.
        answer = process.stdout.read()
        if process.wait():
            errors.seek(0)
            said = errors.read().strip().splitlines()
            raise RunError(f"the study's first task cannot be trained: {said[-1] if said else 'it said nothing'}")
    return Measured(**json.loads(answer.splitlines()[-1]))


__all__ = ["Measured", "Plan", "measured", "pilot_deviation", "plan_study"]
