"""No dummy transition ever shows, and the two ways an episode ends are told apart, whatever serves it."""

from __future__ import annotations

import numpy as np
import pytest

from minutiae.control.environments import make_pool
from minutiae.control.environments.envpool_pool import int32_seed, usable_cores
from minutiae.errors import RunError, UnsupportedEnvironment

COUNTERS = {
    "one process": ("probes:counter", None),
    "worker processes": ("probes:counter", 2),
    "disabled": ("vector_probes:counter_disabled", None),
    "next step": ("vector_probes:counter_next_step", None),
    "same step": ("vector_probes:counter_same_step", None),
}


@pytest.mark.parametrize(("environment", "processes"), COUNTERS.values(), ids=COUNTERS.keys())
def test_every_transition_is_real(environment: str, processes: int | None) -> None:
    # Episode e of the counter has 2 + e mod 3 steps; after step k it shows (e, k + 1) and has paid k. A dummy
    # transition would break the count of its row. One early restart puts the rows out of step.
    pool = make_pool(environment, [1, 2, 3], processes=processes)
    np.testing.assert_array_equal(pool.reset(), [[0, 0], [0, 0], [0, 0]])
    episode, time = np.zeros(3, int), np.zeros(3, int)
    if pool.autoreset != "same_step":
        np.testing.assert_array_equal(pool.reset(np.array([1])), [[1, 0]])
        episode[1] = 1
    for _ in range(30):
        step = pool.step(np.zeros(3, int))
        np.testing.assert_array_equal(step.rewards, time)
        time += 1
        np.testing.assert_array_equal(step.observations, np.stack([episode, time], axis=1))
        over = time == 2 + episode % 3
        np.testing.assert_array_equal(step.terminated, over & (episode % 2 == 0))
        np.testing.assert_array_equal(step.truncated, over & (episode % 2 == 1))
        rows = np.flatnonzero(over)
        episode[rows] += 1
        time[rows] = 0
        np.testing.assert_array_equal(pool.reset(rows), np.stack([episode, time], axis=1)[rows])
    assert episode.min() >= 9
    pool.close()


SAME = {
    "vector_probes:cart_pole_disabled": ("gymnasium:CartPole-v1", None),
    "vector_probes:cart_pole_next_step": ("gymnasium:CartPole-v1", None),
    "vector_probes:cart_pole_same_step": ("gymnasium:CartPole-v1", None),
    "vector_probes:cart_pole_processes": ("gymnasium:CartPole-v1", None),
    "gymnasium:CartPole-v1": ("gymnasium:CartPole-v1", 3),
    "vector_probes:blackjack_same_step": ("vector_probes:blackjack", None),
    "vector_probes:blackjack_named_same_step": ("vector_probes:blackjack_named", None),
}


@pytest.mark.parametrize("environment", SAME)
def test_the_same_seeds_give_the_same_transitions_through_every_door(environment: str) -> None:
    plain, processes = SAME[environment]
    pool, reference = make_pool(environment, [3, 1, 4], processes=processes), make_pool(plain, [3, 1, 4])
    np.testing.assert_array_equal(pool.reset(), reference.reset())
    generator = np.random.default_rng(0)
    for _ in range(80):
        actions = generator.integers(2, size=3)
        step, expected = pool.step(actions), reference.step(actions)
        for given, wanted in zip(step, expected, strict=True):
            np.testing.assert_array_equal(given, wanted)
        rows = np.flatnonzero(step.terminated | step.truncated)
        np.testing.assert_array_equal(pool.reset(rows), reference.reset(rows))
    pool.close()
    reference.close()


def first_end(environment: str, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bool, bool]:
    """Steps until the first end of an episode of random actions, and its two flags."""
    import dataclasses

    from minutiae.control.environments import envpool_pool

    specification = envpool_pool.specification(environment)
    if limit is not None:
        specification = dataclasses.replace(specification, time_limit=limit)
    monkeypatch.setattr(envpool_pool, "specification", lambda name: specification)
    pool = envpool_pool.EnvPoolPool(environment, [1], 1)
    pool.reset()
    generator = np.random.default_rng(0)
    for length in range(1, 1001):
        step = pool.step(generator.uniform(-1, 1, (1, 3)))
        if step.terminated[0] or step.truncated[0]:
            return length, bool(step.terminated[0]), bool(step.truncated[0])
    raise AssertionError("the episode never ended")


def test_a_death_at_the_time_limit_of_envpool_is_a_death(monkeypatch: pytest.MonkeyPatch) -> None:
    # EnvPool itself calls a fall in the very last step a truncation.
    length, terminated, truncated = first_end("Hopper-v5", None, monkeypatch)
    assert (terminated, truncated) == (True, False)
    assert first_end("Hopper-v5", length, monkeypatch) == (length, True, False)
    assert first_end("Hopper-v5", length - 1, monkeypatch) == (length - 1, False, True)


