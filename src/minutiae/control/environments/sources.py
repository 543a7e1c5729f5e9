"""From the name of an environment to what serves it. Knows names and imports; builds pools nowhere."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium

from minutiae.control.environments import envpool_pool
from minutiae.control.environments.blame import RAISED, failure
from minutiae.errors import UnsupportedEnvironment, nearest


@dataclass(frozen=True)
class Source:
    """Who serves an environment: `backend` is `envpool`, `gymnasium` or `factory`, `name` its name there."""

    backend: str
    name: str
    factory: Callable[..., Any] | None = None


def resolve(environment: str) -> Source:
    """Find who serves `environment`.

    | spelling             | served by                                                             |
    |----------------------|-----------------------------------------------------------------------|
    | `Hopper-v5`          | EnvPool where it is installed and knows the id, else Gymnasium         |
    | `envpool:Hopper-v5`  | EnvPool                                                               |
    | `gymnasium:Hopper-v5`| Gymnasium                                                             |
    | `package.module:name`| the callable `name` of that module; else Gymnasium's id `name`, which |
    |                      | importing the module registers (`ale_py:ALE/Pong-v5`)                 |

    Raises:
        UnsupportedEnvironment: nobody knows it; the text names the nearest spelling.
    """
    prefix, colon, name = environment.partition(":")
    if not colon:
        if environment in envpool_pool.known_ids():
            return Source("envpool", environment)
        return _gymnasium_source(environment, environment)
    if prefix == "envpool":
        if not envpool_pool.installed():
            raise UnsupportedEnvironment(
                f"{environment} asks for EnvPool, which is not installed; run: pip install envpool, "
                f"or write 'gymnasium:{name}'"
            )
        if name not in envpool_pool.known_ids():
            raise UnsupportedEnvironment(_unknown(environment, name, {"EnvPool": envpool_pool.known_ids()}))
        return Source("envpool", name)
    if prefix == "gymnasium":
        return _gymnasium_source(environment, name)
    return _imported_source(environment, prefix, name)


def _gymnasium_source(environment: str, name: str) -> Source:
    module, colon, registered = name.partition(":")
    if colon:
        return _imported_source(environment, module, registered)
    if name in gymnasium.registry:
        return Source("gymnasium", name)
    try:
        gymnasium.spec(name)  # completes an id without a version, and explains a version that was dropped
    except gymnasium.error.DeprecatedEnv as error:
        raise UnsupportedEnvironment(f"unknown environment {environment!r}: {error}") from error
    except gymnasium.error.Error:
        ids: dict[str, tuple[str, ...]] = {"Gymnasium": tuple(gymnasium.registry)}
        if name == environment:
            ids = {"EnvPool": envpool_pool.known_ids(), **ids}
        raise UnsupportedEnvironment(_unknown(environment, name, ids)) from None
    return Source("gymnasium", name)


def _imported_source(environment: str, module: str, name: str) -> Source:
    if not module or module.startswith(".") or not name:
        raise UnsupportedEnvironment(
            f"unknown environment {environment!r}: allowed: an id, or 'package.module:factory' with both parts"
        )
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UnsupportedEnvironment(
            f"unknown environment {environment!r}: there is no module {error.name!r}; allowed: an id, "
            "'envpool:ID', 'gymnasium:ID' or 'package.module:factory' of a module that Python finds"
        ) from None
    except RAISED as error:
        raise UnsupportedEnvironment(failure(f"the module {module!r}", "imported", error)) from error
    factory = getattr(imported, name, None)
    if callable(factory):
        return Source("factory", environment, factory)
    if name in gymnasium.registry:
        return Source("gymnasium", f"{module}:{name}")
    callables = [key for key, value in vars(imported).items() if callable(value) and not key.startswith("_")]
    guess = nearest(name, callables)
    hint = f"; did you mean '{module}:{guess}'?" if guess else ""
    raise UnsupportedEnvironment(
        f"unknown environment {environment!r}: module {module!r} has no callable {name!r} "
        f"and registers no such id{hint}"
    )


def _unknown(environment: str, name: str, ids: dict[str, tuple[str, ...]]) -> str:
    everything = [known for group in ids.values() for known in group]
    guess = nearest(name, everything)
    counts = " and ".join(f"the {len(group)} ids of {library}" for library, group in ids.items() if group)
    hint = f"; did you mean {guess!r}?" if guess else ";"
    return (
        f"unknown environment {environment!r}{hint} allowed: {counts}, "
        "or 'package.module:factory' for an environment of your own"
    )
