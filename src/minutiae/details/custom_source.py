"""Whether custom details are still what a run was begun with: hashes of their modules' source. No run is opened here.

A run's name is a hash of names and levels, and a name stays when its function is edited. So the hash is kept beside the
run, where it was made, and whoever goes on with other code is told.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Mapping

from minutiae.details.config import Config
from minutiae.details.custom import find


def source_hashes(config: Config) -> dict[str, str]:
    """16 hexadecimal digits of SHA-256 over the source of the module of each custom detail of `config`, by its name.

    The module's own text, helpers beside the function included; what it imports is not. A detail whose source cannot
    be had, as in a session, is left out.

    Raises:
        ConfigError: as `find`.
    """
    texts = {name: _module_source(name) for name, _ in config.custom}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in texts.items() if text is not None}


def changed_sources(config: Config, about: Mapping[str, str]) -> list[str]:
    """The custom details of `config` whose source is another one than `about`, of an earlier run, holds.

    A run without a hash, as of an earlier version, says nothing of its source.

    Raises:
        ConfigError: as `find`.
    """
    return [name for name, found in source_hashes(config).items() if about.get(name, found) != found]


def _module_source(name: str) -> str | None:
    function = find(name).function
    # The function may stand elsewhere than the name that leads to it.
    module = sys.modules.get(getattr(function, "__module__", None) or "", sys.modules[name.partition(":")[0]])
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return None
