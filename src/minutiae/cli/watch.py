"""`minutiae watch`: film one episode. The film is made in `control.watching`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from minutiae.cli.parsing import Whole, WholeOrNone, make_app

app = make_app("watch", "Film one episode of a trained policy; no display is needed.")


@app.default
def watch(
    run: Path,
    /,
    *,
    output: Path | None = None,
    deterministic: Annotated[bool, Parameter(negative="")] = False,
    seed: Whole = 0,
    max_steps: WholeOrNone = None,
    width: WholeOrNone = None,
) -> int:
    """
    Parameters
    ----------
    run
        The folder of a run, finished or not.
    output
        A .gif file, or .mp4 where imageio-ffmpeg is installed; left out: episode.gif in the run.
    deterministic
        Play the mode of the action distribution, not samples.
    seed
        Of the episode and its actions.
    max_steps
        Stop after so many steps; left out: at the episode's end.
    width
        Of the pictures, in pixels; left out: as the environment draws them.
    """
    from minutiae.control.watching import watch as film

    made = film(
        run, output, deterministic=deterministic, seed=seed, max_steps=max_steps, width=width,
        say=lambda text: print(text, file=sys.stderr),
    )  # fmt: skip
    sys.stdout.write(f"{made.path}  ({made.frames} frames, return {made.episode_return:,.1f})\n")
    return 0
