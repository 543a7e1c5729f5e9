"""Films: every picture is in them, in order, and what cannot be filmed says why before anything is drawn."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

import minutiae
from minutiae.control.watching import resized
from minutiae.details import Config
from minutiae.errors import ConfigError, MinutiaeError
from saved_runs import save_run


def test_gif_holds_the_whole_episode(tmp_path: Path) -> None:
    """The probe paints the number of the step, and is cut after ten."""
    save_run(tmp_path / "run", Config(environment="probes:truncated"))
    film = minutiae.watch(tmp_path / "run")
    assert film.path == tmp_path / "run" / "episode.gif"
    assert (film.frames, film.episode_return) == (11, 10.0)
    pictures = imageio.imread(film.path)
    assert pictures.shape == (11, 4, 6, 3)
    assert pictures[:, 0, 0, 0].tolist() == list(range(11))


def test_episode_can_be_cut(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="probes:truncated"))
    film = minutiae.watch(tmp_path / "run", tmp_path / "short.GIF", max_steps=3, deterministic=True)
    assert (film.frames, film.episode_return) == (4, 3.0)
    assert film.path.read_bytes()[:6] == b"GIF89a"


def test_same_seed_same_film(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="CartPole-v1"))
    films = [
        minutiae.watch(tmp_path / "run", tmp_path / f"{number}.gif", seed=7).path.read_bytes() for number in range(2)
    ]
    assert films[0] == films[1]


def test_mp4_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "imageio_ffmpeg" else found(name))
    with pytest.raises(MinutiaeError, match="an MP4 needs imageio-ffmpeg; run: pip install imageio-ffmpeg"):
        minutiae.watch(tmp_path / "run", tmp_path / "film.mp4")


@pytest.mark.parametrize(
    ("output", "options", "text"),
    [
        ("film.avi", {}, r"a film is a \.gif or \.mp4 file, and .*film\.avi is neither; change its ending"),
        ("film.gif", {"seed": -1}, "a seed is a whole number from 0, not -1"),
        ("film.gif", {"width": 15}, "the width of a film is at least 16 pixels, not 15; leave it out"),
        ("film.gif", {"max_steps": 0}, "max_steps is a whole number from 1, or None, not 0"),
    ],
)
def test_refused_films(tmp_path: Path, output: str, options: dict[str, int], text: str) -> None:
    save_run(tmp_path / "run", Config(environment="probes:truncated"))
    said: list[str] = []
    with pytest.raises(ConfigError, match=text):
        minutiae.watch(tmp_path / "run", tmp_path / output, **options, say=said.append)
    assert said == [] or "max_steps" in options
    assert not (tmp_path / output).exists()


def test_frames_are_pictures_of_the_environment(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="CartPole-v1"))
    said: list[str] = []
    film = minutiae.watch(tmp_path / "run", tmp_path / "film.gif", max_steps=3, say=said.append)
    assert said == ["playing and drawing; this takes a while without a graphics card"]
    # Fifty steps are a second of CartPole: the start, the second step and the last.
    assert (film.frames, film.frames_per_second) == (3, 25.0)
    assert np.unique(imageio.imread(film.path)[0]).size > 2


def test_smaller_pictures_keep_shape_and_mean() -> None:
    frame = np.zeros((40, 80, 3), np.uint8)
    frame[:, 40:] = 200
    small = resized(frame, 21)
    assert small.shape == (10, 20, 3)
    assert small[:, :10].max() == 0
    assert small[:, 10:].min() == 200


def test_a_narrow_film(tmp_path: Path) -> None:
    save_run(tmp_path / "run", Config(environment="probes:truncated"))
    film = minutiae.watch(tmp_path / "run", tmp_path / "wide.gif", max_steps=3, width=18)
    assert imageio.imread(film.path).shape == (4, 12, 18, 3)
