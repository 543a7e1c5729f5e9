"""A user's environment that breaks the rules is one line that names the place, never a traceback or a wrong number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from minutiae.control.environments import describe, make_pool
from minutiae.control.environments.native import native_spaces
from minutiae.errors import UnsupportedEnvironment

HERE = "test_misbehaving_environments"


class Rules(gymnasium.Env):
    """Keeps every rule; each subclass breaks one."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return np.zeros(3), {}

    def step(self, action: int) -> Any:
        return np.zeros(3), 0.0, False, False, {}


class RaisesAtReset(Rules):
    def reset(self, **_: Any) -> Any:
        raise KeyError("x")


class TakesNoSeed(Rules):
    def reset(self) -> Any:  # type: ignore[override]
        return np.zeros(3), {}


class OldReset(Rules):
    def reset(self, **_: Any) -> Any:
        return np.zeros(3)


class OldStep(Rules):
    def step(self, action: int) -> Any:
        return np.zeros(3), 0.0, False, {}


class RewardOfTwo(Rules):
    def step(self, action: int) -> Any:
        return np.zeros(3), np.zeros(2), False, False, {}


class OneForThree(Rules):
    def step(self, action: int) -> Any:
        return np.zeros(1), 0.0, False, False, {}


class RaisesWhenBuilt(Rules):
    def __init__(self) -> None:
        raise RuntimeError("no licence\nfound")


def not_an_environment() -> str:
    return "hello"


@pytest.mark.parametrize("name", ["RaisesAtReset", "TakesNoSeed", "OldReset"])
def test_reset_that_fails(name: str) -> None:
    pool = make_pool(f"{HERE}:{name}", [0, 1])
    with pytest.raises(
        UnsupportedEnvironment, match=rf"{name} could not be reset: \w+: .*; mend (it there|its code)"
    ) as caught:
        pool.reset()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["OldStep", "RewardOfTwo"])
def test_step_that_fails(name: str) -> None:
    pool = make_pool(f"{HERE}:{name}", [0, 1])
    pool.reset()
    with pytest.raises(UnsupportedEnvironment, match=rf"{name} could not be stepped: \w+: .*; mend its code"):
        pool.step(np.zeros(2, np.int64))


def test_an_observation_of_one_number_is_not_repeated_over_three() -> None:
    pool = make_pool(f"{HERE}:OneForThree", [0])
    pool.reset()
    with pytest.raises(UnsupportedEnvironment, match=r"of shape \(1,\), in a space of \(3,\)"):
        pool.step(np.zeros(1, np.int64))


def test_factory_that_raises_or_builds_something_else() -> None:
    with pytest.raises(UnsupportedEnvironment, match=r"could not be built: RuntimeError: no licence found"):
        describe(f"{HERE}:RaisesWhenBuilt")
    with pytest.raises(UnsupportedEnvironment, match=r"built something of type str; allowed: a gymnasium\.Env"):
        describe(f"{HERE}:not_an_environment")


