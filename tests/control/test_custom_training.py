"""Details from outside the package survive a stop, go along to workers, and are missed by name."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minutiae
import outside_details
from minutiae.control.custom import changed_rewards
from minutiae.control.progress import Progress
from minutiae.details import Config, bound, to_toml
from minutiae.details.custom_source import source_hashes
from minutiae.errors import ConfigError, MinutiaeError
from minutiae.runs.directory import RunDirectory
from small_runs import assert_same_bits, small

pytestmark = pytest.mark.usefixtures("quick_compilation")

PULLED, NEGATED, CHANGED = (f"outside_details:{name}" for name in ("pulled", "negated", "changed"))
ALL = {PULLED: 0.5, NEGATED: True, CHANGED: "negated"}


def on(config: Config, **custom: Any) -> Config:
    return config.replace(**custom)


def test_rewards_are_changed_agent_by_agent() -> None:
    rewards = np.arange(12.0).reshape(2, 3, 2)
    nowhere = np.zeros(rewards.shape, bool)
    customs = [bound(config.custom, "rewards") for config in (small(), on(small(), **{CHANGED: "negated"}))]
    changed = changed_rewards(customs, rewards, nowhere, nowhere)
    np.testing.assert_array_equal(changed[0], [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(changed[1], [[-6, -7], [-8, -9], [-10, -11]])
    np.testing.assert_array_equal(rewards[1], [[6, 7], [8, 9], [10, 11]])


def test_nothing_written_in_place_reaches_the_batch() -> None:
    rewards, terminated, truncated = (
        np.arange(6.0).reshape(1, 3, 2),
        np.zeros((1, 3, 2), bool),
        np.zeros((1, 3, 2), bool),
    )
    customs = [bound(on(small(), **{"outside_details:scribbled": True}).custom, "rewards")]
    changed = changed_rewards(customs, rewards, terminated, truncated)
    for array in (changed, rewards):
        np.testing.assert_array_equal(array, [[[0, 1], [2, 3], [4, 5]]])
    assert not terminated.any() and not truncated.any()


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("ragged", "returned list, of which NumPy makes no array (setting an array element with a sequence. "),
        ("text", "returned text (<U32); it must return real numbers"),
        ("complex", "returned complex numbers (complex128); it must return real numbers"),
    ],
)
def test_rewards_that_are_no_real_numbers_are_named(level: str, message: str) -> None:
    nowhere = np.zeros((1, 3, 2), bool)
    customs = [bound(on(small(), **{"outside_details:unreal": level}).custom, "rewards")]
    with pytest.raises(ConfigError) as raised:
        changed_rewards(customs, np.zeros((1, 3, 2)), nowhere, nowhere)
    assert str(raised.value).startswith(f"the detail 'outside_details:unreal' {message}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "outside_details:shortened",
            "the detail 'outside_details:shortened' returned an array of shape (19, 2); it must return an array of the "
            "shape it was given, (20, 2)",
        ),
        (
            "outside_details:spread",
            "the detail 'outside_details:spread' returned an array of shape (20,); it must return a scalar, as a mean "
            "is",
        ),
    ],
)
def test_what_breaks_the_rules_is_named(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        minutiae.train(small(), name="run", out=tmp_path / "runs", **{name: True})
    assert str(raised.value) == message
    # Nothing was trained, and no folder is in the way of the next try.
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_raises_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two populations, and so a worker process: it says so in one line, and is not started again.
    monkeypatch.setenv("QUICK_COMPILATION", "1")
    agents = [(small(**{"epochs": epochs}).replace(**{"outside_details:mistaken": True}), 0) for epochs in (1, 2)]
    with pytest.raises(MinutiaeError) as raised:
        minutiae.train_population(agents, name="two", out=tmp_path, workers=1)
    line = outside_details.__file__ + ", line "
    assert "the detail 'outside_details:mistaken' raised IndexError: only integers, slices" in str(raised.value)
    assert f"({line}" in str(raised.value)
    assert "times" not in str(raised.value)
    assert not (tmp_path / "two").exists()


def test_a_stopped_run_goes_on_to_the_same_bits_with_its_details(tmp_path: Path) -> None:
    (whole,) = minutiae.train(small(), seed=3, name="whole", out=tmp_path, **ALL)
    (plain,) = minutiae.train(small(), seed=3, name="plain", out=tmp_path)
    assert whole.config.custom == ((CHANGED, "negated"), (NEGATED, "on"), (PULLED, 0.5))
    assert not whole.metrics().equals(plain.metrics())
    # Returns are raw, and the first rollout was acted by the same parameters.
    assert whole.metrics()["return_mean"][0] == plain.metrics()["return_mean"][0]

    class Stopped(BaseException):
        pass

    def stop(progress: Progress) -> None:
        if progress.iteration == 3 and progress.status == "training":
            raise Stopped

    with pytest.raises(Stopped):
        minutiae.train(small(), seed=3, name="stopped", out=tmp_path, listener=stop, **ALL)
    assert not (tmp_path / "stopped" / "result.json").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        minutiae.resume(tmp_path / "stopped")
    assert_same_bits(tmp_path / "stopped", whole.path)


def test_a_run_that_goes_on_with_another_source_says_so(tmp_path: Path) -> None:
    config = on(small(), **{NEGATED: True})
    about = {NEGATED: "0" * 16, PULLED: "0" * 16}
    run = RunDirectory.create(tmp_path / "run", to_toml(config), 0, about=about)
    with pytest.warns(UserWarning) as said:
        minutiae.resume(run.path)
    assert [str(one.message) for one in said if one.category is UserWarning] == [
        f"the source of the detail 'outside_details:negated' has changed since {run.path} was begun: what is left is "
        "trained with the new one; to have one detail all through, train again under another name"
    ]
    assert said[0].filename == __file__
    (fresh,) = minutiae.train(config, name="fresh", out=tmp_path)
    assert RunDirectory.open(fresh.path).about[NEGATED] == source_hashes(config)[NEGATED]


def test_a_run_whose_module_is_missing_is_read_but_not_trained(tmp_path: Path) -> None:
    lost = to_toml(small()) + '"lost_details:pulled" = 0.5\n'
    run = RunDirectory.create(tmp_path / "run", lost, 0, about={})
    assert minutiae.open_run(run.path).config.custom == (("lost_details:pulled", 0.5),)
    before = sorted(path.name for path in run.path.iterdir())
    with pytest.raises(ConfigError) as raised:
        minutiae.resume(run.path)
    assert str(raised.value) == (
        "the detail 'lost_details:pulled' needs the module 'lost_details', and there is no module 'lost_details'; put "
        "it where Python finds it (the working directory, PYTHONPATH, or an installed package)"
    )
    assert sorted(path.name for path in run.path.iterdir()) == before


def test_worker_processes_find_details(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICK_COMPILATION", "1")
    agents = [(small(), 0), (on(small(), **ALL), 0)]
    plain, custom = minutiae.train_population(agents, name="two", out=tmp_path, workers=1)
    assert (plain.status, custom.status) == ("finished", "finished")
    assert plain.metrics()["return_mean"][0] == custom.metrics()["return_mean"][0]
    assert not plain.metrics().equals(custom.metrics())
