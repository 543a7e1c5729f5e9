"""Streams of random numbers: named, never shared, and the same in every process and for every config."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minutiae.control.seeding import Purpose, environment_seeds, fisher_rows, minibatch_order, stream

PINNED_SEEDS = [1121323794, 1910699505, 2132340198]
PINNED_ORDER = [1, 3, 0, 5, 2, 4]
PINNED_FISHER = [4, 3, 0]


def test_the_same_name_gives_the_same_stream_and_another_name_another() -> None:
    names = list(itertools.product([0, 1, 2**40], Purpose, [0, 1]))
    drawn = [tuple(stream(*name).integers(2**62, size=2)) for name in names]
    assert len(set(drawn)) == len(names)
    assert drawn == [tuple(stream(*name).integers(2**62, size=2)) for name in names]


def test_streams_are_part_of_the_file_format() -> None:
    # Whoever changes these numbers changes the result of every seed: a resumed run would not be itself.
    assert [purpose.value for purpose in Purpose] == list(range(len(Purpose)))
    assert environment_seeds(0, Purpose.ENVIRONMENTS, 0, 3) == PINNED_SEEDS
    np.testing.assert_array_equal(minibatch_order(0, Purpose.POLICY_MINIBATCHES, 0, 1, 6), [PINNED_ORDER])
    np.testing.assert_array_equal(fisher_rows(0, 0, 6, 3, strided=False), PINNED_FISHER)


def test_environment_seeds_suit_every_simulator() -> None:
    seeds = environment_seeds(3, Purpose.ENVIRONMENTS, 0, 1000)
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == 1000
    # More rows keep the seeds of the first ones: a run with more environments is a wider one, not another.
    assert environment_seeds(3, Purpose.ENVIRONMENTS, 0, 10) == seeds[:10]


def test_minibatch_orders_are_permutations_that_change_with_epoch_and_iteration() -> None:
    orders = [minibatch_order(1, Purpose.POLICY_MINIBATCHES, iteration, 3, 50) for iteration in (0, 1)]
    for order in orders:
        assert order.shape == (3, 50) and order.dtype == np.int32
        np.testing.assert_array_equal(np.sort(order, axis=1), np.broadcast_to(np.arange(50), (3, 50)))
    rows = np.concatenate(orders)
    assert len({tuple(row) for row in rows}) == 6
    value = minibatch_order(1, Purpose.VALUE_MINIBATCHES, 0, 3, 50)
    assert (value != orders[0]).any()


@pytest.mark.parametrize("size", [1, 7, 50])
def test_fisher_rows_are_distinct_states_of_the_batch(size: int) -> None:
    chosen = fisher_rows(1, 0, 50, size, strided=False)
    assert chosen.shape == (size,) and chosen.dtype == np.int32
    assert len(set(chosen.tolist())) == size and chosen.min() >= 0 and chosen.max() < 50
    assert size == 50 or (chosen != fisher_rows(1, 1, 50, size, strided=False)).any()


def test_strided_fisher_rows_are_every_nth() -> None:
    # trpo_mpi.py: arr[::5]
    np.testing.assert_array_equal(fisher_rows(9, 4, 50, 10, strided=True), np.arange(50)[::5])
    np.testing.assert_array_equal(fisher_rows(9, 4, 50, 50, strided=True), np.arange(50))
