"""Named configs, thin for now: plain presets only."""

from __future__ import annotations

from typing import Any

from minutiae.details.config import Config
from minutiae.errors import ConfigError, unknown

NINE_OFF: dict[str, Any] = dict(
    value_clipping=None,
    reward_scaling=None,
    initialization="xavier_uniform",
    initialization_hidden_gain=1.0,
    initialization_policy_head_gain=1.0,
    initialization_value_head_gain=1.0,
    learning_rate_annealing=None,
    reward_clipping=None,
    observation_normalization=None,
    observation_clipping=None,
    gradient_clipping=None,
)
TRPO: dict[str, Any] = dict(
    algorithm="trpo", advantage_normalization="batch", gradient_clipping=None, max_kl=0.02
)
PLAIN: dict[str, dict[str, Any]] = {
    "ppo": {},
    "ppo-m": NINE_OFF,
    "ppo-noclip": dict(ratio_clipping=None),
    "trpo": TRPO,
    "trpo+": TRPO | dict(value_clipping="max", gradient_clipping=0.5),
}


def preset_names() -> tuple[str, ...]:
    """The names of all presets."""
    return tuple(PLAIN)


def preset(name: str, environment: str, flavour: str | None = None, **overrides: Any) -> Config:
    """The config that `name` stands for on `environment`, with `overrides`."""
    if name not in PLAIN:
        raise ConfigError(unknown("preset", name, PLAIN))
    return Config(environment=environment).replace(**PLAIN[name]).replace(**overrides)
