"""The door to this room: `make_pool` builds a pool from a name and seeds, `describe` says what it would be."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import gymnasium

from minutiae.control.environments import envpool_pool
from minutiae.control.environments.gymnasium_pool import GymnasiumPool, time_limit_of
from minutiae.control.environments.protocol import EnvironmentFacts, Pool
from minutiae.control.environments.sources import Source, resolve
from minutiae.control.environments.spaces import action_codec, observation_codec
from minutiae.errors import ConfigError


def make_pool(environment: str, seeds: Sequence[int], threads: int | None = None) -> Pool:
    """A pool with one row per seed; what a row does depends on its seed alone, not on its companions.

    Args:
        environment: an id or an import path, see `minutiae.control.environments.sources.resolve`.
        seeds: R whole numbers from 0, of any size.
        threads: EnvPool's threads; `None` is the number of cores this process may use. Never more than rows.

    Raises:
        UnsupportedEnvironment: an unknown name, a missing library, or spaces that no policy here can handle.
        ConfigError: no seeds, a negative seed, or fewer than one thread.
    """
    _check_numbers(seeds, threads)
    source = resolve(environment)
    if source.backend == "envpool":
        return EnvPoolPool(source.name, seeds, threads)
    return GymnasiumPool(_builder(source), seeds, environment)


EnvPoolPool = envpool_pool.EnvPoolPool


@functools.lru_cache(maxsize=256)
def describe(environment: str) -> EnvironmentFacts:
    """Sizes, action space, time limit and backend of an environment; remembered, so asking again is free.

    Raises:
        UnsupportedEnvironment: as `make_pool`.
    """
    source = resolve(environment)
    if source.backend == "envpool":
        return envpool_pool.facts(environment, source.name)
    one = _builder(source)()
    try:
        return EnvironmentFacts(
            environment=environment,
            backend=source.backend,
            observation_size=observation_codec(one.observation_space, environment).flat_space.shape[0],
            action_space=action_codec(one.action_space, environment).flat_space,
            time_limit=time_limit_of(one),
        )
    finally:
        one.close()


def _builder(source: Source) -> Callable[[], gymnasium.Env]:
    if source.factory is not None:
        return source.factory
    return functools.partial(gymnasium.make, source.name, disable_env_checker=True)


def _check_numbers(seeds: Sequence[int], threads: int | None) -> None:
    if not len(seeds):
        raise ConfigError("a pool needs at least one seed; its rows are as many as its seeds")
    for seed in seeds:
        if seed < 0:
            raise ConfigError(f"a seed is a whole number from 0, not {seed}")
    if threads is not None and threads < 1:
        raise ConfigError(f"threads is a whole number from 1 or None for all usable cores, not {threads}")
