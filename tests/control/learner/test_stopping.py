"""`target_kl_stop`: the step at which it stops, what it stops, and that what it stopped stays bit for bit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from learner_cases import bits, case_of, config_of, numbers_of

from minutiae.control.compilation import compile_now
from minutiae.control.learner.epochs import policy_epochs
from minutiae.control.learner.preparation import prepare
from minutiae.control.learner.structure import LearnerState, Samples

pytestmark = pytest.mark.usefixtures("quick_compilation")

MINIBATCHES = 3
SHAPE = {"minibatches": MINIBATCHES, "learning_rate": 0.02}


class Rig(NamedTuple):
    """The same samples for two epochs and for the first of them alone."""

    start: LearnerState
    samples: Samples
    static: dict[str, Any]
    orders: np.ndarray
    both: Callable[..., tuple[LearnerState, dict[str, np.ndarray]]]
    first: Callable[..., tuple[LearnerState, dict[str, np.ndarray]]]


@pytest.fixture(scope="module")
def rig(quick_compilation: None) -> Rig:
    case = case_of([config_of(**SHAPE, epochs=2)]).agent(0)
    arguments = (case.state.parameters, case.batch, case.numbers)
    preparing = functools.partial(prepare, case.structure.policy, parts=MINIBATCHES)
    samples, static = compile_now(preparing, arguments)(*arguments)

    def program(orders: np.ndarray) -> Callable[..., Any]:
        shapes = (case.state, samples, static, orders, case.numbers)
        compiled = compile_now(functools.partial(policy_epochs, case.structure), shapes)

        def run(orders: np.ndarray = orders, **details: Any) -> tuple[LearnerState, dict[str, np.ndarray]]:
            numbers = {name: value[0] for name, value in numbers_of([config_of(**SHAPE, epochs=2, **details)]).items()}
            return jax.device_get(compiled(case.state, samples, static, orders, numbers))

        return run

    orders = case.indices.policy
    return Rig(case.state, jax.device_get(samples), static, orders, program(orders), program(orders[:1]))


def one_epoch(rig: Rig) -> LearnerState:
    """The state after the first epoch, to the bits of the program that has two: stopped by its check per epoch."""
    state, metrics = rig.both(target_kl_stop=1e-9, target_kl_stop_check="per_epoch")
    np.testing.assert_array_equal(metrics["stepped"], [[True] * MINIBATCHES, [False] * MINIBATCHES])
    alone, _ = rig.first()
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6), state, alone)
    return state


def divergences(rig: Rig, **details: Any) -> np.ndarray:
    """The estimate at every minibatch when nothing stops, `[2 x MINIBATCHES]`."""
    _, metrics = rig.both(target_kl_stop=1e6, **details)
    assert metrics["stepped"].all()
    return metrics["stopping_kl"].ravel()


def test_the_first_minibatch_too_far_is_not_stepped_on_and_none_after_it(rig: Rig) -> None:
    kl = divergences(rig)
    assert kl[0] == 0
    new_heights = [j for j in range(1, len(kl)) if kl[j] > kl[:j].max()]
    assert MINIBATCHES in new_heights and len(new_heights) >= 3
    nearer_again = False
    for j in new_heights:
        limit = float((kl[:j].max() + kl[j]) / 2)
        state, metrics = rig.both(target_kl_stop=limit)
        np.testing.assert_array_equal(metrics["stepped"].ravel(), np.arange(len(kl)) < j)
        assert state.optimizer["policy"].count == state.optimizer["value"].count == j
        nearer_again |= bool((metrics["stopping_kl"].ravel()[j + 1 :] < limit).any())
    assert nearer_again, "once stopped it stays stopped, however near the policy is for other samples"


def test_stopping_after_an_epoch_is_having_had_only_that_epoch(rig: Rig) -> None:
    kl = divergences(rig)
    limit = float((kl[:MINIBATCHES].max() + kl[MINIBATCHES]) / 2)
    stopped, _ = rig.both(target_kl_stop=limit)
    one = one_epoch(rig)
    two, _ = rig.both()
    for network in ("policy", "value"):
        assert bits(stopped.parameters[network]) == bits(one.parameters[network]) != bits(two.parameters[network])
        assert bits(stopped.optimizer[network]) == bits(one.optimizer[network]) != bits(two.optimizer[network])


def test_the_value_network_goes_on_where_only_the_policy_stops(rig: Rig) -> None:
    kl = divergences(rig)
    limit = float((kl[:MINIBATCHES].max() + kl[MINIBATCHES]) / 2)
    stopped, metrics = rig.both(target_kl_stop=limit, target_kl_stop_networks="policy")
    one = one_epoch(rig)
    two, _ = rig.both()
    np.testing.assert_array_equal(metrics["stepped"], [[True] * MINIBATCHES, [False] * MINIBATCHES])
    for network, expected in (("policy", one), ("value", two)):
        assert bits(stopped.parameters[network]) == bits(expected.parameters[network])
        assert bits(stopped.optimizer[network]) == bits(expected.optimizer[network])


def test_a_check_per_epoch_looks_at_its_last_minibatch_only(rig: Rig) -> None:
    kl = divergences(rig).reshape(2, MINIBATCHES)
    per_epoch = {"target_kl_stop_check": "per_epoch"}
    last = kl[0, -1]
    one = one_epoch(rig)
    stopped, metrics = rig.both(target_kl_stop=float(last * 0.99), **per_epoch)
    np.testing.assert_array_equal(metrics["stepped"], [[True] * MINIBATCHES, [False] * MINIBATCHES])
    assert bits(stopped.parameters) == bits(one.parameters)
    assert bits(stopped.optimizer) == bits(one.optimizer)
    # Whatever is seen in the second epoch, it is finished.
    assert kl.max() > last * 1.01
    two, _ = rig.both()
    free, metrics = rig.both(target_kl_stop=float(last * 1.01), **per_epoch)
    assert metrics["stepped"].all()
    assert bits(free.parameters) == bits(two.parameters)


def test_a_check_per_epoch_forgives_an_earlier_minibatch(rig: Rig) -> None:
    """The samples of the first epoch's second and third minibatch change places until the second is the farther one."""
    draws = np.random.default_rng(0)
    size = rig.orders.shape[1] // MINIBATCHES
    for _ in range(50):
        orders = rig.orders.copy()
        draws.shuffle(orders[0, size:])
        _, metrics = rig.both(orders=orders)
        _, second, third = metrics["stopping_kl"][0]
        if second > 1.2 * third:
            break
    limit = float(second + third) / 2
    _, forgiving = rig.both(orders=orders, target_kl_stop=limit, target_kl_stop_check="per_epoch")
    _, strict = rig.both(orders=orders, target_kl_stop=limit)
    assert forgiving["stepped"].all()
    np.testing.assert_array_equal(strict["stepped"], [[True, False, False], [False] * 3])


