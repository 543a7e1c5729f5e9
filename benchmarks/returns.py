"""Returns of the plain presets on MuJoCo tasks: train them, then write tables, data and figure. No throughput here.

    python benchmarks/returns.py train ppo --tasks Hopper-v5 Walker2d-v5 --seeds 10 --store DIR
    python benchmarks/returns.py train trpo --levels max_kl=0.05 --seeds 5 --store DIR
    python benchmarks/returns.py report --store DIR --output docs/returns

`train` may be stopped and started again at any moment, and given more seeds later: what is finished is kept.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import minutiae
from minutiae.cli.train import parse_levels
from minutiae.control.progress import Progress
from minutiae.control.run import Run

TASKS = ("Hopper-v5", "Walker2d-v5", "HalfCheetah-v5", "InvertedDoublePendulum-v5", "Humanoid-v5")

COLUMNS = ("iteration", "steps", "episodes", "return_mean", "length_mean", "kl_exact_batch", "ratio_max_batch")
"""What is committed of every iteration; a run's own `metrics.parquet` has everything."""

PUBLISHED = {
    "Hopper-v5": "ppo2 2449 ± 596 (v2), SB3 zoo 2410 ± 10 (v3), CleanRL 2685 (v2, 2M), Engstrom et al. 2513 (v2)",
    "Walker2d-v5": "ppo2 3142 ± 982 (v2), SB3 zoo 3479 ± 822 (v3), CleanRL 3753 (v2, 2M), Engstrom et al. 3292 (v2)",
    "HalfCheetah-v5": "ppo2 2149 ± 1166 (v2), ppo2 docs 1669 (v2), SB3 zoo 5819 ± 664 (v3), CleanRL 1683 (v2, 2M)",
    "Humanoid-v5": "Engstrom et al. 806 (v2)",
}
"""Numbers that others published after about a million steps; environment versions differ, so expect offsets."""


def train(arguments: argparse.Namespace) -> None:
    """Train every task with every seed that is not there yet: one group of runs for each block of seeds."""
    levels = dict(level.split("=", 1) for level in arguments.levels)
    label = ",".join([arguments.preset, *(f"{name}={level}" for name, level in levels.items())])
    for task in arguments.tasks:
        name = f"{label}-{task}-{arguments.first_seed}"
        target = Path(arguments.store) / name
        if target.exists():
            runs = minutiae.resume(target, workers=arguments.workers, listener=tell)
        else:
            runs = minutiae.train(
                arguments.preset,
                task,
                steps=arguments.steps,
                seed=arguments.first_seed,
                seeds=arguments.seeds,
                name=name,
                out=arguments.store,
                workers=arguments.workers,
                listener=tell,
                **parse_levels(levels),
            )
        outcomes = [(run.result or {}).get("final_return") or float("nan") for run in runs]
        print(label, task, [round(outcome, 1) for outcome in outcomes], flush=True)


def tell(progress: Progress) -> None:
    """One line for each run that ends."""
    if progress.status != "training":
        print(f"{progress.path}: {progress.status} {progress.message or ''}".rstrip(), flush=True)


def finished(store: Path) -> dict[tuple[str, str], list[Run]]:
    """Runs that ended, by preset with levels (what stands before the task in the folder's name) and task."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in minutiae.open_runs(store):
        if run.status != "unfinished":
            name = run.path.parent.name.partition(f"-{run.config.environment}")[0]
            groups.setdefault((name, run.config.environment), []).append(run)
    return {key: sorted(runs, key=lambda run: run.seed) for key, runs in sorted(groups.items())}


def interval(values: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    """Student's t interval of the mean of independent seeds."""
    from scipy.stats import t

    reach = t.ppf((1 + confidence) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - reach), float(values.mean() + reach)


