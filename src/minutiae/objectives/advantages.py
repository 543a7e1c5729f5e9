"""Advantages and returns from rewards, values and episode ends; axis 0 is time. No networks here."""

from __future__ import annotations

from minutiae.objectives.arrays import (
    Array,
    Scalar,
    namespace,
    require_equal_shapes,
    reverse_linear_recurrence,
)
from minutiae.objectives.levels import by_level
from minutiae.objectives.reductions import centered, mean, variance


def bootstrap(
    values: Array,
    next_values: Array,
    terminated: Array,
    truncated: Array,
    rewards: Array,
    discount: Scalar,
    truncation_bootstrap: Scalar,
    final_state_bootstrap: Scalar,
) -> tuple[Array, Array, Array, Array]:
    """Settle what follows an episode's end and the rollout's end, before advantages are computed.

    At a time limit (`truncated` and not `terminated`) the value of what would have followed is added to the
    reward:

        truncation_bootstrap  0 terminal        r                     the world ends (Baselines ppo2, CleanRL)
                              1 bootstrap       r + discount V(s')    Pardo et al. 2018; SB3 since 1.4
                              2 bootstrap_self  r + discount V(s)     rsl_rl
                              3 mask_delta      r, and the step's advantage is zero (Brax, SEED RL)

    The rollout's last step, when its episode goes on, looks at:

        final_state_bootstrap 0 next V(s_T) · 1 self V(s_{T-1}) (Engstrom et al. 2020, released code) · 2 zero

    Args:
        values: V(s_t), `[T, ...]`.
        next_values: V of the true successor of step t (never of a reset observation), `[T, ...]`. What
            stands at a terminated step is ignored.
        terminated: true where the episode ended by itself, `[T, ...]`, bool or 0/1.
        truncated: true where it was cut, `[T, ...]`, bool or 0/1.
        rewards: `[T, ...]`.
        discount: in [0, 1].
        truncation_bootstrap: level code 0..3.
        final_state_bootstrap: level code 0..2.

    Returns:
        `(rewards, next_values, terminated, delta_mask)`, each `[T, ...]`: the rewards with the bootstrap
        inside them; the next values with the final state settled; every end of either kind as a termination
        (whatever follows it is in the reward already); 1.0, or 0.0 where `mask_delta` wants no advantage.
    """
    require_equal_shapes(
        values=values, next_values=next_values, terminated=terminated, truncated=truncated, rewards=rewards
    )
    xp = namespace(values, next_values, terminated, truncated, rewards, discount)
    terminated, truncated = xp.asarray(terminated) != 0, xp.asarray(truncated) != 0
    cut = truncated & ~terminated
    none, ones = xp.zeros_like(values), xp.ones_like(values)
    following = by_level(truncation_bootstrap, (none, next_values, values, none))
    masked = by_level(truncation_bootstrap, (ones, ones, ones, none))
    final = by_level(final_state_bootstrap, (next_values[-1:], values[-1:], none[-1:]))
    return (
        rewards + discount * xp.where(cut, following, 0),
        xp.concatenate([next_values[:-1], final], axis=0),
        terminated | truncated,
        xp.where(cut, masked, 1),
    )


def temporal_differences(
    rewards: Array, values: Array, next_values: Array, terminated: Array, discount: Scalar
) -> Array:
    """delta_t = r_t + discount V(s_{t+1}) (1 - terminated_t) - V(s_t), `[T, ...]` (Sutton 1988)."""
    require_equal_shapes(rewards=rewards, values=values, next_values=next_values, terminated=terminated)
    xp = namespace(rewards, values, next_values, terminated, discount)
    # Selected, not multiplied: a value that is not finite beyond a terminal state must not matter.
    return rewards + discount * xp.where(xp.asarray(terminated) != 0, 0, next_values) - values


def generalized_advantages(
    rewards: Array,
    values: Array,
    next_values: Array,
    terminated: Array,
    truncated: Array,
    discount: Scalar,
    gae_lambda: Scalar,
    delta_mask: Array | None = None,
) -> Array:
    """Generalized advantage estimates: A_t = delta_t + discount gae_lambda (1 - ended_t) A_{t+1}.

    Schulman et al. 2016 (arXiv 1506.02438), equation 16, with values and next values as separate arrays: at a
    truncation delta looks at the true successor's value and the sum stops, so nothing of the next episode
    leaks in.

    Args:
        rewards: `[T, ...]`.
        values: V(s_t), `[T, ...]`.
        next_values: V of the true successor, `[T, ...]`; ignored where `terminated`.
        terminated: `[T, ...]`, bool or 0/1; no value follows.
        truncated: `[T, ...]`, bool or 0/1; a value follows, the sum stops.
        discount: in [0, 1].
        gae_lambda: in [0, 1]; 0 gives the temporal differences, 1 the returns minus the values.
        delta_mask: `[T, ...]` or `None`; zero where delta (and so the advantage at an episode's end) is
            dropped.

    Returns:
        `[T, ...]`.
    """
    require_equal_shapes(rewards=rewards, truncated=truncated)
    xp = namespace(rewards, values, next_values, terminated, truncated, discount, gae_lambda)
    deltas = temporal_differences(rewards, values, next_values, terminated, discount)
    if delta_mask is not None:
        deltas = xp.where(xp.asarray(delta_mask) != 0, deltas, 0)
    ended = (xp.asarray(terminated) != 0) | (xp.asarray(truncated) != 0)
    return reverse_linear_recurrence(deltas, xp.where(ended, 0, discount * gae_lambda).astype(deltas.dtype))


def rewards_to_go(rewards: Array, ends: Array, discount: Scalar) -> Array:
    """Discounted sum of the rewards from step t to its episode's end or the rollout's, without bootstrap.

    The Monte Carlo value target of Engstrom et al. 2020's released code. Rewards from `bootstrap` carry the
    value at a truncation with them; the rollout's last, unfinished episode is simply cut.

    Args:
        rewards: `[T, ...]`.
        ends: `[T, ...]`, bool or 0/1, true at an episode's last step, of either kind.
        discount: in [0, 1].

    Returns:
        `[T, ...]`.
    """
    require_equal_shapes(rewards=rewards, ends=ends)
    xp = namespace(rewards, ends, discount)
    decays = xp.where(xp.asarray(ends) != 0, 0, discount)
    return reverse_linear_recurrence(rewards, decays.astype(rewards.dtype))


def normalize(advantages: Array, ddof: Scalar = 0, epsilon: Scalar = 1e-8, mask: Array | None = None) -> Array:
    """(A - mean) / (std + epsilon) over all given samples (Baselines ppo2; Huang et al. 2022, detail 7).

    One sample, or equal samples, have std 0 and become 0, never NaN: with `n - ddof = 0` the variance's
    denominator is taken as 1 (SB3 issue 325: the std of a single sample poisoned every weight). A std below the
    last digit of the mean is rounding, and counts as 0.

    Args:
        advantages: any shape.
        ddof: 0 (NumPy) or 1 (PyTorch); may be traced.
        epsilon: added to the standard deviation.
        mask: same shape or `None`; only samples where it is true count, the others become 0.

    Returns:
        Same shape.
    """
    xp = namespace(advantages, ddof, mask)
    deviation = xp.sqrt(variance(advantages, mask, ddof))
    spread = deviation > xp.finfo(advantages.dtype).eps * xp.abs(mean(advantages, mask))
    return xp.where(spread, centered(advantages, mask) / (deviation + epsilon), 0)
