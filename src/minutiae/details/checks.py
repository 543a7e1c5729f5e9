"""What must fit together in a config, with the arithmetic shown. Single levels are not checked here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minutiae.errors import ConfigError

if TYPE_CHECKING:
    from minutiae.details.config import Config

MOST_TRIALS = 1_000_000
"""Numbers tried as divisors of a batch: all that are needed up to 10^12 samples. Beyond, some may be missed."""


def check_numbers(config: Config) -> None:
    """Refuse a config whose numbers do not fit together.

    Raises:
        ConfigError: with the arithmetic and the numbers that would fit.
    """
    for rule in (_steps_suffice, _minibatches_divide, _normalization_has_samples, _fisher_has_samples):
        rule(config)


def _batch(config: Config) -> str:
    return (
        f"{config.environments} environments x {config.rollout_length} rollout_length "
        f"= {config.samples_per_iteration} samples"
    )


def _steps_suffice(config: Config) -> None:
    if config.steps < config.samples_per_iteration:
        raise ConfigError(
            f"steps = {config.steps} is less than one iteration: {_batch(config)}; "
            f"set steps to at least {config.samples_per_iteration}, or a shorter rollout_length"
        )


def _minibatches_divide(config: Config) -> None:
    batch, parts = config.samples_per_iteration, config.minibatches
    if batch % parts == 0:
        return
    divisors = _divisors(batch)
    fitting = [max(part for part in divisors if part < parts)]
    fitting += [part for part in divisors if part > parts][:1]
    raise ConfigError(
        f"{_batch(config)}, and {batch} / {parts} minibatches = {batch / parts:.4g} is not a whole number; "
        f"set minibatches to {' or '.join(map(str, fitting))}, or change rollout_length"
    )


def _divisors(number: int) -> list[int]:
    """In order; 1 and the number itself always among them. Every divisor up to the root has one beyond it."""
    small = [part for part in range(1, min(math.isqrt(number), MOST_TRIALS) + 1) if number % part == 0]
    return sorted({*small, *(number // part for part in small)})


def _normalization_has_samples(config: Config) -> None:
    # One sample has a standard deviation of 0 or NaN, and NaN poisons every weight (SB3 #325, #440).
    level, batch = config.advantage_normalization, config.samples_per_iteration
    by_minibatch = level == "minibatch" and config.algorithm == "ppo"
    size = config.minibatch_size if by_minibatch else batch
    if level is None or size > 1:
        return
    parts = f", / {config.minibatches} minibatches = 1 sample each" if by_minibatch and batch > 1 else ""
    remedy = "fewer minibatches" if by_minibatch and batch > 1 else "a longer rollout_length"
    raise ConfigError(
        f"advantage_normalization = {level} cannot normalize over one sample: {_batch(config)}{parts}; "
        f"set {remedy}, or advantage_normalization = off"
    )


def _fisher_has_samples(config: Config) -> None:
    batch, fraction = config.samples_per_iteration, config.fisher_fraction
    if config.algorithm == "trpo" and config.fisher_samples < 1:
        # Rounded up: a third, rounded to 0.333, would be too little of three samples again.
        digits = 3 + math.floor(math.log10(batch))
        enough = math.ceil(10**digits / batch) / 10**digits
        product = min(fraction * batch, 0.999)  # which 0.99999 must not be rounded to 1
        raise ConfigError(
            f"fisher_fraction = {fraction!r} of {batch} samples is {product:.3g}, less than one; "
            f"set fisher_fraction to at least {enough:.3g}"
        )


def check_actions(config: Config, discrete: bool) -> None:
    """Refuse details of continuous actions, away from their default, where actions are discrete.

    `Config` cannot know the actions, so whoever has built the environment asks here.

    Raises:
        ConfigError: the detail would have no effect.
    """
    from minutiae.details.config import CATALOGUE

    for name in ("action_bound", "initial_log_standard_deviation"):
        entry, level = CATALOGUE[name], getattr(config, name)
        if discrete and level != entry.default:
            raise ConfigError(
                f"{name} = {entry.format(level)} would have no effect: {config.environment} has discrete "
                f"actions; leave it out (its default is {entry.format(entry.default)})"
            )
