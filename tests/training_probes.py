"""Environments that show what training did to them, and some that misbehave. Factories only, no tests here."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

import probes

NAMES = 1000

QUICK: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0}
"""Options with which XLA compiles in half the time programs half as fast: the better bargain in a test."""

if os.environ.get("QUICK_COMPILATION"):
    # Here, because a worker process that trains on one of these environments passes by before it compiles.
    from minutiae.control import compilation

    compilation.CPU_OPTIONS = QUICK


def vectorized(factory: Callable[..., Any], mode: AutoresetMode) -> Callable[[int], VectorEnv]:
    """A factory of vector environments in this autoreset mode."""

    def make(num_envs: int) -> VectorEnv:
        return SyncVectorEnv([factory] * num_envs, copy=False, autoreset_mode=mode)

    return make


class Ledger(probes.Probe):
    """Every transition names its row: (name, e, k) with name = seed mod 1000, k steps into episode e.

    It lasts 1 + (name + e) mod 4 steps; even episodes terminate, odd ones are truncated. The reward is k + 10 a for
    the action a just as it came, even from outside of the box.
    """

    size = 3
    name = -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        if seed is not None:
            self.name = seed % NAMES
        return super().reset(seed=seed, options=options)

    def begin(self) -> None:
        self.length = 1 + (self.name + self.episode) % 4

    def see(self) -> np.ndarray:
        return np.array([self.name, self.episode, self.time], np.float64)

    def pay(self, action: float) -> float:
        return self.time + 10.0 * action

    def ends(self) -> bool:
        return self.episode % 2 == 0


def ledger() -> gymnasium.Env:
    return Ledger()


def ledger_continuous() -> gymnasium.Env:
    return Ledger(continuous=True)


ledger_disabled = vectorized(ledger, AutoresetMode.DISABLED)
ledger_next_step = vectorized(ledger, AutoresetMode.NEXT_STEP)
ledger_same_step = vectorized(ledger, AutoresetMode.SAME_STEP)
ledger_continuous_next_step = vectorized(ledger_continuous, AutoresetMode.NEXT_STEP)
ledger_continuous_same_step = vectorized(ledger_continuous, AutoresetMode.SAME_STEP)

two_step_next_step = vectorized(probes.two_step, AutoresetMode.NEXT_STEP)
two_step_continuous_same_step = vectorized(probes.two_step_continuous, AutoresetMode.SAME_STEP)
truncated_next_step = vectorized(probes.truncated, AutoresetMode.NEXT_STEP)
truncated_same_step = vectorized(probes.truncated, AutoresetMode.SAME_STEP)
truncated_continuous_next_step = vectorized(probes.truncated_continuous, AutoresetMode.NEXT_STEP)
truncated_continuous_same_step = vectorized(probes.truncated_continuous, AutoresetMode.SAME_STEP)


class Cycle(probes.Probe):
    """Observations 0, 1, 0, 1, ... with reward 1 for each step from 1, cut after two steps."""

    length = 2

    def see(self) -> np.ndarray:
        return np.array([float(self.time % 2)])

    def pay(self, action: float) -> float:
        return float(self.time)

    def ends(self) -> bool:
        return False


def cycle() -> gymnasium.Env:
    return Cycle()


def endless() -> gymnasium.Env:
    """Observation 0, reward 1, for ever."""
    return probes.Endless()


POISONED: set[int] = set()
"""Seeds whose `Wander` pays NaN, once, at the end of its second episode."""


class Wander(probes.Probe):
    """A random walk that actions push left or right; over beyond 3, cut after 12 steps; pays for staying near 0.

    Each step takes `PROBE_DELAY` seconds, an environment variable.
    """

    length = 12
    delay = float(os.environ.get("PROBE_DELAY", "0"))
    poisoned = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        if seed is not None:
            self.poisoned = seed in POISONED
        return super().reset(seed=seed, options=options)

    def begin(self) -> None:
        self.length = Wander.length
        self.place = float(self.np_random.normal())

    def see(self) -> np.ndarray:
        return np.array([self.place])

    def pay(self, action: float) -> float:
        if self.delay:
            time.sleep(self.delay)
        self.place += 0.4 * (2.0 * action - 1.0) + 0.5 * float(self.np_random.normal())
        if abs(self.place) > 3.0:
            self.length = self.time + 1
        if self.poisoned and self.episode == 1 and self.time + 1 >= self.length:
            return float("nan")
        return 1.0 - abs(self.place)

    def ends(self) -> bool:
        return abs(self.place) > 3.0


def wander() -> gymnasium.Env:
    return Wander()


def noisy() -> gymnasium.Env:
    """A `Wander` that writes to standard output, by Python and past it."""

    class Noisy(Wander):
        def pay(self, action: float) -> float:
            print('{"progress": "of the simulator"}')
            os.write(1, b"a line without an end")
            return super().pay(action)

    return Noisy()


def parricide() -> gymnasium.Env:
    """Ends the process that has started this one, when that is one of Ray's; else a `Wander`."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{os.getppid()}/cmdline").read_bytes().startswith(b"ray::"):
            os.kill(os.getppid(), signal.SIGKILL)
    return Wander()
