"""What Engstrom et al. 2020 report, as numbers. Nothing is trained or judged here.

"Implementation Matters in Deep Policy Gradients: A Case Study on PPO and TRPO", arXiv 2005.12729: Tables 2 and 3.
Means over at least 80 agents with percentile bootstrap intervals of 1,000 resamples.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from minutiae.statistics import Interval

PAPER = "Engstrom et al. 2020"
AGENTS = 80
"""Per cell, at least."""

ALGORITHMS: Mapping[str, str] = MappingProxyType(
    {"ppo": "PPO", "ppo-m": "PPO-M", "ppo-noclip": "PPO-NoClip", "trpo": "TRPO", "trpo+": "TRPO+"}
)
"""Our presets and their names in the article, in the order of its Table 1."""

_ENDS = {
    "Walker2d": {
        "ppo": (3292, 3157, 3426),
        "ppo-m": (2735, 2602, 2866),
        "trpo": (2791, 2709, 2873),
        "trpo+": (3050, 2976, 3126),
        "ppo-noclip": (2867, 2701, 3024),
    },
    "Hopper": {
        "ppo": (2513, 2391, 2632),
        "ppo-m": (2142, 2008, 2279),
        "trpo": (2043, 1948, 2136),
        "trpo+": (2466, 2381, 2549),
        "ppo-noclip": (2371, 2316, 2424),
    },
    "Humanoid": {
        "ppo": (806, 785, 827),
        "ppo-m": (674, 656, 695),
        "trpo": (586, 576, 596),
        "trpo+": (1030, 979, 1083),
        "ppo-noclip": (831, 798, 869),
    },
}

FINAL_RETURNS: Mapping[str, Mapping[str, Interval]] = MappingProxyType(
    {
        task: MappingProxyType(
            {
                preset: Interval(mean, low, high, 0.95, f"{PAPER}, percentile bootstrap, 1,000 resamples", AGENTS)
                for preset, (mean, low, high) in row.items()
            }
        )
        for task, row in _ENDS.items()
    }
)
"""Task, preset -> mean final return with its interval (Tables 2 and 3)."""

AAI: Mapping[str, float] = MappingProxyType({"Walker2d": 242, "Hopper": 99, "Humanoid": 224})
"""The larger absolute difference that the algorithm makes (Table 2)."""

ACLI: Mapping[str, float] = MappingProxyType({"Walker2d": 557, "Hopper": 421, "Humanoid": 444})
"""The larger absolute difference that the details make (Table 2; from its means Hopper's would be 423)."""

BASELINES: Mapping[str, float] = MappingProxyType({"Walker2d": 3424, "Hopper": 2316})
"""PPO of OpenAI Baselines, as Table 3 quotes it."""


def check_sums() -> dict[str, tuple[float, float]]:
    """AAI and ACLI of every task as its published means give them."""
    found = {}
    for task, row in FINAL_RETURNS.items():
        mean = {preset: entry.estimate for preset, entry in row.items()}
        aai = max(abs(mean["ppo"] - mean["trpo+"]), abs(mean["ppo-m"] - mean["trpo"]))
        acli = max(abs(mean["ppo"] - mean["ppo-m"]), abs(mean["trpo+"] - mean["trpo"]))
        found[task] = (aai, acli)
    return found
