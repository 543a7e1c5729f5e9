"""`minutiae evaluate`: how good a policy is. The numbers are made in `control.evaluation`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from minutiae.cli.parsing import Whole, make_app

if TYPE_CHECKING:
    from minutiae.control.evaluation import Evaluation

app = make_app("evaluate", "Play episodes with a trained policy, everything frozen, and measure its returns.")

_Switch = Annotated[bool, Parameter(negative="")]


@app.default
def evaluate(
    run: Path,
    /,
    *,
    episodes: Whole = 100,
    deterministic: _Switch = False,
    seed: Whole = 0,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """
    Parameters
    ----------
    run
        The folder of a run, finished or not, or of a group of runs.
    episodes
        How many to play.
    deterministic
        Play the mode of the action distribution, not samples.
    seed
        Of environments and actions; the same seed gives the same numbers.
    as_json
        Print everything as JSON, every episode included; of a group, a list.
    """
    from minutiae.control.evaluation import evaluate as measure
    from minutiae.runs.group import RunGroup, is_group

    group = RunGroup.open(run) if is_group(run) else None
    paths = [run] if group is None else [group.member_path(name) for name in group.members]
    results, means = [], []
    for path in paths:
        result = measure(path, episodes, deterministic, seed)
        means.append(result.mean)
        results.append(result.to_dict())
        if not as_json:
            sys.stdout.write(_text(result))
            sys.stdout.flush()
    if len(means) > 1 and not as_json:
        from minutiae.statistics import student_interval

        over = student_interval(means)
        sys.stdout.write(
            f"{run}: mean over {over.n} runs {over.estimate:,.2f}, interval {over.low:,.2f} to {over.high:,.2f}  "
            f"({over.level:.0%} Student t over the runs' means)\n"
        )
    if as_json:
        shown: Any = results[0] if group is None else results
        sys.stdout.write(json.dumps(shown, indent=2, allow_nan=False) + "\n")
    return 0


def _text(result: Evaluation) -> str:
    from minutiae.control.evaluation import INTERVAL_METHOD

    how = "deterministic" if result.deterministic else "stochastic"
    spread, interval = result.standard_deviation, result.interval
    unfinished = []
    if result.steps is not None:
        unfinished.append(
            f"  training has not ended: this is the policy of step {result.steps:,} of {result.total_steps:,}"
        )
    lines = [
        f"{result.run}: {result.environment}, {result.episodes} episodes, {how}, seed {result.seed}",
        *unfinished,
        f"  mean                {result.mean:,.2f}",
        f"  median              {result.median:,.2f}",
        f"  standard deviation  {'undefined for one episode' if spread is None else f'{spread:,.2f}'}",
        f"  smallest, largest   {result.returns.min():,.2f}, {result.returns.max():,.2f}",
        f"  mean length         {result.lengths.mean():,.1f} steps",
    ]
    if interval is not None:
        lines.append(
            f"  interval            {interval[0]:,.2f} to {interval[1]:,.2f}  "
            f"({INTERVAL_METHOD}; n = {result.episodes} episodes of one policy)"
        )
    return "\n".join(lines) + "\n"
