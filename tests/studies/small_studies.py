"""Studies that train in a second once compiled, all by the same programs. No test lives here."""

from __future__ import annotations

from typing import Any

from minutiae.studies.study import Study
from small_runs import small

BASE = {
    name: getattr(small(), name)
    for name in (
        "environments",
        "rollout_length",
        "minibatches",
        "epochs",
        "steps",
        "segment_iterations",
        "policy_hidden_sizes",
        "value_hidden_sizes",
    )
}
FACTORS = {"value_clipping": ["off", "max"], "reward_scaling": ["off", "returns"]}


def small_study(**changes: Any) -> Study:
    """Four cells of two seeds, in populations of three: 3, 3 and 2 runs."""
    plain: dict[str, Any] = {
        "environments": ["training_probes:wander"],
        "factors": FACTORS,
        "base": BASE,
        "seeds": 2,
        "population": 3,
    }
    return Study(**(plain | changes))
