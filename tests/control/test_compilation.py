"""How XLA is started and what is compiled: one thread for XLA, all cores for everyone else, no program twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minutiae.control import compilation
from minutiae.control.compilation import cache_folder, compile_in_background, compile_now

PROBE = """
import json, os, pathlib
import jax
from minutiae.control.compilation import start_jax

def threads():
    return {int(name): pathlib.Path(f"/proc/self/task/{name}/comm").read_text().strip()
            for name in os.listdir("/proc/self/task")}

allowed = sorted(os.sched_getaffinity(0))
before = threads()
platform = start_jax()
new = {number: name for number, name in threads().items() if number not in before}
facts = {
    "platform": platform,
    "again": start_jax(),
    "allowed": allowed,
    "afterwards": sorted(os.sched_getaffinity(0)),
    "earlier": [sorted(os.sched_getaffinity(number)) for number in before],
    "new": [sorted(os.sched_getaffinity(number)) for number in new],
    "names": sorted(new.values()),
    "cache": jax.config.jax_compilation_cache_dir,
}
print(json.dumps(facts))
"""


def probe(environment: dict[str, str]) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_xla_computes_with_one_thread_and_everyone_keeps_all_cores(elsewhere: dict[str, str], tmp_path: Path) -> None:
    environment = {name: value for name, value in elsewhere.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    facts = probe({**environment, "JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": str(tmp_path)})
    allowed = facts["allowed"]
    assert facts["platform"] == facts["again"] == "cpu"
    assert facts["afterwards"] == allowed
    assert facts["earlier"] and all(cores == allowed for cores in facts["earlier"])
    assert facts["new"] and all(cores == allowed for cores in facts["new"])
    # Its pools are sized by the cores it sees while it starts: with two in sight, vmapped programs may deadlock.
    names = facts["names"]
    assert isinstance(names, list) and sum("Eigen" in name for name in names) <= 1
    assert facts["cache"] == str(cache_folder_below(tmp_path))
    # Where the user has a cache of their own, that one is used.
    facts = probe({**environment, "JAX_PLATFORMS": "cpu", "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "own")})
    assert facts["cache"] == str(tmp_path / "own")


def cache_folder_below(base: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(base))
        return cache_folder()


def test_the_cache_is_for_this_kind_of_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = cache_folder_below(tmp_path)
    assert here.parent == tmp_path / "minutiae" / "xla"
    monkeypatch.setattr(compilation.platform, "machine", lambda: "another")
    assert cache_folder_below(tmp_path) != here
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder().is_relative_to(tmp_path / "home" / ".cache" / "minutiae" / "xla")


def test_a_program_is_compiled_once_for_a_key_and_shapes() -> None:
    traced: list[tuple[int, ...]] = []

    def double(x: np.ndarray) -> np.ndarray:
        traced.append(x.shape)
        return 2 * x

    first = compile_in_background("double", double, (np.zeros(3, np.float32),))
    again = compile_in_background("double", double, (np.ones(3, np.float32),))
    assert again is first
    longer = compile_in_background("double", double, (np.zeros(4, np.float32),))
    other_type = compile_in_background("double", double, (np.zeros(3, np.int32),))
    other_key = compile_in_background("two", double, (np.zeros(3, np.float32),))
    futures = [first, longer, other_type, other_key]
    assert len({id(future) for future in futures}) == 4
    np.testing.assert_array_equal(first.result()(np.array([1, 2, 3], np.float32)), [2, 4, 6])
    np.testing.assert_array_equal(longer.result()(np.ones(4, np.float32)), [2, 2, 2, 2])
    for future in futures:
        future.result()
    assert len(traced) <= len(futures)  # JAX itself may remember the trace of a function


def test_compiling_goes_on_while_the_caller_does() -> None:
    # The tracing runs in the compiler's thread; it can end only after the caller has gone on.
    import threading

    gone_on = threading.Event()

    def wait(x: np.ndarray) -> np.ndarray:
        assert gone_on.wait(60)
        return x

    future = compile_in_background("wait", wait, (np.zeros(1, np.float32),))
    assert not future.done()
    gone_on.set()
    np.testing.assert_array_equal(future.result()(np.ones(1, np.float32)), [1])


def test_an_error_while_compiling_reaches_whoever_waits() -> None:
    def broken(x: np.ndarray) -> np.ndarray:
        raise ArithmeticError("no such equation")

    future = compile_in_background("broken", broken, (np.zeros(1, np.float32),))
    with pytest.raises(ArithmeticError, match="no such equation"):
        future.result()


def test_an_option_that_this_xla_does_not_know_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "CPU_OPTIONS", {"xla_cpu_there_is_no_such_option": True})
    compiled = compile_now(lambda x: x + 1, (np.zeros(2, np.float32),))
    np.testing.assert_array_equal(compiled(np.array([1, 2], np.float32)), [2, 3])


def test_the_options_are_known_to_this_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    lowered = jax.jit(lambda x: x + 1).lower(np.zeros(2, np.float32))
    compiled = lowered.compile(compiler_options=compilation.CPU_OPTIONS)
    np.testing.assert_array_equal(compiled(np.array([1, 2], np.float32)), [2, 3])


def test_importing_the_package_starts_no_jax() -> None:
    code = "import sys, minutiae; print([name for name in ('jax', 'polars', 'numpy') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
