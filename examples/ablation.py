"""An ablation in Python: does it matter that rewards are scaled, and that advantages are normalized?

    python examples/ablation.py                   (some minutes; --quick: some seconds, and no answer)

Two details are crossed: four cells, each with the same seeds, trained as populations on every core. Stop it at any
moment and start it again: what is trained stays trained. The report is one page of HTML, with tables as CSV beside it.
"""

import argparse
from pathlib import Path

import minutiae

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("studies/example-ablation"))
    options = parser.parse_args()

    study = minutiae.Study(
        question="Does reward scaling matter on Pendulum, and is it the same without advantage normalization?",
        environments=["Pendulum-v1"],
        factors={"reward_scaling": [None, "returns"], "advantage_normalization": [None, "minibatch"]},
        base={"steps": 8_192 if options.quick else 100_000, "learning_rate": 1e-3, "discount": 0.9},
        seeds=2 if options.quick else 5,
    )
    results = minutiae.run_study(study, options.out)

    runs = results.frame()
    cells = runs.group_by("reward_scaling", "advantage_normalization", maintain_order=True)
    for (scaling, normalization), cell in cells:
        returns = cell["final_return"]
        print(f"scaling {scaling:8} normalization {normalization:10} {returns.mean():8.1f} +- {returns.std():.1f}")
    print(f"with intervals: {minutiae.write_report(results)}")