def test_a_death_at_the_time_limit_of_gymnasium_is_a_death() -> None:
    pool = make_pool("vector_probes:both_flags", [1])
    pool.reset()
    flags = [(bool(step.terminated[0]), bool(step.truncated[0])) for step in (pool.step(np.array([0])) for _ in "abc")]
    assert flags == [(False, False), (False, False), (True, False)]
    assert pool.time_limit == 3


def test_a_limit_that_envpool_forgets_is_kept() -> None:
    # EnvPool's lane-keeping declares 200 steps and runs on.
    pool = make_pool("lane-keeping-v0", [1, 2])
    pool.reset()
    for number in range(1, 201):
        step = pool.step(np.zeros((2, *pool.action_space.shape)))
        assert step.truncated.all() == (number == 200)
    assert pool.time_limit == 200


def test_numbers_that_are_not_finite_are_passed_on() -> None:
    pool = make_pool("vector_probes:not_finite", [1])
    assert pool.reset() == 0.0
    seen = [pool.step(np.array([0])).observations[0, 0] for _ in range(3)]
    np.testing.assert_array_equal(seen, [np.nan, np.inf, -np.inf])


def test_seeds_of_any_size_reach_envpool() -> None:
    assert [int32_seed(seed) for seed in (0, 1, 2**31 - 1)] == [0, 1, 2**31 - 1]
    # Beyond 31 bits: the first 32 bits of NumPy's SeedSequence, as a signed number.
    for seed in (2**31, 2**40 + 1, 2**100):
        word = int(np.random.SeedSequence(seed).generate_state(1)[0])
        assert int32_seed(seed) == (word if word < 2**31 else word - 2**32)
    small, large = make_pool("Hopper-v5", np.array([1])), make_pool("Hopper-v5", [2**31])
    assert (small.reset() != large.reset()).any()


@pytest.mark.parametrize("seeds", [[1], [1, 2, 3]])
def test_threads_are_never_more_than_rows(seeds: list[int]) -> None:
    def threads(asked: int | None) -> int:
        return make_pool("CartPole-v1", seeds, asked)._pool.config["num_threads"]  # type: ignore[attr-defined]

    assert threads(1) == 1
    assert threads(8) == len(seeds)
    assert threads(None) == min(len(seeds), usable_cores())


def test_a_worker_that_fails_says_why_and_the_pool_closes() -> None:
    pool = make_pool("vector_probes:fails_at_the_third_step", [1, 2, 3], processes=2)
    pool.reset()
    pool.step(np.zeros(3, int))
    pool.step(np.zeros(3, int))
    with pytest.raises(RunError) as caught:
        pool.step(np.zeros(3, int))
    assert str(caught.value).startswith(
        "the worker of rows 0 to 0 of vector_probes:fails_at_the_third_step failed: the environment "
        "vector_probes:fails_at_the_third_step could not be stepped: ValueError: the wheel came off (at "
    )
    with pytest.raises(RuntimeError, match="closed"):
        pool.reset()


def test_a_worker_that_dies_is_noticed_at_once() -> None:
    pool = make_pool("vector_probes:dies_at_the_third_step", [1, 2], processes=1)
    pool.reset()
    pool.step(np.zeros(2, int))
    pool.step(np.zeros(2, int))
    with pytest.raises(RunError, match=r"the worker of rows 0 to 1 .* died with exit code 3; if it never started"):
        pool.step(np.zeros(2, int))


def test_next_step_resets_that_cannot_be_forestalled_are_refused() -> None:
    with pytest.raises(UnsupportedEnvironment) as caught:
        make_pool("vector_probes:native_next_step", [1, 2])
    assert str(caught.value) == (
        "vector_probes:native_next_step resets finished episodes at the next step, a dummy transition after "
        "each; build it with autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED, or let the factory "
        "build one environment and leave the vectorizing to minutiae"
    )


def test_a_vector_environment_must_say_how_it_resets() -> None:
    with pytest.raises(UnsupportedEnvironment, match=r"metadata\['autoreset_mode'\] is None; allowed: .*DISABLED"):
        make_pool("vector_probes:native_silent", [1])


def test_same_step_resets_need_the_final_observation() -> None:
    pool = make_pool("vector_probes:native_without_final", [1])
    pool.reset()
    with pytest.raises(UnsupportedEnvironment, match=r"in the same step and gives no infos\['final_obs'\]"):
        pool.step(np.array([0]))


def test_same_step_rows_restart_only_when_finished() -> None:
    pool = make_pool("vector_probes:cart_pole_same_step", [1, 2])
    first = pool.reset()
    with pytest.raises(
        UnsupportedEnvironment, match="resets by itself, so running episodes can be cut in all of its rows only"
    ):
        pool.reset(np.array([0]))
    assert (pool.reset() != first).all()


def test_class_level_metadata_is_left_alone() -> None:
    import gymnasium

    before = dict(gymnasium.envs.classic_control.CartPoleEnv.metadata)
    make_pool("gymnasium:CartPole-v1", [1]).reset()
    assert gymnasium.envs.classic_control.CartPoleEnv.metadata == before
