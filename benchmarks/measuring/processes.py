"""Measuring processes: started, watched for memory, read when they end. And a neighbour that keeps a core busy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).resolve().parent.parent
POLL_SECONDS = 0.25
LONGEST_SECONDS = 300.0


class Outcome(NamedTuple):
    """What a measuring process printed, when it was started (monotonic), and its peak memory in bytes."""

    printed: Any
    started: float
    peak_bytes: int | None


class MeasurementError(Exception):
    """A measuring process did not get to its end; the text is the end of what it wrote."""


def run(module: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Outcome:
    """Run `python -m module arguments`, whose last line is JSON.

    Raises:
        MeasurementError: it failed, or took longer than `LONGEST_SECONDS`.
    """
    path = os.pathsep.join([str(HOME), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**os.environ, **(environment or {}), "PYTHONPATH": path}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.monotonic()
        command = [sys.executable, "-m", module, *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=variables)
        peaks: dict[int, int] = {}
        try:
            while process.poll() is None:
                if time.monotonic() - started > LONGEST_SECONDS:
                    raise MeasurementError(f"{module} took longer than {LONGEST_SECONDS:.0f} s")
                peaks.update(peak_memory(process.pid))
                time.sleep(POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()  # workers of ours leave with their parent
                process.wait()
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            lines = errors.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise MeasurementError(f"{module} ended with exit code {process.returncode}: {lines[-1]}")
        return Outcome(json.loads(output.read().splitlines()[-1]), started, sum(peaks.values()) or None)


def peak_memory(process: int) -> dict[int, int]:
    """Peak resident memory so far of a process and all below it, by process id, in bytes; empty where Linux is not."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        children = [
            int(child)
            for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except (OSError, ValueError):
        return {}
    peak = next((line for line in status.splitlines() if line.startswith("VmHWM")), None)
    found = {process: int(peak.split()[1]) * 1024} if peak else {}
    for child in children:
        found |= peak_memory(child)
    return found


@contextmanager
def busy_neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """Another process computes on the last core meanwhile, the one that our single-process programs prefer."""
    pin = "import os; hasattr(os, 'sched_setaffinity') and os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})"
    process = subprocess.Popen([sys.executable, "-c", f"{pin}\nwhile True: pass"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()
