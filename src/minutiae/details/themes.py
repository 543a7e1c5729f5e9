"""The fields of a config, all themes in one place for now; each becomes a module of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from minutiae.details.conditions import either, lacks, needs, only, smaller
from minutiae.details.detail import NUMBER, STRUCTURE, detail
from minutiae.details.levels import choice, flag, integer, number, sizes, text

L, H = "learner", "host"
PPO = only("algorithm", "ppo")
TRPO = only("algorithm", "trpo")
OWN_VALUE_OPTIMIZER = either(TRPO, needs("separate_optimizers"))


@dataclass(frozen=True, kw_only=True, repr=False)
class Budget:
    environment: str = detail(levels=text(), kind=STRUCTURE, room=H)
    algorithm: str = detail(default="ppo", levels=choice("ppo", "trpo"), kind=STRUCTURE, room=L)
    steps: int = detail(default=1_000_000, levels=integer(at_least=1), kind=NUMBER, room=H)
    segment_iterations: int | None = detail(
        default=None, levels=integer(at_least=1, off=True, off_word="automatic"), kind=STRUCTURE, room=H
    )
    held_out_diagnostics: int | None = detail(
        default=None, levels=integer(at_least=1, off=True), kind=STRUCTURE, room=H
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Collection:
    environments: int = detail(default=16, levels=integer(at_least=1), kind=STRUCTURE, room=H)
    rollout_length: int = detail(default=128, levels=integer(at_least=1), kind=STRUCTURE, room=H)
    environment_reset_each_iteration: bool | None = detail(default=None, levels=flag(), kind=NUMBER, room=H)
    final_state_bootstrap: str = detail(
        default="next", levels=choice("next", "self", "zero"), kind=NUMBER, room=L
    )
    truncation_bootstrap: str = detail(
        default="bootstrap",
        levels=choice("terminal", "bootstrap", "bootstrap_self", "mask_delta"),
        kind=NUMBER,
        room=L,
    )
    discount: float = detail(default=0.99, levels=number(at_least=0, at_most=1), kind=NUMBER, room=L)
    action_bound: str | None = detail(
        default="clip_at_environment",
        levels=choice("clip_at_environment", "clip_stored", "tanh", off=True),
        kind=STRUCTURE,
        room=L,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Preprocessing:
    observation_normalization: bool | None = detail(default=True, levels=flag(), kind=NUMBER, room=H)
    observation_normalization_update: str = detail(
        default="per_step",
        levels=choice("per_step", "per_iteration_before_update", "per_iteration_after_update"),
        kind=NUMBER,
        room=H,
        applies=needs("observation_normalization"),
    )
    observation_normalization_estimator: str = detail(
        default="population",
        levels=choice("population", "sample"),
        kind=NUMBER,
        room=H,
        applies=needs("observation_normalization"),
    )
    observation_clipping: float | None = detail(
        default=10.0, levels=number(above=0, off=True), kind=NUMBER, room=H
    )
    reward_scaling: str | None = detail(
        default="returns", levels=choice("returns", "rewards", off=True), kind=NUMBER, room=H
    )
    reward_scaling_reset: str = detail(
        default="on_done",
        levels=choice("never", "on_done", "on_terminated", "on_reset", "gymnasium"),
        kind=NUMBER,
        room=H,
        applies=only("reward_scaling", "returns"),
    )
    reward_scaling_estimator: str = detail(
        default="population",
        levels=choice("population", "sample"),
        kind=NUMBER,
        room=H,
        applies=needs("reward_scaling"),
    )
    reward_clipping: float | None = detail(
        default=10.0, levels=number(above=0, off=True), kind=NUMBER, room=H
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Networks:
    policy_hidden_sizes: tuple[int, ...] = detail(default=(64, 64), levels=sizes(), kind=STRUCTURE, room=L)
    value_hidden_sizes: tuple[int, ...] = detail(default=(64, 64), levels=sizes(), kind=STRUCTURE, room=L)
    activation: str = detail(
        default="tanh",
        levels=choice("tanh", "relu", "leaky_relu", "elu", "swish", "sigmoid"),
        kind=STRUCTURE,
        room=L,
    )
    initialization: str = detail(
        default="orthogonal",
        levels=choice("orthogonal", "xavier_uniform", "lecun_normal", "he_normal", "torch_default"),
        kind=NUMBER,
        room=H,
    )
    initialization_hidden_gain: float = detail(
        default=math.sqrt(2), levels=number(above=0), kind=NUMBER, room=H
    )
    initialization_policy_head_gain: float = detail(default=0.01, levels=number(above=0), kind=NUMBER, room=H)
    initialization_value_head_gain: float = detail(default=1.0, levels=number(above=0), kind=NUMBER, room=H)
    initial_log_standard_deviation: float = detail(
        default=0.0, levels=number(at_least=-20, at_most=5), kind=NUMBER, room=H
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Advantages:
    gae_lambda: float = detail(default=0.95, levels=number(at_least=0, at_most=1), kind=NUMBER, room=L)
    value_target: str = detail(default="gae", levels=choice("gae", "monte_carlo"), kind=NUMBER, room=L)
    advantage_normalization: str | None = detail(
        default="minibatch", levels=choice("batch", "minibatch", off=True), kind=NUMBER, room=L
    )
    advantage_normalization_ddof: int = detail(
        default=0,
        levels=integer(at_least=0, at_most=1),
        kind=NUMBER,
        room=L,
        applies=needs("advantage_normalization"),
    )
    value_target_terminal_mask: bool | None = detail(default=None, levels=flag(), kind=NUMBER, room=L)


@dataclass(frozen=True, kw_only=True, repr=False)
class PolicyUpdate:
    ratio_clipping: float | None = detail(
        default=0.2, levels=number(above=0, off=True), kind=NUMBER, room=L, applies=PPO
    )
    ratio_clipping_annealing: str | None = detail(
        default=None, levels=choice("linear", off=True), kind=NUMBER, room=L, applies=needs("ratio_clipping")
    )
    dual_clipping: float | None = detail(
        default=None, levels=number(above=1, off=True), kind=NUMBER, room=L, applies=PPO
    )
    kl_penalty: str | None = detail(
        default=None, levels=choice("fixed", "adaptive", off=True), kind=NUMBER, room=L, applies=PPO
    )
    kl_penalty_coefficient: float = detail(
        default=1.0, levels=number(above=0), kind=NUMBER, room=L, applies=needs("kl_penalty")
    )
    kl_penalty_target: float = detail(
        default=0.01, levels=number(above=0), kind=NUMBER, room=L, applies=only("kl_penalty", "adaptive")
    )
    target_kl_stop: float | None = detail(
        default=None, levels=number(above=0, off=True), kind=NUMBER, room=L, applies=PPO
    )
    target_kl_stop_estimator: str = detail(
        default="k3",
        levels=choice("k1", "k2", "k3", "exact"),
        kind=NUMBER,
        room=L,
        applies=needs("target_kl_stop"),
    )
    target_kl_stop_check: str = detail(
        default="per_minibatch",
        levels=choice("per_minibatch", "per_epoch"),
        kind=NUMBER,
        room=L,
        applies=needs("target_kl_stop"),
    )
    target_kl_stop_networks: str = detail(
        default="both",
        levels=choice("policy", "both"),
        kind=NUMBER,
        room=L,
        applies=needs("target_kl_stop"),
    )
    entropy_coefficient: float | None = detail(
        default=None, levels=number(off=True), kind=NUMBER, room=L, off_value=0.0, applies=PPO
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class TrustRegion:
    max_kl: float = detail(default=0.01, levels=number(above=0), kind=NUMBER, room=L, applies=TRPO)
    max_kl_final: float | None = detail(
        default=None, levels=number(above=0, off=True), kind=NUMBER, room=L, applies=TRPO
    )
    fisher_fraction: float = detail(
        default=1.0, levels=number(above=0, at_most=1), kind=STRUCTURE, room=L, applies=TRPO
    )
    fisher_subset: str = detail(
        default="random",
        levels=choice("random", "strided"),
        kind=NUMBER,
        room=H,
        applies=(TRPO, smaller("fisher_fraction", 1)),
    )
    conjugate_gradient_iterations: int = detail(
        default=10, levels=integer(at_least=1), kind=STRUCTURE, room=L, applies=TRPO
    )
    conjugate_gradient_damping: float = detail(
        default=0.1, levels=number(at_least=0), kind=NUMBER, room=L, applies=TRPO
    )
    line_search: str = detail(
        default="improvement_ratio",
        levels=choice("improvement_ratio", "baselines", "strict"),
        kind=NUMBER,
        room=L,
        applies=TRPO,
    )
    line_search_accept_ratio: float = detail(
        default=0.1,
        levels=number(at_least=0, at_most=1),
        kind=NUMBER,
        room=L,
        applies=only("line_search", "improvement_ratio"),
    )
    line_search_backtracks: int = detail(
        default=10, levels=integer(at_least=1), kind=STRUCTURE, room=L, applies=TRPO
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class ValueUpdate:
    value_clipping: str | None = detail(
        default=None,
        levels=choice("max", "min", "clipped_only", "max_signed", off=True),
        kind=NUMBER,
        room=L,
    )
    value_clipping_range: float = detail(
        default=0.2, levels=number(above=0), kind=NUMBER, room=L, applies=needs("value_clipping")
    )
    value_loss_coefficient: float = detail(
        default=0.5,
        levels=number(above=0),
        kind=NUMBER,
        room=L,
        applies=(PPO, lacks("separate_optimizers")),
    )
    value_epochs: int = detail(
        default=10, levels=integer(at_least=1), kind=STRUCTURE, room=L, applies=OWN_VALUE_OPTIMIZER
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Optimization:
    optimizer: str = detail(default="adam", levels=choice("adam", "rmsprop", "sgd"), kind=STRUCTURE, room=L)
    separate_optimizers: bool | None = detail(
        default=None, levels=flag(), kind=STRUCTURE, room=L, applies=PPO
    )
    update_order: str = detail(
        default="value_first",
        levels=choice("value_first", "policy_first"),
        kind=STRUCTURE,
        room=L,
        applies=OWN_VALUE_OPTIMIZER,
    )
    learning_rate: float = detail(default=3e-4, levels=number(above=0), kind=NUMBER, room=L, applies=PPO)
    value_learning_rate: float = detail(
        default=3e-4, levels=number(above=0), kind=NUMBER, room=L, applies=OWN_VALUE_OPTIMIZER
    )
    learning_rate_annealing: str | None = detail(
        default="linear", levels=choice("linear", "linear_per_gradient_step", off=True), kind=NUMBER, room=L
    )
    learning_rate_annealing_networks: str = detail(
        default="both",
        levels=choice("both", "policy", "value"),
        kind=NUMBER,
        room=L,
        applies=(needs("learning_rate_annealing"), needs("separate_optimizers")),
    )
    adam_epsilon: float = detail(
        default=1e-5, levels=number(above=0), kind=NUMBER, room=L, applies=only("optimizer", "adam")
    )
    adam_epsilon_style: str = detail(
        default="after_correction",
        levels=choice("after_correction", "before_correction"),
        kind=NUMBER,
        room=L,
        applies=only("optimizer", "adam"),
    )
    gradient_clipping: float | None = detail(
        default=0.5, levels=number(above=0, off=True), kind=NUMBER, room=L
    )
    gradient_clipping_scope: str = detail(
        default="joint",
        levels=choice("joint", "per_network", "policy_only"),
        kind=NUMBER,
        room=L,
        applies=(PPO, needs("gradient_clipping")),
    )
    epochs: int = detail(default=10, levels=integer(at_least=1), kind=STRUCTURE, room=L, applies=PPO)
    minibatches: int = detail(default=32, levels=integer(at_least=1), kind=STRUCTURE, room=L)


THEMES = (
    Budget,
    Collection,
    Preprocessing,
    Networks,
    Advantages,
    PolicyUpdate,
    TrustRegion,
    ValueUpdate,
    Optimization,
)
