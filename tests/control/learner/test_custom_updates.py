"""Details from outside the package change what their stage says, and nothing else of an update."""

from __future__ import annotations

from typing import Any

import jax
import learner_cases as cases
import numpy as np

from minutiae.control.learner.epochs import policy_epochs
from minutiae.control.learner.preparation import prepare
from minutiae.details import Config, bound

PULLED, NEGATED = "outside_details:pulled", "outside_details:negated"


def test_advantages_are_changed_and_value_targets_are_not() -> None:
    case = cases.case_of([cases.config_of()]).agent(0)
    policy, parameters = case.structure.policy, case.state.parameters
    plain, _ = prepare(policy, parameters, case.batch, case.numbers)
    custom = bound(cases.config_of(custom={NEGATED: True}).custom, "advantages")
    changed, _ = prepare(policy, parameters, case.batch, case.numbers, custom_advantages=custom)
    np.testing.assert_array_equal(changed.advantages, -plain.advantages)
    np.testing.assert_array_equal(changed.targets, plain.targets)


def test_a_loss_is_added_and_descended() -> None:
    def first_step(config: Config) -> tuple[Any, Any, Any]:
        case = cases.case_of([config]).agent(0)
        policy = case.structure.policy
        samples, static = prepare(policy, case.state.parameters, case.batch, case.numbers)
        step = jax.jit(policy_epochs, static_argnums=0)
        state, metrics = step(case.structure, case.state, samples, static, case.indices.policy, case.numbers)
        first = case.indices.policy[0][: config.minibatch_size]
        return metrics["policy_loss"][0, 0], samples.old["mean"][first], state.parameters["policy"]

    base = cases.config_of(optimizer="sgd", learning_rate=1.0, minibatches=1)
    loss, means, plain = first_step(base)
    custom_loss, _, pulled = first_step(base.replace(**{PULLED: 0.5}))
    # 0.5 mean over samples of the sum over actions of mu^2
    np.testing.assert_allclose(custom_loss - loss, 0.5 * np.square(means).sum(-1).mean(), rtol=1e-4)
    # The bias of the head moves by the gradient of what was added: 0.5 * 2 mean mu
    moved = np.asarray(plain["head"]["bias"]) - np.asarray(pulled["head"]["bias"])
    np.testing.assert_allclose(moved, np.mean(means, 0), rtol=1e-3, atol=1e-6)
