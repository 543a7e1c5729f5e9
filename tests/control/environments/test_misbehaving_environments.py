"""A user's environment that breaks the rules is one line that names the place, never a traceback or a wrong number."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from minutiae.control.environments import describe, make_pool
from minutiae.errors import UnsupportedEnvironment

HERE = "test_misbehaving_environments"


class Rules(gymnasium.Env):
    """Keeps every rule; each subclass breaks one."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return np.zeros(3), {}

    def step(self, action: int) -> Any:
        return np.zeros(3), 0.0, False, False, {}


class RaisesAtReset(Rules):
    def reset(self, **_: Any) -> Any:
        raise KeyError("x")


class TakesNoSeed(Rules):
    def reset(self) -> Any:  # type: ignore[override]
        return np.zeros(3), {}


class OldReset(Rules):
    def reset(self, **_: Any) -> Any:
        return np.zeros(3)


class OldStep(Rules):
    def step(self, action: int) -> Any:
        return np.zeros(3), 0.0, False, {}


class RewardOfTwo(Rules):
    def step(self, action: int) -> Any:
        return np.zeros(3), np.zeros(2), False, False, {}


class OneForThree(Rules):
    def step(self, action: int) -> Any:
        return np.zeros(1), 0.0, False, False, {}


class RaisesWhenBuilt(Rules):
    def __init__(self) -> None:
        raise RuntimeError("no licence\nfound")


def not_an_environment() -> str:
    return "hello"


@pytest.mark.parametrize("name", ["RaisesAtReset", "TakesNoSeed", "OldReset"])
def test_reset_that_fails(name: str) -> None:
    pool = make_pool(f"{HERE}:{name}", [0, 1])
    with pytest.raises(UnsupportedEnvironment, match=rf"{name} could not be reset: \w+: .*mend it there") as caught:
        pool.reset()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["OldStep", "RewardOfTwo", "OneForThree"])
def test_step_that_fails(name: str) -> None:
    pool = make_pool(f"{HERE}:{name}", [0, 1])
    pool.reset()
    with pytest.raises(UnsupportedEnvironment, match=rf"{name} could not be stepped: \w+: .*mend it there"):
        pool.step(np.zeros(2, np.int64))


def test_an_observation_of_one_number_is_not_repeated_over_three() -> None:
    pool = make_pool(f"{HERE}:OneForThree", [0])
    pool.reset()
    with pytest.raises(UnsupportedEnvironment, match=r"of shape \(1,\), in a space of \(3,\)"):
        pool.step(np.zeros(1, np.int64))


def test_factory_that_raises_or_builds_something_else() -> None:
    with pytest.raises(UnsupportedEnvironment, match=r"could not be built: RuntimeError: no licence found"):
        describe(f"{HERE}:RaisesWhenBuilt")
    with pytest.raises(UnsupportedEnvironment, match=r"built something of type str; allowed: a gymnasium\.Env"):
        describe(f"{HERE}:not_an_environment")


@pytest.mark.parametrize("name", [":x", "x:", "../x:y", "..x:y"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UnsupportedEnvironment, match="unknown environment"):
        describe(name)
