"""A policy out of a run directory, acting on raw observations. Nothing here learns, and JAX is not needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from minutiae.control.acting import normalized, policy_of
from minutiae.control.environments.native import native_spaces
from minutiae.control.learner.structure import LearnerState
from minutiae.control.normalizers import ObservationNormalizer
from minutiae.control.policies.initialization import initialize
from minutiae.control.seeding import Purpose, stream
from minutiae.details import Config, from_mapping, from_toml
from minutiae.errors import RunError
from minutiae.runs import RunDirectory, load_policy
from minutiae.runs.pytrees import flatten, unflatten


class TrainedPolicy:
    """The policy of one run with the observation statistics it was trained with, both frozen; see `load`.

    Attributes:
        config: of the run.
        spec: what is stored beside the arrays: the config as plain text and numbers, and the seed.
        checkpoint: the iteration it comes from when its run has not ended; `None` when it has.
    """

    def __init__(
        self,
        config: Config,
        arrays: dict[str, Any],
        spec: dict[str, Any],
        seed: int = 0,
        checkpoint: int | None = None,
    ) -> None:
        """Use `load`.

        Args:
            config: decides networks and action bounds.
            arrays: `policy`, the parameters, and `normalizer`, see `normalized`.
            spec: what was stored beside them.
            seed: of the actions that `act` draws.
            checkpoint: see the attribute.
        """
        self.config, self.spec, self.checkpoint = config, spec, checkpoint
        self._arrays = arrays
        self._policy, self._interface = policy_of(config)
        self._generator = stream(seed, Purpose.EVALUATION_ACTIONS)

    @property
    def environment(self) -> str:
        """The environment it was trained in."""
        return self.config.environment

    def act(self, observation: Any, deterministic: bool = False) -> Any:
        """The action for raw observations, exactly as the environment gives and takes them.

        Args:
            observation: one of the environment's observations (an array, or a Dict or Tuple of them), or a
                batch of them, in which every array has a leading axis R. A flat vector `[O]` will do too.
            deterministic: the mode of the distribution, not a sample from it.

        Returns:
            One action of the environment's space, or R of them as its vector environment takes them.

        Raises:
            ValueError: the observation does not fit the environment's space.
        """
        spaces = native_spaces(self.environment)
        flat, batched = spaces.flatten(observation)
        noise = None if deterministic else self.noise(self._generator, (len(flat),))
        return spaces.unflatten(self.flat_actions(flat, noise), batched)

    def noise(self, generator: np.random.Generator, shape_prefix: tuple[int, ...]) -> np.ndarray:
        """Noise `[*shape_prefix, ...]` for `flat_actions`."""
        return self._policy.distribution.noise(generator, shape_prefix)

    def flat_actions(self, observations: np.ndarray, noise: np.ndarray | None) -> np.ndarray:
        """What a pool takes `[R, ...]` at raw flat observations `[R, O]`; the mode where `noise` is `None`."""
        distribution = self._policy.distribution
        given = self._policy.distribution_of(
            self._arrays["policy"], normalized(observations, self._arrays["normalizer"])
        )
        sample = distribution.mode(given) if noise is None else distribution.sample(given, noise)
        return self._interface.to_environment(self._interface.to_stored(sample))

    def __repr__(self) -> str:
        return f"TrainedPolicy({self.environment!r}, {self.config.algorithm!r})"


def load(path: str | os.PathLike[str], seed: int = 0) -> TrainedPolicy:
    """The policy of a run.

    Args:
        path: of the run. A run that is still training, or was stopped, gives its newest checkpoint's.
        seed: of the actions that `act` draws.

    Raises:
        RunError: no run is there, it has no policy yet, or its arrays do not fit its config or are not finite.
    """
    run = RunDirectory.open(path)
    checkpoint = None
    if run.policy_path.exists():
        arrays, spec = load_policy(run.path)
        config = from_mapping(spec.get("config", {}))
    else:
        config, spec = from_toml(run.config_text), {}
        checkpoint, tree = _from_checkpoint(run, config)
        arrays = flatten(tree)
    try:
        tree = unflatten(arrays, like=_template(config))
    except RunError as error:
        raise RunError(f"the policy in {run.path} does not fit its config: {error}") from error
    # A limit may be infinite: that is off.
    numbers = {**tree["policy"], "normalizer": {name: tree["normalizer"][name] for name in ("shift", "deviation")}}
    broken = [name for name, array in flatten(numbers).items() if not np.isfinite(array).all()]
    if broken:
        reasons = "".join(f" ({reason})" for reason in (run.result.reasons if run.result else ()))
        raise RunError(f"the policy in {run.path} cannot act: its {broken[0]} is not finite{reasons}; use another run")
    return TrainedPolicy(config, tree, spec, seed, checkpoint)


def _template(config: Config) -> dict[str, Any]:
    """Arrays of the shapes and types that a policy of this config has."""
    policy, _ = policy_of(config)
    parameters = initialize(stream(0, Purpose.PARAMETERS), policy, config)["policy"]
    return {
        "policy": parameters,
        "normalizer": ObservationNormalizer([config], policy.observation_size).agent(0),
    }


def _from_checkpoint(run: RunDirectory, config: Config) -> tuple[int, dict[str, Any]]:
    """The newest checkpoint: its iteration, and parameters and normalizer in the form of `policy.safetensors`."""
    checkpoint = run.latest_checkpoint()
    if checkpoint is None:
        raise RunError(
            f"{Path(run.path)} has no policy yet: it was stopped before its first checkpoint; "
            f"run: minutiae resume {run.path}"
        )
    tree = unflatten(checkpoint.arrays)
    policy = LearnerState(*tree["learner"]).parameters["policy"]
    normalizer = ObservationNormalizer([config], tree["observations"]["mean"].shape[-1])
    normalizer.restore(0, tree["observations"])
    return checkpoint.iteration, {"policy": policy, "normalizer": normalizer.agent(0)}
