"""Runs one command that dies with its parent: `python -I launching.py WORDS...`. Knows no study and imports none of us.

Standard input is a pipe that the parent holds open and never writes to. The system closes it when the parent is gone,
however that came about, and the command and all that it started are then ended. This is plain POSIX; Linux alone could
tell by a signal (PR_SET_PDEATHSIG), but only the command itself and not what it started.

The command's output goes to standard error. At its end one JSON object goes to standard output: `{"code": 0}`, a
negative code for a signal, or `{"error": "..."}` when it could not be started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from types import FrameType

GRACE_SECONDS = 10.0
"""What a command has to end itself, from the moment it is told to."""


class Launched:
    """A command in a process group of its own, so that all it starts can be ended with it."""

    def __init__(self, words: list[str]) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=2, stderr=2, start_new_session=True)
        self._told = False

    def wait(self) -> int:
        """Its exit code; negative for the signal that ended it."""
        code = self._process.wait()
        if self._told:
            self._send(signal.SIGKILL)  # whatever of its group outlives it
        return code

    def end(self, number: int) -> None:
        """Send a signal to the group, and after a while the one that nothing survives."""
        self._told = True
        self._send(number)
        last = threading.Timer(GRACE_SECONDS, self._send, (signal.SIGKILL,))
        last.daemon = True
        last.start()

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def main(words: list[str]) -> int:
    """Run `words` and tell how it ended."""
    launched: Launched | None = None
    early: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        # The group is not the terminal's, so the command hears of Ctrl-C and of a closed terminal only from here.
        if launched is None:
            early.append(number)
        else:
            launched.end(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    try:
        launched = started = Launched(words)
    except OSError as error:
        return _tell({"error": error.strerror or str(error)})
    for missed in early:
        started.end(missed)

    def watch() -> None:
        while os.read(0, 1):
            pass
        started.end(signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    return _tell({"code": started.wait()})


def _tell(document: dict[str, object]) -> int:
    with contextlib.suppress(OSError):  # nobody may be left to read it
        os.write(1, json.dumps(document).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
