"""A run on disk: its folder, checkpoints, metrics and sinks. Every wing uses it; it knows no trainer."""

from minutiae.runs.checkpoints import Checkpoint, available, load_checkpoint, save_checkpoint
from minutiae.runs.directory import Result, RunDirectory
from minutiae.runs.group import RunGroup, common_iteration
from minutiae.runs.metrics import MetricsLog, read_table
from minutiae.runs.policy import SavedPolicy, load_policy, save_policy
from minutiae.runs.pytrees import flatten, unflatten

__all__ = [
    "Checkpoint",
    "MetricsLog",
    "Result",
    "RunDirectory",
    "RunGroup",
    "SavedPolicy",
    "available",
    "common_iteration",
    "flatten",
    "load_checkpoint",
    "load_policy",
    "read_table",
    "save_checkpoint",
    "save_policy",
    "unflatten",
]
