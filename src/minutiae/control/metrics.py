"""What training measures: name, meaning and unit of every column of `metrics.parquet`. Nothing is measured here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One column.

    Attributes:
        theme: what it belongs to.
        meaning: what it is, on which samples, and by which estimator.
        unit: of its numbers.
    """

    theme: str
    meaning: str
    unit: str


PROGRESS = "Progress"
EPISODES = "Episodes"
UPDATE = "How far the update went"
POLICY = "PPO's gradient steps"
VALUES = "Gradient steps of the value network"
TRUST_REGION = "TRPO's step"

_BATCH = "over the samples of the update, after it"
_HELD_OUT = "over a rollout that the update has not seen, every held_out_diagnostics iterations"

_MEASURED = {
    "kl_exact": ("mean over states of the exact KL(old || new), as TRPO bounds it", "nats"),
    "kl_k3": ("estimate of the same KL from the actions taken: mean of (r − 1) − log r", "nats"),
    "ratio_max": ("largest ratio r = π_new(a|s) / π_old(a|s)", "1"),
    "ratio_mean": ("mean ratio; its expectation on fresh samples of the old policy is 1", "1"),
    "clip_fraction": ("share of ratios outside 1 ± ratio_clipping", "share"),
    "entropy": ("mean entropy of the new policy", "nats"),
    "surrogate": ("mean of ratio × advantage, not clipped; advantages are raw unless normalized by batch", "advantage"),
    "value_loss": ("mean squared error of the new values against the targets", "scaled reward squared"),
    "explained_variance": ("share of the targets' variance that the values before the update explain", "share"),
}


def _metrics() -> dict[str, Metric]:
    found = {
        "iteration": Metric(PROGRESS, "number of the iteration, from 1", "iterations"),
        "steps": Metric(PROGRESS, "environment steps so far, of all environments of the agent", "steps"),
        "policy_learning_rate": Metric(
            PROGRESS, "of the policy's optimizer when the iteration began; TRPO has none and does not use it", "1"
        ),
        "value_learning_rate": Metric(PROGRESS, "of the value network's optimizer when the iteration began", "1"),
        "kl_penalty_coefficient": Metric(PROGRESS, "β of the KL penalty in this iteration, 0 without one", "1"),
        "episodes": Metric(
            EPISODES,
            "episodes that ended in the iteration; just after a checkpoint they are held back until every environment "
            "has ended one, for the first to end are the short ones",
            "episodes",
        ),
        "return_mean": Metric(EPISODES, "mean of their returns, undiscounted sums of raw rewards", "reward"),
        "return_std": Metric(EPISODES, "standard deviation of their returns (divided by their number)", "reward"),
        "return_min": Metric(EPISODES, "least of their returns", "reward"),
        "return_max": Metric(EPISODES, "greatest of their returns", "reward"),
        "length_mean": Metric(EPISODES, "mean of their lengths", "steps"),
    }
    for name, (meaning, unit) in _MEASURED.items():
        found[f"{name}_batch"] = Metric(UPDATE, f"{meaning}; {_BATCH}", unit)
        found[f"{name}_held_out"] = Metric(UPDATE, f"{meaning}; {_HELD_OUT}", unit)
    return found | {
        "surrogate_minibatch_mean": Metric(
            POLICY, "mean clipped surrogate, each before its gradient step", "advantage"
        ),
        "policy_loss_minibatch_mean": Metric(
            POLICY, "mean of what is minimized: − surrogate − entropy bonus + KL penalty", "advantage"
        ),
        "policy_gradient_norm_minibatch_mean": Metric(POLICY, "mean Euclidean norm of the gradient, not clipped", "1"),
        "policy_gradient_norm_minibatch_max": Metric(POLICY, "largest of these norms", "1"),
        "gradient_step_fraction": Metric(
            POLICY, "share of the gradient steps that were made; below 1 where target_kl_stop ended them early", "share"
        ),
        "ratio_deviation_first_minibatch": Metric(
            POLICY, "largest |r − 1| before the first step: 0, or the ratio compares two different computations", "1"
        ),
        "stopping_kl_last_minibatch": Metric(
            POLICY,
            "the estimate that target_kl_stop looks at (target_kl_stop_estimator), in the last minibatch",
            "nats",
        ),
        "value_loss_minibatch_mean": Metric(
            VALUES, "mean loss, clipped as value_clipping says, each before its gradient step", "scaled reward squared"
        ),
        "value_gradient_norm_minibatch_mean": Metric(VALUES, "mean Euclidean norm of the gradient, not clipped", "1"),
        "value_gradient_norm_minibatch_max": Metric(VALUES, "largest of these norms", "1"),
        "policy_gradient_norm": Metric(TRUST_REGION, "Euclidean norm of the surrogate's gradient", "1"),
        "step_scale": Metric(TRUST_REGION, "factor of the natural direction in the step, line search included", "1"),
        "line_search_fraction": Metric(TRUST_REGION, "share of the full step that was taken", "share"),
        "line_search_accepted": Metric(
            TRUST_REGION, "whether any step was taken; else the policy is as before", "truth"
        ),
        "line_search_backtracks": Metric(TRUST_REGION, "how often the step was made shorter", "times"),
    }


METRICS = _metrics()
"""Every column that `metrics.parquet` may have, by name; PPO and TRPO each have some that the other lacks.

A value is null where nothing was measured: no episode ended, or no held-out rollout was due.
"""
