"""Learning curves with bands over seeds. Reads runs' metrics; trains nothing and judges nothing."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minutiae.control.run import Run, open_run, run_paths
from minutiae.details import CATALOGUE, Config, levels_of
from minutiae.errors import ConfigError, RunError, unknown
from minutiae.runs.atomic import write_atomic

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", ".pdf")
AXES = {"steps": "environment steps", "iteration": "iteration"}
QUANTITIES = {
    "return_mean": "mean return of the episodes that ended",
    "length_mean": "mean length of the episodes that ended",
}
POINTS = 100
"""Most points of a curve: metrics of more iterations are averaged in as many bins of equal width."""
FEW_SEEDS = 4
"""Below it a mean has no band: the interval of two or three seeds hides more than it shows. The seeds are drawn."""
CONFIDENCE = 0.95
BAND = f"{CONFIDENCE:.0%} Student t interval of the mean over seeds, at each point by itself"


@dataclass(frozen=True)
class Curve:
    """What runs of one config say together: `x` `[K]`, `values` `[seeds, K]` and the runs' seeds.

    `name` is that of the folder they were asked for by, where it holds no other config; `binned` whether several
    measurements were averaged in a point.
    """

    config: Config
    seeds: tuple[int, ...]
    x: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    name: str = ""
    binned: bool = False

    @property
    def mean(self) -> np.ndarray:
        """Over seeds, `[K]`."""
        return self.values.mean(axis=0)

    def band(self, confidence: float = CONFIDENCE) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper end of the interval of the mean, `[K]` each (see `BAND`); `None` for one seed."""
        count = len(self.values)
        if count < 2:
            return None
        from scipy.stats import t

        error = self.values.std(axis=0, ddof=1) / np.sqrt(count)
        reach = t.ppf((1 + confidence) / 2, count - 1) * error
        return self.mean - reach, self.mean + reach


def plot(
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str] = "learning_curves.png",
    metric: str = "return_mean",
    x: str = "steps",
) -> Path:
    """Draw the learning curves of runs, one for each config, to a file.

    Args:
        paths: runs, groups of runs, or folders of these.
        output: ends in `.png`, `.svg` or `.pdf`.
        metric: a column of `metrics.parquet`.
        x: `steps` or `iteration`.

    Returns:
        The path of the file.

    Raises:
        ConfigError: an unknown format, axis or metric.
        RunError: no run with metrics is there, or the file cannot be written.
    """
    target = Path(output)
    if target.suffix.lower() not in FORMATS:
        raise ConfigError(f"a figure is a .png, .svg or .pdf file, and {target} is none; change its ending")
    drawn = curves([paths] if isinstance(paths, str | os.PathLike) else paths, metric, x)
    # The object interface and not pyplot: no window system, no state shared with the caller's own figures.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    draw(figure.add_subplot(), drawn, metric, x)
    image = io.BytesIO()
    figure.savefig(image, format=target.suffix.lower().removeprefix("."), dpi=150)
    write_atomic(target, image.getvalue())
    return target


def curves(paths: Sequence[str | os.PathLike[str]], metric: str = "return_mean", x: str = "steps") -> list[Curve]:
    """One curve for each config among the runs at `paths`, in the order in which they appear.

    Arguments and errors as of `plot`.
    """
    if x not in AXES:
        raise ConfigError(unknown("axis", x, AXES))
    by_config: dict[str, list[tuple[Run, np.ndarray, np.ndarray]]] = {}
    named: dict[str, set[str]] = {}
    for path in map(Path, paths):
        for run, frame in _readable(path):
            series = _series(frame, metric, x)
            if series is not None:
                by_config.setdefault(repr(run.config), []).append((run, *series))
                named.setdefault(path.name, set()).add(repr(run.config))
    if not by_config:
        raise RunError(
            f"no run at {', '.join(str(path) for path in paths)} has measured {metric} yet; train it further"
        )
    return [_curve(members, _name(named, config)) for config, members in by_config.items()]


def _name(named: Mapping[str, set[str]], config: str) -> str:
    """The one name by which `config`, and nothing else, was asked for beside others; else empty."""
    asked = [name for name, configs in named.items() if config in configs]
    return asked[0] if len(named) > 1 and len(asked) == 1 and len(named[asked[0]]) == 1 else ""


