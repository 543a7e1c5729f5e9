"""One population trained in this process and written to its run directories by segments. Starts no process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minutiae.control.compilation import start_jax
from minutiae.control.population import AgentReport, Population
from minutiae.control.progress import Listener, Progress, Status, ignore
from minutiae.details import Config, from_toml, to_mapping
from minutiae.errors import RunError
from minutiae.runs.checkpoints import flatten, load_checkpoint, unflatten
from minutiae.runs.directory import RunDirectory
from minutiae.runs.group import common_iteration
from minutiae.runs.lock import exclusive
from minutiae.runs.metrics import MetricsLog
from minutiae.runs.policy import save_policy
from minutiae.runs.sinks import Sinks, make_sinks
from minutiae.runs.tensors import write_tensors

OUTCOME_ITERATIONS = 5
"""The outcome of a run is the mean return of its last five iterations (Engstrom et al. 2020, released code)."""

DIVERGENCE_FILE = "divergence.safetensors"


def final_return(returns: Sequence[float | None]) -> float | None:
    """Mean of the last `OUTCOME_ITERATIONS` iterations in which an episode ended; `None` when none ever did."""
    seen = [value for value in returns if value is not None][-OUTCOME_ITERATIONS:]
    return float(np.mean(seen)) if seen else None


def final_return_rule(returns: Sequence[float | None]) -> str:
    """What `final_return` is the mean of, in words: a short run has fewer iterations than the rule asks for."""
    seen = sum(value is not None for value in returns)
    if seen == 1:
        return "return_mean of the only iteration with episodes"
    over = f"all {seen}" if 0 < seen < OUTCOME_ITERATIONS else f"the last {OUTCOME_ITERATIONS}"
    return f"mean of return_mean over {over} iterations with episodes"


class Trainer:
    """Trains the agents of `runs` (equal structure) as one population, from wherever their checkpoints stand.

    Args:
        runs: created directories; the order decides an agent's place in the population, so keep it when resuming.
        threads: of the simulators; `None` is one per usable core.
        sinks: names of sinks beyond TensorBoard.
        listener: told of every iteration of every run.
    """

    def __init__(
        self,
        runs: Sequence[RunDirectory],
        *,
        threads: int | None = None,
        sinks: Sequence[Any] = (),
        listener: Listener = ignore,
    ) -> None:
        self.runs, self._listener = list(runs), listener
        self.configs = [from_toml(run.config_text) for run in self.runs]
        self._sink_names = sinks
        self._threads = threads
        self._broken: list[str | None] = [None] * len(self.runs)
        self._metrics: list[MetricsLog] = []
        self._timing: list[MetricsLog] = []
        self._sinks: list[Sinks] = []

    def train(self) -> None:
        """Train to the end of the budget and write every result. Safe to kill at any moment.

        Raises:
            RunError: another process trains one of the runs, or what is on disk does not fit together.
        """
        with exclusive([run.path for run in self.runs]):
            if all(run.finished for run in self.runs):
                return
            start_jax()
            # The acting networks are small: threads of the linear algebra would only spin beside the simulators'.
            with threadpool_limits(limits=1, user_api="blas"):
                self._train()

    def _train(self) -> None:
        for run in self.runs:
            run.remove_unfinished()
        population = Population(self.configs, [run.seed for run in self.runs], self._threads)
        try:
            start = self._restore(population)
            self._open_logs(start)
            steps = f"{start * self.configs[0].samples_per_iteration:,}"
            message = f"goes on from step {steps}" if start else "begins; its program is compiled first"
            for agent, run in enumerate(self.runs):
                if not run.finished:
                    self._tell(agent, start, None, "starting", message)
            while not population.finished:
                self._iterate(population)
                if population.segment_ends:
                    self._save(population)
            self._finish(population)
        except KeyboardInterrupt:
            # To look at; a resumed run cuts the logs back to its checkpoint.
            for log in (*self._metrics, *self._timing):
                log.save()
            raise
        finally:
            for sinks in self._sinks:
                sinks.close()
            population.close()

    def _restore(self, population: Population) -> int:
        """Set the population to the newest iteration that every run has on disk; 0 when one has none."""
        iteration = common_iteration(self.runs)
        if iteration is None:
            return 0
        like = population.snapshot(0)
        snapshots, alive = [], []
        for agent, run in enumerate(self.runs):
            checkpoint = load_checkpoint(run.checkpoint_path, iteration)
            snapshots.append(unflatten(checkpoint.arrays, like=like))
            _refuse_changes(run, checkpoint.metadata.get("spec", {}), self._spec(agent))
            self._broken[agent] = checkpoint.metadata.get("broken")
            alive.append(self._broken[agent] is None)
        population.restore(iteration, snapshots, alive)
        return iteration

    def _spec(self, agent: int) -> dict[str, Any]:
        return policy_spec(self.configs[agent], self.runs[agent].seed)

    def _open_logs(self, start: int) -> None:
        self._metrics = [run.metrics() for run in self.runs]
        self._timing = [run.timing() for run in self.runs]
        for log in (*self._metrics, *self._timing):
            log.truncate(start)
        for log, broken in zip(self._metrics, self._broken, strict=True):
            if broken is None and (log.last or 0) < start:
                raise RunError(
                    f"{log.path} ends before the checkpoint of iteration {start}; restore it from a copy, or delete "
                    "the run and train it again"
                )
        self._sinks = []
        for run, config in zip(self.runs, self.configs, strict=True):
            sinks = make_sinks(self._sink_names, runs=len(self.runs))
            steps = start * config.samples_per_iteration if start else None
            sinks.open(run, to_mapping(config) | {"seed": run.seed}, steps)
            self._sinks.append(sinks)

    def _iterate(self, population: Population) -> None:
        reports = population.iterate()
        for agent, report in enumerate(reports):
            if report is None:
                continue
            if not report.sound:
                self._diverged(population, agent)
                continue
            self._metrics[agent].append(report.metrics)
            self._timing[agent].append({"iteration": population.iteration, **population.timing.seconds(len(self.runs))})
            self._sinks[agent].log(population.iteration, int(report.metrics["steps"] or 0), report.metrics)
            self._tell(agent, population.iteration, report)

    def _tell(
        self,
        agent: int,
        iteration: int,
        report: AgentReport | None,
        status: Status = "training",
        message: str | None = None,
    ) -> None:
        config, run = self.configs[agent], self.runs[agent]
        value = report.metrics["return_mean"] if report is not None else None
        self._listener(
            Progress(
                run=run.name,
                path=run.path,
                iteration=iteration,
                iterations=config.iterations,
                steps=iteration * config.samples_per_iteration,
                total_steps=config.iterations * config.samples_per_iteration,
                return_mean=None if value is None else float(value),
                status=status,
                message=message,
            )
        )

    def _diverged(self, population: Population, agent: int) -> None:
        """Name the first bad tensor and keep the batch that produced it, beside the run, for whoever looks into it."""
        name = population.autopsy(agent) or "a metric"
        self._broken[agent] = f"{name} is not finite at iteration {population.iteration}"
        batch = population.last_batch(agent)
        with contextlib.suppress(RunError):  # a full disk must not take the other agents down
            write_tensors(
                self.runs[agent].path / DIVERGENCE_FILE,
                "divergence",
                flatten(batch),
                {"iteration": population.iteration, "broken": name},
            )
        self._tell(agent, population.iteration, None, "diverged", self._broken[agent])

    def _save(self, population: Population) -> None:
        started = time.perf_counter()
        for agent, run in enumerate(self.runs):
            self._metrics[agent].save()
            run.save_checkpoint(
                population.iteration,
                flatten(population.snapshot(agent)),
                {"broken": self._broken[agent], "spec": self._spec(agent)},
            )
        for agent in range(len(self.runs)):
            self._timing[agent].save()
        population.timing.writing = time.perf_counter() - started

    def _finish(self, population: Population) -> None:
        for agent, run in enumerate(self.runs):
            if run.finished:
                continue
            config, broken = self.configs[agent], self._broken[agent]
            save_policy(run.policy_path, flatten(population.acting_arrays(agent)), policy_spec(config, run.seed))
            returns: Any = self._metrics[agent].column("return_mean") if len(self._metrics[agent]) else []
            summary = {
                "final_return": final_return(returns),
                "final_return_rule": final_return_rule(returns),
                "iterations": len(self._metrics[agent]),
                "steps": len(self._metrics[agent]) * config.samples_per_iteration,
            }
            run.finish("finished" if broken is None else "diverged", [broken] if broken else [], summary)
            self._tell(agent, len(self._metrics[agent]), None, "finished" if broken is None else "diverged", broken)


def policy_spec(config: Config, seed: int) -> dict[str, Any]:
    """All that is needed, beside the arrays, to act: kept with them in `policy.safetensors`."""
    return {"config": to_mapping(config), "seed": seed}


def _refuse_changes(run: RunDirectory, trained: dict[str, Any], now: dict[str, Any]) -> None:
    """Going on with other levels than the run was begun with would give a run that no config describes.

    Details that a newer version added have no level in `trained`, and are not looked at.

    Raises:
        RunError: a level or the seed differs.
    """
    before, after = ({**spec.get("config", {}), "seed": spec.get("seed")} for spec in (trained, now))
    changed = [name for name in before if trained and name in after and before[name] != after[name]]
    if changed:
        name = changed[0]
        raise RunError(
            f"{run.path / 'config.toml'} was changed after training began: {name} was {before[name]!r} and is "
            f"{after[name]!r}; change it back, or train it as a new run with: minutiae train --config FILE --name NAME"
        )
