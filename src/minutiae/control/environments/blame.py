"""What a user's environment does wrong, told in one sentence with the place. Asks of no environment what it is."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from gymnasium import spaces

from minutiae.errors import MinutiaeError, UnsupportedEnvironment

RAISED = (Exception, SystemExit)
"""What an environment may raise to its own account. `sys.exit()` in a simulator must not end a training unexplained."""

_OURS = str(Path(__file__).resolve().parents[2])


class Blame:
    """A context in which the environment `name` is `when`: what it raises becomes one `UnsupportedEnvironment`.

    Entering costs a tenth of a microsecond, so that every step may be one.
    """

    def __init__(self, name: str, when: str) -> None:
        self._what, self._when = f"the environment {name}", when

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, RAISED) and not isinstance(error, MinutiaeError):
            raise UnsupportedEnvironment(failure(self._what, self._when, error)) from error


def failure(what: str, when: str, error: BaseException) -> str:
    """One sentence for a user's code that raised, with the place: `what` could not be `when`."""
    said = ": ".join(part for part in (type(error).__name__, " ".join(str(error).split())) if part)
    found = place(error)
    return f"{what} could not be {when}: {said}" + (f" (at {found}); mend it there" if found else "; mend its code")


def place(error: BaseException) -> str | None:
    """`file:line` where it was raised: the last frame that is not minutiae's own, `None` where there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((_OURS, "<frozen ")):
            return f"{frame.filename}:{frame.lineno}"
    return None


def close_all(environments: Iterable[Any], name: str) -> None:
    """Close every one of them, whatever the others do.

    Raises:
        UnsupportedEnvironment: one raised, and nothing else is being raised that would be hidden by it.
    """
    earlier, first = sys.exception(), None
    for environment in environments:
        try:
            environment.close()
        except RAISED as error:
            first = first or error
    if first is not None and earlier is None:
        raise UnsupportedEnvironment(failure(f"the environment {name}", "closed", first)) from first


def declared(environment: Any, attribute: str, name: str) -> spaces.Space:
    """The space that an environment declares under `attribute`.

    Raises:
        UnsupportedEnvironment: it declares none.
    """
    with Blame(name, f"asked for its {attribute}"):
        space = getattr(environment, attribute, None)
    if not isinstance(space, spaces.Space):
        raise UnsupportedEnvironment(
            f"{name} has the {attribute} {space!r}; allowed: a space of gymnasium.spaces; set it in its __init__"
        )
    return space