def draw(axes: Axes, drawn: Sequence[Curve], metric: str, x: str) -> None:
    """Draw curves into axes: the mean over seeds, each seed as a thin line, and a band unless they are too few."""
    sizes = {len(curve.seeds) for curve in drawn}
    for curve, label in zip(drawn, labels([curve.config for curve in drawn]), strict=True):
        shown = f"{curve.name}: {label}" if curve.name else label
        alone = "o" if len(curve.x) == 1 else None  # a line of one point would be invisible
        (line,) = axes.plot(curve.x, curve.mean, label=f"{shown} (n = {len(curve.seeds)})", linewidth=1.8, marker=alone)
        band = curve.band() if len(curve.seeds) >= FEW_SEEDS else None
        if band is not None:
            axes.fill_between(curve.x, *band, color=line.get_color(), alpha=0.2, linewidth=0)
        if len(curve.seeds) > 1:
            strength = 0.45 if band is None else 0.25
            axes.plot(curve.x, curve.values.T, color=line.get_color(), alpha=strength, linewidth=0.6)
    axes.set_xlabel(AXES[x])
    axes.set_ylabel(QUANTITIES.get(metric, metric))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    # Below the axes, because bands leave no free corner.
    axes.figure.legend(loc="outside lower left", frameon=False, fontsize="small")
    _look_at_the_seeds(axes, drawn)
    notes = [f"mean over seeds; band: {BAND}; n: seeds"] if max(sizes) >= FEW_SEEDS else []
    if any(1 < size < FEW_SEEDS for size in sizes):
        notes.append(f"thin lines: the seeds; a band takes {FEW_SEEDS} of them; n: seeds")
    if any(curve.binned for curve in drawn):
        notes.append(f"every point is the mean of one of up to {POINTS} equal parts of the {AXES[x]} axis")
    axes.set_title("\n".join(notes), fontsize="x-small", loc="left", color="0.35")


def _look_at_the_seeds(axes: Axes, drawn: Sequence[Curve]) -> None:
    """Let the measured values fill the view: the band of two seeds would shrink them to a line."""
    low = min(float(np.nanmin(curve.values)) for curve in drawn)
    high = max(float(np.nanmax(curve.values)) for curve in drawn)
    margin = 0.15 * (high - low or abs(high) or 1.0)
    axes.set_ylim(low - margin, high + margin)


def labels(configs: Sequence[Config]) -> list[str]:
    """What tells each config from the others: environment, algorithm and the details in which they differ."""
    custom = sorted({name for config in configs for name, _ in config.custom})
    levels = [dict.fromkeys(custom) | levels_of(config) | dict(config.custom) for config in configs]
    telling = [
        name
        for name in (*CATALOGUE, *custom)
        if name not in ("environment", "algorithm") and len({repr(one[name]) for one in levels}) > 1
    ]
    texts = []
    for config in configs:
        written = dict(config.custom) | {
            name: CATALOGUE[name].format(getattr(config, name)) for name in telling if name in CATALOGUE
        }
        differing = [f"{name} {written[name]}" for name in telling if config.applies(name)]
        shown = differing[:3] + ([f"and {len(differing) - 3} more"] if len(differing) > 3 else [])
        texts.append(", ".join([f"{config.algorithm} on {config.environment}", *shown]))
    return texts


def _readable(path: Path) -> Iterator[tuple[Run, polars.DataFrame]]:
    """Runs at `path` with their metrics. One damaged run among many is left out with a warning."""
    folders = run_paths(path)
    for folder in folders:
        try:
            run = open_run(folder)
            frame = run.metrics()
        except (RunError, ConfigError) as error:
            if folder == path:
                raise
            warnings.warn(f"left out a run: {error}", stacklevel=2)
            continue
        yield run, frame


def _series(frame: polars.DataFrame, metric: str, x: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The measured values of a metric with their places on the axis; `None` when there are none."""
    if not len(frame):
        return None
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    if metric not in numbers:
        raise ConfigError(unknown("metric", metric, numbers, "run: minutiae metrics"))
    measured = frame.select(x, metric).drop_nulls()
    if not len(measured):
        return None
    return measured[x].to_numpy().astype(float), measured[metric].to_numpy().astype(float)


def _curve(members: list[tuple[Run, np.ndarray, np.ndarray]], name: str = "") -> Curve:
    """Put the runs of one config on common points, over what all of them have measured."""
    first = max(places[0] for _, places, _ in members)
    last = min(places[-1] for _, places, _ in members)
    every = np.unique(np.concatenate([places for _, places, _ in members]))
    shared = every[(every >= min(first, last)) & (every <= last)]
    binned = len(shared) > POINTS
    if binned:
        edges = np.linspace(min(first, last), last, POINTS + 1)
        shared = (edges[1:] + edges[:-1]) / 2
        values = np.stack([_binned(places, values, edges, shared) for _, places, values in members])
    else:
        # Few enough to be shown as they were measured; a run that has no value at one has that between its neighbours.
        values = np.stack([np.interp(shared, places, values) for _, places, values in members])
    return Curve(members[0][0].config, tuple(run.seed for run, _, _ in members), shared, values, name, binned)


def _binned(places: np.ndarray, values: np.ndarray, edges: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Mean of the values in each bin `[K]`; bins without any are filled by linear interpolation."""
    inside = (places >= edges[0]) & (places <= edges[-1])
    places, values = (places[inside], values[inside]) if inside.any() else (places, values)
    bins = np.clip(np.searchsorted(edges, places, side="left") - 1, 0, len(centers) - 1)
    counts = np.bincount(bins, minlength=len(centers))
    sums = np.bincount(bins, weights=values, minlength=len(centers))
    filled = counts > 0
    return np.interp(centers, centers[filled], sums[filled] / counts[filled])
