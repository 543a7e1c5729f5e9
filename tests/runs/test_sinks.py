"""Every sink passes the shipped contract, a failing service never ends a run, and no step shows twice."""

import errno
import os
import struct
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.record_writer import masked_crc32c

from minutiae.errors import ConfigError, MinutiaeError, RunError
from minutiae.runs import RunDirectory
from minutiae.runs.sinks import Sink, Sinks, make_sinks, save_sink_state, sink_state
from minutiae.runs.sinks.mlflow import MlflowSink
from minutiae.runs.sinks.tensorboard import TensorBoardSink
from minutiae.runs.sinks.testing import CONFIG, SinkContract
from minutiae.runs.sinks.wandb import WandbSink


def events(path: Path) -> list[Event]:
    """The records of one event file, checksums checked."""
    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        body = data[12 : 12 + length]
        assert struct.unpack("<I", data[8:12]) == (masked_crc32c(data[:8]),)
        assert struct.unpack("<I", data[12 + length : 16 + length]) == (masked_crc32c(body),)
        found.append(Event.FromString(body))
        data = data[16 + length :]
    return found


class TestTensorBoard(SinkContract):
    def make_sink(self) -> Sink:
        return TensorBoardSink()

    def points(self, run: RunDirectory) -> dict[str, list[tuple[int, float]]]:
        """As TensorBoard reads: files by name; a session start makes the steps from its own on void."""
        shown: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for path in sorted((run.path / "tensorboard").iterdir()):
            for event in events(path):
                if event.session_log.status == SessionLog.START:
                    for name in shown:
                        shown[name] = [point for point in shown[name] if point[0] < event.step]
                for value in event.summary.value:
                    if value.HasField("simple_value"):
                        shown[value.tag].append((event.step, value.simple_value))
        return shown

    def test_files_opened_in_one_second_are_all_kept_in_order(self, tmp_path: Path) -> None:
        run = self.make_run(tmp_path)
        for resume_from in (None, 100, 100):
            sink = self.make_sink()
            sink.open(run, CONFIG, resume_from)
            sink.close()
        names = sorted(os.listdir(run.path / "tensorboard"))
        assert len(names) == 3
        assert [event.file_version for name in names for event in events(run.path / "tensorboard" / name)][::2]
        starts = [event.step for name in names for event in events(run.path / "tensorboard" / name) if event.step]
        assert starts == [101, 101]

    def test_the_config_is_shown_once(self, tmp_path: Path) -> None:
        run = self.make_run(tmp_path)
        for resume_from in (None, 100):
            sink = self.make_sink()
            sink.open(run, CONFIG, resume_from)
            sink.close()
        texts = [
            value.tensor.string_val[0].decode()
            for name in os.listdir(run.path / "tensorboard")
            for event in events(run.path / "tensorboard" / name)
            for value in event.summary.value
        ]
        assert texts == ["".join(f"    {line}\n" for line in run.config_text.splitlines())]

    def test_points_are_on_disk_at_once(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        self.feed(sink, 1, 2)
        assert self.points(run)["loss"] == [(100, 0.5), (200, 1.0)]  # still open: a kill would lose nothing
        sink.close()

    def test_a_full_disk_is_told(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), TensorBoardSink()
        sink.open(run, CONFIG, None)
        sink.close()
        sink._file = open("/dev/full", "wb")  # noqa: SIM115
        with pytest.raises(RunError, match=r"^cannot write .*tfevents.*: the disk, quota or file-size limit is full"):
            sink.log(1, 100, {"loss": 0.5})

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        run = self.make_run(tmp_path)
        (run.path / "tensorboard").touch()
        with pytest.raises(RunError, match=f"^cannot write {run.path}/tensorboard: {os.strerror(errno.EEXIST)}; "):
            self.make_sink().open(run, CONFIG, None)


class TestWandb(SinkContract):
    """Against a stand-in that behaves as the service does online: it knows the last step of a run."""

    @pytest.fixture(autouse=True)
    def service(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server: dict[str, list[tuple[int, dict[str, float]]]] = defaultdict(list)
        self.started: list[dict[str, Any]] = []

        def init(**settings: Any) -> SimpleNamespace:
            self.started.append(settings)
            history = self.server[settings["id"]]
            first = history[-1][0] + 1 if history else 0

            def log(row: dict[str, float], step: int) -> None:
                assert not history or step > history[-1][0]  # else the service drops the row with a warning
                history.append((step, row))

            nothing = lambda *arguments, **options: None  # noqa: E731
            return SimpleNamespace(starting_step=first, log=log, define_metric=nothing, finish=nothing)

        module = ModuleType("wandb")
        module.init = init  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "wandb", module)

    def make_sink(self) -> Sink:
        return WandbSink()

    def points(self, run: RunDirectory) -> dict[str, list[tuple[int, float]]]:
        shown: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for _, row in self.server[sink_state(run, "wandb")["id"]]:
            for name, value in row.items():
                shown[name].append((int(row["step"]), value))
        return shown

    def test_settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WANDB_PROJECT", "mine")
        run, sink = self.make_run(tmp_path), self.make_sink()
        sink.open(run, CONFIG, None)
        (settings,) = self.started
        assert settings["project"] == "mine"
        assert settings["name"] == "run"
        assert settings["config"] == {**CONFIG, "seed": 7}
        assert settings["id"] == sink_state(run, "wandb")["id"]
        assert (settings["resume"], settings["reinit"]) == ("allow", "create_new")


class TestMlflow(SinkContract):
    """Against a stand-in for the server, which stores what it is sent, twice if it is sent twice."""

    @pytest.fixture(autouse=True)
    def server(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.experiments: dict[str, SimpleNamespace] = {}
        runs, experiments = self.runs, self.experiments

        class Metric(NamedTuple):
            key: str
            value: float
            timestamp: int
            step: int

        class Param(NamedTuple):
            key: str
            value: str

        class MlflowClient:
            def get_experiment_by_name(self, name: str) -> Any:
                return experiments.get(name)

            def create_experiment(self, name: str) -> str:
                experiments[name] = SimpleNamespace(experiment_id=f"experiment {name}")
                return experiments[name].experiment_id

            def create_run(self, experiment: str, run_name: str) -> Any:
                run_id = f"{experiment}, run {len(runs)}"
                runs[run_id] = {
                    "name": run_name,
                    "status": "RUNNING",
                    "metrics": defaultdict(list),
                    "params": {},
                }
                return SimpleNamespace(info=SimpleNamespace(run_id=run_id))

            def get_run(self, run_id: str) -> Any:
                last = {name: points[-1].value for name, points in runs[run_id]["metrics"].items()}
                return SimpleNamespace(data=SimpleNamespace(metrics=last))

            def get_metric_history(self, run_id: str, name: str) -> list[Metric]:
                return runs[run_id]["metrics"][name]

            def update_run(self, run_id: str, status: str) -> None:
                runs[run_id]["status"] = status

            def set_terminated(self, run_id: str) -> None:
                runs[run_id]["status"] = "FINISHED"

            def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
                assert len(metrics) <= 1000
                assert len(params) <= 100
                for metric in metrics:
                    runs[run_id]["metrics"][metric.key].append(metric)
                runs[run_id]["params"].update(params)

        module = ModuleType("mlflow")
        module.MlflowClient = MlflowClient  # type: ignore[attr-defined]
        module.entities = SimpleNamespace(Metric=Metric, Param=Param)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "mlflow", module)

    def make_sink(self) -> Sink:
        return MlflowSink()

    def points(self, run: RunDirectory) -> dict[str, list[tuple[int, float]]]:
        stored = self.runs[sink_state(run, "mlflow")["run_id"]]["metrics"]
        return {name: [(point.step, point.value) for point in points] for name, points in stored.items()}

    def test_parameters_and_status(self, tmp_path: Path) -> None:
        run, sink = self.make_run(tmp_path), self.make_sink()
        config = {f"detail_{number}": number for number in range(250)}
        sink.open(run, config, None)
        (stored,) = self.runs.values()
        assert stored["params"] == {**{name: str(level) for name, level in config.items()}, "seed": "7"}
        assert (stored["name"], stored["status"]) == ("run", "RUNNING")
        sink.close()
        assert stored["status"] == "FINISHED"
        sink.open(run, config, 100)
        assert stored["status"] == "RUNNING"
        assert len(self.runs) == 1
        assert list(self.experiments) == ["minutiae"]


class Remembering:
    """The smallest sink there is."""

    name = "mine"

    def __init__(self) -> None:
        self.told: list[Any] = []

    def open(self, run: RunDirectory, config: Any, resume_from: int | None) -> None:
        self.told.append("open")

    def log(self, iteration: int, step: int, metrics: Any) -> None:
        self.told.append(iteration)

    def close(self) -> None:
        self.told.append("close")


class Failing(Remembering):
    """Fails in the methods it is told to."""

    name = "failing"

    def __init__(self, *where: str, error: Exception | None = None) -> None:
        super().__init__()
        self.where, self.error = where, error or ConnectionError("server\n gone")

    def open(self, run: RunDirectory, config: Any, resume_from: int | None) -> None:
        if "open" in self.where:
            raise self.error

    def log(self, iteration: int, step: int, metrics: Any) -> None:
        if "log" in self.where:
            raise self.error

    def close(self) -> None:
        if "close" in self.where:
            raise self.error


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path / "run", "steps = 3\n", seed=0)