@pytest.mark.parametrize("name", [":x", "x:", "../x:y", "..x:y"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UnsupportedEnvironment, match="unknown environment"):
        describe(name)


class Exits(Rules):
    def step(self, action: int) -> Any:
        raise SystemExit("simulator lost")


class ExitsWhenBuilt(Rules):
    def __init__(self) -> None:
        raise SystemExit(3)


class FailsToClose(Rules):
    def close(self) -> None:
        raise RuntimeError("no window")


class FailsToStepAndToClose(FailsToClose):
    def step(self, action: int) -> Any:
        raise RuntimeError("no wheel")


class NoSpaces(gymnasium.Env):
    """Declares nothing."""


class SpaceOfNone(Rules):
    observation_space = None  # type: ignore[assignment]


class SpaceThatRaises(Rules):
    @property
    def action_space(self) -> Any:  # type: ignore[override]
        raise RuntimeError("not yet loaded")


class WhereItRaises(Rules):
    def step(self, action: int) -> Any:
        raise RuntimeError("here")


_only = Rules()


def the_same_for_every_row() -> Rules:
    return _only


def the_same_wrapped_anew() -> gymnasium.Env:
    return gymnasium.wrappers.TimeLimit(_only, 5)


def one_step(name: str, rows: int = 2) -> None:
    pool = make_pool(f"{HERE}:{name}", list(range(rows)))
    try:
        pool.reset()
        pool.step(np.zeros(rows, np.int64))
    finally:
        pool.close()


def refusal(name: str, rows: int = 2) -> str:
    with pytest.raises(UnsupportedEnvironment) as caught:
        one_step(name, rows)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{HERE}:", "")


@pytest.mark.parametrize("name", ["the_same_for_every_row", "the_same_wrapped_anew"])
def test_one_object_for_all_rows_is_refused(name: str) -> None:
    assert refusal(name) == (
        f"{name} built the same environment for several rows; allowed: a new one at each call; "
        "create it inside of the factory"
    )
    one_step(name, rows=1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Exits", "the environment Exits could not be stepped: SystemExit: simulator lost (at "),
        ("ExitsWhenBuilt", "the environment ExitsWhenBuilt could not be built: SystemExit: 3 (at "),
        ("FailsToClose", "the environment FailsToClose could not be closed: RuntimeError: no window (at "),
        ("FailsToStepAndToClose", "the environment FailsToStepAndToClose could not be stepped: RuntimeError: no wheel"),
        (
            "NoSpaces",
            "NoSpaces has the observation_space None; allowed: a space of gymnasium.spaces; set it in its __init__",
        ),
        ("SpaceOfNone", "SpaceOfNone has the observation_space None; allowed: a space of gymnasium.spaces"),
        (
            "SpaceThatRaises",
            "the environment SpaceThatRaises could not be asked for its action_space: RuntimeError: not yet loaded",
        ),
    ],
)
def test_what_an_environment_raises_or_lacks_is_told(name: str, text: str) -> None:
    assert refusal(name).startswith(text)


@pytest.mark.parametrize("name", ["ExitsWhenBuilt", "FailsToClose", "NoSpaces", "SpaceThatRaises"])
@pytest.mark.parametrize("ask", [describe, native_spaces])
def test_it_is_told_before_there_is_a_pool(name: str, ask: Any) -> None:
    with pytest.raises(UnsupportedEnvironment, match=name):
        ask(f"{HERE}:{name}")


def test_interrupting_is_no_fault_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Rules, action: int) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Rules, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one_step("Rules")


def test_the_place_is_in_the_users_code() -> None:
    lines = Path(__file__).read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if 'raise RuntimeError("here")' in text)
    assert refusal("WhereItRaises").endswith(f"RuntimeError: here (at {__file__}:{line}); mend it there")


def test_a_place_in_minutiae_is_none_of_the_users() -> None:
    assert refusal("OldStep") == (
        "the environment OldStep could not be stepped: ValueError: not enough values to unpack (expected 5, got 4); "
        "mend its code"
    )


