"""`minutiae resume`: go on with a run or a group. The training itself is `minutiae.resume`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from minutiae.cli.parsing import WholeOrNone, make_app

app = make_app("resume", "Go on with a run or a group of runs that was stopped, as if it had not been.")


@app.default
def resume(
    run: Path,
    /,
    *,
    workers: WholeOrNone = None,
    sink: Annotated[tuple[str, ...], Parameter(negative="")] = (),
) -> int:
    """
    Parameters
    ----------
    run
        The folder of a run or of a group of runs.
    workers
        Worker processes for several agents; left out: one for each core.
    sink
        wandb or mlflow, beside TensorBoard; may be given twice.
    """
    from minutiae.cli.training import show
    from minutiae.control.training import open_runs
    from minutiae.control.training import resume as go_on

    unfinished = sum(one.status == "unfinished" for one in open_runs(run))
    if not unfinished:
        sys.stdout.write(f"{run} has ended before; nothing is left to train\n")
    return show(lambda listener: go_on(run, workers=workers, sinks=sink, listener=listener), unfinished, run)
