"""How XLA is started and programs are compiled: threads, options, the cache on disk. No equation and no loop here."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax

CPU_OPTIONS: dict[str, Any] = {"xla_backend_optimization_level": 1}
"""Save a fifth of the time XLA takes to compile for a CPU; the programs run as fast."""


CACHED_PROGRAMS = 64
"""How many compiled programs are kept on disk, some hundred kilobytes each."""


def cache_folder() -> Path:
    """Where compiled programs are kept between runs: one folder for each kind of processor, since they are its code."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        facts = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        facts = platform.processor()
    kind = hashlib.sha256(f"{platform.machine()} {facts}".encode()).hexdigest()[:12]
    return base / "minutiae" / "xla" / kind


def prune_cache(folder: Path) -> list[Path]:
    """Remove cached programs that a killed process left cut short, and all but the newest; returns what was removed.

    JAX writes its cache in place and never replaces an entry, so a damaged one would warn at every start to come.
    """
    removed = []
    with contextlib.suppress(OSError):  # another process may prune at the same time
        newest_first = sorted(folder.glob("*-cache"), key=lambda path: path.stat().st_mtime, reverse=True)
        for rank, path in enumerate(newest_first):
            if rank >= CACHED_PROGRAMS or not _complete(path.read_bytes()):
                path.unlink()
                removed.append(path)
    return removed


def _complete(entry: bytes) -> bool:
    """Whether a cache entry is whole. JAX compresses by zlib; another format is not ours to judge."""
    if not entry.startswith(b"\x78"):
        return bool(entry)
    decompressor = zlib.decompressobj()
    try:
        decompressor.decompress(entry)
    except zlib.error:
        return False
    return decompressor.eof


@lru_cache(maxsize=1)
def start_jax() -> str:
    """Start JAX for this process and return its platform: `cpu`, `gpu` or `tpu`. Repeated calls do nothing.

    On a CPU the backend gets one thread: with two cores in sight it has been seen to deadlock in vmapped training
    programs, and parallelism is had more cheaply from more processes. The backend sizes its pools by the cores it sees,
    so it is shown one while it starts; afterwards every thread may run on any core again, where a busy neighbour leaves
    room.
    """
    before = _threads()
    allowed = _show_one_core()
    try:
        chosen = str(jax.devices()[0].platform)
    finally:
        if allowed is not None:
            for thread in {0, *(_threads() - before)}:
                with contextlib.suppress(OSError):  # a thread may have ended meanwhile
                    os.sched_setaffinity(thread, allowed)
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ and chosen == "cpu":
        prune_cache(cache_folder())
        jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 1.0)
    return chosen


def _threads() -> set[int]:
    """The numbers of this process's threads, where the system lists them."""
    try:
        return {int(name) for name in os.listdir("/proc/self/task")}
    except OSError:
        return set()


def _show_one_core() -> set[int] | None:
    """Confine this thread, and those it starts, to one core; returns the cores it had, `None` where unsupported."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    return allowed


def compile_now(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any]:
    """`function` compiled for arguments of these shapes, with this platform's options where this JAX knows them."""
    lowered = jax.jit(function).lower(*arguments)
    if start_jax() != "cpu":
        return lowered.compile()
    try:
        return lowered.compile(compiler_options=CPU_OPTIONS)
    except Exception as error:  # jaxlib raises a bare RuntimeError subclass of its own for an unknown option
        if "option" not in str(error).lower():
            raise
        return lowered.compile()


_compiler = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compile")
_programs: dict[Any, Future[Callable[..., Any]]] = {}


def compile_in_background(
    key: Any, function: Callable[..., Any], arguments: Sequence[Any]
) -> Future[Callable[..., Any]]:
    """Compile while the caller goes on; one program for each `key` and shapes, kept for the life of the process."""
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tuple(arguments))
    leaves, tree = jax.tree.flatten(shapes)
    whole = (key, tree, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves))
    if whole not in _programs:
        _programs[whole] = _compiler.submit(compile_now, function, shapes)
    return _programs[whole]