def report(arguments: argparse.Namespace) -> None:
    """Write `returns.parquet` (a row per run), `curves.parquet` (a row per run and iteration), tables, figure."""
    import polars
    from matplotlib.figure import Figure

    from minutiae.reports.learning_curves import curves, draw

    output = Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    groups = finished(Path(arguments.store))
    rows, frames = [], []
    for (preset, task), runs in groups.items():
        for run in runs:
            result = run.result or {}
            facts = {"preset": preset, "task": task, "seed": run.seed}
            rows.append({**facts, "status": run.status, **{name: result[name] for name in ("final_return", "steps")}})
            frame = run.metrics().select(COLUMNS)
            frames.append(frame.with_columns(*(polars.lit(value).alias(name) for name, value in facts.items())))
    table = polars.DataFrame(rows)
    table.write_parquet(output / "returns.parquet")
    polars.concat(frames).write_parquet(output / "curves.parquet", compression="zstd")
    (output / "returns.md").write_text(markdown(groups))
    if any("=" in preset for preset, _ in groups):
        (output / "defaults.md").write_text(defaults(groups))
    groups = {(preset, task): runs for (preset, task), runs in groups.items() if preset == "ppo"}
    figure = Figure(figsize=(10.0, 3.2 * -(-len(groups) // 2)), layout="constrained")
    for place, ((preset, task), runs) in enumerate(groups.items()):
        axes = figure.add_subplot(-(-len(groups) // 2), 2, place + 1)
        draw(axes, curves([run.path for run in runs]), "return_mean", "steps")
        notes = axes.get_title(loc="left")
        axes.set_title("", loc="left")
        axes.set_title(f"{preset} on {task}, {len(runs)} seeds", fontsize="medium")
        axes.set_ylabel("mean return")
    # One legend and one note for all: the panels differ in their task only.
    for legend in list(figure.legends):
        legend.remove()
    figure.supxlabel(f"thick: {notes}".replace("; n: seeds", "; thin: each seed"), fontsize="small", color="0.35")
    figure.savefig(output / "returns.png", dpi=110)


def markdown(groups: dict[tuple[str, str], list[Run]]) -> str:
    """The table: mean final return with its interval, beside published numbers."""
    lines = [
        "| preset | task | final return | 95 % interval | seeds | lowest | highest | published (environment version) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (preset, task), runs in groups.items():
        if "=" in preset:
            continue  # told by `defaults`
        values = final_returns(runs)
        low, high = interval(values) if len(values) > 1 else (np.nan, np.nan)
        lines.append(
            f"| {preset} | {task} | {values.mean():.0f} | [{low:.0f}, {high:.0f}] | {len(values)} | {values.min():.0f} "
            f"| {values.max():.0f} | {PUBLISHED.get(task, 'none in this form')} |"
        )
    return "\n".join(lines) + "\n"


def defaults(groups: dict[tuple[str, str], list[Run]]) -> str:
    """Mean final return, its interval and the number of seeds, a row per preset with levels and a column per task."""
    labels = list(dict.fromkeys(label for label, _ in groups))
    tasks = [task for task in TASKS if any((label, task) in groups for label in labels if "=" in label)]
    lines = ["| preset, levels | " + " | ".join(tasks) + " |", "|---" * (1 + len(tasks)) + "|"]
    for label in labels:
        if not any("=" in other and other.startswith(f"{label.split(',')[0]},") for other in labels):
            continue  # nothing to compare this preset with
        cells = []
        for task in tasks:
            values = final_returns(groups.get((label, task), []))
            low, high = interval(values) if len(values) > 1 else (np.nan, np.nan)
            cells.append(f"{values.mean():.0f} [{low:.0f}, {high:.0f}] ({len(values)})" if len(values) > 1 else "")
        lines.append("| " + " | ".join([label.replace(",", ", "), *cells]) + " |")
    return "\n".join(lines) + "\n"


def final_returns(runs: list[Run]) -> np.ndarray:
    """The outcome of each run, `[seeds]`."""
    return np.array([(run.result or {})["final_return"] for run in runs], float)


def main() -> int:
    """Parse the command line and run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train", help="train what is missing")
    training.add_argument("preset", choices=minutiae.preset_names())
    training.add_argument("--levels", nargs="+", default=[], metavar="DETAIL=LEVEL", help="other than the preset's")
    training.add_argument("--tasks", nargs="+", default=TASKS)
    training.add_argument("--seeds", type=int, default=10)
    training.add_argument("--first-seed", type=int, default=0)
    training.add_argument("--steps", type=int, default=1_000_000)
    training.add_argument("--workers", type=int, default=None)
    training.add_argument("--store", default="runs/returns")
    training.set_defaults(run=train)
    reporting = commands.add_parser("report", help="write table, data and figure")
    reporting.add_argument("--store", default="runs/returns")
    reporting.add_argument("--output", default="docs/returns")
    reporting.set_defaults(run=report)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
