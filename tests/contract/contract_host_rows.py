"""The rows of what happens around the learner: budget, collection, preprocessing, networks. Rows only."""

from __future__ import annotations

import contract_by_hand as by_hand
from contract_switch import (
    ACTED,
    INITIAL_WEIGHTS,
    JUDGED,
    PAID,
    POLICY,
    POLICY_LOSS,
    POLICY_STEP,
    ROLLOUTS,
    SAMPLES,
    SEEN,
    SEPARATE,
    SHAPE,
    VALUE_LOSS,
    VALUE_STEP,
    Switch,
)

COLLECTION = [
    Switch(
        "environment",
        ("contract_environment:tape", "contract_environment:other_tape"),
        {"environment"} | ROLLOUTS,
    ),
    Switch(
        "algorithm",
        ("ppo", "trpo"),
        {"policy minibatches", "fisher states", "policy learning rate"} | POLICY_STEP,
        SEPARATE,
    ),
    Switch(
        "steps",
        (36, 24),
        {"iterations", "segment length", "policy learning rate", "value learning rate"} | POLICY_STEP | VALUE_STEP,
        {"learning_rate_annealing": "linear"},
        (by_hand.schedules,),
    ),
    Switch(
        "segment_iterations",
        (None, 1, 2),
        lambda one, other: {"segment length"} | (ROLLOUTS | {"pool seeds"} if 1 in (one, other) else set()),
    ),
    Switch("held_out_diagnostics", (None, 1, 2), {"held-out rollouts", "held-out iterations"}),
    Switch("environments", (2, 3), SHAPE | {"pool seeds", "iterations", "segment length"}, update=False),
    Switch("rollout_length", (6, 4), SHAPE | {"iterations", "segment length"}, update=False),
    Switch("environment_reset_each_iteration", (None, True), ROLLOUTS),
    Switch("final_state_bootstrap", ("next", "self", "zero"), JUDGED, {}, (by_hand.advantages,)),
    Switch(
        "truncation_bootstrap",
        ("terminal", "bootstrap", "bootstrap_self", "mask_delta"),
        JUDGED,
        {},
        (by_hand.advantages,),
    ),
    Switch("discount", (0.99, 0.9), PAID | JUDGED, {}, (by_hand.rewards, by_hand.advantages)),
    Switch(
        "action_bound",
        ("clip_at_environment", "clip_stored", "tanh", None),
        lambda one, other: (
            ({"stored actions"} if "clip_stored" in (one, other) else set())
            | ({"environment actions"} if {one, other} != {"clip_at_environment", "clip_stored"} else set())
            | ({"old log probabilities"} | POLICY if "tanh" in (one, other) else set())
        ),
        {"entropy_coefficient": 0.1},
        (by_hand.actions,),
    ),
]

PREPROCESSING = [
    Switch("observation_normalization", (True, None), SEEN | {"observation statistics"}, {}, (by_hand.observations,)),
    Switch(
        "observation_normalization_update",
        ("per_step", "per_iteration_before_update", "per_iteration_after_update"),
        # Both kinds of update per iteration act with what earlier rollouts taught.
        lambda one, other: SEEN | {"observation statistics"} if "per_step" in (one, other) else SEEN - ACTED,
        {},
        (by_hand.observations,),
    ),
    Switch(
        "observation_normalization_estimator",
        ("population", "sample"),
        SEEN | {"observation statistics"},
        {},
        (by_hand.observations,),
    ),
    Switch("observation_clipping", (None, 0.5, 1.0), SEEN, {}, (by_hand.observations,)),
    Switch("reward_scaling", ("returns", "rewards", None), PAID, {}, (by_hand.rewards,)),
    Switch(
        "reward_scaling_reset",
        ("never", "on_done", "on_terminated", "on_reset", "gymnasium"),
        PAID,
        {"environment_reset_each_iteration": True},
        (by_hand.rewards,),
    ),
    Switch("reward_scaling_estimator", ("population", "sample"), PAID, {}, (by_hand.rewards,)),
    Switch("reward_clipping", (None, 0.5, 1.0), {"rewards"}, {}, (by_hand.rewards,)),
]

NETWORKS = [
    Switch(
        "policy_hidden_sizes",
        ((4,), (5,)),
        {f"initial policy {part}" for part in ("hidden layers", "head", "biases")}
        | {"old log probabilities", "stopping KL"}
        | ACTED
        | POLICY_LOSS,
        update=False,
    ),
    Switch(
        "value_hidden_sizes",
        ((3,), (5,)),
        {f"initial value {part}" for part in ("hidden layers", "head", "biases")}
        | {"old values", "advantages", "value targets"}
        | POLICY_LOSS
        | VALUE_LOSS,
        by_hand=(by_hand.values,),
        update=False,
    ),
    Switch(
        "activation",
        ("tanh", "relu", "leaky_relu", "elu", "swish", "sigmoid"),
        ACTED | SAMPLES - {"value samples"} | POLICY_LOSS | VALUE_LOSS,
        by_hand=(by_hand.values,),
        update=False,
    ),
    Switch(
        "initialization",
        ("orthogonal", "xavier_uniform", "lecun_normal", "he_normal", "torch_default"),
        lambda one, other: (
            INITIAL_WEIGHTS
            | ACTED
            | ({"initial policy biases", "initial value biases"} if "torch_default" in (one, other) else set())
        ),
    ),
    Switch(
        "initialization_hidden_gain",
        (1.0, 2.0),
        {"initial policy hidden layers", "initial value hidden layers"} | ACTED,
    ),
    Switch("initialization_policy_head_gain", (0.01, 1.0), {"initial policy head"} | ACTED),
    Switch("initialization_value_head_gain", (1.0, 0.1), {"initial value head"}),
    Switch("initial_log_standard_deviation", (0.0, -0.5), {"initial log standard deviation"} | ACTED),
]

ROWS = [*COLLECTION, *PREPROCESSING, *NETWORKS]
