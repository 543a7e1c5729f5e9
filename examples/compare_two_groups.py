"""Compare two groups of runs: Stable-Baselines3's defaults against CleanRL's, as presets of this package.

    python examples/compare_two_groups.py         (some minutes; --quick: some seconds, and no answer)

Runs of both groups have the same seeds, so each is compared with its own pair; every number comes with its interval.
The groups may as well be folders that are there already: minutiae.compare("runs/with", "runs/without").
"""

import argparse

import minutiae
from minutiae.details import differences

ENVIRONMENT = "InvertedPendulum-v5"

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="runs")
    options = parser.parse_args()
    seeds, steps = (2, 4_096) if options.quick else (10, 100_000)

    groups = {}
    for preset in ("sb3", "cleanrl"):
        runs = minutiae.train(preset, ENVIRONMENT, seeds=seeds, steps=steps, out=options.out)
        groups[preset] = runs[0].path.parent
        print(f"{preset}: {differences(runs[0].config)}")

    found = minutiae.compare(groups["sb3"], groups["cleanrl"])
    print(f"A is sb3, B is cleanrl. {found.sentence()}")
    print(f"A run of A beats one of B with probability {found.improvement.estimate:.2f}")
    curves = minutiae.plot(list(groups.values()), groups["sb3"] / "curves.png")
    print(f"learning curves: {curves}")
