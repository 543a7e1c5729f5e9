"""What each item needs: agents, steps, and hours on this machine. Trains only for a moment, to measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minutiae.control.workers import usable_cores
from minutiae.errors import RunError
from minutiae.reproduction.protocol import Protocol, item_named, protocol_of
from minutiae.studies.planning import measured
from minutiae.studies.store import MOST_AGENTS
from minutiae.studies.study import Study

Speeds = dict[str, float | None]


@dataclass(frozen=True)
class Cost:
    """Of one item.

    Attributes:
        name, protocol: which, and how.
        runs: in all; items with the same store share them.
        store: its folder; `None` without any runs.
        steps: environment steps of all runs.
        hours: on this machine as busy as it is; `None` where an environment cannot be built here.
    """

    name: str
    protocol: Protocol
    runs: int
    store: str | None
    steps: int
    hours: float | None


def costs(
    names: Sequence[str],
    tasks: Sequence[str] | None = None,
    agents: int | None = None,
    flavour: str = "paper-artifact",
    version: str = "v4",
    workers: int | None = None,
    speed: Callable[[Study, str], float] | None = None,
    told: Callable[[str], None] = lambda environment: None,
) -> list[Cost]:
    """What items need, by training eight agents of every environment for two iterations.

    Args:
        names: of items.
        tasks, agents, flavour, version, workers: as of `reproduce`.
        speed: seconds of one worker per environment step of a study in an environment; `None` measures it.
        told: of every environment before it is measured.
    """
    cores = workers or len(usable_cores())
    speeds: Speeds = {}
    found = []
    for name in names:
        item = item_named(name)
        protocol = protocol_of(item, tasks, agents, None, flavour, version)
        if item.study is None:
            found.append(Cost(name, protocol, 0, None, 0, 0.0))
            continue
        study = item.study(protocol)
        runs = study.first_runs()
        seconds: float | None = 0.0
        for environment in study.environments:
            if environment not in speeds:
                told(environment)
                speeds[environment] = _speed(study, environment, speed or seconds_per_step)
            mine = sum(
                run.own.iterations * run.own.samples_per_iteration for run in runs if run.environment == environment
            )
            each = speeds[environment]
            seconds = None if seconds is None or each is None else seconds + mine * each
        steps = sum(run.own.iterations * run.own.samples_per_iteration for run in runs)
        hours = None if seconds is None else seconds / cores / 3600
        found.append(Cost(name, protocol, len(runs), item.store, steps, hours))
    return found


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


def costs_text(found: Sequence[Cost]) -> str:
    """As a table for the terminal."""
    rows = [("item", "tasks", "agents", "runs", "steps", "hours", "store")]
    for cost in found:
        if cost.store is None:
            rows.append((cost.name, ", ".join(cost.protocol.tasks), "", "", "", "", "needs no runs"))
            continue
        hours = "unknown" if cost.hours is None else f"{cost.hours:.1f}"
        tasks = ", ".join(cost.protocol.tasks)
        rows.append(
            (
                cost.name,
                tasks,
                str(cost.protocol.agents),
                f"{cost.runs:,}",
                f"{cost.steps / 1e6:,.0f}M",
                hours,
                cost.store,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    note = "Items of one store share their runs. Hours: on this machine, as busy as it is now, all cores."
    return "\n".join([*lines, "", note]) + "\n"