def test_a_failing_service_is_dropped_and_the_others_go_on(run: RunDirectory) -> None:
    mine = Remembering()
    sinks = Sinks([Failing("log"), mine, Failing("close")])
    sinks.open(run, {}, None)
    with pytest.warns(RuntimeWarning) as warned:
        sinks.log(1, 100, {})
        sinks.log(2, 200, {})
        sinks.close()
    assert [str(warning.message) for warning in warned] == [
        "the sink 'failing' failed at iteration 1 and gets no more points: server gone; "
        "the run's own files have every number",
        "the sink 'failing' could not be closed and may lack its last points: server gone; "
        "the run's own files have every number",
    ]
    assert mine.told == ["open", 1, 2, "close"]


def test_a_full_disk_is_not_held_back(run: RunDirectory) -> None:
    sinks = Sinks([Failing("log", error=RunError("cannot write"))])
    sinks.open(run, {}, None)
    with pytest.raises(RunError, match=r"^cannot write$"):
        sinks.log(1, 100, {})


def test_a_service_that_cannot_be_opened_stops_before_training(run: RunDirectory) -> None:
    mine = Remembering()
    with pytest.raises(MinutiaeError) as caught:
        Sinks([mine, Failing("open")]).open(run, {}, None)
    assert str(caught.value) == (
        "the sink 'failing' could not be opened: server gone; check its service and settings, or train without it"
    )
    assert mine.told == ["open", "close"]


