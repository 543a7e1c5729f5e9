"""The rows of the update: advantages, losses, trust region, optimization. Rows only."""

from __future__ import annotations

import contract_by_hand as by_hand
from contract_switch import JUDGED, POLICY, POLICY_STEP, SEPARATE, TRPO, TRUST, VALUE, VALUE_STEP, Switch, apart

ADVANTAGES = [
    Switch("gae_lambda", (0.95, 0.5), JUDGED, {}, (by_hand.advantages,)),
    Switch(
        "value_target",
        ("gae", "monte_carlo"),
        {"value targets"} | VALUE,
        {},
        (by_hand.advantages, by_hand.value_loss),
    ),
    Switch(
        "advantage_normalization",
        (None, "batch", "minibatch"),
        apart(
            off__batch={"advantages"} | POLICY,
            off__minibatch=POLICY,
            # The losses are of the whole batch as one minibatch, the steps are not.
            batch__minibatch={"advantages"} | POLICY_STEP,
        ),
        {},
        (by_hand.advantages, by_hand.policy_loss),
    ),
    Switch("advantage_normalization_ddof", (0, 1), POLICY, {}, (by_hand.policy_loss,)),
    Switch(
        "advantage_normalization_ddof",
        (0, 1),
        {"advantages"} | POLICY,
        {"advantage_normalization": "batch"},
        (by_hand.advantages,),
    ),
    Switch("value_target_terminal_mask", (None, True), {"value samples"} | VALUE, {}, (by_hand.value_loss,)),
]

STOPPING = {"target_kl_stop": 0.01}
PENALIZED = {"initial KL coefficient", "KL coefficient"} | POLICY

POLICY_UPDATE = [
    Switch("ratio_clipping", (None, 0.2, 0.1), {"clip range"} | POLICY, {}, (by_hand.policy_loss,)),
    Switch(
        "ratio_clipping_annealing",
        (None, "linear"),
        {"clip range"} | POLICY,
        {"ratio_clipping": 0.15},
        (by_hand.schedules, by_hand.policy_loss),
    ),
    Switch(
        "dual_clipping",
        (None, 1.05, 1.2),
        # No stored ratio lies between the two floors, so the gradient is cut for the same samples.
        lambda one, other: POLICY if None in (one, other) else POLICY - {"policy gradient"},
        {},
        (by_hand.policy_loss,),
    ),
    Switch(
        "kl_penalty",
        (None, "fixed", "adaptive"),
        apart(off__fixed=PENALIZED, off__adaptive=PENALIZED, fixed__adaptive={"KL coefficient"}),
        {},
        (by_hand.policy_loss,),
    ),
    Switch("kl_penalty_coefficient", (1.0, 3.0), PENALIZED, {"kl_penalty": "fixed"}, (by_hand.policy_loss,)),
    Switch("kl_penalty_target", (0.01, 100.0), {"KL coefficient"}, {"kl_penalty": "adaptive"}),
    Switch("target_kl_stop", (None, 0.01, 0.1), POLICY_STEP | VALUE_STEP),
    Switch(
        "target_kl_stop_estimator",
        ("k1", "k2", "k3", "exact"),
        {"stopping KL", "policy metrics"},
        {"target_kl_stop": 100.0},
        (by_hand.policy_loss,),
    ),
    Switch("target_kl_stop_check", ("per_minibatch", "per_epoch"), POLICY_STEP | VALUE_STEP, STOPPING),
    Switch("target_kl_stop_networks", ("policy", "both"), VALUE_STEP, STOPPING),
    Switch("entropy_coefficient", (None, 0.1, -0.1), POLICY, {}, (by_hand.policy_loss,)),
]

# Half the states know too little of the others, so the whole step is refused and each rule stops at a step of its own.
SEARCHING = TRPO | {
    "fisher_fraction": 0.5,
    "conjugate_gradient_damping": 1e-3,
    "max_kl": 1.0,
    "line_search_accept_ratio": 0.9,
}

