"""The Ray cluster that a study is trained on: found, or started for it. What is sent there is in `dispatch`."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minutiae.control.progress import Listener
from minutiae.control.workers import worker_count
from minutiae.errors import ConfigError, MinutiaeError, RunError, unknown
from minutiae.studies.claims import Claims
from minutiae.studies.dispatch import Dispatch
from minutiae.studies.execution import Executor
from minutiae.studies.outpost import remove_scratch
from minutiae.studies.store import Store, Task

ANSWER_SECONDS = 5.0
"""How long a cluster may take to accept a connection."""

_QUIET: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}


@dataclass(frozen=True)
class Cluster:
    """A connected Ray cluster.

    Attributes:
        where: the cluster in words.
        execute: trains tasks there; see `Executor`.
    """

    where: str
    execute: Executor


def address_of(on: str) -> str | None:
    """The address in `ray`, `ray:HOST:PORT` or `ray://HOST:PORT`; `None` is whichever cluster is found, or a new one.

    Raises:
        ConfigError: it is none of these.
    """
    if on == "ray":
        return None
    match = re.fullmatch(r"ray:((?://)?[^/]+:[0-9]+)", on)
    if match is None:
        raise ConfigError(unknown("place to train", on, ["local", "ray", "ray:HOST:PORT", "ray://HOST:PORT"]))
    return on if match[1].startswith("//") else match[1]


@contextlib.contextmanager
def on_ray(address: str | None = None, workers: int | None = None) -> Iterator[Cluster]:
    """Connect to a Ray cluster, or start one of this machine, for the time of the context.

    with on_ray() as cluster:
        run_study(study, folder, executor=cluster.execute)

    Args:
        address: `HOST:PORT` of a cluster's head, or `ray://HOST:PORT` of its client server. `None` is the cluster this
            process is connected to, else that of `RAY_ADDRESS`, else that of `ray start` on this machine, else a new
            one.
        workers: populations at a time, at least 1; `None` is one for each core of the cluster, also as it grows.

    Raises:
        MinutiaeError: Ray is not installed, or no cluster answers at the address.
    """
    try:
        import ray
    except ImportError as error:
        raise MinutiaeError(
            "training on Ray needs a package; install it with \"pip install 'minutiae[ray]'\""
        ) from error
    if ray.is_initialized():
        yield _cluster(ray, workers, "the one this process is connected to")
        return
    known = address or os.environ.get("RAY_ADDRESS", "auto")
    here = _running_here() if known == "auto" else None
    own = known == "local" or (known == "auto" and here is None)
    try:
        if own:
            ray.init(address="local", num_cpus=worker_count(workers), include_dashboard=False, **_QUIET)
        else:
            _connect(ray, known)
        yield _cluster(ray, workers, "a new one of this machine" if own else here or known)
    finally:
        ray.shutdown()
        if own:
            remove_scratch()


def _connect(ray: Any, address: str) -> None:
    # Asked first, because Ray itself waits for minutes where nobody answers.
    if not _answers(address):
        raise RunError(f"no Ray cluster answers at {address}; check the address, and that 'ray start' has run there")
    try:
        ray.init(address=address, **_QUIET)
    except Exception as error:  # one of Python's or of Ray's own, by what is wrong
        raise RunError(
            f"the Ray cluster at {address} refuses: {_first_line(error)}; check that Python and Ray have the same "
            "version there, and set RAY_AUTH_MODE=token if it asks for a token"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


def _running_here() -> str | None:
    """The address of the cluster that `ray start` has last started or joined on this machine, if it still answers.

    Ray's own search also finds clusters that belong to another process and end with it.
    """
    for folder in filter(None, (os.environ.get("RAY_TMPDIR"), os.environ.get("TMPDIR"), "/tmp")):
        with contextlib.suppress(OSError):
            address = Path(folder, "ray", "ray_current_cluster").read_text().strip()
            return address if _answers(address) else None
    return None


def _answers(address: str) -> bool:
    """Whether something listens at the host and port of an address; true where it names no port."""
    match = re.fullmatch(r"(?:\w+://)?\[?([^/]+?)\]?:([0-9]+)", address)
    if match is None:
        return True
    try:
        with socket.create_connection((match[1], int(match[2])), timeout=ANSWER_SECONDS):
            return True
    except (OSError, OverflowError):
        return False


def _cluster(ray: Any, workers: int | None, found: str) -> Cluster:
    def count() -> int:
        return workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def execute(store: Store, tasks: Sequence[Task], claims: Claims, listener: Listener) -> None:
        try:
            Dispatch(ray, store, tasks, claims, listener, count).train()
        except (ConnectionError, ray.exceptions.RayError) as error:
            raise RunError(
                f"the Ray cluster was lost: {_first_line(error)}; what came back is kept, run the same again to go on"
            ) from error

    nodes = [node for node in ray.nodes() if node["Alive"]]
    cores = int(sum(node["Resources"].get("CPU", 0) for node in nodes))
    size = f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}, {cores} {'core' if cores == 1 else 'cores'}"
    return Cluster(f"Ray cluster: {found} ({size})", execute)
