"""Train on an environment of your own with spaces as they come: Dict observations, and an action of three choices.

    python examples/own_environment.py            (a minute; --quick: some seconds, and it learns little)

A courier on a 5 x 5 grid walks, fast or slowly, to one of four corners and hands over there. Random actions earn about
-2.2 an episode, the trained ones 0.85. Give an id of the form module:callable and nothing else is needed: observations
are flattened and normalized, and `load(...).act` takes and gives them as the environment does.
"""

import argparse

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

import minutiae

MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
CORNERS = np.array([[0, 0], [0, 4], [4, 0], [4, 4]])


class Courier(gymnasium.Env):
    """Pays 1 for handing over in the right corner, and takes 0.05 for each step and 0.1 for handing over elsewhere."""

    observation_space = Dict({"place": Box(0.0, 4.0, (2,), np.float32), "corner": Discrete(4)})
    action_space = MultiDiscrete([4, 2, 2])  # direction; slowly or fast; walk on or hand over

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.corner, self.time = np.array([2, 2]), int(self.np_random.integers(4)), 0
        return self.see(), {}

    def step(self, action):
        direction, fast, hand_over = action
        self.time += 1
        arrived = bool(hand_over) and bool((self.place == CORNERS[self.corner]).all())
        self.place = np.clip(self.place + (1 + fast) * MOVES[direction], 0, 4)
        return self.see(), arrived - 0.05 - 0.1 * (hand_over and not arrived), arrived, self.time == 40, {}

    def see(self):
        return {"place": self.place.astype(np.float32), "corner": self.corner}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="runs")
    options = parser.parse_args()
    steps = 4_096 if options.quick else 200_000
    (run,) = minutiae.train("ppo", "own_environment:Courier", steps=steps, entropy_coefficient=0.01, out=options.out)
    print(f"{run.path}: mean return of the last iterations {run.result['final_return']:.2f}")
    policy, courier = minutiae.load(run.path), Courier()
    observation, _ = courier.reset(seed=1)
    print(f"seen {observation}, done {policy.act(observation, deterministic=True)}")
