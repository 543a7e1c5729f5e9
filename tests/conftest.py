"""What all tests share: a repeatable Hypothesis profile, both array libraries, quick compilation, other processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

TESTS = Path(__file__).resolve().parent

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


@pytest.fixture(params=["numpy", "jax"])
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    """NumPy, then JAX with float64: the namespace whose arrays the test computes with."""
    if request.param == "numpy":
        yield np
        return
    import jax

    with jax.enable_x64(True):
        yield jax.numpy


@pytest.fixture(scope="session")
def program_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of compiled programs for all processes of this test session, never the user's own."""
    base = tmp_path_factory.getbasetemp()
    # Below pytest-xdist every worker has a folder of its own inside the session's.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "programs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def quick_compilation(program_cache: Path) -> Iterator[None]:
    """Let XLA compile quickly in this process."""
    import jax

    import training_probes
    from minutiae.control import compilation

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(program_cache))
        patch.setattr(compilation, "CPU_OPTIONS", training_probes.QUICK)
        compilation.start_jax()
        before = jax.config.jax_compilation_cache_dir
        jax.config.update("jax_compilation_cache_dir", str(program_cache))
        yield
        jax.config.update("jax_compilation_cache_dir", before)


@pytest.fixture(scope="session")
def elsewhere(program_cache: Path) -> dict[str, str]:
    """Environment variables for another process that trains: the probes, and programs compiled quickly and once."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "JAX_COMPILATION_CACHE_DIR": str(program_cache),
        "QUICK_COMPILATION": "1",
    }
