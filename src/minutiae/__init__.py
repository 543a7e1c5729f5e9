"""Policy gradients in which every implementation detail is a named switch whose effect can be measured.

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
    from minutiae.details import CATALOGUE, Config, custom_detail, preset, preset_names
    from minutiae.errors import ConfigError, MinutiaeError, RunError, StatisticsError, UnsupportedEnvironment
    from minutiae.reports.comparison import Comparison, compare
    from minutiae.reports.learning_curves import plot
    from minutiae.reports.study import write_report
    from minutiae.reproduction.reproduce import Reproduction, reproduce
    from minutiae.studies.archiving import archive_study
    from minutiae.studies.execution import run_study
    from minutiae.studies.results import StudyResults, open_study
    from minutiae.studies.study import Study, Tuning

__version__ = "0.1.0"

_HOMES = {
    "minutiae.control.evaluation": ("Evaluation", "evaluate"),
    "minutiae.control.progress": ("Progress",),
    "minutiae.control.trained_policy": ("TrainedPolicy", "load"),
    "minutiae.control.training": ("Run", "open_run", "open_runs", "resume", "train", "train_population"),
    "minutiae.control.watching": ("watch",),
    "minutiae.details": ("CATALOGUE", "Config", "custom_detail", "preset", "preset_names"),
    "minutiae.errors": (
        "ConfigError",
        "MinutiaeError",
        "RunError",
        "StatisticsError",
        "UnsupportedEnvironment",
    ),
    "minutiae.reports.comparison": ("Comparison", "compare"),
    "minutiae.reports.learning_curves": ("plot",),
    "minutiae.reports.study": ("write_report",),
    "minutiae.reproduction.reproduce": ("Reproduction", "reproduce"),
    "minutiae.studies.archiving": ("archive_study",),
    "minutiae.studies.execution": ("run_study",),
    "minutiae.studies.results": ("StudyResults", "open_study"),
    "minutiae.studies.study": ("Study", "Tuning"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CATALOGUE",
    "Comparison",
    "Config",
    "ConfigError",
    "Evaluation",
    "MinutiaeError",
    "Progress",
    "Reproduction",
    "Run",
    "RunError",
    "StatisticsError",
    "Study",
    "StudyResults",
    "TrainedPolicy",
    "Tuning",
    "UnsupportedEnvironment",
    "archive_study",
    "compare",
    "custom_detail",
    "evaluate",
    "load",
    "open_run",
    "open_runs",
    "open_study",
    "plot",
    "preset",
    "preset_names",
    "reproduce",
    "resume",
    "run_study",
    "train",
    "train_population",
    "watch",
    "write_report",
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
