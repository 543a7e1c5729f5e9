"""What every pool must do, as tests to inherit from. Needs pytest; nothing in the package imports this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from minutiae.control.environments.protocol import Pool, Step


class PoolConformance:
    """Inherit, name the class `Test...`, define `make`, and pytest runs the protocol's rules on your pool.

    class TestMyPool(PoolConformance):
        def make(self, seeds):
            return MyPool(seeds)
    """

    steps: ClassVar[int] = 60
    """Steps each test plays; enough for several episodes to end, unless they never do."""
    episodes_end: ClassVar[bool] = True
    """Whether at least one episode ends within `steps`."""
    seeded: ClassVar[bool] = True
    """Whether first observations differ between seeds."""
    restarts_running_rows: ClassVar[bool] = True
    """Whether a row may be reset before it has finished."""

    def make(self, seeds: Sequence[int]) -> Pool:
        """A fresh pool with one row per seed."""
        raise NotImplementedError

    def actions(self, pool: Pool, seed: int) -> np.ndarray:
        """Random actions for every row, equal for equal seeds whatever the number of rows."""
        space = pool.action_space
        draws = np.stack([np.random.default_rng((seed, row)).random(space.shape) for row in range(pool.rows)])
        if isinstance(space, Box):
            low, high = np.maximum(space.low, -1.0), np.minimum(space.high, 1.0)
            return np.asarray(low + draws * (high - low))
        return (draws * (space.n if isinstance(space, Discrete) else space.nvec)).astype(np.int64)

    def play(self, pool: Pool, steps: int | None = None) -> list[tuple[Step, np.ndarray]]:
        """Steps with random actions, each with the numbers of the rows that it finished, reset afterwards."""
        played = []
        for number in range(self.steps if steps is None else steps):
            step = pool.step(self.actions(pool, number))
            finished = np.flatnonzero(step.terminated | step.truncated)
            if finished.size:
                pool.reset(finished)
            played.append((step, finished))
        return played

    def until_finished(self, pool: Pool) -> np.ndarray:
        """Step a fresh pool until rows finish; their numbers, not yet reset."""
        for number in range(self.steps):
            step = pool.step(self.actions(pool, number))
            finished = np.flatnonzero(step.terminated | step.truncated)
            if finished.size:
                return finished
        pytest.fail(f"no episode ended in {self.steps} steps; set `steps` or `episodes_end`")

    def test_it_is_a_pool(self) -> None:
        pool = self.make([1, 2, 3])
        assert isinstance(pool, Pool)
        assert pool.rows == 3
        assert pool.observation_space.dtype == np.float64 and len(pool.observation_space.shape) == 1
        assert pool.autoreset in ("disabled", "next_step", "same_step")
        assert pool.time_limit is None or pool.time_limit >= 1
        if isinstance(pool.action_space, Discrete):
            assert pool.action_space.start == 0
        pool.close()

    def test_shapes_and_types(self) -> None:
        pool = self.make([1, 2, 3])
        (size,) = pool.observation_space.shape
        first = pool.reset()
        assert first.shape == (3, size) and first.dtype == np.float64
        for step, _ in self.play(pool, 5):
            assert step.observations.shape == (3, size) and step.observations.dtype == np.float64
            assert step.rewards.shape == (3,) and step.rewards.dtype == np.float64
            assert step.terminated.shape == (3,) and step.terminated.dtype == np.bool_
            assert step.truncated.shape == (3,) and step.truncated.dtype == np.bool_
        pool.close()

    def test_same_seeds_give_the_same_transitions(self) -> None:
        one, other = self.make([7, 8]), self.make([7, 8])
        np.testing.assert_array_equal(one.reset(), other.reset())
        for (left, _), (right, _) in zip(self.play(one), self.play(other), strict=True):
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a, b)
        one.close()
        other.close()

    def test_different_seeds_start_differently(self) -> None:
        if self.seeded:
            pool = self.make([11, 12, 2**40 + 11])
            first = pool.reset()
            assert np.unique(first, axis=0).shape[0] == 3
            pool.close()

    def test_a_row_does_not_depend_on_its_companions(self) -> None:
        alone, crowd = self.make([5]), self.make([5, 6, 9])
        np.testing.assert_array_equal(alone.reset()[0], crowd.reset()[0])
        for (left, _), (right, _) in zip(self.play(alone), self.play(crowd), strict=True):
            for a, b in zip(left, right, strict=True):
                np.testing.assert_array_equal(a[0], b[0])
        alone.close()
        crowd.close()

    def test_rows_come_back_in_the_order_asked_for(self) -> None:
        pool, twin = self.make([1, 2, 3]), self.make([1, 2, 3])
        pool.reset()
        twin.reset()
        if self.restarts_running_rows:
            backwards, forwards = pool.reset(np.array([2, 0])), twin.reset(np.array([0, 2]))
            np.testing.assert_array_equal(backwards, forwards[::-1])
            assert pool.reset(np.array([False, True, False])).shape == (1, *pool.observation_space.shape)
        assert pool.reset(np.array([], dtype=np.int64)).shape == (0, *pool.observation_space.shape)
        pool.close()
        twin.close()

    def test_restarting_one_row_leaves_the_others_alone(self) -> None:
        if self.restarts_running_rows:
            pool, twin = self.make([1, 2]), self.make([1, 2])
            pool.reset()
            twin.reset()
            pool.reset(np.array([0]))
            step, expected = pool.step(self.actions(pool, 0)), twin.step(self.actions(twin, 0))
            for a, b in zip(step, expected, strict=True):
                np.testing.assert_array_equal(a[1], b[1])
            pool.close()
            twin.close()

    def test_a_finished_row_must_be_reset(self) -> None:
        pool = self.make([1, 2])
        with pytest.raises(RuntimeError, match="reset"):
            pool.step(self.actions(pool, 0))
        pool.reset()
        if self.episodes_end:
            finished = self.until_finished(pool)
            with pytest.raises(RuntimeError, match=r"call reset\(rows\)"):
                pool.step(self.actions(pool, 0))
            pool.reset(finished)
            pool.step(self.actions(pool, 0))
        pool.close()

    def test_episodes_end_by_one_flag_and_within_the_limit(self) -> None:
        pool = self.make([1, 2])
        pool.reset()
        lengths = np.zeros(2, dtype=int)
        ended = False
        for step, finished in self.play(pool):
            lengths += 1
            assert not (step.terminated & step.truncated).any()
            if pool.time_limit is not None:
                assert lengths.max() <= pool.time_limit
                assert (lengths[step.truncated] == pool.time_limit).all()
            lengths[finished] = 0
            ended = ended or finished.size > 0
        assert ended == self.episodes_end
        pool.close()

    def test_returned_arrays_are_the_callers_to_keep(self) -> None:
        pool = self.make([1, 2])
        kept = [pool.reset()]
        copies = [kept[0].copy()]
        for step, _ in self.play(pool):
            kept.extend(step)
            copies.extend(array.copy() for array in step)
        for array, copy in zip(kept, copies, strict=True):
            np.testing.assert_array_equal(array, copy)
        pool.close()

    def test_wrong_rows_are_refused(self) -> None:
        pool = self.make([1, 2])
        with pytest.raises(RuntimeError, match="first reset"):
            pool.reset(np.array([0]))
        pool.reset()
        for rows in ([2], [-1], [0, 0]):
            with pytest.raises(ValueError, match="distinct numbers from 0 to 1"):
                pool.reset(np.array(rows))
        with pytest.raises(ValueError, match=r"shape \(2,\)"):
            pool.reset(np.array([True]))
        pool.close()

    def test_closing_twice_is_harmless_and_a_closed_pool_says_so(self) -> None:
        pool = self.make([1])
        pool.reset()
        pool.close()
        pool.close()
        with pytest.raises(RuntimeError, match="closed"):
            pool.step(self.actions(pool, 0))
        with pytest.raises(RuntimeError, match="closed"):
            pool.reset()
