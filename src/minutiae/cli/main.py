"""The door of the command line: picks the command, turns errors into one line. No command is written here."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from minutiae import __version__
from minutiae.errors import MinutiaeError, unknown

USAGE_ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit codes: what the user can mend; Ctrl-C and a reader that left, both as shells report them."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Command(NamedTuple):
    """A command: `module` holds its `app`, imported only when it is asked for."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "train": Command("minutiae.cli.train", "Train one agent, or one for each of several seeds."),
    "resume": Command("minutiae.cli.resume", "Go on with a run that was stopped, to the same bits."),
    "evaluate": Command("minutiae.cli.evaluate", "Play episodes with a trained policy; measure its returns."),
    "watch": Command("minutiae.cli.watch", "Film one episode of a trained policy as a GIF or MP4."),
    "plot": Command("minutiae.cli.plot", "Draw learning curves with bands over seeds."),
    "compare": Command("minutiae.cli.compare", "Compare two groups of runs: difference, interval, tests."),
    "study": Command("minutiae.cli.study", "Cross details, train the grid, report what mattered."),
    "reproduce": Command("minutiae.cli.reproduce", "Train and judge a table or figure of Engstrom et al. 2020."),
    "details": Command("minutiae.cli.details", "List every implementation detail, or show one in full."),
    "presets": Command("minutiae.cli.presets", "List the presets and what each of them sets."),
    "metrics": Command("minutiae.cli.metrics", "List what training measures, with meanings and units."),
}

HELP = f"""\
minutiae {__version__}: policy gradients; every implementation detail is a named switch whose effect can be measured.

Usage: minutiae COMMAND [ARGUMENTS] [--OPTION VALUE ...]

{"".join(f"  {name:<10}{command.summary}{chr(10)}" for name, command in COMMANDS.items())}
  minutiae COMMAND --help   explains a command
  minutiae --version        prints the version

Example: minutiae train ppo Hopper-v5 --value-clipping max --seeds 4
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; what the user can mend becomes one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with _warnings_in_one_line(), _own_modules():
            code = _dispatch(words)
        sys.stdout.flush()
        return code
    except MinutiaeError as error:
        _complain(str(error))
        return USAGE_ERROR
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader left (`| head`)
        _give_up_output()
        return BROKEN_PIPE
    except OSError as error:
        # Rooms tell of their own files; what comes here was printed. Anything else is a mistake of ours.
        if error.errno not in _NO_ROOM:
            raise
        _give_up_output()
        _complain(f"the output could not be written: {error.strerror}; make room, or send it elsewhere")
        return USAGE_ERROR


def _give_up_output() -> None:
    """Let nothing more be printed: Python would fail once more when it flushes at its own exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("--help", "-h", "help"):
        sys.stdout.write(HELP)
        return 0
    if words[0] in ("--version", "version"):
        sys.stdout.write(f"minutiae {__version__}\n")
        return 0
    name, *rest = words
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        raise MinutiaeError(unknown(kind, name, COMMANDS, "run: minutiae --help"))
    from minutiae.cli.parsing import run

    module = importlib.import_module(COMMANDS[name].module)
    prepare = getattr(module, "prepare", list)
    return run(module.app, prepare(rest))


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody may be reading stderr either
        sys.stderr.write(f"minutiae: {' '.join(text.split())}\n")


@contextlib.contextmanager
def _own_modules() -> Iterator[None]:
    """Find `my_module:factory` in the folder where the command is typed, behind everything that is installed."""
    here = os.getcwd()
    added = here not in sys.path and "" not in sys.path
    if added:
        sys.path.append(here)
    try:
        yield
    finally:
        if added and here in sys.path:
            sys.path.remove(here)


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show a warning as its text: the place in our code that gave it tells a user nothing."""

    def format_warning(message: Any, *_: Any, **__: Any) -> str:
        return f"minutiae: warning: {' '.join(str(message).split())}\n"

    before = warnings.formatwarning
    warnings.formatwarning = format_warning
    try:
        yield
    finally:
        warnings.formatwarning = before
