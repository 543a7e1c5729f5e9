"""Pictures of one episode, without a display. Knows how pictures are had, not what is done with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from minutiae.control.environments import envpool_pool
from minutiae.control.environments.envpool_pool import EnvPoolPool
from minutiae.control.environments.gymnasium_pool import GymnasiumPool
from minutiae.control.environments.pools import builder, takes
from minutiae.control.environments.sources import Source, resolve
from minutiae.errors import ConfigError, UnsupportedEnvironment

_OPENGL = (
    "rendering {name} needs OpenGL without a display, and this machine has none ({error}); "
    "on Debian or Ubuntu run: apt install libegl1 libgl1"
)


def render_episode(
    environment: str,
    act: Callable[[np.ndarray], np.ndarray],
    seed: int = 0,
    max_steps: int | None = None,
    every: int = 1,
) -> tuple[list[np.ndarray], float]:
    """Play one episode and picture it.

    Args:
        environment: its name, as `make_pool` takes it.
        act: from one raw observation [O] float64 to one action: [A], [K] or a whole number.
        seed: a whole number from 0.
        max_steps: stop after so many steps, from 1; `None` waits for the episode's end.
        every: steps between two pictures, from 1; the last step is always pictured.

    Returns:
        Frames [H, W, 3] uint8, the first after the reset and one after each `every` steps, and the raw return.

    Raises:
        UnsupportedEnvironment: it draws no pictures, or what it needs to draw is missing; the text names it.
        ConfigError: a negative seed, or `max_steps` below 1.
    """
    if seed < 0:
        raise ConfigError(f"a seed is a whole number from 0, not {seed}")
    if max_steps is not None and max_steps < 1:
        raise ConfigError(f"max_steps is a whole number from 1, or None, not {max_steps}")
    source = resolve(environment)
    with _offscreen():
        pool, first = _open(environment, source, seed)
        try:
            return _play(pool, first, act, max_steps, every)
        finally:
            pool.close()


def _play(
    pool: EnvPoolPool | GymnasiumPool,
    first: np.ndarray,
    act: Callable[[np.ndarray], np.ndarray],
    max_steps: int | None,
    every: int,
) -> tuple[list[np.ndarray], float]:
    frames, total, observation, taken, finished = [pool.render()], 0.0, first, 0, False
    while not finished:
        step = pool.step(np.asarray(act(observation))[None])
        observation, total, taken = step.observations[0], total + float(step.rewards[0]), taken + 1
        finished = bool(step.terminated[0] or step.truncated[0]) or taken == max_steps
        if finished or taken % every == 0:
            frames.append(pool.render())
    return frames, total


def steps_per_second(environment: str) -> float | None:
    """How many steps of `environment` are one second in its own time, where it says so."""
    name = resolve(environment).name
    try:
        entry = gymnasium.spec(name).entry_point
        creator = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        rate = float(creator.metadata["render_fps"])  # type: ignore[union-attr]
    except Exception:  # an id, module or number that is not there, in as many ways as there are environments
        return None
    return rate if rate > 0 else None


def _open(environment: str, source: Source, seed: int) -> tuple[EnvPoolPool | GymnasiumPool, np.ndarray]:
    """A pool of one row that has drawn its first picture, and its first observation [O]."""
    if source.backend == "envpool":
        try:
            return _open_envpool(source.name, seed)
        except RuntimeError as error:  # some of EnvPool's families draw nothing
            if source.name not in gymnasium.registry:
                raise UnsupportedEnvironment(f"{environment} draws no pictures: {error}") from error
            source = Source("gymnasium", source.name)
    if takes(source.factory, "num_envs"):
        raise UnsupportedEnvironment(
            f"{environment} builds vector environments, which are not drawn; watch a factory of single ones"
        )
    if source.factory is not None and not takes(source.factory, "render_mode"):
        raise UnsupportedEnvironment(
            f"{environment} cannot be drawn: its factory takes no render_mode; "
            "give it one that it hands on to the environment"
        )
    pool = GymnasiumPool(builder(source, render_mode="rgb_array"), [seed], environment)
    first = pool.reset()[0]
    try:
        picture = pool.render()
    except gymnasium.error.DependencyNotInstalled as error:
        raise UnsupportedEnvironment(f"rendering {environment} needs a missing library: {error}") from error
    except Exception as error:
        # Drawing code is not ours and fails in many ways; for MuJoCo it is the lack of OpenGL.
        raise UnsupportedEnvironment(_OPENGL.format(name=environment, error=error)) from error
    if picture.ndim != 3:
        raise UnsupportedEnvironment(
            f"{environment} draws no pictures: its render() gives {picture.dtype} of shape {picture.shape}; "
            "it must support render_mode='rgb_array'"
        )
    return pool, first


def _open_envpool(name: str, seed: int) -> tuple[EnvPoolPool, np.ndarray]:
    if envpool_pool.specification(name).family.startswith("envpool.mujoco"):
        _provide_opengl(name)
    pool = EnvPoolPool(name, [seed], 1, rendered=True)
    first = pool.reset()[0]
    pool.render()
    return pool, first


_contexts: list[Any] = []


def _provide_opengl(name: str) -> None:
    """Make an OpenGL context of this process current: EnvPool 1.2 ends the process when it finds none."""
    if not sys.platform.startswith("linux") or _contexts:
        return
    try:
        from mujoco.egl import GLContext

        context = GLContext(64, 64)
        context.make_current()
    except Exception as error:  # from ImportError to whatever the driver's binding raises
        raise UnsupportedEnvironment(_OPENGL.format(name=name, error=error)) from error
    _contexts.append(context)


@contextmanager
def _offscreen() -> Iterator[None]:
    """Where there is no display, let Gymnasium's MuJoCo draw through EGL for a while."""
    headless = sys.platform.startswith("linux") and not os.environ.get("DISPLAY")
    if not headless or "MUJOCO_GL" in os.environ:
        yield
        return
    os.environ["MUJOCO_GL"] = "egl"
    try:
        yield
    finally:
        del os.environ["MUJOCO_GL"]
