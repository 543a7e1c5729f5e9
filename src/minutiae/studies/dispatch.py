"""Tasks of a study sent to a Ray cluster: out with the runs, back with their files, again when a node is lost.

Trains nothing itself. Only this process writes in the store, so no node needs to see it, and a node that is lost, or
only believed to be, can spoil nothing: what it still does reaches nobody.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minutiae.control.progress import Listener, Progress
from minutiae.control.workers import RETRIES
from minutiae.errors import MinutiaeError, RunError
from minutiae.runs.directory import RunDirectory
from minutiae.runs.lock import exclusive
from minutiae.runs.mirror import pack, put
from minutiae.studies.claims import Claims
from minutiae.studies.execution import take
from minutiae.studies.outpost import Message, Outpost, surroundings
from minutiae.studies.store import Store, Task

POLL_SECONDS = 1.0
"""How long to wait for a message before looking whether the cluster has grown."""

PAUSE_SECONDS = 5.0
"""How long a lost task rests, for each of its losses in a row: Ray may not have noticed yet that a node is gone."""

_NEWS = {"node has died": "its node has died", "worker process has died": "its process has died"}
"""What of Ray's long texts tells a user something."""


@dataclass
class _Errand:
    """A task that is away.

    Attributes:
        held: what this process holds for it meanwhile, the locks of its runs.
    """

    task: Task
    actor: Any
    held: contextlib.ExitStack


class Dispatch:
    """Trains `tasks` on the cluster, `count()` at a time."""

    def __init__(
        self,
        ray: Any,
        store: Store,
        tasks: Sequence[Task],
        claims: Claims,
        listener: Listener,
        count: Callable[[], int],
    ) -> None:
        self._ray, self._store, self._claims = ray, store, claims
        self._listener, self._count = listener, count
        self._waiting = list(tasks)
        self._away: dict[Any, _Errand] = {}
        # The iteration a task has got to; of one that was lost, how often in a row no further than that.
        self._reached: dict[Task, int] = {}
        self._losses: dict[Task, tuple[int, int]] = {}
        self._rests_until: dict[Task, float] = {}
        self._outpost = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Outpost)
        self._surroundings = surroundings()

    def train(self) -> None:
        """Send tasks out and listen until each has ended, failed, or is somebody else's."""
        try:
            while self._waiting or self._away:
                self._begin_some()
                if self._away:
                    ready, _ = self._ray.wait(list(self._away), timeout=POLL_SECONDS)
                    for reference in ready:
                        self._hear(reference)
                elif self._waiting:
                    time.sleep(min(PAUSE_SECONDS, POLL_SECONDS))  # all of them rest
        finally:
            for errand in self._away.values():
                self._end(errand)

    def _begin_some(self) -> None:
        """Begin tasks that wait, as many as there is room for."""
        now = time.monotonic()
        for task in [task for task in self._waiting if self._rests_until.get(task, now) <= now]:
            if len(self._away) >= self._count():
                return
            self._waiting.remove(task)
            self._begin(task)

    def _begin(self, task: Task) -> None:
        if task not in self._losses and not take(self._store, self._claims, task):
            return
        folders = [self._store.run_path(run) for run in task.runs]
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(exclusive(folders))
                for folder in folders:
                    RunDirectory.open(folder).remove_unfinished()
                files = pack(self._store.path / "runs", task.runs)
            except MinutiaeError as error:
                self._fail(task, str(error))
                return
            actor = self._outpost.remote()
            actor.start.remote(task.runs, files, self._surroundings)
            self._away[actor.hear.remote()] = _Errand(task, actor, held.pop_all())

    def _hear(self, reference: Any) -> None:
        errand = self._away.pop(reference)
        try:
            ended = self._heard(errand, reference)
        except BaseException:  # Ctrl-C, above all
            self._end(errand)
            raise
        if not ended:
            self._away[errand.actor.hear.remote()] = errand

    def _heard(self, errand: _Errand, reference: Any) -> bool:
        """Take in what came of one call; whether it was the last.

        Raises:
            RunError: on a node of the cluster nothing of this study can be trained. Every task would fail there, and a
                node that fails at once is soon given all of them.
        """
        try:
            messages: list[Message] = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            if getattr(error, "actor_init_failed", False):
                raise RunError(
                    f"a node of the cluster has no minutiae to begin with: {_in_words(error)}; install on every node "
                    "what this machine has"
                ) from error
            self._end(errand)
            self._lost(errand.task, error)
            return True
        for message in messages:
            if message.kind == "refused":
                raise RunError(message.content)
        try:
            return any([self._take_in(errand, message) for message in messages])
        except MinutiaeError as error:
            # What came back cannot be kept here, on a full disk for one.
            self._end(errand)
            self._fail(errand.task, str(error))
            return True

    def _take_in(self, errand: _Errand, message: Message) -> bool:
        """Act on one message; whether it was the last."""
        task = errand.task
        if message.kind == "changes":
            put(self._store.path / "runs", message.content)
        elif message.kind == "progress":
            progress: Progress = message.content
            self._reached[task] = max(self._reached.get(task, 0), progress.iteration)
            self._listener(replace(progress, path=self._store.run_path(progress.run)))
        else:
            self._end(errand)
            if message.content is None:
                self._claims.release(task.id)
            else:
                self._fail(task, message.content)
            return True
        return False

    def _lost(self, task: Task, error: Exception) -> None:
        """Give a task again whose node or process is gone, unless it is lost again and again without getting further.

        It goes on from the last checkpoint that came back. A node that is taken away now and then spends no patience.
        """
        reached = self._reached.get(task, 0)
        times, before = self._losses.get(task, (0, -1))
        times = 1 if reached > before else times + 1
        self._losses[task] = (times, reached)
        reason = _in_words(error)
        if times > RETRIES:
            self._fail(
                task, f"the worker of {task.runs[0]} was lost {times} times in a row, the last time because {reason}"
            )
            return
        self._waiting.append(task)
        self._rests_until[task] = time.monotonic() + PAUSE_SECONDS * times
        for run in task.runs:
            path = self._store.run_path(run)
            self._listener(Progress(run, path, 0, 0, 0, 0, None, "retrying", f"its worker was lost because {reason}"))

    def _fail(self, task: Task, reason: str) -> None:
        self._store.fail(task, reason)
        self._claims.release(task.id)

    def _end(self, errand: _Errand) -> None:
        """Stop what is done for a task, if anything still is, and let go of its runs."""
        with contextlib.suppress(Exception):  # it may be gone, or the whole cluster
            self._ray.kill(errand.actor)
        errand.held.close()


def _in_words(error: Exception) -> str:
    """What happened, on one line: of texts that nothing is known of, the first sentence of the last line."""
    text = str(error)
    known = [news for sign, news in _NEWS.items() if sign in text]
    if type(error).__name__ == "ActorUnavailableError":
        known.append("its node no longer answers")
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    return known[0] if known else lines[-1].partition(". ")[0].rstrip(".")
