"""What the levels of a config ask for, worked out once more by plain loops in float64, from their names. No tests.

Each function takes a config and its outputs and returns the outputs that it predicts, by name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from contract_outputs import ITERATIONS, Outputs, Stored, host, stored

from minutiae.control.policies.policy import Policy
from minutiae.details import Config

Array = np.ndarray


def mean_and_deviation(samples: list[Array], level: str) -> tuple[Array, Array]:
    """Of all samples so far, each `[K]`, by a level of either `..._estimator`."""
    values = np.array(samples, float)
    if level == "sample":
        mean = values.mean(axis=0)
        return mean, values.std(axis=0, ddof=1) + 1e-8 if len(values) > 1 else np.abs(mean)
    weight = len(values) + 1e-4
    mean = values.sum(axis=0) / weight
    squares = np.square(values - mean).sum(axis=0) + 1e-4 * (1 + np.square(mean))
    return mean, np.sqrt(squares / weight + 1e-8)


def clip(values: Array, limit: float | None) -> Array:
    return values if limit is None else np.clip(values, -limit, limit)


def observations(config: Config, outputs: Outputs) -> dict[str, Array]:
    """What the policy sees, from what the simulator showed."""
    raw = outputs["raw observations"]
    seen = np.empty_like(raw)
    for t, step in enumerate(raw):
        # How many steps the statistics have counted when this one is normalized.
        counted = {
            "per_step": t + 1,
            "per_iteration_before_update": (t // config.rollout_length + 1) * config.rollout_length,
            "per_iteration_after_update": t // config.rollout_length * config.rollout_length,
        }[config.observation_normalization_update]
        mean, deviation = np.zeros(step.shape[1]), np.ones(step.shape[1])
        if config.observation_normalization and counted:
            samples = list(raw[:counted].reshape(-1, raw.shape[-1]))
            mean, deviation = mean_and_deviation(samples, config.observation_normalization_estimator)
        seen[t] = clip((step - mean) / deviation, config.observation_clipping)
    return {"observations": seen}


def rewards(config: Config, outputs: Outputs) -> dict[str, Array]:
    """What the learner is paid, from what the simulator paid."""
    raw, (terminated, truncated) = outputs["raw rewards"], outputs["raw ends"]
    paid = np.empty_like(raw)
    samples: list[Array] = []
    running = np.zeros(raw.shape[1])
    reset = config.reward_scaling_reset
    for t, step in enumerate(raw):
        new_rollout = t and t % config.rollout_length == 0
        if new_rollout and config.environment_reset_each_iteration and reset == "on_reset":
            running[:] = 0
        for row, reward in enumerate(step):
            kept = 0.0 if reset == "gymnasium" and terminated[t, row] else running[row]
            running[row] = config.discount * kept + reward
            samples.append(running[[row]].copy() if config.reward_scaling == "returns" else np.array([reward]))
            ends = {
                "never": False,
                "on_done": terminated[t, row] or truncated[t, row],
                "on_reset": terminated[t, row] or truncated[t, row],
                "on_terminated": terminated[t, row],
                "gymnasium": False,
            }[reset]
            if ends:
                running[row] = 0
        mean, deviation = mean_and_deviation(samples, config.reward_scaling_estimator)
        scaled = {None: step, "returns": step / deviation, "rewards": (step - mean) / deviation + mean}
        paid[t] = clip(scaled[config.reward_scaling], config.reward_clipping)
    return {"rewards": paid}


def actions(config: Config, outputs: Outputs) -> dict[str, Array]:
    """What the simulator gets, from what is stored."""
    kept, low, high = outputs["stored actions"], np.array([-0.5, -1.0]), np.array([0.5, 2.0])
    sent = {
        None: kept,
        "clip_at_environment": np.clip(kept, low, high),
        "clip_stored": kept,
        "tanh": low + (high - low) * (np.tanh(kept) + 1) / 2,
    }[config.action_bound]
    beyond = (kept < low) | (kept > high)
    assert beyond.any() == (config.action_bound != "clip_stored")
    return {"environment actions": sent}


def schedules(config: Config, _: Outputs) -> dict[str, Array]:
    """Rates at the first and after the last gradient step, clip range and radius, iteration by iteration."""
    left = 1 - np.arange(ITERATIONS + 1) / config.iterations
    level, networks = config.learning_rate_annealing, config.learning_rate_annealing_networks
    rates = {}
    for network, base in (("policy", config.learning_rate), ("value", config.value_learning_rate)):
        if network == "value" and not config.applies("value_learning_rate"):
            base = config.learning_rate
        start, end = base * left[:-1], base * left[1:]
        if level is None or networks not in ("both", network):
            start = end = np.full(ITERATIONS, base)
        elif level == "linear":
            end = start
        rates[f"{network} learning rate"] = np.stack([start, end], axis=1)
    clip_range = np.full(ITERATIONS, math.inf if config.ratio_clipping is None else config.ratio_clipping)
    if config.ratio_clipping_annealing == "linear":
        clip_range = clip_range * left[:-1]
    final = config.max_kl if config.max_kl_final is None else config.max_kl_final
    radius = config.max_kl + (final - config.max_kl) * (1 - left[:-1])
    return rates | {"clip range": clip_range[:, None], "radius": radius[:, None]}


def _case(config: Config) -> tuple[Policy, Stored]:
    policy = host(config).structure.policy
    return policy, stored(policy, config.rollout_length, config.environments)


def normalize(advantages: Array, ddof: int) -> Array:
    return (advantages - advantages.mean()) / (advantages.std(ddof=ddof) + 1e-8)


def advantages(config: Config, _: Outputs) -> dict[str, Array]:
    """Advantages, value targets and which samples the value loss counts, of the stored batch."""
    policy, case = _case(config)
    batch = case.batch
    values = policy.value(case.acting["value"], batch.observations).astype(float)
    next_values = policy.value(case.acting["value"], batch.next_observations).astype(float)
    result, targets = np.empty_like(values), np.empty_like(values)
    discount = config.discount
    for row in range(values.shape[1]):
        advantage = to_go = 0.0
        for t in reversed(range(len(values))):
            value, following, reward = values[t, row], next_values[t, row], float(batch.rewards[t, row])
            last = t == len(values) - 1
            ended = batch.terminated[t, row] or batch.truncated[t, row]
            if batch.terminated[t, row]:
                beyond = 0.0
            elif batch.truncated[t, row]:
                level = config.truncation_bootstrap
                beyond = {"terminal": 0.0, "bootstrap": following, "bootstrap_self": value, "mask_delta": 0.0}[level]
            elif last:
                beyond = {"next": following, "self": value, "zero": 0.0}[config.final_state_bootstrap]
            else:
                beyond = following
            delta = reward + discount * beyond - value
            if batch.truncated[t, row] and config.truncation_bootstrap == "mask_delta":
                delta = 0.0
            advantage = delta + (0.0 if ended else discount * config.gae_lambda * advantage)
            to_go = reward + discount * ((beyond if batch.truncated[t, row] else 0.0) if ended else to_go)
            result[t, row] = advantage
            targets[t, row] = value + advantage if config.value_target == "gae" else to_go
    counted = ~((batch.terminated | batch.truncated) & bool(config.value_target_terminal_mask))
    if config.advantage_normalization == "batch":
        result = normalize(result, config.advantage_normalization_ddof)
    return {"advantages": result.ravel(), "value targets": targets.ravel(), "value samples": counted.ravel()}


def log_density(distribution: Any, samples: Array) -> Array:
    mean, log_std = distribution["mean"].astype(float), distribution["log_std"].astype(float)
    z = (samples - mean) / np.exp(log_std)
    return (-0.5 * z**2 - log_std - 0.5 * math.log(2 * math.pi)).sum(axis=-1)


def policy_loss(config: Config, outputs: Outputs) -> dict[str, Array]:
    """The policy's loss and the KL it may stop at, over all stored samples, for the policy that has moved."""
    policy, case = _case(config)
    flat, samples = (part.reshape(-1, part.shape[-1]) for part in (case.batch.observations, case.batch.actions))
    old = policy.distribution_of(case.acting["policy"], flat)
    new = policy.distribution_of(case.moved["policy"], flat)
    log_ratio = log_density(new, samples) - log_density(old, samples)
    ratio, advantages = np.exp(log_ratio), outputs["advantages"].astype(float)
    if config.advantage_normalization == "minibatch":
        advantages = normalize(advantages, config.advantage_normalization_ddof)
    surrogate = ratio * advantages
    reach = outputs["clip range"][-1, 0]
    surrogate = np.minimum(surrogate, np.clip(ratio, 1 - reach, 1 + reach) * advantages)
    if config.dual_clipping is not None:
        surrogate = np.where(advantages < 0, np.maximum(surrogate, config.dual_clipping * advantages), surrogate)
    entropy = (new["log_std"] + 0.5 * math.log(2 * math.pi * math.e)).sum()
    shift = (old["mean"] - new["mean"]).astype(float) ** 2
    variances = [np.exp(2 * each["log_std"].astype(float)) for each in (old, new)]
    kl = (new["log_std"] - old["log_std"] + (variances[0] + shift) / (2 * variances[1]) - 0.5).sum(axis=-1).mean()
    beta = 0.0 if config.kl_penalty is None else config.kl_penalty_coefficient
    estimate = {
        "k1": -log_ratio.mean(),
        "k2": (log_ratio**2).mean() / 2,
        "k3": (ratio - 1 - log_ratio).mean(),
        "exact": kl,
    }[config.target_kl_stop_estimator]
    loss = -surrogate.mean() - (config.entropy_coefficient or 0.0) * entropy + beta * kl
    return {"policy loss": loss, "stopping KL": estimate}


