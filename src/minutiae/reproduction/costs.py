"""What each item needs: agents, steps, and hours on this machine. Trains only for a moment, to measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minutiae.control.workers import worker_count
from minutiae.errors import RunError
from minutiae.reproduction.protocol import Protocol, item_named, protocol_of
from minutiae.studies.planning import measured
from minutiae.studies.store import MOST_AGENTS
from minutiae.studies.study import Study


@dataclass(frozen=True)
class Need:
    """Of one item.

    Attributes:
        name, protocol: which, and how.
        study: what is trained; `None` without any runs.
        store: the study's folder; items of the same store share their runs.
        runs: in all.
        steps_in: environment steps of all runs in each environment.
    """

    name: str
    protocol: Protocol
    study: Study | None
    store: str | None
    runs: int
    steps_in: dict[str, int]

    @property
    def steps(self) -> int:
        """Of all runs, in all environments."""
        return sum(self.steps_in.values())


def needs(
    names: Sequence[str],
    tasks: Sequence[str] | None = None,
    agents: int | None = None,
    flavour: str = "paper-artifact",
    version: str = "v4",
) -> list[Need]:
    """What items need, which takes no training to know.

    Args:
        names: of items.
        tasks, agents, flavour, version: as of `reproduce`.
    """
    found = []
    for name in names:
        item = item_named(name)
        protocol = protocol_of(item, tasks, agents, None, flavour, version)
        if item.study is None:
            found.append(Need(name, protocol, None, None, 0, {}))
            continue
        study = item.study(protocol)
        runs = study.first_runs()
        steps_in = dict.fromkeys(study.environments, 0)
        for run in runs:
            steps_in[run.environment] += run.own.iterations * run.own.samples_per_iteration
        found.append(Need(name, protocol, study, item.store, len(runs), steps_in))
    return found


def hours(
    found: Sequence[Need],
    workers: int | None = None,
    speed: Callable[[Study, str], float] | None = None,
    told: Callable[[str], None] = lambda environment: None,
) -> dict[str, float | None]:
    """What items take on this machine as busy as it is, by training eight agents of every environment for a moment.

    Args:
        found: what they need.
        workers: processes at a time; `None` is one for each core.
        speed: seconds of one worker per environment step of a study in an environment; `None` measures it.
        told: of every environment before it is measured.

    Returns:
        Hours by item; `None` where an environment cannot be built here.
    """
    cores = worker_count(workers)
    speeds: dict[str, float | None] = {}
    taken: dict[str, float | None] = {}
    for need in found:
        seconds: float | None = 0.0
        for environment, steps in need.steps_in.items():
            if environment not in speeds:
                assert need.study is not None
                told(environment)
                speeds[environment] = _speed(need.study, environment, speed or seconds_per_step)
            each = speeds[environment]
            seconds = None if seconds is None or each is None else seconds + steps * each
        taken[need.name] = None if seconds is None else seconds / cores / 3600
    return taken


def seconds_per_step(study: Study, environment: str) -> float:
    """Of one worker, by training its first cell as a population for a moment.

    Raises:
        RunError: it cannot be trained.
    """
    config = next(run.own for run in study.first_runs() if run.environment == environment)
    found = measured([(config, seed) for seed in range(MOST_AGENTS)])
    return found.seconds / (MOST_AGENTS * config.samples_per_iteration)


def _speed(study: Study, environment: str, measure: Callable[[Study, str], float]) -> float | None:
    try:
        return measure(study, environment)
    except RunError:
        return None


def needs_text(found: Sequence[Need]) -> str:
    """As a table for the terminal."""
    rows = [("item", "tasks", "agents", "runs", "steps", "store")]
    for need in found:
        tasks = ", ".join(need.protocol.tasks)
        if need.store is None:
            rows.append((need.name, tasks, "", "", "", "needs no runs"))
        else:
            agents, steps = str(need.protocol.agents), f"{need.steps / 1e6:,.0f}M"
            rows.append((need.name, tasks, agents, f"{need.runs:,}", steps, need.store))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", "Items of one store share their runs."]) + "\n"


def hours_text(taken: dict[str, float | None]) -> str:
    """As a sentence for the terminal; empty where no item takes any."""
    parts = [f"{name} {'unknown' if each is None else f'{each:.1f}'}" for name, each in taken.items() if each != 0]
    return f"Hours on this machine, as busy as it is now, all cores: {', '.join(parts)}.\n" if parts else ""
