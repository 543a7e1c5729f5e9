"""The door to this room: `make_pool` builds a pool from a name and seeds, `describe` tells of it before."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from minutiae.control.environments import envpool_pool
from minutiae.control.environments.blame import Blame, close_all, declared
from minutiae.control.environments.envpool_pool import EnvPoolPool
from minutiae.control.environments.gymnasium_pool import GymnasiumPool, time_limit_of
from minutiae.control.environments.process_pool import ProcessPool
from minutiae.control.environments.protocol import EnvironmentFacts, Pool
from minutiae.control.environments.sources import Source, resolve
from minutiae.control.environments.spaces import action_codec, observation_codec
from minutiae.control.environments.vector_pool import VectorPool, autoreset_mode_of, vector_time_limit_of
from minutiae.errors import ConfigError, UnsupportedEnvironment


def make_pool(
    environment: str, seeds: Sequence[int], threads: int | None = None, *, processes: int | None = None
) -> Pool:
    """A pool with one row per seed; what a row does depends on its seed alone, not on its companions.

    Args:
        environment: an id or an import path, see `minutiae.control.environments.sources.resolve`.
        seeds: R whole numbers from 0, of any size.
        threads: EnvPool's threads; `None` is the number of cores this process may use. Never more than rows.
        processes: worker processes for environments that EnvPool does not serve, never more than rows;
            `None` steps them in this process.

    Raises:
        UnsupportedEnvironment: an unknown name, a missing library, or spaces that no policy here can handle.
        ConfigError: no seeds, a negative seed, fewer than one thread or process, or processes for EnvPool.
    """
    _check_numbers(seeds, threads, processes)
    source = resolve(environment)
    if source.backend == "envpool":
        if processes is not None:
            raise ConfigError(f"{environment} runs in EnvPool's threads; use threads, or 'gymnasium:' for processes")
        return EnvPoolPool(source.name, seeds, threads)
    if takes(source.factory, "num_envs"):
        if processes is not None:
            raise ConfigError(f"{environment} builds a vector environment, which has processes of its own or none")
        return VectorPool(build_vector(source, len(seeds)), seeds, environment)
    if processes is not None:
        return ProcessPool(environment, seeds, processes, describe(environment))
    return GymnasiumPool(builder(source), seeds, environment)


@functools.lru_cache(maxsize=256)
def describe(environment: str) -> EnvironmentFacts:
    """Sizes, spaces, time limit and backend of an environment; remembered, so asking again costs nothing.

    Raises:
        UnsupportedEnvironment: as `make_pool`.
    """
    source = resolve(environment)
    if source.backend == "envpool":
        return envpool_pool.facts(environment, source.name)
    if takes(source.factory, "num_envs"):
        vector = build_vector(source, 1)
        try:
            autoreset_mode_of(vector, environment)
            return _facts(
                source,
                environment,
                declared(vector, "single_observation_space", environment),
                declared(vector, "single_action_space", environment),
                vector_time_limit_of(vector),
            )
        finally:
            close_all([vector], environment)
    one = builder(source)()
    try:
        return _facts(
            source,
            environment,
            declared(one, "observation_space", environment),
            declared(one, "action_space", environment),
            time_limit_of(one),
        )
    finally:
        close_all([one], environment)


def _facts(
    source: Source,
    environment: str,
    observed: gymnasium.Space,
    acted: gymnasium.Space,
    time_limit: int | None,
) -> EnvironmentFacts:
    observation_space = observation_codec(observed, environment).flat_space
    return EnvironmentFacts(
        environment=environment,
        backend=source.backend,
        observation_size=observation_space.shape[0],
        observation_space=observation_space,
        action_space=action_codec(acted, environment).flat_space,
        time_limit=time_limit,
    )


def builder(source: Source, **options: Any) -> Callable[[], gymnasium.Env]:
    """What makes one environment of a source that Gymnasium or a factory serves.

    Raises (when called):
        UnsupportedEnvironment: a library that the environment needs is missing, or it raises, or is none.
    """
    make = source.factory or functools.partial(gymnasium.make, source.name, disable_env_checker=True)

    def build() -> gymnasium.Env:
        built = _made(make, source.name, options)
        if not isinstance(built, gymnasium.Env):
            raise UnsupportedEnvironment(
                f"{source.name} built something of type {type(built).__name__}; allowed: a gymnasium.Env, or a "
                "gymnasium.vector.VectorEnv from a factory that takes num_envs"
            )
        return built

    return build


def _made(make: Callable[..., Any], name: str, options: dict[str, Any]) -> Any:
    with Blame(name, "built"):
        try:
            return make(**options)
        except gymnasium.error.DependencyNotInstalled as error:
            raise UnsupportedEnvironment(f"{name} needs a library that is missing: {error}") from error


def takes(factory: Callable[..., Any] | None, parameter: str) -> bool:
    """Whether a factory has a parameter of that name."""
    if factory is None:
        return False
    try:
        return parameter in inspect.signature(factory).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return False


def build_vector(source: Source, rows: int) -> VectorEnv:
    """The vector environment of a factory that takes `num_envs`.

    Raises:
        UnsupportedEnvironment: as what `builder` returns.
    """
    assert source.factory is not None
    vector = _made(source.factory, source.name, {"num_envs": rows})
    if not isinstance(vector, VectorEnv):
        raise UnsupportedEnvironment(
            f"{source.name} takes num_envs but built something of type {type(vector).__name__}; "
            "allowed: a gymnasium.vector.VectorEnv; drop the parameter to build single environments"
        )
    return vector


def _check_numbers(seeds: Sequence[int], threads: int | None, processes: int | None) -> None:
    if not len(seeds):
        raise ConfigError("a pool needs at least one seed: its rows are as many as its seeds")
    lowest = min(seeds)
    if lowest < 0:
        raise ConfigError(f"a seed is a whole number from 0, not {lowest}")
    for name, number in (("threads", threads), ("processes", processes)):
        if number is not None and number < 1:
            raise ConfigError(f"{name} is a whole number from 1, or None, not {number}")
