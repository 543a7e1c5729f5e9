"""A detail of your own, registered by nothing but its name: `custom_detail:mean_bound`, module and function.

    python examples/custom_detail.py              (a minute; --quick: some seconds, and no answer)

Decorated, the function is a detail like the package's own: a level of a study here, `--custom_detail:mean_bound 0.1`
of `minutiae train`, a line of config.toml, a page of `minutiae details custom_detail:mean_bound --code`. Runs without
it are what they always were, and a run with it that is resumed elsewhere names this module when it is missing.
"""

import argparse
from pathlib import Path

import jax.numpy as jnp

import minutiae
from minutiae.details import number


@minutiae.custom_detail(
    stage="policy_loss",
    levels=number(above=0, off=True),
    title="soft bound of the mean",
    rule="loss <- loss + c mean sum max(|mu| - 1.1, 0)^2, mu the mean of the actions.",
    source="rl_games, bound_loss",
    finding="Meant to keep means from drifting outside of the actions' bounds, where clipping hides them.",
)
def mean_bound(level, terms, samples):
    """Terms of the loss of one minibatch (`minutiae.details.STAGES` has them) to what is added to it, a scalar."""
    beyond = jnp.maximum(jnp.abs(terms.distribution["mean"]) - 1.1, 0.0)
    return level * jnp.square(beyond).sum(-1).mean()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("studies/example-custom-detail"))
    options = parser.parse_args()
    study = minutiae.Study(
        question="Does a soft bound of the mean help on Pendulum?",
        environments=["Pendulum-v1"],
        factors={"custom_detail:mean_bound": [None, 0.1]},
        base={"steps": 4_096 if options.quick else 100_000, "learning_rate": 1e-3, "discount": 0.9},
        seeds=2 if options.quick else 5,
    )
    results = minutiae.run_study(study, options.out)
    for row in results.frame().iter_rows(named=True):
        print(f"seed {row['seed']} bound {row['custom_detail:mean_bound']:4} return {row['final_return']:9.1f}")
    print(f"with intervals: {minutiae.write_report(results)}")
