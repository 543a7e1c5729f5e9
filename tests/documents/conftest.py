"""The hooks of the documentation can be imported, and the site is built once for all tests that look at it."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "docs"))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning is an error."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    base = tmp_path_factory.getbasetemp()
    # Below pytest-xdist every worker has a folder of its own inside the session's; one builds, the others wait.
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = base / "site", base / "site-is-built"
    with (base / "site-lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            patch.setenv("NO_MKDOCS_2_WARNING", "1")
            patch.chdir(ROOT)
            build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
            done.touch()
    return folder
