"""What commands share: making an app, and telling in one sentence what it cannot parse. No command here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Annotated

import cyclopts
from cyclopts import Parameter, Token
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from minutiae.errors import MinutiaeError, unknown


def _whole(_: type, tokens: Sequence[Token]) -> int:
    """A whole number as people write it; cyclopts itself would round 1.5 to 2."""
    (token,) = tokens
    if not re.fullmatch(r"[+-]?[0-9]+", token.value):
        raise ValueError(token.value)  # told by `_sentence`, as what cyclopts itself refuses
    return int(token.value)


Whole = Annotated[int, Parameter(converter=_whole)]
"""The type of options that are whole numbers."""

WholeOrNone = Annotated[int | None, Parameter(converter=_whole)]
"""The same for options that may be left out."""


def make_app(command: str, summary: str, epilogue: str = "") -> cyclopts.App:
    """An app for one command, which returns the command's exit code and raises instead of exiting."""
    app = cyclopts.App(
        name=f"minutiae {command}",
        help=summary,
        help_flags=["--help", "-h"],
        help_format="plaintext",
        help_epilogue=epilogue,
        version_flags=[],
        result_action="return_value",
    )
    app["--help"].show = False
    return app


def run(app: cyclopts.App, words: Sequence[str]) -> int:
    """Run `app` on the words behind its name.

    Raises:
        MinutiaeError: the words cannot be parsed, or what the command itself raises.
    """
    try:
        result = app(list(words), exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        raise MinutiaeError(f"{_sentence(app, error)}; run: {app.name[0]} --help") from error
    return result if isinstance(result, int) else 0


def option_names(app: cyclopts.App) -> list[str]:
    """The options of an app, each in its first spelling, as in `--show-config`."""
    return [
        argument.names[0]
        for argument in app.assemble_argument_collection()
        if argument.names and argument.names[0].startswith("--") and "[" not in argument.names[0]
    ]


def unknown_option(given: str, allowed: Iterable[str]) -> str:
    """One sentence for an option that does not exist, with those that are spelled most like it."""
    names = list(allowed)
    if not names:
        return f"unknown option {given!r}; this command has none"
    nearest_first = sorted(names, key=lambda known: -SequenceMatcher(None, known, given).ratio())
    return unknown("option", given, nearest_first, most=5)


def _sentence(app: cyclopts.App, error: cyclopts.CycloptsError) -> str:
    if isinstance(error, UnknownOptionError):
        return unknown_option(str(error.token.keyword or error.token.value), option_names(app))
    if isinstance(error, UnknownCommandError):
        commands = [name for name in app if not name.startswith("-")]
        return unknown("command", str((error.unused_tokens or [""])[0]), commands)
    if isinstance(error, UnusedCliTokensError):
        return f"unexpected {' '.join(repr(token) for token in error.unused_tokens or [])}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        if error.keyword:
            return f"{error.keyword} needs a value"
        return f"{error.argument.names[0].lstrip('-').upper()} is missing"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} is given twice"
    if isinstance(error, CoercionError) and error.token is not None:
        kinds: dict[object, str] = {int: "a whole number", int | None: "a whole number", float: "a number"}
        kind = kinds.get(error.target_type, "valid")
        return f"{error.token.keyword or 'the argument'} is {error.token.value!r}, which is not {kind}"
    return str(error).rstrip(".")
