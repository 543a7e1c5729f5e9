"""Environments whose values are known in closed form. Train `probes:NAME`; factories only, no tests here.

V(s) is the value of observation s under the best policy (any policy, where actions do not matter), g the
discount. Every probe exists for both kinds of action: `NAME` has two discrete actions, `NAME_continuous` one
number in [-1, 1]. Importing this module also registers each as the Gymnasium id `probes/NAME-v0`, which
`gymnasium:probes:probes/NAME-v0` finds.

| probe              | episode                                               | value                        |
|--------------------|-------------------------------------------------------|------------------------------|
| constant_reward    | 1 step, observation 0, reward 1                       | V(0) = 1                     |
| observation_reward | 1 step, observation -1 or 1 by a coin, paid as reward | V(o) = o                     |
| two_step           | 2 steps, observations 0 and 1, rewards 0 and 1        | V(0) = g, V(1) = 1           |
| discounting        | 5 steps, observation = step, reward 1 at the last     | V(k) = g^(4 - k)             |
| action_reward      | 1 step, observation 0, reward 1 for action 1, else -1 | V(0) = 1                     |
|                    | continuous: reward -(a - 0.5)^2                       | V(0) = 0 at a = 0.5          |
| matching           | 1 step, observation o = -1 or 1 by a coin, reward 1   | V(o) = 1                     |
|                    | for action 0 at -1 or 1 at 1, else -1                 |                              |
|                    | continuous: reward -(a - o / 2)^2                     | V(o) = 0 at a = o / 2        |
| truncated          | observation 0, reward 1, cut after 10 steps           | V(0) = 1/(1-g), bootstrapped |
| terminated         | observation 0, reward 1, over after 10 steps          | V(0) = mean of (1-g^n)/(1-g) |
|                    |                                                       | for n = 1..10, best constant |
| counter            | observation (e, k) = (episode, step), reward k;       | V(e, k) = sum of g^i (k + i) |
|                    | episode e has L = 2 + e mod 3 steps; even episodes    | for i = 0..L-k-1 and even e  |
|                    | terminate, odd ones are truncated                     |                              |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

TIME_LIMIT = 10
CHAIN = 5


class Probe(gymnasium.Env):
    """An episode of `length` steps; subclasses say what is seen, what is paid and how it ends."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own spelling
    size = 1
    length = 1

    def __init__(self, continuous: bool = False, render_mode: str | None = None) -> None:
        self.observation_space = Box(-np.inf, np.inf, (self.size,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float64) if continuous else Discrete(2)
        self.continuous = continuous
        self.render_mode = render_mode
        self.episode = -1
        self.time = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.episode += 1
        self.time = 0
        self.begin()
        return self.see(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        # Out of the box is allowed: bounding actions is a detail that may be off.
        assert self.continuous or self.action_space.contains(action), f"{action!r} is neither 0 nor 1"
        paid = self.pay(float(np.asarray(action).reshape(-1)[0]))
        self.time += 1
        over = self.time >= self.length
        return self.see(), paid, over and self.ends(), over and not self.ends(), {}

    def render(self) -> np.ndarray:
        return np.full((4, 6, 3), self.time, dtype=np.uint8)

    def begin(self) -> None: ...

    def see(self) -> np.ndarray:
        return np.zeros(1)

    def pay(self, action: float) -> float:
        return 1.0

    def ends(self) -> bool:
        """Whether the last step terminates; otherwise it truncates."""
        return True


class ObservationReward(Probe):
    def begin(self) -> None:
        self.sign = float(self.np_random.choice([-1.0, 1.0]))

    def see(self) -> np.ndarray:
        return np.array([self.sign])

    def pay(self, action: float) -> float:
        return self.sign


class Discounting(Probe):
    length = CHAIN

    def see(self) -> np.ndarray:
        return np.array([float(self.time)])

    def pay(self, action: float) -> float:
        return float(self.time == self.length - 1)


class TwoStep(Discounting):
    length = 2


class ActionReward(Probe):
    def pay(self, action: float) -> float:
        return -((action - 0.5) ** 2) if self.continuous else 2.0 * action - 1.0


class Matching(ObservationReward):
    def pay(self, action: float) -> float:
        return -((action - self.sign / 2) ** 2) if self.continuous else (2.0 * action - 1.0) * self.sign


class Terminated(Probe):
    length = TIME_LIMIT


class Endless(Probe):
    length = 2**62


class Counter(Probe):
    """Every transition names itself: after step k of episode e it shows (e, k + 1), having paid k."""

    size = 2

    def begin(self) -> None:
        self.length = 2 + self.episode % 3

    def see(self) -> np.ndarray:
        return np.array([self.episode, self.time], dtype=np.float64)

    def pay(self, action: float) -> float:
        return float(self.time)

    def ends(self) -> bool:
        return self.episode % 2 == 0


def _pair(probe: type[Probe], limit: int | None = None) -> tuple[Callable[..., gymnasium.Env], ...]:
    def make(continuous: bool, render_mode: str | None) -> gymnasium.Env:
        one: gymnasium.Env = probe(continuous, render_mode)
        return one if limit is None else gymnasium.wrappers.TimeLimit(one, limit)

    def discrete(render_mode: str | None = None) -> gymnasium.Env:
        return make(False, render_mode)

    def continuous(render_mode: str | None = None) -> gymnasium.Env:
        return make(True, render_mode)

    return discrete, continuous


constant_reward, constant_reward_continuous = _pair(Probe)
observation_reward, observation_reward_continuous = _pair(ObservationReward)
two_step, two_step_continuous = _pair(TwoStep)
discounting, discounting_continuous = _pair(Discounting)
action_reward, action_reward_continuous = _pair(ActionReward)
matching, matching_continuous = _pair(Matching)
truncated, truncated_continuous = _pair(Endless, TIME_LIMIT)
terminated, terminated_continuous = _pair(Terminated)
counter, counter_continuous = _pair(Counter)

NAMES = (
    "constant_reward",
    "observation_reward",
    "two_step",
    "discounting",
    "action_reward",
    "matching",
    "truncated",
    "terminated",
    "counter",
)

for _name in NAMES:
    for _kind in ("", "_continuous"):
        if f"probes/{_name}{_kind}-v0" not in gymnasium.registry:
            gymnasium.register(f"probes/{_name}{_kind}-v0", entry_point=f"probes:{_name}{_kind}")
