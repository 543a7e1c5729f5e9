"""Policy gradients in which every implementation detail is a named, measured switch.

Every name below is imported when it is first used: `import minutiae` costs no JAX, no Polars and no NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minutiae.control.evaluation import Evaluation, evaluate
    from minutiae.control.progress import Progress
    from minutiae.control.trained_policy import TrainedPolicy, load
    from minutiae.control.training import Run, open_run, open_runs, resume, train, train_population
    from minutiae.control.watching import watch
    from minutiae.details import CATALOGUE, Config, preset, preset_names
    from minutiae.errors import ConfigError, MinutiaeError, RunError, UnsupportedEnvironment
    from minutiae.reports.learning_curves import plot

__version__ = "0.1.0"

_HOMES = {
    "minutiae.control.evaluation": ("Evaluation", "evaluate"),
    "minutiae.control.progress": ("Progress",),
    "minutiae.control.trained_policy": ("TrainedPolicy", "load"),
    "minutiae.control.training": ("Run", "open_run", "open_runs", "resume", "train", "train_population"),
    "minutiae.control.watching": ("watch",),
    "minutiae.details": ("CATALOGUE", "Config", "preset", "preset_names"),
    "minutiae.errors": (
        "ConfigError",
        "MinutiaeError",
        "RunError",
        "UnsupportedEnvironment",
    ),
    "minutiae.reports.learning_curves": ("plot",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CATALOGUE",
    "Config",
    "ConfigError",
    "Evaluation",
    "MinutiaeError",
    "Progress",
    "Run",
    "RunError",
    "TrainedPolicy",
    "UnsupportedEnvironment",
    "evaluate",
    "load",
    "open_run",
    "open_runs",
    "plot",
    "preset",
    "preset_names",
    "resume",
    "train",
    "train_population",
    "watch",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'minutiae' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