TRUST_REGION = [
    Switch("max_kl", (0.01, 0.02), {"radius"} | TRUST, TRPO),
    Switch("max_kl_final", (None, 0.05, 0.02), {"radius"} | TRUST, TRPO, (by_hand.schedules,)),
    Switch("fisher_fraction", (1.0, 0.5), {"fisher states"} | TRUST, TRPO),
    Switch("fisher_subset", ("random", "strided"), {"fisher states"} | TRUST, TRPO | {"fisher_fraction": 0.5}),
    Switch("conjugate_gradient_iterations", (10, 2), TRUST, TRPO),
    Switch("conjugate_gradient_damping", (0.1, 1.0), TRUST, TRPO),
    Switch("line_search", ("improvement_ratio", "baselines", "strict"), TRUST, SEARCHING),
    Switch("line_search_accept_ratio", (0.1, 0.9), TRUST, SEARCHING),
    Switch("line_search_backtracks", (10, 1), TRUST, SEARCHING),
]

# Values that pass their targets are nearer to them clipped than not, which tells `min` from off and `max` from clipped.
OVERSHOOTING = {"learning_rate": 0.2}

VALUE_UPDATE = [
    Switch(
        "value_clipping",
        (None, "max", "min", "clipped_only", "max_signed"),
        VALUE,
        OVERSHOOTING,
        (by_hand.value_loss,),
    ),
    Switch(
        "value_clipping_range",
        (0.2, 0.5),
        VALUE,
        OVERSHOOTING | {"value_clipping": "max"},
        (by_hand.value_loss,),
    ),
    Switch("value_loss_coefficient", (0.5, 1.0), VALUE_STEP),
    Switch("value_epochs", (2, 3), {"value minibatches"} | VALUE_STEP, SEPARATE),
]

CLIPPED = {"gradient_clipping": 0.5}

OPTIMIZATION = [
    Switch("optimizer", ("adam", "rmsprop", "sgd"), POLICY_STEP | VALUE_STEP),
    Switch(
        "separate_optimizers",
        (None, True),
        {"value minibatches", "value learning rate"} | VALUE_STEP,
        rounded=POLICY_STEP,
    ),
    Switch("update_order", ("value_first", "policy_first"), set(), SEPARATE),
    Switch(
        "learning_rate",
        (0.05, 0.02),
        {"policy learning rate", "value learning rate"} | POLICY_STEP | VALUE_STEP,
        {},
        (by_hand.schedules,),
    ),
    Switch("learning_rate", (0.05, 0.02), {"policy learning rate"} | POLICY_STEP, SEPARATE, (by_hand.schedules,)),
    Switch("value_learning_rate", (0.05, 0.02), {"value learning rate"} | VALUE_STEP, SEPARATE, (by_hand.schedules,)),
    Switch(
        "learning_rate_annealing",
        (None, "linear", "linear_per_gradient_step"),
        {"policy learning rate", "value learning rate"} | POLICY_STEP | VALUE_STEP,
        {},
        (by_hand.schedules,),
    ),
    Switch(
        "learning_rate_annealing_networks",
        ("both", "policy", "value"),
        apart(
            both__policy={"value learning rate"} | VALUE_STEP,
            both__value={"policy learning rate"} | POLICY_STEP,
            policy__value={"policy learning rate", "value learning rate"} | POLICY_STEP | VALUE_STEP,
        ),
        SEPARATE | {"learning_rate_annealing": "linear"},
        (by_hand.schedules,),
    ),
    Switch("adam_epsilon", (1e-5, 1e-2), POLICY_STEP | VALUE_STEP),
    Switch("adam_epsilon_style", ("after_correction", "before_correction"), POLICY_STEP | VALUE_STEP),
    Switch("gradient_clipping", (None, 0.5, 0.1), POLICY_STEP | VALUE_STEP),
    Switch("gradient_clipping", (None, 0.5), VALUE_STEP, TRPO),
    Switch(
        "gradient_clipping_scope",
        ("joint", "per_network", "policy_only"),
        apart(
            joint__per_network=POLICY_STEP | VALUE_STEP,
            joint__policy_only=POLICY_STEP | VALUE_STEP,
            per_network__policy_only=VALUE_STEP,
        ),
        CLIPPED,
    ),
    Switch("gradient_clipping_scope", ("joint", "per_network"), set(), SEPARATE | CLIPPED),
    Switch("epochs", (2, 3), {"policy minibatches"} | POLICY_STEP | VALUE_STEP),
    Switch("minibatches", (2, 3), POLICY_STEP | VALUE_STEP),
]

ROWS = [*ADVANTAGES, *POLICY_UPDATE, *TRUST_REGION, *VALUE_UPDATE, *OPTIMIZATION]
