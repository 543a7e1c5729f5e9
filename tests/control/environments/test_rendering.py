"""Pictures of an episode: how many, of what, and what is said where none can be drawn."""

from __future__ import annotations

import os
import sys

import gymnasium
import numpy as np
import pytest

from minutiae.control.environments import rendering
from minutiae.control.environments.rendering import render_episode
from minutiae.errors import ConfigError, UnsupportedEnvironment


def test_one_picture_after_the_reset_and_one_after_each_step() -> None:
    # The counter's first episode has two steps, paid 0 and 1; its pictures are filled with the step's number.
    seen = []

    def act(observation: np.ndarray) -> np.ndarray:
        seen.append(observation.tolist())
        return np.array(1)

    frames, total = render_episode("probes:counter", act)
    assert [int(frame.max()) for frame in frames] == [0, 1, 2]
    assert all(frame.shape == (4, 6, 3) and frame.dtype == np.uint8 for frame in frames)
    assert seen == [[0.0, 0.0], [0.0, 1.0]]
    assert total == 1.0


def test_an_endless_episode_stops_when_told() -> None:
    frames, total = render_episode("probes:truncated_continuous", lambda observation: np.zeros(1), max_steps=4)
    assert len(frames) == 5
    assert total == 4.0


def test_the_seed_decides_what_is_seen() -> None:
    def first(seed: int) -> np.ndarray:
        return render_episode("CartPole-v1", lambda observation: np.array(0), seed, max_steps=1)[0][0]

    np.testing.assert_array_equal(first(3), first(3))
    assert (first(3) != first(4)).any()


def test_envpool_draws_classic_control_without_a_display() -> None:
    frames, total = render_episode("CartPole-v1", lambda observation: np.array(0))
    assert total == len(frames) - 1.0  # a reward of one per step
    assert frames[0].shape == (400, 600, 3) and frames[0].std() > 1


@pytest.mark.parametrize("environment", ["Hopper-v5", "gymnasium:Hopper-v5"])
def test_mujoco_draws_or_says_which_package_is_missing(environment: str) -> None:
    before = os.environ.get("MUJOCO_GL")
    try:
        frames, _ = render_episode(environment, lambda observation: np.zeros(3), max_steps=2)
    except UnsupportedEnvironment as error:
        assert str(error).endswith("on Debian or Ubuntu run: apt install libegl1 libgl1")
    else:
        assert len(frames) == 3
        assert frames[0].shape == (480, 480, 3) and frames[0].dtype == np.uint8 and frames[0].std() > 1
    assert os.environ.get("MUJOCO_GL") == before


def test_missing_opengl_is_one_line_before_envpool_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_contexts", [])
    monkeypatch.setattr(rendering.sys, "platform", "linux")
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)
    with pytest.raises(UnsupportedEnvironment) as caught:
        render_episode("Hopper-v5", lambda observation: np.zeros(3))
    assert str(caught.value) == (
        "rendering Hopper-v5 needs OpenGL without a display, and this machine has none (import of mujoco.egl "
        "halted; None in sys.modules); on Debian or Ubuntu run: apt install libegl1 libgl1"
    )


def test_environments_that_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal(environment: str) -> str:
        with pytest.raises(UnsupportedEnvironment) as caught:
            render_episode(environment, lambda observation: np.array(0))
        return str(caught.value)

    assert refusal("vector_probes:not_finite") == (
        "vector_probes:not_finite cannot be drawn: its factory takes no render_mode; "
        "give it one that it hands on to the environment"
    )
    assert refusal("vector_probes:counter_same_step") == (
        "vector_probes:counter_same_step builds vector environments, which are not drawn; "
        "watch a factory of single ones"
    )
    import probes

    def blank(render_mode: str | None = None) -> gymnasium.Env:
        one = probes.counter(render_mode)
        monkeypatch.setattr(one, "render", lambda: None)
        return one

    monkeypatch.setattr(probes, "blank", blank, raising=False)
    assert refusal("probes:blank") == (
        "probes:blank draws no pictures: its render() gives object of shape (); it must support render_mode='rgb_array'"
    )


def test_numbers_that_make_no_episode() -> None:
    with pytest.raises(ConfigError, match="a seed is a whole number from 0, not -1"):
        render_episode("probes:counter", lambda observation: np.array(0), -1)
    with pytest.raises(ConfigError, match="max_steps is a whole number from 1, or None, not 0"):
        render_episode("probes:counter", lambda observation: np.array(0), max_steps=0)
