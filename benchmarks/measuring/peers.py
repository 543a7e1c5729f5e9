"""A row of a peer, as a process: Stable-Baselines3 or SBX at their own defaults. Prints one line of JSON."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from typing import Any

INSTALL = "pip install 'minutiae[bench]'"


def installed() -> dict[str, bool]:
    """Which peer libraries can be imported."""
    return {name: importlib.util.find_spec(name) is not None for name in ("stable_baselines3", "sbx")}


def measure(
    library: str, environment: str, environments: int, samples: int, warm: int, seconds: float
) -> dict[str, Any]:
    """Train PPO with the library's defaults for `warm` iterations and then `seconds`.

    The defaults are those of our rows: batches of `samples`, minibatches of 64, 10 epochs, two hidden layers of 64.
    Nothing is normalized, which saves the peers some work. Environments are Gymnasium's, stepped in turn, as
    `make_vec_env` does it.

    Returns:
        `clock`: monotonic times at which iterations ended.
    """
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    if library == "sbx":
        from sbx import PPO
    else:
        from stable_baselines3 import PPO

    class Clock(BaseCallback):
        """A rollout starts when the update before it is done."""

        def __init__(self) -> None:
            super().__init__()
            self.times: list[float] = []

        def _on_rollout_start(self) -> None:
            self.times.append(time.monotonic())

        def _on_step(self) -> bool:
            enough = len(self.times) > warm + 2
            return not (enough and self.times[-1] - self.times[warm] >= seconds)

    vector = make_vec_env(environment, n_envs=environments, seed=0)
    model = PPO("MlpPolicy", vector, n_steps=samples // environments, batch_size=64, device="cpu", seed=0)
    clock = Clock()
    model.learn(total_timesteps=10**9, callback=clock)
    return {"clock": clock.times[1:]}


def main() -> None:
    """`python -m measuring.peers ARGUMENTS`: the arguments of `measure` as a JSON object."""
    print(json.dumps(measure(**json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
