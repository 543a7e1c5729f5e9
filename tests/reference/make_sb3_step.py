"""Makes sb3_step.npz: one rollout and one update of Stable-Baselines3's PPO, in float64. Not a test; needs SB3.

python tests/reference/make_sb3_step.py        (made with Stable-Baselines3 2.9.2)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from stable_baselines3 import PPO
from stable_baselines3.common import policies

STEPS, BATCH, EPOCHS, LIMIT = 32, 8, 2, 5


class Walk(gymnasium.Env):
    """Noise as observations and rewards; every fourth episode terminates after three steps, others are cut at five."""

    observation_space = Box(-np.inf, np.inf, (3,), np.float64)
    action_space = Box(-1.0, 1.0, (2,), np.float32)
    episode = -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.episode, self.time = self.episode + 1, 0
        return self.np_random.standard_normal(3), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        terminated = self.episode % 4 == 3 and self.time == 3
        record.append(self.np_random.standard_normal(3))
        reward = float(self.np_random.standard_normal()) + 0.1 * float(action.sum())
        rewards.append(reward)
        ends.append((terminated, self.time == LIMIT))
        return record[-1], reward, terminated, self.time == LIMIT, {}


record: list[Any] = []
rewards: list[float] = []
ends: list[tuple[bool, bool]] = []
permutations: list[Any] = []
numpy_permutation = np.random.permutation


def remembered(size: int) -> Any:
    """NumPy's permutation, written down."""
    permutations.append(numpy_permutation(size))
    return permutations[-1]


def parameters(model: PPO) -> dict[str, np.ndarray]:
    """By SB3's names, dots as underscores."""
    return {name.replace(".", "_"): value.detach().numpy().copy() for name, value in model.policy.named_parameters()}


def main() -> None:
    """Roll out and train once, and write what went in and what came out."""
    torch.set_default_dtype(torch.float64)
    policies.preprocess_obs = lambda observation, *_, **__: observation.double()
    model = PPO("MlpPolicy", Walk(), n_steps=STEPS, batch_size=BATCH, n_epochs=EPOCHS, seed=5, device="cpu")
    model.rollout_buffer.to_torch = lambda array, copy=True: torch.tensor(array, dtype=torch.float64)
    before = parameters(model)
    _, callback = model._setup_learn(STEPS)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, STEPS)
    buffer = model.rollout_buffer
    vector = {name: getattr(buffer, name).copy() for name in ("observations", "actions", "log_probs", "values")}
    vector |= {name: getattr(buffer, name).copy() for name in ("advantages", "returns")}
    np.random.permutation = remembered
    model.train()
    terminated, truncated = np.array(ends).T
    np.savez_compressed(
        Path(__file__).with_name("sb3_step.npz"),
        next_observations=np.array(record),
        rewards=np.array(rewards),
        terminated=terminated,
        truncated=truncated,
        permutations=np.array(permutations),
        **{name: np.asarray(value).reshape(STEPS, *value.shape[2:]) for name, value in vector.items()},
        **{f"before_{name}": value for name, value in before.items()},
        **{f"after_{name}": value for name, value in parameters(model).items()},
    )


if __name__ == "__main__":
    main()
