"""The process that trains one population by one thread and reports each iteration as a line of JSON (see `workers`)."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys

from minutiae.control.parent import end_with_parent
from minutiae.control.progress import Progress
from minutiae.errors import MinutiaeError


def main() -> int:
    """Train the runs named on the command line; exit code 0 done, 2 an error a user can mend (its text on stdout)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sink", action="append", default=[])
    parser.add_argument("runs", nargs="+")
    arguments = parser.parse_args()
    # Ctrl-C reaches the whole group; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    # Simulators print to standard output too; only our lines may reach the pipe.
    os.dup2(2, 1)

    from minutiae.control.trainer import Trainer
    from minutiae.runs.directory import RunDirectory

    def tell(progress: Progress) -> None:
        lines.write(json.dumps({"progress": json.loads(progress.to_json())}) + "\n")

    try:
        runs = [RunDirectory.open(path) for path in arguments.runs]
        Trainer(runs, threads=1, sinks=arguments.sink, listener=tell).train()
    except MinutiaeError as error:
        lines.write(json.dumps({"error": str(error)}) + "\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
