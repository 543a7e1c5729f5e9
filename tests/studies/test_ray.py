"""A study on a real Ray cluster of several nodes: one is killed in mid-study, and nothing is lost or done twice."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_studies import small_study

from minutiae.cli.main import main
from minutiae.control.progress import Progress
from minutiae.errors import ConfigError, MinutiaeError
from minutiae.studies import dispatch
from minutiae.studies.execution import in_this_process, run_study
from minutiae.studies.on_ray import address_of
from minutiae.studies.results import StudyResults
from minutiae.studies.store import Store
from minutiae.studies.study_file import study_to_toml
from small_runs import SEGMENT, assert_same_bits

PATIENCE = 240.0

with_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs minutiae[ray]")


@pytest.fixture(scope="module")
def ray_folder() -> Iterator[Path]:
    """Where Ray keeps its sessions: a short path, because its sockets lie there."""
    folder = tempfile.mkdtemp(prefix="mray", dir="/tmp")
    yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def surroundings(ray_folder: Path, elsewhere: dict[str, str]) -> Iterator[dict[str, str]]:
    """The variables of processes that use Ray: silent to the outside, without a token in the user's home."""
    ours = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",
        "RAY_TMPDIR": str(ray_folder),
        "TMPDIR": str(ray_folder),
        "PYTHONPATH": elsewhere["PYTHONPATH"],
        "JAX_COMPILATION_CACHE_DIR": elsewhere["JAX_COMPILATION_CACHE_DIR"],
        "QUICK_COMPILATION": "1",
        # Steps that take a while, so that the two nodes are at work together.
        "PROBE_DELAY": "0.005",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        for name, value in ours.items():
            patch.setenv(name, value)
        yield dict(os.environ)