def test_tensorboard_is_always_there() -> None:
    assert [sink.name for sink in make_sinks()] == ["tensorboard"]
    assert [sink.name for sink in make_sinks("tensorboard")] == ["tensorboard"]
    assert [sink.name for sink in make_sinks(["tensorboard", Remembering()])] == ["tensorboard", "mine"]
    assert isinstance(make_sinks(), Sink)


def test_several_runs_need_several_sinks() -> None:
    first, second = (list(make_sinks([Remembering], runs=2))[1] for _ in range(2))
    assert first is not second
    assert len(make_sinks([lambda: Remembering()], runs=2)) == 2
    with pytest.raises(ConfigError) as caught:
        make_sinks([Remembering()], runs=2)
    assert str(caught.value) == (
        "the sink object 'mine' serves one run and 2 are trained together; "
        "pass a function that makes one for each, such as sinks=[Remembering]"
    )


def test_what_is_no_sink() -> None:
    with pytest.raises(ConfigError) as caught:
        make_sinks(["wandbb"])
    assert str(caught.value) == (
        "unknown sink 'wandbb'; did you mean 'wandb'? allowed: tensorboard, wandb, mlflow; or pass a sink object"
    )
    for wrong in (3, dict, lambda: 3):
        with pytest.raises(
            ConfigError, match=r"is no sink; pass a name \(tensorboard, wandb, mlflow\), an object with"
        ):
            make_sinks([wrong])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_missing_package_is_named_before_training(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MinutiaeError) as caught:
        make_sinks([name])
    assert str(caught.value) == (
        f"the sink '{name}' needs a package; install it with \"pip install 'minutiae[{name}]'\""
    )


def test_remote_ids_are_kept_side_by_side(run: RunDirectory) -> None:
    assert sink_state(run, "wandb") == {}
    save_sink_state(run, "wandb", {"id": "a"})
    save_sink_state(run, "mlflow", {"run_id": "b"})
    assert (sink_state(run, "wandb"), sink_state(run, "mlflow")) == ({"id": "a"}, {"run_id": "b"})
    (run.path / "sinks.json").write_text("{")
    with pytest.raises(RunError, match=r"sinks.json is damaged: .*; delete it; the sinks then start new remote runs$"):
        sink_state(run, "wandb")
