"""PPO of Stable-Baselines3 as a study sees any trainer: options in, one number in a JSON file out.

python train.py --environment CartPole-v1 --clip 0.2 --value-clip off --seed 0 --steps 20000 --output outcome.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from stable_baselines3 import PPO


def number(text: str) -> float | None:
    """A number, or None for `off`."""
    return None if text == "off" else float(text)


parser = argparse.ArgumentParser()
parser.add_argument("--environment", default="CartPole-v1")
parser.add_argument("--clip", type=float, default=0.2)
parser.add_argument("--value-clip", type=number, default=None)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--steps", type=int, default=20_000)
parser.add_argument("--output", type=Path, default=Path("outcome.json"))
options = parser.parse_args()

model = PPO(
    "MlpPolicy",
    options.environment,
    clip_range=options.clip,
    clip_range_vf=options.value_clip,
    seed=options.seed,
    device="cpu",
)
model.learn(options.steps)
returns = [episode["r"] for episode in model.ep_info_buffer]
options.output.write_text(json.dumps({"last_hundred_episodes": float(np.mean(returns))}))
