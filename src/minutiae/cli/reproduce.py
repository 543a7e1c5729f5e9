"""`minutiae reproduce`: a table or figure of Engstrom et al. 2020. Trained and judged in `reproduction`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from minutiae.cli.main import INTERRUPTED
from minutiae.cli.parsing import WholeOrNone, make_app
from minutiae.cli.study_display import show_study
from minutiae.control.progress import ignore

if TYPE_CHECKING:
    from minutiae.control.progress import Listener
    from minutiae.reproduction.reproduce import Reproduction

app = make_app(
    "reproduce",
    "Train and judge a table or figure of Engstrom et al. 2020: table1 to table3, figure1 to figure4, and beyond the "
    "article nine and halfcheetah. Interrupting is safe: the same command goes on; more agents keep the earlier ones.",
)

_Switch = Annotated[bool, Parameter(negative="")]


@app.default
def reproduce(
    item: str | None = None,
    /,
    *,
    tasks: str | None = None,
    agents: WholeOrNone = None,
    flavour: str = "paper-artifact",
    version: str = "v4",
    learning_rates: str | None = None,
    steps: WholeOrNone = None,
    out: Path = Path("reproduction"),
    archive: Path | None = None,
    workers: WholeOrNone = None,
    on: str = "local",
    page: Path | None = None,
    judge: _Switch = False,
    list: _Switch = False,
) -> int:
    """
    Parameters
    ----------
    item
        table1, table2, table3, figure1, figure2, figure3, figure4, nine or halfcheetah.
    tasks
        hopper, walker2d and humanoid, with commas between; of halfcheetah any environments without their version, as
        in HalfCheetah,Ant; left out: the item's own.
    agents
        Seeds of every cell; left out: 10 for the tables, fewer for the grids. The article has 80.
    flavour
        paper-artifact (settings of the released code) or paper-text (as the article describes them).
    version
        Of the environments: v4 is closest to the article's v2.
    learning_rates
        That figure1 sweeps, with commas between.
    steps
        Environment steps of a run; left out: the article's million. For trials: claims are about that million.
    out
        The folder of runs and pages.
    archive
        A folder of earlier results: runs in it are not trained again, and those that are trained are added to it.
    workers
        Worker processes; left out: one for each core.
    on
        local: this machine; ray, ray:HOST:PORT or ray://HOST:PORT: a Ray cluster, as in minutiae study run.
    page
        The folder of the page; left out: the item's name, in --out.
    judge
        Train nothing; judge the runs that are there.
    list
        Say what each item needs, measured on this machine, and stop.
    """
    from minutiae.control.workers import worker_count
    from minutiae.errors import ConfigError
    from minutiae.reproduction.protocol import ITEMS, item_named, protocol_of
    from minutiae.reproduction.reproduce import reproduce as reproduced
    from minutiae.reproduction.reproduce import store_folder

    worker_count(workers)
    named = _names(tasks)
    if list:
        from minutiae.reproduction.costs import hours, hours_text, needs, needs_text

        needed = needs([item] if item else [*ITEMS], named, agents, flavour, version)
        sys.stdout.write(needs_text(needed))
        sys.stdout.flush()  # the rest takes a minute
        sys.stdout.write(hours_text(hours(needed, workers, told=_measuring)))
        return 0
    if item is None:
        raise ConfigError(f"name a table or figure: {', '.join(ITEMS)}; or give --list")
    rates = _numbers(learning_rates)

    def act(listener: Listener) -> Reproduction:
        return reproduced(
            item, out, tasks=named, agents=agents, flavour=flavour, version=version, learning_rates=rates,
            steps=steps, train=not judge, archive=archive, workers=workers, listener=listener, on=on,
            say=_say,
        )  # fmt: skip

    chosen = item_named(item)
    protocol = protocol_of(chosen, named, agents, rates, flavour, version, steps)
    try:
        if judge or chosen.study is None or chosen.store is None:
            found = act(ignore)
        else:
            found = show_study(chosen.study(protocol), store_folder(out, chosen), act)
    except KeyboardInterrupt:
        sys.stderr.write("minutiae: interrupted; the same command goes on\n")
        return INTERRUPTED
    sys.stdout.write(f"{found.text()}\n{found.write_page(out / item if page is None else page)}\n")
    return 0


def _names(text: str | None) -> Sequence[str] | None:
    return None if text is None else [name for name in re.split(r"[,\s]+", text) if name]


def _numbers(text: str | None) -> Sequence[float] | None:
    from minutiae.errors import ConfigError

    try:
        return None if text is None else [float(number) for number in text.split(",")]
    except ValueError as error:
        raise ConfigError(f"--learning-rates is numbers with commas between, not {text!r}") from error


def _measuring(environment: str) -> None:
    sys.stderr.write(f"measuring {environment} for the hours: eight agents, two iterations; Ctrl-C leaves them out\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