FLAGS = {"nan": float("nan"), "word": "False", "none": None, "two": 2, "numbers": 1.0, "array": np.array([True])}


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_is_true_or_false(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = FLAGS[flag]
    monkeypatch.setattr(Rules, "step", lambda *_: (np.zeros(3), 0.0, value, False, {}))
    if flag in ("numbers", "array"):
        one_step("Rules")
        return
    assert refusal("Rules") == (
        f"the environment Rules gave terminated = {value!r} and truncated = False; allowed: True, False, 1 or 0; "
        "mend its step"
    )


OBSERVATIONS: list[tuple[gymnasium.Space, Any, str]] = [
    (Box(-1, 1, (2, 2)), np.float32(0.5), "of shape (), in a space of (2, 2)"),
    (Box(-1, 1, (2, 3)), np.zeros((3, 2)), "of shape (3, 2), in a space of (2, 3)"),
    (
        Dict({"a": Box(-1, 1, (3,)), "b": Box(-1, 1, (2,))}),
        {"a": np.zeros(2), "b": np.zeros(3)},
        "whose part 'a' is of shape (2,), in a space of (3,)",
    ),
    (Dict({"a": Box(-1, 1, (3,)), "b": Discrete(2)}), {"a": np.zeros(3)}, "without the part 'b' of its space"),
    (Tuple((Discrete(2), Discrete(3))), (1,), "without the part 1 of its space"),
    (Discrete(3, start=1), 0, "0, in the space Discrete(3, start=1)"),
    (Discrete(3), -1, "-1, in the space Discrete(3)"),
    (MultiDiscrete([2, 3]), np.array([1, 3]), "[1, 3], in the space MultiDiscrete([2 3])"),
]


@pytest.mark.parametrize(("space", "given", "fault"), OBSERVATIONS)
def test_observations_outside_of_their_space(
    space: gymnasium.Space, given: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rules, "observation_space", space)
    monkeypatch.setattr(Rules, "reset", lambda *_, **__: (given, {}))
    assert refusal("Rules") == (
        f"the environment Rules gave an observation {fault}; mend its observations or its observation_space"
    )


class VectorOfTwo(SyncVectorEnv):
    """Keeps every rule; `spoil` changes what a step returns."""

    def __init__(self, num_envs: int, mode: AutoresetMode = AutoresetMode.DISABLED) -> None:
        super().__init__([Rules] * num_envs, autoreset_mode=mode)

    def spoil(self, *returned: Any) -> Any:
        return returned

    def step(self, actions: Any) -> Any:
        return self.spoil(*super().step(actions))


def vector_that_raises_when_built(num_envs: int) -> VectorOfTwo:
    raise ValueError("boom")


def vector(num_envs: int) -> VectorOfTwo:
    return VectorOfTwo(num_envs)


def _raise(*_: Any, **__: Any) -> Any:
    raise ValueError("boom")


@pytest.mark.parametrize("ask", [describe, native_spaces])
def test_a_vector_factory_that_raises(ask: Any) -> None:
    with pytest.raises(UnsupportedEnvironment, match=r"could not be built: ValueError: boom \(at .*\); mend it there$"):
        ask(f"{HERE}:vector_that_raises_when_built")


@pytest.mark.parametrize(("method", "when"), [("reset", "reset"), ("step", "stepped"), ("close", "closed")])
def test_a_vector_environment_that_raises(method: str, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorOfTwo, method, _raise)
    assert refusal("vector").startswith(f"the environment vector could not be {when}: ValueError: boom (at ")


def vector_without_spaces(num_envs: int) -> VectorOfTwo:
    built = VectorOfTwo(num_envs)
    del built.single_action_space
    return built


def test_a_vector_environment_without_spaces() -> None:
    assert refusal("vector_without_spaces") == (
        "vector_without_spaces has the single_action_space None; allowed: a space of gymnasium.spaces; "
        "set it in its __init__"
    )


SPOILED: list[tuple[int, Any, str]] = [
    (0, np.zeros((3, 2)), "an observation of shape (3, 2), in a space of (2, 3)"),
    (1, np.zeros(1), "rewards of shape (1,); allowed: one for each of its 2 rows, shape (2,)"),
    (1, 0.0, "rewards of shape (); allowed: one for each of its 2 rows, shape (2,)"),
    (2, False, "terminated of shape (); allowed: one for each of its 2 rows, shape (2,)"),
    (3, np.zeros((2, 1), bool), "truncated of shape (2, 1); allowed: one for each of its 2 rows, shape (2,)"),
    (2, np.array([np.nan, 0.0]), "terminated = [nan, 0.0]; allowed: True, False, 1 or 0 in each row"),
    (3, np.array(["False", "False"]), "truncated = ['False', 'False']; allowed: True, False, 1 or 0 in each row"),
]


@pytest.mark.parametrize(("position", "value", "fault"), SPOILED)
def test_a_vector_environment_that_returns_other_shapes(
    position: int, value: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(self: VectorOfTwo, *returned: Any) -> Any:
        return *returned[:position], value, *returned[position + 1 :]

    monkeypatch.setattr(VectorOfTwo, "spoil", spoil)
    assert refusal("vector").startswith(f"the environment vector gave {fault}; mend its ")


def test_flags_of_a_vector_environment_may_be_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorOfTwo, "spoil", lambda self, *r: (r[0], r[1], np.array([1, 0]), np.zeros(2), r[4]))
    pool = make_pool(f"{HERE}:vector", [0, 1])
    pool.reset()
    step = pool.step(np.zeros(2, np.int64))
    assert step.terminated.dtype == step.truncated.dtype == np.bool_
    assert step.terminated.tolist() == [True, False] and not step.truncated.any()
