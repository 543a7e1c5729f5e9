"""How fast minutiae trains on this machine, beside the simulator alone and beside its peers.

python benchmarks/throughput.py [--json FILE] [--quick] [--environment ID] [--only ROW ...]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import arithmetic, peers, report
from measuring.processes import MeasurementError
from measuring.rows import ROWS, chosen_rows
from measuring.session import QUICK, THOROUGH, Effort, Session
from minutiae.control.environments import describe
from minutiae.control.workers import usable_cores
from minutiae.errors import MinutiaeError, UnsupportedEnvironment

BUSY_LOAD = 0.5
"""A machine whose load is above this before anything was started measures its other work too."""


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and write JSON when asked; exit code 2 when something was asked that cannot be done."""
    arguments = _parser().parse_args(words)
    usual = QUICK if arguments.quick else THOROUGH
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    try:
        _check(arguments.environment)
        rows, missing = chosen_rows(arguments.only, arguments.quick, peers.installed())
        session = Session(
            arguments.environment,
            rows,
            Effort(arguments.rounds or usual.rounds, arguments.seconds or usual.seconds, usual.shortest),
            len(usable_cores()),
            lambda line: print(line, file=sys.stderr, flush=True),
        )
        session.measure()
    except (MinutiaeError, MeasurementError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    document = make_document(session, load, missing)
    print(report.table(document))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0


def _check(environment: str) -> None:
    if describe(environment).backend != "envpool":
        raise UnsupportedEnvironment(
            f"{environment} is not served by EnvPool, whose speed is the ceiling; choose an id of EnvPool"
        )


def make_document(session: Session, load: float, missing: Sequence[str]) -> dict[str, Any]:
    """All that was measured, as it is written to JSON."""
    rows = session.results()
    return {
        "environment": session.environment,
        "rounds": session.rounds,
        "machine": {
            "processor": report.processor(),
            "cores": len(usable_cores()),
            "load_at_start": load,
            "versions": report.versions(),
        },
        "ceiling": session.ceiling(),
        "rows": rows,
        "notes": notes(rows, len(usable_cores()), load, missing),
    }


def notes(rows: Mapping[str, Mapping[str, Any]], cores: int, load: float, missing: Sequence[str]) -> list[str]:
    """What the figures say: what limits each row, what more cores give, what a busy neighbour takes."""
    found = []
    if load > BUSY_LOAD:
        found.append(f"The machine was busy when this began (load {load:.1f}): do not trust these figures.")
    for row in rows.values():
        if "seconds_per_iteration" in row:
            parts = row["seconds_per_iteration"]
            shares = arithmetic.Split(**parts).shares()
            largest = max(shares, key=lambda part: shares[part])
            found.append(
                f"{row['title']}: {largest} limits it, with {shares[largest]:.0%} of the time; were all the rest "
                f"free, it would be {1 / shares[largest]:.2f} times as fast."
            )
    if {"ppo_population", "ppo_population_one_worker"} <= rows.keys():
        gain = rows["ppo_population"]["share_of_ceiling"] / rows["ppo_population_one_worker"]["share_of_ceiling"]
        found.append(f"The population is {gain:.2f} times as fast on {cores} cores as on one.")
    for name, alone in (("busy_neighbour", "ppo_population"), ("busy_neighbour_one_agent", "ppo_one_agent")):
        if {name, alone} <= rows.keys():
            kept = rows[name]["share_of_ceiling"] / rows[alone]["share_of_ceiling"]
            found.append(
                f"{rows[name]['title']}: {kept:.0%} of the speed is left; without that core at all "
                f"{(cores - 1) / cores:.0%} would be."
            )
    if missing:
        found.append(f"Left out, not installed: {', '.join(missing)}; {peers.INSTALL}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here too")
    parser.add_argument("--quick", action="store_true", help="under a minute: the main rows, once, in short windows")
    parser.add_argument("--environment", default="Hopper-v5", metavar="ID", help="an id that EnvPool knows")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="ROW", help=f"some rows of: {', '.join(row.name for row in ROWS)}"
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help=f"measure every row N times ({THOROUGH.rounds}, quick {QUICK.rounds})"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help=f"length of a row's window ({THOROUGH.seconds:g}, quick {QUICK.seconds:g})",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
