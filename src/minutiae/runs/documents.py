"""Small JSON documents on disk, read defensively. Knows the format number; knows no document's fields."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from minutiae.errors import RunError
from minutiae.runs.atomic import read_bytes, reason, write_atomic, write_new

FORMAT = 1
"""Version of everything that this package writes; a reader refuses a larger one."""

MOST_TEXT = 64 * 2**20
"""No document of ours is larger, in bytes; whatever is, is not ours."""


def write_json(path: str | os.PathLike[str], document: dict[str, Any], *, new: bool = False) -> None:
    """Write `document` atomically. Numbers that JSON lacks (NaN, infinities) become null.

    Raises:
        FileExistsError: it must be `new`, and the file is there.
        RunError: the file cannot be written.
    """
    whole = {"format": FORMAT, **document}
    text = json.dumps(_standard(whole), indent=2, ensure_ascii=False, allow_nan=False)
    (write_new if new else write_atomic)(path, (text + "\n").encode())


def read_json(path: str | os.PathLike[str], remedy: str) -> dict[str, Any]:
    """The document at `path`, without its format number.

    Raises:
        RunError: the file is missing, no JSON object, or written by a newer minutiae.
    """
    path = Path(path)
    text = read_bytes(path, most=MOST_TEXT)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged: {reason(error)}; {remedy}") from error
    if not isinstance(document, dict):
        raise RunError(f"{path} is not ours: a JSON object was expected; {remedy}")
    check_format(path, document.pop("format", None), remedy)
    return document


def check_format(path: Path, number: object, remedy: str) -> None:
    """Refuse a file whose format number is missing or newer than this package."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise RunError(f"{path} is not ours: it has no format number; {remedy}")
    if number > FORMAT:
        raise RunError(
            f"{path} has format {number} and this minutiae reads formats up to {FORMAT}; upgrade with "
            "'pip install --upgrade minutiae'"
        )


def plain(value: object) -> object:
    """NumPy scalars and paths in the plain form that JSON has for them; for `json.dumps(default=plain)`."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON; pass numbers, text, lists or dictionaries")


def _standard(value: object) -> object:
    if isinstance(value, dict):
        return {key: _standard(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_standard(item) for item in value]
    if isinstance(value, np.generic | os.PathLike):
        return _standard(plain(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
