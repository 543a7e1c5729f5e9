"""Who serves which name, what is known of it beforehand, and what a wrong name is answered."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from minutiae.control.environments import describe, envpool_pool, make_pool
from minutiae.control.environments.sources import resolve
from minutiae.errors import ConfigError, UnsupportedEnvironment


@pytest.fixture
def without_envpool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(envpool_pool, "_envpool", lambda: None)
    envpool_pool.known_ids.cache_clear()
    yield
    monkeypatch.undo()
    envpool_pool.known_ids.cache_clear()


def refusal(environment: str) -> str:
    with pytest.raises(UnsupportedEnvironment) as caught:
        make_pool(environment, [1])
    return str(caught.value)


@pytest.mark.parametrize(
    ("environment", "backend", "name"),
    [
        ("Hopper-v5", "envpool", "Hopper-v5"),
        ("envpool:Hopper-v4", "envpool", "Hopper-v4"),
        ("gymnasium:Hopper-v5", "gymnasium", "Hopper-v5"),
        ("probes:two_step", "factory", "probes:two_step"),
        ("gymnasium:probes:probes/two_step-v0", "gymnasium", "probes:probes/two_step-v0"),
        ("probes:probes/two_step-v0", "gymnasium", "probes:probes/two_step-v0"),
    ],
)
def test_names_find_their_backend(environment: str, backend: str, name: str) -> None:
    source = resolve(environment)
    assert (source.backend, source.name) == (backend, name)


def test_gymnasium_serves_what_envpool_does_not(without_envpool: None) -> None:
    assert resolve("Hopper-v5").backend == "gymnasium"
    assert refusal("envpool:Hopper-v5") == (
        "envpool:Hopper-v5 asks for EnvPool, which is not installed; run: pip install envpool, "
        "or write 'gymnasium:Hopper-v5'"
    )


def test_facts_of_an_environment() -> None:
    facts = describe("Hopper-v5")
    assert (facts.backend, facts.observation_size, facts.time_limit) == ("envpool", 11, 1000)
    np.testing.assert_array_equal(facts.action_space.low, [-1, -1, -1])
    facts = describe("probes:truncated")
    assert (facts.backend, facts.observation_size, facts.time_limit) == ("factory", 1, 10)
    assert facts.action_space == Discrete(2)
    facts = describe("vector_probes:cart_pole_next_step")
    assert (facts.backend, facts.observation_size, facts.time_limit) == ("factory", 4, 500)
    assert describe("gymnasium:Blackjack-v1").observation_size == 32 + 11 + 2
    assert describe("FrozenLake-v1").observation_size == 16


def test_facts_are_remembered() -> None:
    assert describe("Walker2d-v5") is describe("Walker2d-v5")


@pytest.mark.parametrize("environment", ["Hopper-v5", "probes:counter_continuous", "vector_probes:counter_same_step"])
def test_pools_are_as_described(environment: str) -> None:
    facts, pool = describe(environment), make_pool(environment, [1, 2])
    assert pool.observation_space == facts.observation_space
    assert pool.action_space == facts.action_space
    assert pool.time_limit == facts.time_limit
    pool.close()


def test_unknown_ids_name_the_nearest() -> None:
    many, few = len(envpool_pool.known_ids()), len(gymnasium.registry)
    assert refusal("hoper-v5") == (
        f"unknown environment 'hoper-v5'; did you mean 'Hopper-v5'? allowed: the {many} ids of EnvPool and "
        f"the {few} ids of Gymnasium, or 'package.module:factory' for an environment of your own"
    )
    assert refusal("gymnasium:CartPol-v1") == (
        f"unknown environment 'gymnasium:CartPol-v1'; did you mean 'CartPole-v1'? allowed: "
        f"the {few} ids of Gymnasium, or 'package.module:factory' for an environment of your own"
    )
    assert refusal("envpool:qqqqqq") == (
        f"unknown environment 'envpool:qqqqqq'; allowed: the {many} ids of EnvPool, "
        "or 'package.module:factory' for an environment of your own"
    )
    assert "did you mean" not in refusal("nowhere/qqqqqq-v0")


def test_unknown_modules_and_factories() -> None:
    assert refusal("no_such_module:thing") == (
        "unknown environment 'no_such_module:thing': there is no module 'no_such_module'; allowed: an id, "
        "'envpool:ID', 'gymnasium:ID' or 'package.module:factory' of a module that Python finds"
    )
    assert refusal("probes:two_stp") == (
        "unknown environment 'probes:two_stp': module 'probes' has no callable 'two_stp' and registers "
        "no such id; did you mean 'probes:two_step'?"
    )


def test_factories_that_build_something_else() -> None:
    assert refusal("vector_probes:not_an_environment") == (
        "vector_probes:not_an_environment built something of type object; allowed: a gymnasium.Env, or a "
        "gymnasium.vector.VectorEnv from a factory that takes num_envs"
    )
    assert refusal("vector_probes:not_a_vector") == (
        "vector_probes:not_a_vector takes num_envs but built something of type Counter; allowed: a "
        "gymnasium.vector.VectorEnv; drop the parameter to build single environments"
    )


def test_what_an_environment_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking() -> gymnasium.Env:
        raise gymnasium.error.DependencyNotInstalled('run `pip install "gymnasium[box2d]"`')

    import probes

    monkeypatch.setattr(probes, "lacking", lacking, raising=False)
    assert refusal("probes:lacking") == (
        'probes:lacking needs a library that is missing: run `pip install "gymnasium[box2d]"`'
    )


def test_several_players_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    game = SimpleNamespace(config=SimpleNamespace(max_num_players=2))
    monkeypatch.setattr(envpool_pool, "_envpool", lambda: SimpleNamespace(make_spec=lambda name: game))
    with pytest.raises(UnsupportedEnvironment) as caught:
        envpool_pool.specification("Chess-v0")
    assert str(caught.value) == "Chess-v0 is for several players; here one policy plays alone"


def test_what_envpool_cannot_make_here_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_spec(name: str) -> None:
        raise ImportError("needs Qt 5;\n  apt install qtbase5-dev")

    monkeypatch.setattr(envpool_pool, "_envpool", lambda: SimpleNamespace(make_spec=make_spec))
    with pytest.raises(UnsupportedEnvironment) as caught:
        envpool_pool.specification("Bigfish-v0")
    assert str(caught.value) == "EnvPool cannot make Bigfish-v0 here: needs Qt 5; apt install qtbase5-dev"


def test_pictures_are_refused_by_name() -> None:
    assert refusal("Pong-v5").startswith("Pong-v5 has image observations of shape (4, 84, 84)")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"seeds": []}, "a pool needs at least one seed: its rows are as many as its seeds"),
        ({"seeds": [1, -2]}, "a seed is a whole number from 0, not -2"),
        ({"seeds": [1], "threads": 0}, "threads is a whole number from 1, or None, not 0"),
        ({"seeds": [1], "processes": 0}, "processes is a whole number from 1, or None, not 0"),
        (
            {"seeds": [1], "processes": 2},
            "Hopper-v5 runs in EnvPool's threads; use threads, or 'gymnasium:' for processes",
        ),
    ],
)
def test_numbers_that_make_no_pool(arguments: dict, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_pool("Hopper-v5", **arguments)
    assert str(caught.value) == says


def test_vector_environments_have_processes_of_their_own() -> None:
    with pytest.raises(ConfigError) as caught:
        make_pool("vector_probes:counter_disabled", [1], processes=1)
    assert str(caught.value) == (
        "vector_probes:counter_disabled builds a vector environment, which has processes of its own or none"
    )
