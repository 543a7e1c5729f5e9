"""Populations in worker processes, one for each core: starting, listening, watching, trying again. Trains nothing.

Trying again is safe because resuming is exact: a worker that was killed for its silence goes on from its checkpoints.
"""

from __future__ import annotations

import json
import operator
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

from minutiae.control.progress import Listener, Progress
from minutiae.errors import ConfigError, MinutiaeError, RunError
from minutiae.runs.directory import RunDirectory

RETRIES = 2
"""How often a worker that died or fell silent is started again."""

SILENCE_SECONDS = 600.0
"""A worker that reports nothing for so long, and for 20 of its longest pauses so far, is taken for dead."""

SILENCE_PAUSES = 20.0

POLL_SECONDS = 1.0
"""How long to wait for a report before looking after the silent."""


def usable_cores() -> list[int]:
    """The cores this process may use, in order."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def worker_count(workers: int | None) -> int:
    """How many processes may train at a time: as asked for, or one for each usable core.

    Raises:
        ConfigError: it is no whole number of at least 1.
    """
    if workers is None:
        return len(usable_cores())
    # NumPy's whole numbers are some too.
    count = operator.index(workers) if hasattr(workers, "__index__") and not isinstance(workers, bool) else 0
    if count < 1:
        raise ConfigError(f"workers is a whole number of at least 1, not {workers!r}")
    return count


def worker_variables() -> dict[str, str]:
    """The environment variables of a process that trains for this one."""
    # One thread per library: there is a worker for each core, and more threads would only fight over them.
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # It finds the modules that this process finds: the user's own environments may lie beside their script.
    found = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return {**os.environ, **limits, "PYTHONPATH": found}


@dataclass
class Worker:
    """One started process and what was heard of it."""

    chunk: int
    process: subprocess.Popen[str]
    stderr: IO[bytes]
    silence: float = 0.0
    longest_pause: float = 0.0
    error: str | None = None
    hopeless: bool = False
    """Whether `error` is one that trying again would only repeat."""

    def listen(self) -> None:
        """Note that something was heard now."""
        self.longest_pause = max(self.longest_pause, self.silence)
        self.silence = 0.0

    @property
    def silent_too_long(self) -> bool:
        """Whether the process is to be taken for dead."""
        return self.silence > max(SILENCE_SECONDS, SILENCE_PAUSES * self.longest_pause)

    def last_words(self) -> str:
        """The end of what it wrote to standard error, on one line."""
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "it said nothing"


class Workers:
    """Trains `chunks`, each one population, with at most `count` processes at a time.

    Args:
        chunks: runs that are trained together, in their order.
        count: worker processes at a time.
        sinks: names of sinks beyond TensorBoard.
        listener: told of every iteration of every run, in this process.
        claim: asked for a chunk's number just before it is started for the first time; a false answer leaves it out.
        ended: told a chunk's number and why it failed, `None` when it did not. Where it is given, a failure ends its
            chunk only; otherwise it is raised and ends all.
    """

    def __init__(
        self,
        chunks: Sequence[Sequence[RunDirectory]],
        count: int,
        sinks: Sequence[str],
        listener: Listener,
        *,
        claim: Callable[[int], bool] = lambda chunk: True,
        ended: Callable[[int, str | None], None] | None = None,
    ) -> None:
        self._chunks, self._sinks, self._listener = chunks, sinks, listener
        self._count, self._claim, self._told_end = count, claim, ended
        self._waiting = list(range(len(chunks)))
        self._tries = [0] * len(chunks)
        self._lines: queue.Queue[tuple[Worker, str | None]] = queue.Queue()
        self._running: list[Worker] = []
        self._looked = time.monotonic()

    def train(self) -> None:
        """Train every chunk to its end.

        Raises:
            MinutiaeError: a worker met an error that the user can mend; its text.
            RunError: a worker died or fell silent more than `RETRIES` times.
        """
        try:
            while self._waiting or self._running:
                while self._waiting and len(self._running) < self._count:
                    chunk = self._waiting.pop(0)
                    if self._tries[chunk] or self._claim(chunk):
                        self._start(chunk)
                self._hear()
        finally:
            for worker in self._running:
                worker.process.kill()
                worker.process.wait()

    def _start(self, chunk: int) -> None:
        command = [sys.executable, "-P", "-m", "minutiae.control.worker"]
        for sink in self._sinks:
            command += ["--sink", sink]
        command += ["--", *(str(run.path) for run in self._chunks[chunk])]  # a folder's name may begin with a dash
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the worker has ended)
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=worker_variables(),
        )
        worker = Worker(chunk, process, stderr)
        self._running.append(worker)
        threading.Thread(target=self._read, args=(worker,), daemon=True).start()

    def _read(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            self._lines.put((worker, line))
        self._lines.put((worker, None))

    def _end_the_silent(self) -> None:
        now = time.monotonic()
        # Time that this process slept through itself, stopped or suspended, is no silence of the workers.
        passed = min(now - self._looked, 2.0 * POLL_SECONDS)
        self._looked = now
        for worker in self._running:
            worker.silence += passed
            if worker.silent_too_long:
                worker.error = f"reported nothing for {worker.silence:.0f} s"
                worker.process.kill()  # its pipe closes, and `_ended` takes over
                worker.listen()

    def _hear(self) -> None:
        self._end_the_silent()
        try:
            worker, line = self._lines.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return
        if line is None:
            self._ended(worker)
            return
        worker.listen()
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            if self._told_end is None:
                raise MinutiaeError(message["error"])
            worker.error, worker.hopeless = message["error"], True
            return
        self._listener(Progress.from_json(message["progress"]))

    def _ended(self, worker: Worker) -> None:
        code = worker.process.wait()
        self._running.remove(worker)
        try:
            if code == 0:
                self._tell_end(worker.chunk, None)
                return
            reason = worker.error or f"ended with exit code {code} ({worker.last_words()})"
        finally:
            worker.stderr.close()
        runs = self._chunks[worker.chunk]
        self._tries[worker.chunk] += 1
        if worker.hopeless:
            self._tell_end(worker.chunk, reason)
            return
        if self._tries[worker.chunk] > RETRIES:
            text = f"the worker of {runs[0].path} {reason}, {RETRIES + 1} times"
            if self._told_end is None:
                raise RunError(f"{text}; what was saved is kept: mend the cause and resume it")
            self._tell_end(worker.chunk, text)
            return
        self._waiting.append(worker.chunk)
        for run in runs:
            self._listener(Progress(run.name, run.path, 0, 0, 0, 0, None, "retrying", f"the worker {reason}"))

    def _tell_end(self, chunk: int, reason: str | None) -> None:
        if self._told_end is not None:
            self._told_end(chunk, reason)
