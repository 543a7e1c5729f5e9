"""Where a run was made: versions and machine, for whoever compares bits. Imports none of what it names."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("minutiae", "jax", "jaxlib", "numpy", "gymnasium", "envpool", "optax")


def origin() -> dict[str, str]:
    """Python, system, kind of machine, and the version of each of `PACKAGES` that is installed."""
    about = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    for package in PACKAGES:
        try:
            about[package] = version(package)
        except PackageNotFoundError:
            continue
    return about
