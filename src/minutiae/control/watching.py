"""A film of one episode of a trained policy. How pictures are had is the business of `environments`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minutiae.control.environments.rendering import render_episode, steps_per_second
from minutiae.control.seeding import Purpose, environment_seeds, stream
from minutiae.control.trained_policy import TrainedPolicy, load
from minutiae.errors import ConfigError, MinutiaeError
from minutiae.runs.atomic import write_atomic

FORMATS = (".gif", ".mp4")
FRAMES_PER_SECOND = 25
"""At about which a film plays; of an environment with shorter steps only every so many are drawn.

It is the rate, too, of environments that do not say how long a step is.
"""


@dataclass(frozen=True)
class Film:
    """Where the film is, and what it shows: `frames` pictures, played in the environment's own time at
    `frames_per_second`, and the raw `episode_return`."""

    path: Path
    frames: int
    episode_return: float
    frames_per_second: float


def watch(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    deterministic: bool = False,
    seed: int = 0,
    max_steps: int | None = None,
    width: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Film:
    """Play one episode with the policy of a run and film it; no display is needed.

    Args:
        path: of the run, finished or not (see `load`).
        output: a `.gif`, or a `.mp4` where imageio-ffmpeg is installed; `None` is `episode.gif` in the run.
        deterministic: play the mode of the action distribution, not samples.
        seed: of the episode and its actions, at least 0.
        max_steps: stop after so many steps, from 1; `None` waits for the episode's end.
        width: of the pictures, at least 16; `None` is as the environment draws them.
        say: told in words that playing begins, which may take a while.

    Raises:
        ConfigError: another format, a negative seed, `max_steps` below 1, or `width` below 16.
        MinutiaeError: MP4 without imageio-ffmpeg.
        UnsupportedEnvironment: the environment draws no pictures, or what it needs to draw is missing.
        RunError: no policy is there, or the film cannot be written.
    """
    target = Path(path) / "episode.gif" if output is None else Path(output)
    _check_format(target)
    if seed < 0:
        raise ConfigError(f"a seed is a whole number from 0, not {seed}")
    if width is not None and width < 16:
        raise ConfigError(f"the width of a film is at least 16 pixels, not {width}; leave it out for the full size")
    policy = load(path)
    (environment_seed,) = environment_seeds(seed, Purpose.EVALUATION_ENVIRONMENTS, 0, 1)
    actor = _Actor(policy, None if deterministic else stream(seed, Purpose.EVALUATION_ACTIONS))
    rate = steps_per_second(policy.environment) or FRAMES_PER_SECOND
    every = max(1, round(rate / FRAMES_PER_SECOND))
    say("playing and drawing; this takes a while without a graphics card")
    frames, total = render_episode(policy.environment, actor, environment_seed, max_steps, every)
    if width is not None:
        frames = [resized(frame, width) for frame in frames]
    write_atomic(target, encode(frames, target.suffix.lower(), rate / every))
    return Film(target, len(frames), total, rate / every)


@dataclass(frozen=True)
class _Actor:
    """From one raw flat observation [O] to one action of a pool."""

    policy: TrainedPolicy
    generator: np.random.Generator | None

    def __call__(self, observation: np.ndarray) -> Any:
        noise = None if self.generator is None else self.policy.noise(self.generator, (1,))
        return self.policy.flat_actions(observation[None], noise)[0]


def resized(frame: np.ndarray, width: int) -> np.ndarray:
    """A picture `[H, W, 3]` uint8 at another width, its shape kept; both sides even, as an MP4 needs them."""
    from PIL import Image

    height = max(2, 2 * round(frame.shape[0] * width / frame.shape[1] / 2))
    return np.asarray(Image.fromarray(frame).resize((2 * (width // 2), height), Image.Resampling.BOX))


def encode(frames: list[np.ndarray], suffix: str, rate: float = FRAMES_PER_SECOND) -> bytes:
    """Pictures `[H, W, 3]` uint8 as one file of the format that `suffix` names, at `rate` pictures a second."""
    import imageio.v3 as imageio

    if suffix == ".gif":
        return bytes(imageio.imwrite("<bytes>", frames, extension=suffix, duration=1000 / rate, loop=0))
    # H.264 halves the resolution of color, so both sides must be even.
    return bytes(imageio.imwrite("<bytes>", frames, extension=suffix, fps=rate, macro_block_size=2))


def _check_format(target: Path) -> None:
    if target.suffix.lower() not in FORMATS:
        raise ConfigError(f"a film is a .gif or .mp4 file, and {target} is neither; change its ending")
    if target.suffix.lower() == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise MinutiaeError("an MP4 needs imageio-ffmpeg; run: pip install imageio-ffmpeg, or write a .gif")
