"""A safetensors file of arrays with JSON metadata in its header, checked on reading. Knows no run or policy.

The header holds one entry, `minutiae`: a JSON object of `format`, `kind` (what the file is), `metadata` and
`digest`, a BLAKE2b hash of kind, metadata and every array. Safetensors sees a short file but no flipped bit.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from minutiae.errors import RunError
from minutiae.runs.atomic import read_bytes, reason, write_atomic
from minutiae.runs.documents import FORMAT, check_format, plain

DTYPES = tuple(np.dtype(code) for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
"""What can be stored; every one comes back exactly."""


def write_tensors(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]
) -> None:
    """Write `arrays` and `metadata` atomically to the file `path`.

    Equal arguments give equal bytes. NaN and infinities in `metadata` come back as they were.

    Raises:
        RunError: an array cannot be stored (object, complex or text dtype), or the file cannot be written.
        TypeError: `metadata` is not JSON.
    """
    dense = {name: _dense(name, array) for name, array in arrays.items()}
    # Through JSON once, so that what the digest sees is what a reader will see (tuples have become lists).
    settled = json.loads(json.dumps(dict(metadata), default=plain))
    header = {"format": FORMAT, "kind": kind, "metadata": settled, "digest": _digest(kind, settled, dense)}
    write_atomic(path, safetensors.numpy.save(dense, metadata={"minutiae": json.dumps(header)}))


def read_tensors(path: str | os.PathLike[str], kind: str, remedy: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of the file `path`; nothing in it is ever executed.

    Args:
        kind: what the file must be.
        remedy: what the user can do when it cannot be read; ends the error's sentence.

    Raises:
        RunError: the file is missing, truncated, altered, of another kind or not ours.
    """
    path = Path(path)
    data = read_bytes(path)
    try:
        arrays = safetensors.numpy.load(data)
        length = int.from_bytes(data[:8], "little")
        entries = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
    except KeyError as error:
        raise RunError(f"{path} holds {error.args[0]} arrays, which minutiae never writes; {remedy}") from error
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is truncated or damaged: {reason(error)}; {remedy}") from error
    if "minutiae" not in entries:
        raise RunError(f"{path} is a safetensors file that minutiae did not write; {remedy}")
    try:
        header = json.loads(entries["minutiae"])
        found, metadata, digest = header.get("kind"), header.get("metadata"), header.get("digest")
    except (ValueError, AttributeError, RecursionError) as error:
        raise RunError(f"the header of {path} is damaged: {reason(error)}; {remedy}") from error
    check_format(path, header.get("format"), remedy)
    if found != kind:
        raise RunError(f"{path} is a {found}, not a {kind}; {remedy}")
    if not isinstance(metadata, dict) or digest != _digest(kind, metadata, arrays):
        raise RunError(f"{path} is damaged: its contents do not match its digest; {remedy}")
    return arrays, metadata


def _dense(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    native = array.dtype.newbyteorder("=")
    if native not in DTYPES:
        allowed = ", ".join(dtype.name for dtype in DTYPES)
        raise RunError(f"the array {name!r} has dtype {array.dtype}, which no file takes; allowed: {allowed}")
    # `order="C"` and not `ascontiguousarray`, which turns an array of shape [] into one of shape [1].
    return np.asarray(array, dtype=native, order="C")


def _digest(kind: str, metadata: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    facts = [[name, array.dtype.name, list(array.shape)] for name, array in sorted(arrays.items())]
    digest = hashlib.blake2b(json.dumps([kind, metadata, facts]).encode(), digest_size=16)
    for _, array in sorted(arrays.items()):
        digest.update(array.tobytes())
    return digest.hexdigest()
