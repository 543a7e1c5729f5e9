"""What is measured about an update, named by estimator and by the samples it was measured on; and the finite check."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from minutiae.control.learner.losses import policy_terms
from minutiae.control.learner.structure import Samples, Structure
from minutiae.objectives.divergences import kl_k3
from minutiae.objectives.ratios import clip_fraction, ratio
from minutiae.objectives.reductions import mean
from minutiae.objectives.values import explained_variance, squared_error

Numbers = dict[str, Any]
Metrics = dict[str, Any]


def trust_region_diagnostics(
    structure: Structure,
    parameters: Any,
    samples: Samples,
    old_static: dict[str, Any],
    numbers: Numbers,
    where: str,
) -> Metrics:
    """How far the policy moved from the one that acted, over all samples `[B]` of `where` (`batch` or `held_out`).

    Meanings and units are in `control.metrics`.
    """
    terms = policy_terms(structure.policy, parameters["policy"], samples, old_static, numbers)
    ratios = ratio(terms.log_probs, samples.old_log_probs)
    values = structure.policy.value(parameters["value"], samples.observations)
    measured = {
        "kl_exact": terms.kl,
        "kl_k3": kl_k3(terms.log_probs, samples.old_log_probs).mean(),
        "ratio_max": ratios.max(),
        "ratio_mean": ratios.mean(),
        "clip_fraction": clip_fraction(ratios, numbers["ratio_clipping"]),
        "entropy": terms.entropy,
        "surrogate": (ratios * samples.advantages).mean(),
        "value_loss": mean(squared_error(values, samples.targets), samples.value_counts),
        "explained_variance": explained_variance(samples.old_values, samples.targets),
    }
    return {f"{name}_{where}": value for name, value in measured.items()}


def minibatch_summary(metrics: Metrics) -> Metrics:
    """Per-minibatch metrics `[epochs, M]` -> one number each: mean over minibatches, and the largest gradient norm."""
    summary = {}
    for name, values in metrics.items():
        if name == "stepped":
            summary["gradient_step_fraction"] = values.astype(jnp.float32).mean()
        elif name == "ratio_deviation":
            summary["ratio_deviation_first_minibatch"] = values[0, 0]
        elif name == "stopping_kl":
            summary["stopping_kl_last_minibatch"] = values[-1, -1]
        else:
            summary[f"{name}_minibatch_mean"] = values.mean()
            if name.endswith("gradient_norm"):
                summary[f"{name}_minibatch_max"] = values.max()
    return summary


def finite_flags(trees: list[tuple[str, Any]]) -> dict[str, Any]:
    """Path of every array in `trees` -> whether all of it is finite. In the order given: causes before consequences."""
    flags: dict[str, Any] = {}
    for name, tree in trees:
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            where = "/".join(str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path)
            flags.setdefault(f"{name}/{where}", jnp.isfinite(leaf).all())
    return flags