class Nodes:
    """A cluster of a head that trains nothing and of nodes with one core each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self._nodes = [self._cluster.add_node(num_cpus=1) for _ in range(2)]

    @property
    def place(self) -> str:
        return f"ray:{self._cluster.address}"

    def kill(self) -> None:
        """End one node and all that runs on it, without a farewell."""
        self._cluster.remove_node(self._nodes.pop(), allow_graceful=False)

    def shutdown(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def nodes(surroundings: dict[str, str]) -> Iterator[Nodes]:
    cluster = Nodes()
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def undisturbed(quick_compilation: None, tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """The same study on this machine."""
    return run_study(small_study(), tmp_path_factory.mktemp("studies") / "whole", executor=in_this_process)


def assert_same_study(mine: StudyResults, reference: StudyResults) -> None:
    assert mine.frame().equals(reference.frame())
    for run in reference.frame()["run_id"]:
        assert_same_bits(mine.path / "runs" / run, reference.path / "runs" / run)


def has_checkpoint(progress: Progress) -> bool:
    return progress.iteration > SEGMENT


def has_ended(progress: Progress) -> bool:
    return progress.status == "finished"


@with_ray
def test_a_node_killed_in_mid_study_loses_nothing_and_repeats_nothing(
    nodes: Nodes, undisturbed: StudyResults, tmp_path: Path
) -> None:
    heard: list[Progress] = []
    said: list[str] = []
    killed: list[int] = []
    store = Store(tmp_path / "study", small_study())

    def listen(progress: Progress) -> None:
        heard.append(progress)
        # Both nodes have a population of which a checkpoint came back, and its end did not.
        known = {one.run for one in heard if one.iteration >= 3} - {
            one.run for one in heard if one.status == "finished"
        }
        if not killed and sum(bool(known & set(task.runs)) for task in store.tasks()) == 2:
            killed.append(len(heard))
            nodes.kill()

    results = run_study(small_study(), tmp_path / "study", on=nodes.place, listener=listen, say=said.append)
    assert said == [f"Ray cluster: {nodes.place.removeprefix('ray:')} (3 nodes, 2 cores)"]
    assert_same_study(results, undisturbed)
    ends = Counter(one.run for one in heard if one.status == "finished")
    assert set(ends) == set(results.frame()["run_id"]) and set(ends.values()) == {1}
    # Ray may send one more to the node before it notes that it is gone, and that one begins anew.
    again = {one.run for one in heard if one.status == "retrying"}
    assert len(again) < 8
    gone_on = {one.run for one in heard if (one.message or "").startswith("goes on from step")}
    assert gone_on <= again
    assert gone_on in [set(task.runs) for task in store.tasks()]
    assert not list((results.path / "claims").glob("[!.]*"))


@with_ray
def test_what_ends_its_process_wherever_it_is_sent_is_a_noted_failure(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "RETRIES", 1)
    monkeypatch.setattr(dispatch, "PAUSE_SECONDS", 0.0)
    study = small_study(
        environments=["training_probes:parricide"], factors={"discount": [0.9, 0.99]}, seeds=1, population=1
    )
    heard: list[Progress] = []
    frame = run_study(study, tmp_path / "study", on=nodes.place, listener=heard.append).frame()
    assert frame["status"].to_list() == ["failed"] * 2
    for run, reason in frame.select("run_id", "reason").iter_rows():
        assert reason.startswith(f"the worker of {run} was lost 2 times in a row, the last time because its ")
        assert [one.status for one in heard if one.run == run] == ["retrying"]


@with_ray
def test_a_cluster_of_its_own_is_interrupted_by_ctrl_c_and_leaves_no_process(
    surroundings: dict[str, str], undisturbed: StudyResults, tmp_path: Path, ray_folder: Path
) -> None:
    (own := ray_folder / "own").mkdir()
    (tmp_path / "study.toml").write_text(study_to_toml(small_study()))
    command = [sys.executable, "-m", "minutiae", "study", "run", str(tmp_path / "study.toml"), "--out", str(tmp_path)]
    process = subprocess.Popen(
        [*command, "--name", "study", "--on", "ray", "--workers", "1"],
        env={**surroundings, "PROBE_DELAY": "0.01", "RAY_TMPDIR": str(own), "TMPDIR": str(own)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: bool(list(tmp_path.glob("study/runs/*/checkpoint/*"))) or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "Ray cluster: a new one of this machine (1 node, 1 core)" in output
    assert errors.splitlines()[-1] == f"minutiae: interrupted; go on with: minutiae study run {tmp_path / 'study'}"
    wait_for(lambda: not of_family(own))
    assert not list(own.glob("minutiae-outpost-*"))
    assert not list((tmp_path / "study" / "claims").glob("[!.]*"))
    assert_same_study(run_study(small_study(), tmp_path / "study", executor=in_this_process), undisturbed)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def of_family(folder: Path) -> list[str]:
    """The processes that still run of those that were started with this folder for Ray."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"RAY_TMPDIR={folder}\0".encode() in entry.read_bytes():
                found.append((entry.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("on", "address"),
    [
        ("ray", None),
        ("ray:10.0.0.7:6379", "10.0.0.7:6379"),
        ("ray:head.cluster:6379", "head.cluster:6379"),
        ("ray://10.0.0.7:10001", "ray://10.0.0.7:10001"),
    ],
)
def test_places(on: str, address: str | None) -> None:
    assert address_of(on) == address


@pytest.mark.parametrize("on", ["rey", "ray:", "ray:head", "ray://head", "ray:/x:1", "slurm", "", "ray:a:b"])
def test_no_places(on: str) -> None:
    with pytest.raises(ConfigError, match=r"^unknown place to train '.*allowed: local, ray, ray:HOST:PORT, ray://"):
        address_of(on)


def test_ray_where_it_is_not_installed(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "s.toml").write_text(study_to_toml(small_study()))
    assert main(["study", "run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out"), "--on", "ray"]) == 2
    assert capsys.readouterr().err == (
        "minutiae: training on Ray needs a package; install it with \"pip install 'minutiae[ray]'\"\n"
    )
    assert not (tmp_path / "out").exists()


@with_ray
@pytest.mark.parametrize("place", ["ray:127.0.0.1:1", "ray://127.0.0.1:1", "ray"])
def test_a_cluster_that_is_not_there_is_told_at_once(place: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(MinutiaeError) as caught:
        run_study(small_study(), tmp_path / "study", on=place)
    address = "127.0.0.1:1" if place == "ray" else place.removeprefix("ray:") if "//" not in place else place
    assert str(caught.value) == (
        f"no Ray cluster answers at {address}; check the address, and that 'ray start' has run there"
    )
    assert not (tmp_path / "study").exists()


def test_a_study_over_a_command_stays_on_this_machine(tmp_path: Path) -> None:
    factors = {"lr": [0.1, 0.2]}
    study = small_study(factors=factors, base={}, population=None, command="true {lr} {seed}", results="x.json")
    with pytest.raises(ConfigError, match=r"^a study over a command is trained on this machine.*leave out --on; "):
        run_study(study, tmp_path / "study", on="ray")
    assert not (tmp_path / "study").exists()
