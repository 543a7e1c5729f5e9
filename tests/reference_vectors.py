"""Reference vectors for tests: numbers that the published study's own functions gave on random inputs.

They lie in `tests/reference/` (see its README), or in the folder that the environment variable
MINUTIAE_REFERENCE names, so that the same tests run on other vectors of the same form.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(os.environ.get("MINUTIAE_REFERENCE") or Path(__file__).parent / "reference")
HEADS = ("final_mean", "final")


def names(prefix: str) -> list[str]:
    """Names of the vectors that start with `prefix`, sorted; at least one, or tests would silently vanish."""
    found = sorted(path.stem for path in FOLDER.glob(f"{prefix}*.npz"))
    assert found, f"no reference vectors {prefix}*.npz in {FOLDER}"
    return found


def load(name: str) -> dict[str, np.ndarray]:
    """All arrays of one vector; float64 (or the integers and booleans they are)."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def parameters(vector: dict[str, np.ndarray], prefix: str) -> dict[str, Any]:
    """The network under `prefix` ("before_", "after_", "p_param_") as our pytree.

    Their linear layers are `[out, in]` and ours `[in, out]`. Where there is a `log_stdev` the result is the
    entry "policy" of a policy's parameters, else the entry "value".
    """
    numbers = [re.fullmatch(rf"{prefix}affine_layers_(\d+)_weight", key) for key in vector]
    hidden = [f"{prefix}affine_layers_{i}" for i in sorted(int(match[1]) for match in numbers if match)]
    (head,) = (prefix + head for head in HEADS if f"{prefix}{head}_weight" in vector)
    tree: dict[str, Any] = {"hidden": [_layer(vector, name) for name in hidden], "head": _layer(vector, head)}
    if f"{prefix}log_stdev" in vector:
        tree["log_standard_deviation"] = vector[f"{prefix}log_stdev"]
    return tree


def _layer(vector: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    return {"weight": vector[f"{name}_weight"].T, "bias": vector[f"{name}_bias"]}