def value_loss(config: Config, outputs: Outputs) -> dict[str, Array]:
    """The value network's loss over all stored samples, for the one that has moved."""
    policy, case = _case(config)
    flat = case.batch.observations.reshape(-1, 3)
    values = policy.value(case.moved["value"], flat).astype(float)
    old, targets = outputs["old values"].astype(float), outputs["value targets"].astype(float)
    reach = config.value_clipping_range
    near = old + np.clip(values - old, -reach, reach)
    plain, clipped = (values - targets) ** 2, (near - targets) ** 2
    losses = {
        None: plain,
        "max": np.maximum(plain, clipped),
        "min": np.minimum(plain, clipped),
        "clipped_only": clipped,
        "max_signed": np.maximum(values - targets, near - targets) ** 2,
    }[config.value_clipping]
    return {"value loss": losses[outputs["value samples"]].mean()}


FORMULAS = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def values(config: Config, _: Outputs) -> dict[str, Array]:
    """The value network of one hidden layer, layer by layer."""
    _, case = _case(config)
    network = case.acting["value"]
    x = case.batch.observations.reshape(-1, 3).astype(float)
    for layer in network["hidden"]:
        x = FORMULAS[config.activation](x @ layer["weight"] + layer["bias"])
    return {"old values": (x @ network["head"]["weight"] + network["head"]["bias"])[:, 0]}
