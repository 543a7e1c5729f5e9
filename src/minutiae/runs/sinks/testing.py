"""Tests that every sink must pass, ours and yours. Needs pytest to run them and imports nothing of it.

from minutiae.runs.sinks.testing import SinkContract

class TestMySink(SinkContract):
    def make_sink(self):
        return MySink()

    def points(self, run):
        return ...
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from minutiae.runs.directory import RunDirectory
from minutiae.runs.sinks.protocol import Sink

CONFIG: dict[str, Any] = {"environment": "Hopper-v5", "learning_rate": 3e-4, "value_clipping": "off"}
_CONFIG_TEXT = 'environment = "Hopper-v5"\nlearning_rate = 0.0003\nvalue_clipping = "off"\n'


class SinkContract:
    """Subclass it under a name that pytest collects and give the two methods below."""

    def make_sink(self) -> Sink:
        """A new sink."""
        raise NotImplementedError

    def points(self, run: RunDirectory) -> dict[str, list[tuple[int, float]]]:
        """What a viewer of this sink shows of `run` once closed: the (step, value) pairs of each metric."""
        raise NotImplementedError

    def make_run(self, folder: Path, name: str = "run") -> RunDirectory:
        """A fresh run to log for."""
        return RunDirectory.create(folder / name, _CONFIG_TEXT, seed=7)

    def feed(self, sink: Sink, first: int, last: int) -> None:
        """Log the iterations `first` to `last`; iteration i is at step 100 i, where `loss` is i / 2."""
        for iteration in range(first, last + 1):
            sink.log(iteration, 100 * iteration, {"loss": iteration / 2})

    def test_is_a_sink(self) -> None:
        sink = self.make_sink()
        assert isinstance(sink, Sink)
        assert isinstance(sink.name, str) and sink.name

    def test_every_number_shows_at_its_step(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        sink.log(1, 2048, {"return_mean": 12.5, "kl_exact": np.float32(0.25), "episodes": 3, "stopped": True})
        sink.log(2, 4096, {"return_mean": -1.0, "kl_exact": 0.5, "episodes": np.int64(4), "stopped": False})
        sink.close()
        points = self.points(run)
        assert points["return_mean"] == [(2048, 12.5), (4096, -1.0)]
        assert points["kl_exact"] == [(2048, 0.25), (4096, 0.5)]
        assert points["episodes"] == [(2048, 3.0), (4096, 4.0)]
        assert points["stopped"] == [(2048, 1.0), (4096, 0.0)]

    def test_missing_values_leave_no_point(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        sink.log(1, 100, {"return_mean": None, "loss": 0.5})
        sink.log(2, 200, {"return_mean": 3.0})
        sink.close()
        points = self.points(run)
        assert points["return_mean"] == [(200, 3.0)]
        assert points["loss"] == [(100, 0.5)]

    def test_text_and_non_finite_numbers_are_survived(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        sink.log(1, 100, {"note": "diverged", "loss": math.nan, "norm": math.inf, "good": 1.0})
        sink.close()
        assert self.points(run)["good"] == [(100, 1.0)]

    def test_resuming_shows_each_step_once(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        self.feed(sink, 1, 5)
        sink.close()
        # Killed in iteration 6, with its last checkpoint after iteration 3; then once more, before any new
        # one.
        for last in (4, 8):
            sink = self.make_sink()
            sink.open(run, CONFIG, 300)
            self.feed(sink, 4, last)
            sink.close()
        assert sorted(self.points(run)["loss"]) == [(100 * i, i / 2) for i in range(1, 9)]

    def test_starting_over_shows_each_step_once(self, tmp_path: Path) -> None:
        run = self.make_run(tmp_path)
        # Killed before the first checkpoint: training starts from the beginning in the same folder.
        for last in (2, 3):
            sink = self.make_sink()
            sink.open(run, CONFIG, None)
            self.feed(sink, 1, last)
            sink.close()
        assert sorted(self.points(run)["loss"]) == [(100, 0.5), (200, 1.0), (300, 1.5)]

    def test_a_metric_may_appear_late(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        self.feed(sink, 1, 2)
        sink.close()
        sink = self.make_sink()
        sink.open(run, CONFIG, 200)
        sink.log(3, 300, {"loss": 1.5, "return_mean": 4.0})
        sink.close()
        points = self.points(run)
        assert points["return_mean"] == [(300, 4.0)]
        assert sorted(points["loss"]) == [(100, 0.5), (200, 1.0), (300, 1.5)]

    def test_runs_side_by_side_do_not_mix(self, tmp_path: Path) -> None:
        runs = [self.make_run(tmp_path, name) for name in ("first", "second")]
        sinks = [self.make_sink() for _ in runs]
        for run, sink in zip(runs, sinks, strict=True):
            sink.open(run, CONFIG, None)
        for value, sink in enumerate(sinks):
            sink.log(1, 100, {"loss": float(value)})
        for sink in sinks:
            sink.close()
        assert [self.points(run)["loss"] for run in runs] == [[(100, 0.0)], [(100, 1.0)]]

    def test_arguments_are_left_alone(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        config, metrics = dict(CONFIG), {"loss": 0.5, "return_mean": None}
        sink.open(run, config, None)
        sink.log(1, 100, metrics)
        sink.close()
        assert config == CONFIG
        assert metrics == {"loss": 0.5, "return_mean": None}

    def test_closing_twice_is_harmless(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        self.feed(sink, 1, 1)
        sink.close()
        sink.close()
        assert self.points(run)["loss"] == [(100, 0.5)]

    def test_an_object_can_serve_one_run_after_another(self, tmp_path: Path) -> None:
        sink = self.make_sink()
        runs = [self.make_run(tmp_path, name) for name in ("first", "second")]
        for run in runs:
            sink.open(run, CONFIG, None)
            self.feed(sink, 1, 2)
            sink.close()
        assert [self.points(run)["loss"] for run in runs] == [[(100, 0.5), (200, 1.0)]] * 2
