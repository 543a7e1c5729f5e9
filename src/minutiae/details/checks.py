"""Numbers of a config that must fit together, with the arithmetic in the message. Single levels are checked elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minutiae.errors import ConfigError

if TYPE_CHECKING:
    from minutiae.details.config import Config


def check_numbers(config: Config) -> None:
    """`ConfigError` for the first rule that the numbers of `config` break."""
    for rule in (_minibatches_divide, _normalization_has_samples, _steps_suffice, _fisher_has_samples):
        rule(config)


def _batch(config: Config) -> str:
    return (
        f"{config.environments} environments x {config.rollout_length} rollout_length "
        f"= {config.samples_per_iteration} samples"
    )


def _minibatches_divide(config: Config) -> None:
    batch, parts = config.samples_per_iteration, config.minibatches
    if batch % parts:
        fitting = [part for part in range(1, batch + 1) if batch % part == 0]
        below = max(part for part in fitting if part < parts) if parts > 1 else 1
        above = min((part for part in fitting if part > parts), default=batch)
        nearest = " or ".join(str(part) for part in sorted({below, above}))
        raise ConfigError(
            f"{_batch(config)}, and {batch} / {parts} minibatches = {batch / parts:.4g} is not a whole number; "
            f"set minibatches to {nearest}, or change rollout_length"
        )


def _normalization_has_samples(config: Config) -> None:
    if config.advantage_normalization is None:
        return
    batch = config.samples_per_iteration
    by_minibatch = config.advantage_normalization == "minibatch" and config.algorithm == "ppo"
    size = config.minibatch_size if by_minibatch else batch
    if size >= 2:
        return
    part = f", and {batch} / {config.minibatches} minibatches = 1 sample each" if by_minibatch else ""
    remedy = "set fewer minibatches" if by_minibatch and batch > 1 else "set a longer rollout_length"
    raise ConfigError(
        f"advantage_normalization = {config.advantage_normalization} cannot normalize one sample: {_batch(config)}"
        f"{part}; {remedy} or advantage_normalization = off"
    )


def _steps_suffice(config: Config) -> None:
    if config.iterations < 1:
        raise ConfigError(
            f"steps = {config.steps} is less than one iteration: {_batch(config)}; "
            f"set steps to at least {config.samples_per_iteration}, or a shorter rollout_length"
        )


def _fisher_has_samples(config: Config) -> None:
    batch = config.samples_per_iteration
    if config.algorithm == "trpo" and config.fisher_fraction * batch < 1:
        raise ConfigError(
            f"fisher_fraction = {config.fisher_fraction:g} of {batch} samples is "
            f"{config.fisher_fraction * batch:.3g}, less than one sample; set fisher_fraction to at least {1 / batch:.3g}"
        )
