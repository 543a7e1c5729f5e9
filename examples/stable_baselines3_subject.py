"""Stable-Baselines3 as the subject of a study: designs, resuming, statistics and report over a trainer of others.

    pip install stable-baselines3
    python examples/stable_baselines3_subject.py  (some minutes; --quick: a minute, and no answer)

A study needs a command with the levels in braces and a file with the outcome. This script is both: without --trial it
makes the study, with it a trial. Its factors are SB3's own arguments.
"""

import argparse
import json
import sys
from pathlib import Path

import minutiae


def trial(options):
    """One training of Stable-Baselines3; the outcome is the mean return of the last hundred episodes."""
    from stable_baselines3 import PPO

    model = PPO(
        "MlpPolicy",
        "CartPole-v1",
        n_epochs=options.n_epochs,
        normalize_advantage=options.normalize_advantage == "yes",
        seed=options.seed,
        device="cpu",
    )
    model.learn(options.steps)
    returns = [episode["r"] for episode in model.ep_info_buffer]
    (options.trial / "outcome.json").write_text(json.dumps({"last_hundred": sum(returns) / len(returns)}))


def study(options):
    """Two arguments of SB3, crossed over the same seeds."""
    steps = 2_048 if options.quick else 20_000
    return minutiae.Study(
        question="Do epochs and advantage normalization matter to Stable-Baselines3 on CartPole?",
        environments=["CartPole-v1"],
        command=f"{sys.executable} {Path(__file__).resolve()} --trial {{folder}} --seed {{seed}} --steps {steps} "
        "--n-epochs {n_epochs} --normalize-advantage {normalize_advantage}",
        factors={"n_epochs": [4, 10], "normalize_advantage": ["no", "yes"]},
        outcomes=["last_hundred"],
        seeds=2 if options.quick else 5,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("studies/example-stable-baselines3"))
    for name, kind in {"trial": Path, "seed": int, "steps": int, "n-epochs": int, "normalize-advantage": str}.items():
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trial is not None:
        trial(options)
    else:
        print(minutiae.write_report(minutiae.run_study(study(options), options.out)))
