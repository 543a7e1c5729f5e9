"""Ending when the parent process does. For the processes that train for another; knows nothing of what they train."""

from __future__ import annotations

import contextlib
import os
import threading


def end_with_parent() -> None:
    """From now on, end this process when the other end of its standard input closes, however the parent died.

    Nothing else may read standard input any more.
    """
    threading.Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    os._exit(1)
