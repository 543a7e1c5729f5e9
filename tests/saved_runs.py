"""Runs on disk that nobody trained: made in milliseconds, for tests of what reads them. No test lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minutiae.control.acting import policy_of
from minutiae.control.policies.initialization import initialize
from minutiae.control.seeding import Purpose, stream
from minutiae.details import Config, to_mapping, to_toml
from minutiae.runs import RunDirectory, flatten, save_policy


def save_run(
    path: Path,
    config: Config,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    normalizer: Mapping[str, np.ndarray] | None = None,
    rows: Sequence[Mapping[str, Any]] = (),
) -> RunDirectory:
    """A finished run: fresh or given policy parameters, a normalizer that changes nothing unless given, metrics."""
    run = RunDirectory.create(path, to_toml(config), seed)
    policy, _ = policy_of(config)
    size = policy.observation_size
    if parameters is None:
        parameters = initialize(stream(seed, Purpose.PARAMETERS), policy, config)["policy"]
    if normalizer is None:
        normalizer = {"shift": np.zeros(size), "deviation": np.ones(size), "limit": np.array([np.inf])}
    spec = {"config": to_mapping(config), "seed": seed}
    save_policy(run.policy_path, flatten({"policy": parameters, "normalizer": normalizer}), spec)
    log = run.metrics()
    for row in rows:
        log.append(row)
    log.save()
    run.finish()
    return run
