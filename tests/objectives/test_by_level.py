"""Choosing by level code: on the spot for numbers, by data for traced codes, never silently out of range."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from minutiae.objectives.levels import by_level

BRANCHES = [jnp.float32([1.0, 2.0]), jnp.float32([3.0, 4.0]), jnp.float32([5.0, 6.0])]


@pytest.mark.parametrize("code", [1, 1.0, np.float32(1), np.array(1.0), jnp.float32(1), jnp.int32(1)])
def test_every_kind_of_code_chooses_the_same_branch(code):
    np.testing.assert_array_equal(by_level(code, BRANCHES), [3.0, 4.0])


def test_codes_may_differ_between_the_agents_of_one_program():
    chosen = jax.jit(jax.vmap(lambda code: by_level(code, BRANCHES)))(jnp.float32([2, 0, 1]))
    np.testing.assert_array_equal(chosen, [[5, 6], [1, 2], [3, 4]])


@pytest.mark.parametrize("code", [-1, 3, 0.5])
def test_a_number_that_is_no_level_is_refused(code):
    with pytest.raises(IndexError, match=rf"level code {code} is none of 0\.\.2"):
        by_level(code, BRANCHES)


def test_a_traced_code_that_is_no_level_gives_nan():
    assert jnp.isnan(jax.jit(lambda code: by_level(code, BRANCHES))(7.0)).all()


def test_slopes_pass_through_the_chosen_branch_only():
    slope = jax.grad(lambda x, code: by_level(code, [x, 10 * x, 100 * x]))(2.0, jnp.float32(1))
    assert slope == 10.0
