"""Learning curves: values worked by hand, one curve for each config, and files in the formats they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import minutiae
from minutiae.details import Config
from minutiae.errors import ConfigError, RunError
from minutiae.reports.learning_curves import BAND, curves, draw, labels
from saved_runs import save_run

CONFIG = Config(environment="CartPole-v1")


def rows(*returns: float | None) -> list[dict[str, Any]]:
    return [
        {"iteration": number, "steps": 100 * number, "return_mean": value}
        for number, value in enumerate(returns, start=1)
    ]


def test_mean_and_band_over_two_seeds(tmp_path: Path) -> None:
    save_run(tmp_path / "a", CONFIG, seed=0, rows=rows(1.0, 2.0, 3.0))
    save_run(tmp_path / "b", CONFIG, seed=1, rows=rows(3.0, 2.0, 7.0))
    (curve,) = curves([tmp_path])
    assert curve.seeds == (0, 1)
    assert curve.values.tolist() == [[1.0, 2.0, 3.0], [3.0, 2.0, 7.0]]
    assert curve.mean.tolist() == [2.0, 2.0, 5.0]
    # Half the difference of two values is their standard error: 1, 0 and 2; Student's t of 1 degree is 12.7062.
    lower, upper = curve.band() or (None, None)
    np.testing.assert_allclose(upper, [2 + 12.7062, 2.0, 5 + 2 * 12.7062], rtol=1e-5)
    np.testing.assert_allclose(lower, [2 - 12.7062, 2.0, 5 - 2 * 12.7062], rtol=1e-5)


def test_one_seed_has_no_band(tmp_path: Path) -> None:
    save_run(tmp_path / "a", CONFIG, rows=rows(1.0, 2.0))
    (curve,) = curves([tmp_path / "a"])
    assert curve.band() is None


def test_iterations_without_episodes_are_bridged(tmp_path: Path) -> None:
    save_run(tmp_path / "a", CONFIG, seed=0, rows=rows(1.0, None, 3.0))
    save_run(tmp_path / "b", CONFIG, seed=1, rows=rows(1.0, 2.0, 3.0))
    (curve,) = curves([tmp_path])
    # Where they were measured, and not in the middle of bins.
    assert curve.x.tolist() == [100.0, 200.0, 300.0]
    assert curve.values.tolist() == [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    assert not curve.binned


def test_many_iterations_are_averaged(tmp_path: Path) -> None:
    save_run(tmp_path / "a", CONFIG, rows=rows(*map(float, range(1000))))
    (curve,) = curves([tmp_path / "a"], x="iteration")
    assert curve.values.shape == (1, 100)
    assert np.diff(curve.mean).min() > 9
    np.testing.assert_allclose(curve.mean, curve.x - 1, atol=1.0)


def test_runs_are_compared_where_all_have_measured(tmp_path: Path) -> None:
    save_run(tmp_path / "a", CONFIG, seed=0, rows=rows(1.0, 2.0, 3.0, 4.0))
    save_run(tmp_path / "b", CONFIG, seed=1, rows=rows(5.0, 6.0))
    (curve,) = curves([tmp_path])
    assert curve.x.tolist() == [100.0, 200.0]
    assert curve.values.tolist() == [[1.0, 2.0], [5.0, 6.0]]


def test_one_curve_for_each_config_and_its_label(tmp_path: Path) -> None:
    clipped = CONFIG.replace(value_clipping="max")
    save_run(tmp_path / "a", CONFIG, seed=0, rows=rows(1.0))
    save_run(tmp_path / "b", clipped, seed=0, rows=rows(2.0))
    save_run(tmp_path / "c", CONFIG, seed=1, rows=rows(3.0))
    found = curves([tmp_path / "a", tmp_path / "b", tmp_path / "c"])
    assert [curve.seeds for curve in found] == [(0, 1), (0,)]
    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    draw(axes, found, "return_mean", "steps")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "ppo on CartPole-v1, value_clipping off (n = 2)",
        "b: ppo on CartPole-v1, value_clipping max (n = 1)",
    ]
    assert axes.get_title(loc="left") == "thin lines: the seeds; a band takes 4 of them; n: seeds"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("environment steps", "mean return of the episodes that ended")


@pytest.mark.parametrize(("seeds", "bands", "lines"), [(1, 0, 1), (2, 0, 3), (3, 0, 4), (4, 1, 5)])
def test_four_seeds_have_a_band_and_fewer_their_own_lines_alone(
    seeds: int, bands: int, lines: int, tmp_path: Path
) -> None:
    for seed in range(seeds):
        save_run(tmp_path / str(seed), CONFIG, seed=seed, rows=rows(1.0 + seed, 2.0))
    axes = Figure(layout="constrained").add_subplot()
    draw(axes, curves([tmp_path]), "return_mean", "steps")
    assert (len(axes.collections), len(axes.get_lines())) == (bands, lines)
    assert (BAND in axes.get_title(loc="left")) == bool(bands)


def test_a_single_point_is_drawn_and_averages_are_said(tmp_path: Path) -> None:
    save_run(tmp_path / "one", CONFIG, rows=rows(1.0))
    save_run(tmp_path / "many", CONFIG.replace(discount=0.9), rows=rows(*map(float, range(250))))
    found = curves([tmp_path / "one", tmp_path / "many"])
    assert [(curve.name, curve.binned) for curve in found] == [("one", False), ("many", True)]
    axes = Figure(layout="constrained").add_subplot()
    draw(axes, found, "return_mean", "steps")
    assert [line.get_marker() for line in axes.get_lines()] == ["o", "None"]
    text = "every point is the mean of one of up to 100 equal parts of the environment steps axis"
    assert axes.get_title(loc="left") == text


def test_labels_leave_out_what_has_no_effect() -> None:
    assert labels([CONFIG, CONFIG.replace(algorithm="trpo", value_epochs=5, max_kl=0.05)]) == [
        "ppo on CartPole-v1",
        "trpo on CartPole-v1, max_kl 0.05, value_epochs 5",
    ]


def test_labels_stay_short() -> None:
    other = CONFIG.replace(steps=4096, discount=0.9, gae_lambda=0.9, epochs=3, minibatches=4)
    assert labels([CONFIG, other])[1] == "ppo on CartPole-v1, steps 4096, discount 0.9, gae_lambda 0.9, and 2 more"


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_files(tmp_path: Path, ending: str, magic: bytes) -> None:
    save_run(tmp_path / "run", CONFIG, rows=rows(1.0, 2.0))
    target = minutiae.plot(tmp_path / "run", tmp_path / "figures" / f"curve.{ending}")
    assert target.read_bytes().startswith(magic)
    assert [path.name for path in target.parent.iterdir()] == [target.name]


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"output": "curve.jpg"}, ConfigError, r"a figure is a \.png, \.svg or \.pdf file, and curve\.jpg is none"),
        ({"x": "step"}, ConfigError, "unknown axis 'step'; did you mean 'steps'\\? allowed: steps, iteration"),
        ({"metric": "return"}, ConfigError, "unknown metric 'return'; did you mean 'return_mean'\\?"),
        ({"paths": "nowhere"}, RunError, "no run at nowhere"),
    ],
)
def test_refused_plots(tmp_path: Path, arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    save_run(tmp_path / "run", CONFIG, rows=rows(1.0))
    with pytest.raises(kind, match=text):
        minutiae.plot(**({"paths": tmp_path / "run"} | arguments))


def test_run_without_metrics_says_so(tmp_path: Path) -> None:
    save_run(tmp_path / "run", CONFIG)
    with pytest.raises(RunError, match=r"no run at .* has measured return_mean yet; train it further"):
        minutiae.plot(tmp_path / "run", tmp_path / "curve.png")


def test_a_damaged_run_among_others_is_left_out_aloud_and_alone_refused(tmp_path: Path) -> None:
    for name in ("sound", "damaged", "foreign"):
        save_run(tmp_path / name, CONFIG, rows=rows(1.0, 2.0))
    (tmp_path / "damaged" / "metrics.parquet").write_bytes(b"PAR1")
    (tmp_path / "foreign" / "config.toml").write_text("seed = ")
    with pytest.warns(UserWarning, match="left out a run: ") as told:
        (curve,) = curves([tmp_path])
    assert sorted("damaged/metrics.parquet" in str(one.message) for one in told) == [False, True]
    assert len(curve.seeds) == 1
    for name in ("damaged", "foreign"):
        with pytest.raises(RunError, match="damaged"):
            minutiae.plot(tmp_path / name, tmp_path / "curve.png")
