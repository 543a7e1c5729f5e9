"""The one file a trained policy needs: parameters, normalizer and spec together. Knows no network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minutiae.runs.tensors import read_tensors, write_tensors

FILE = "policy.safetensors"
_KIND = "policy"


class SavedPolicy(NamedTuple):
    """A policy as read: `arrays` by path (parameters, normalizer) and `spec`, which says how to use them."""

    arrays: dict[str, np.ndarray]
    spec: dict[str, Any]


def save_policy(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], spec: Mapping[str, Any]) -> Path:
    """Write policy parameters, observation normalizer and `spec` as one file.

    They belong together: a policy reloaded without the statistics it was trained with collapses.

    Args:
        path: the file, or the run directory to write `policy.safetensors` in.
        arrays: parameters and normalizer by path (see `pytrees.flatten`).
        spec: JSON: environment id, spaces, activation, action bound, ...

    Returns:
        The path of the file.

    Raises:
        RunError: the file cannot be written.
    """
    target = _file(path)
    write_tensors(target, _KIND, arrays, spec)
    return target


def load_policy(path: str | os.PathLike[str]) -> SavedPolicy:
    """Read what `save_policy` wrote, from the file or from the run directory that holds it.

    Raises:
        RunError: the file is missing, truncated, altered or not a policy.
    """
    return SavedPolicy(*read_tensors(_file(path), _KIND, "restore it from a copy, or train the run again"))


def _file(path: str | os.PathLike[str]) -> Path:
    return Path(path) / FILE if os.path.isdir(path) else Path(path)
