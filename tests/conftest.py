"""What all tests share: a repeatable Hypothesis profile, and both array libraries that equations run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

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