def by_hand(rig: Rig, parameters: Any, rows: np.ndarray) -> dict[str, float]:
    """Every estimate of KL(old || new) at some samples, from Gaussians written out."""

    def distribution(network: Any) -> tuple[np.ndarray, np.ndarray]:
        hidden = np.tanh(rig.samples.observations[rows] @ network["hidden"][0]["weight"] + network["hidden"][0]["bias"])
        mean = hidden @ network["head"]["weight"] + network["head"]["bias"]
        return mean.astype(float), np.exp(network["log_standard_deviation"].astype(float))

    (old_mean, old_std), (mean, std) = (distribution(each["policy"]) for each in (rig.start.parameters, parameters))
    actions = rig.samples.actions[rows]
    log_new, log_old = (
        (-0.5 * ((actions - m) / s) ** 2 - np.log(s)).sum(axis=1) for m, s in ((mean, std), (old_mean, old_std))
    )
    d = log_new - log_old
    exact = np.log(std / old_std) + (old_std**2 + (old_mean - mean) ** 2) / (2 * std**2) - 0.5
    return {
        "k1": float(np.mean(-d)),
        "k2": float(np.mean(d**2 / 2)),
        "k3": float(np.mean(np.exp(d) - 1 - d)),
        "exact": float(exact.sum(axis=1).mean()),
    }


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3", "exact"])
def test_each_estimator_stops_where_it_says(rig: Rig, estimator: str) -> None:
    size = rig.orders.shape[1] // MINIBATCHES
    one = one_epoch(rig)
    expected = by_hand(rig, one.parameters, rig.orders[1, :size])
    assert len({round(value, 4) for value in expected.values()}) == 4
    kl = divergences(rig, target_kl_stop_estimator=estimator)
    assert kl[MINIBATCHES] == pytest.approx(expected[estimator], rel=1e-3)
    limit = float(max(kl[1:MINIBATCHES].max(), expected[estimator] * 0.9))
    for factor in (0.98, 1.02):
        limit = abs(expected[estimator]) * factor
        _, metrics = rig.both(target_kl_stop=limit, target_kl_stop_estimator=estimator)
        first = next((j for j, value in enumerate(kl) if value > limit), len(kl))
        np.testing.assert_array_equal(metrics["stepped"].ravel(), np.arange(len(kl)) < first)


def test_off_never_stops(rig: Rig) -> None:
    state, metrics = rig.both()
    assert metrics["stepped"].all()
    assert state.optimizer["policy"].count == 2 * MINIBATCHES
