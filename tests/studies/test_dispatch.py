"""Tasks sent to a cluster: what comes back is kept, what is lost is given again with patience. Needs no Ray."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_studies import small_study

from minutiae.control.progress import Progress
from minutiae.control.workers import RETRIES
from minutiae.errors import RunError
from minutiae.runs.lock import exclusive
from minutiae.runs.mirror import Changes, Piece
from minutiae.studies import dispatch, on_ray, outpost
from minutiae.studies.dispatch import Dispatch
from minutiae.studies.execution import in_this_process, run_study
from minutiae.studies.outpost import Message, Outpost, Surroundings, scratch_folder, surroundings
from minutiae.studies.results import StudyResults
from minutiae.studies.store import Store, Task
from small_runs import assert_same_bits


class RayError(Exception):
    """As Ray's own: several lines, the last of which says what happened."""


LOST = RayError("The actor died.\n\tclass_name: Outpost\nThe actor is dead because its node has died. Node Id: f00")


@dataclass(eq=False)
class Reference:
    """What a call gave."""

    value: Any
    error: Exception | None


class FakeRay:
    """As much of Ray as is used, in this process: every call is over when it returns.

    Attributes:
        most: actors that were alive at once, at most.
    """

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, kind: type) -> None:
        self._kind, self._actors, self.most = kind, list[Any](), 0

    @property
    def alive(self) -> int:
        """Actors that were not killed."""
        return len(self._actors)

    def remote(self, **options: Any) -> Callable[[type], Any]:
        assert options == {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}
        return lambda _: SimpleNamespace(remote=self._actor)

    def _actor(self) -> Any:
        actor = self._kind()

        def call(name: str) -> Any:
            def remote(*arguments: Any) -> Any:
                try:
                    value, error = getattr(actor, name)(*arguments), None
                except RayError as raised:
                    value, error = None, raised
                return Reference(value, error) if name == "hear" else None

            return SimpleNamespace(remote=remote)

        self._actors.append(SimpleNamespace(start=call("start"), hear=call("hear")))
        self.most = max(self.most, self.alive)
        return self._actors[-1]

    def wait(self, references: Sequence[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return list(references[:1]), list(references[1:])

    def get(self, reference: Any) -> Any:
        if reference.error is not None:
            raise reference.error
        return reference.value

    def kill(self, actor: Any) -> None:
        self._actors = [one for one in self._actors if one is not actor]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lost tasks be given again at once."""
    monkeypatch.setattr(dispatch, "PAUSE_SECONDS", 0.0)


Script = Callable[[Sequence[str], int], list[Any]]
"""What an outpost says of these runs, call by call, when they were begun so often before: messages, or an error."""


def scripted(script: Script) -> type:
    """A kind of outpost that trains nothing and says what `script` says."""
    begun: Counter[tuple[str, ...]] = Counter()

    class Scripted:
        def start(self, runs: tuple[str, ...], files: Changes, asked: Surroundings) -> None:
            self._left = script(runs, begun[runs])
            begun[runs] += 1

        def hear(self) -> list[Message]:
            said = self._left.pop(0)
            if isinstance(said, Exception):
                raise said
            return list(said)

    return Scripted


def progress(run: str, iteration: int, status: Any = "training") -> Message:
    return Message("progress", Progress(run, Path("/far/away") / run, iteration, 6, 0, 0, None, status))


def ends(runs: Sequence[str]) -> list[Message]:
    """What an outpost says of runs that it trained."""
    result = b'{"format": 1, "status": "finished", "reasons": [], "summary": {"final_return": 1.0}}'
    pieces = tuple(Piece(run, "result.json", 0, result) for run in runs)
    return [
        Message("changes", Changes(pieces)),
        *(progress(run, 6, "finished") for run in runs),
        Message("ended", None),
    ]


def run_scripted(
    folder: Path, script: Script, count: int = 2, **changes: Any
) -> tuple[StudyResults, list[Progress], FakeRay]:
    """A study whose outposts do what `script` says for each start of a task."""
    ray, heard = FakeRay(scripted(script)), list[Progress]()

    def execute(store: Store, tasks: Sequence[Task], claims: Any, listener: Any) -> None:
        Dispatch(ray, store, tasks, claims, listener, lambda: count).train()

    results = run_study(small_study(**changes), folder, executor=execute, listener=heard.append)
    assert ray.alive == 0
    assert not list((folder / "claims").glob("[!.]*"))
    return results, heard, ray


def test_everything_that_comes_back_is_kept_and_told_as_of_here(tmp_path: Path) -> None:
    results, heard, ray = run_scripted(tmp_path, lambda runs, _: [[progress(runs[0], 1)], ends(runs)])
    assert set(results.frame()["status"]) == {"finished"}
    assert {one.path for one in heard} == {tmp_path / "runs" / run for run in results.frame()["run_id"]}
    assert sum(one.status == "finished" for one in heard) == 8
    assert ray.most == 2


def test_a_lost_task_is_given_again_and_the_others_do_not_notice(tmp_path: Path) -> None:
    def script(runs: Sequence[str], before: int) -> list[Any]:
        return [[progress(runs[0], 1)], LOST] if before == 0 and len(runs) == 2 else [ends(runs)]

    results, heard, _ = run_scripted(tmp_path, script)
    assert set(results.frame()["status"]) == {"finished"}
    again = [one for one in heard if one.status == "retrying"]
    assert len(again) == 2
    assert {one.message for one in again} == {"its worker was lost because its node has died"}
    assert [one.run for one in again] == results.frame()["run_id"].to_list()[-2:]


def test_what_is_always_lost_at_the_same_place_fails(tmp_path: Path) -> None:
    study = small_study()
    bad = study.first_runs()[4].id

    def script(runs: Sequence[str], before: int) -> list[Any]:
        return [[progress(runs[0], 2)], LOST] if bad in runs else [ends(runs)]

    results, heard, _ = run_scripted(tmp_path, script)
    frame = results.frame()
    assert frame["status"].to_list() == ["finished"] * 4 + ["failed"] + ["finished"] * 3
    assert frame["reason"][4] == (
        f"the worker of {bad} was lost 3 times in a row, the last time because its node has died"
    )
    # First with the two of its population, then alone.
    assert sum(one.status == "retrying" for one in heard) == RETRIES * 3 + RETRIES


def test_a_lost_task_rests_before_it_is_given_again_and_others_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, begun = [0.0], list[tuple[float, str]]()

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    monkeypatch.setattr(dispatch, "PAUSE_SECONDS", 5.0)
    first = small_study().first_runs()[0].id

    def script(runs: Sequence[str], before: int) -> list[Any]:
        begun.append((clock[0], runs[0]))
        return [LOST] if runs[0] == first and before < 2 else [ends(runs)]

    run_scripted(tmp_path, script, count=1)
    others = [small_study().first_runs()[number].id for number in (3, 6)]
    assert begun == [(0.0, first), *((0.0, run) for run in others), (5.0, first), (15.0, first)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (str(LOST), "its node has died"),
        ("The actor died.\nThe actor is dead because its worker process has died. Worker exit", "its process has died"),
        ("The runtime is not there.\n\n  No space left on the device. See the log. ", "No space left on the device"),
        ("", "RayError"),
    ],
)
def test_ray_in_words(text: str, words: str) -> None:
    assert dispatch._in_words(RayError(text)) == words
    unavailable = type("ActorUnavailableError", (RayError,), {})
    assert dispatch._in_words(unavailable("The actor 91 is unavailable: x")) == "its node no longer answers"


def test_a_task_that_gets_on_between_its_losses_never_fails(tmp_path: Path) -> None:
    def script(runs: Sequence[str], before: int) -> list[Any]:
        return [[progress(runs[0], before)], LOST] if before < 20 else [ends(runs)]

    results, _, _ = run_scripted(tmp_path, script, seeds=1)
    assert set(results.frame()["status"]) == {"finished"}


def test_a_node_where_nothing_can_be_trained_ends_the_study(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^the node n7 has jax 0\.1 and this machine 0\.10; install"):
        run_scripted(
            tmp_path / "a", lambda *_: [[Message("refused", "the node n7 has jax 0.1 and this machine 0.10; install")]]
        )
    absent = RayError("The actor died because of an error in its creation\nModuleNotFoundError: No module named 'm'")
    absent.actor_init_failed = True  # type: ignore[attr-defined]
    with pytest.raises(RunError) as caught:
        run_scripted(tmp_path / "b", lambda *_: [absent])
    assert str(caught.value) == (
        "a node of the cluster has no minutiae to begin with: ModuleNotFoundError: No module named 'm'; install on "
        "every node what this machine has"
    )
    for name in "ab":
        assert not list((tmp_path / name / "claims").glob("[!.]*"))
        assert not (tmp_path / name / "failures").exists()


def test_what_cannot_be_kept_here_is_a_failure_of_its_task_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, put = small_study().first_runs()[0].id, dispatch.put

    def full(folder: Path, changes: Changes) -> None:
        if any(piece.run == bad for piece in changes.pieces):
            raise RunError("cannot write here: the disk is full; make room")
        put(folder, changes)

    monkeypatch.setattr(dispatch, "put", full)
    frame = run_scripted(tmp_path, lambda runs, _: [ends(runs)])[0].frame()
    assert frame["status"].to_list() == ["failed"] + ["finished"] * 7
    assert frame["reason"][0] == "cannot write here: the disk is full; make room"


def test_runs_are_locked_here_while_they_are_away(tmp_path: Path) -> None:
    def script(runs: Sequence[str], _: int) -> list[Any]:
        with pytest.raises(RunError, match="another process is training"), exclusive([tmp_path / "runs" / runs[0]]):
            pass
        return [ends(runs)]

    results, _, _ = run_scripted(tmp_path, script)
    with exclusive([tmp_path / "runs" / run for run in results.frame()["run_id"]]):
        pass


@pytest.mark.parametrize("during", ["progress", "get"])
def test_an_interrupt_ends_what_is_away(during: str, tmp_path: Path) -> None:
    ray = FakeRay(scripted(lambda runs, _: [[progress(runs[0], 1)]]))

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    if during == "get":
        ray.get = interrupt  # type: ignore[method-assign]

    def execute(store: Store, tasks: Sequence[Task], claims: Any, listener: Any) -> None:
        Dispatch(ray, store, tasks, claims, listener, lambda: 2).train()

    with pytest.raises(KeyboardInterrupt):
        run_study(small_study(), tmp_path, executor=execute, listener=interrupt)
    assert (ray.alive, ray.most) == (0, 2)
    assert not list((tmp_path / "claims").glob("[!.]*"))


def test_a_cluster_that_is_lost_ends_the_study_in_one_line(tmp_path: Path) -> None:
    def broken(references: Sequence[Any], timeout: float) -> Any:
        raise ConnectionError("the head is gone\nand more")

    ray: Any = FakeRay(scripted(lambda runs, _: [ends(runs)]))
    ray.wait = broken
    ray.nodes = lambda: [{"Alive": True, "Resources": {"CPU": 3.0}}, {"Alive": False, "Resources": {"CPU": 5.0}}]
    cluster = on_ray._cluster(ray, 2, "10.0.0.7:6379")
    assert cluster.where == "Ray cluster: 10.0.0.7:6379 (1 node, 3 cores)"
    with pytest.raises(RunError) as caught:
        run_study(small_study(), tmp_path, executor=cluster.execute)
    assert str(caught.value) == (
        "the Ray cluster was lost: the head is gone; what came back is kept, run the same again to go on"
    )
    assert (ray.alive, ray.most) == (0, 2)
    assert not list((tmp_path / "claims").glob("[!.]*"))


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elsewhere: dict[str, str]) -> Path:
    """The folder in which outposts of this process make theirs; their trainers compile quickly."""
    monkeypatch.setattr(outpost.tempfile, "tempdir", str(tmp_path))
    for name in ("JAX_COMPILATION_CACHE_DIR", "QUICK_COMPILATION"):
        monkeypatch.setenv(name, elsewhere[name])
    return tmp_path


def test_an_outpost_goes_on_from_what_came_back_of_a_lost_one(
    scratch: Path, quick_compilation: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = [LOST]

    class Lossy(Outpost):
        def hear(self) -> list[Message]:
            said = super().hear()
            if losses and any(one.kind == "changes" for one in said):
                losses.pop()
                # Only what was heard until its first checkpoint came.
                kept = next(number for number, one in enumerate(said) if one.kind == "changes")
                self.hear = lambda: (_ for _ in ()).throw(LOST)  # type: ignore[method-assign]
                return said[: kept + 1]
            return said

    study = small_study(seeds=1, population=4)
    heard: list[Progress] = []
    ray = FakeRay(Lossy)

    def execute(store: Store, tasks: Sequence[Task], claims: Any, listener: Any) -> None:
        Dispatch(ray, store, tasks, claims, listener, lambda: 1).train()

    results = run_study(study, scratch / "study", executor=execute, listener=heard.append)
    reference = run_study(study, scratch / "whole", executor=in_this_process)
    assert results.frame().equals(reference.frame())
    for run in reference.frame()["run_id"]:
        assert_same_bits(results.path / "runs" / run, reference.path / "runs" / run)
    assert sum(one.status == "finished" for one in heard) == 4
    starts = [one.message for one in heard if one.status == "starting" and one.message is not None]
    assert [message.startswith("goes on from step") for message in starts] == [False] * 4 + [True] * 4
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.name.startswith("Thread"):
            thread.join(60.0)  # of an outpost that nobody hears any more
    assert not list(scratch.glob("minutiae-outpost-*"))


def test_an_outpost_refuses_other_versions_and_takes_over_where_modules_are(tmp_path: Path) -> None:
    here = surroundings()
    assert here.versions["minutiae"] and str(Path(__file__).parent) in here.paths
    other = here._replace(versions={**here.versions, "jax": "0.0.1"})
    station = Outpost()
    station.start(["a"], Changes(()), other)
    (message,) = station.hear()
    assert message.kind == "refused"
    assert f"has jax {here.versions['jax']} and this machine 0.0.1; the runs of a study are compared" in message.content


def test_variables_that_decide_a_program_travel_and_the_place_of_programs_does_not(monkeypatch: Any) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=1")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/mine")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("HOME", "/root")
    found = surroundings().variables
    assert found["XLA_FLAGS"] == "--xla_force_host_platform_device_count=1"
    assert found["JAX_PLATFORMS"] == "cpu"
    assert not found.keys() & {"JAX_COMPILATION_CACHE_DIR", "HOME"}


def test_what_a_killed_outpost_left_is_removed_and_what_is_in_use_stays(scratch: Path) -> None:
    (dead := scratch / "minutiae-outpost-4194999-x").mkdir()
    (dead / "checkpoint").write_text("of a process that is no more")
    with scratch_folder() as first, scratch_folder() as second:
        assert first.is_dir() and second.is_dir() and first != second
        assert not dead.exists()
    assert not list(scratch.glob("minutiae-outpost-*"))
