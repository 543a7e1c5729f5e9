"""Details of preprocessing: normalizing observations, scaling rewards. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.conditions import on, only, some
from minutiae.details.detail import NUMBER, detail
from minutiae.details.levels import choice, flag, number
from minutiae.details.sources import (
    ADKINS,
    ANDRYCHOWICZ,
    BRAX,
    DRAFT,
    ENGSTROM,
    HUANG,
    MADRYLAB,
    PPO2,
    SEED_RL,
)

_POPULATION_OR_SAMPLE = (
    "population: ddof 0, deviation = sqrt(variance + 1e-8), from a prior of 1e-4 samples with mean 0 and "
    "variance 1; sample: ddof 1, deviation = std + 1e-8, where a first sample has std = |mean|."
)
_DEVIATION = (
    r"\sigma = \begin{cases} \sqrt{\sum_i (x_i - \mu)^2 / n + 10^{-8}} & \text{population} \\ "
    r"\sqrt{\sum_i (x_i - \mu)^2 / (n - 1)} + 10^{-8} & \text{sample} \end{cases}"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Preprocessing:
    """What happens to observations and rewards between the simulator and the learner."""

    observation_normalization: bool | None = detail(
        default=True,
        levels=flag(),
        kind=NUMBER,
        room="host",
        title="observation normalization",
        rule="o <- (o - mean) / deviation, both of all observations so far.",
        equation=r"o \leftarrow \frac{o - \mu}{\sigma}",
        source=f"{ENGSTROM}, section 3, optimization 6; {HUANG}, continuous detail 6",
        finding=(
            f"{ANDRYCHOWICZ}: crucial on every task but Hopper. {ADKINS}: raises the score and the "
            f"sensitivity to hyperparameters. On in all five algorithms of {MADRYLAB}, the minimal ones "
            "included."
        ),
        where="minutiae.control.normalizers:ObservationNormalizer.normalize",
        who={"ppo2": "on", "implementation-matters": "on", "sb3": "off", "cleanrl": "on"},
    )
    observation_normalization_update: str = detail(
        default="per_step",
        levels=choice("per_step", "per_iteration_before_update", "per_iteration_after_update"),
        kind=NUMBER,
        room="host",
        applies=on("observation_normalization"),
        title="when observation statistics move",
        rule=(
            "per_step: with every observation, before it is normalized; per_iteration_before_update and "
            "per_iteration_after_update: with the whole rollout at once, before or after the learner's "
            "update. Before it, the rollout is normalized anew and ratios start from the policy under the new "
            "statistics, so the first is 1; the policy that acted had the old ones."
        ),
        source=f"per iteration: {SEED_RL}, {BRAX}, {ANDRYCHOWICZ}",
        finding=("per_step scales the observations of one rollout by different statistics; otherwise unmeasured."),
        where="minutiae.control.normalizers:ObservationNormalizer",
        who={
            "ppo2": "per_step",
            "implementation-matters": "per_step",
            "sb3": "per_step",
            "cleanrl": "per_step",
        },
    )
    observation_normalization_estimator: str = detail(
        default="population",
        levels=choice("population", "sample"),
        kind=NUMBER,
        room="host",
        applies=on("observation_normalization"),
        title="estimator of the observations' deviation",
        rule=_POPULATION_OR_SAMPLE,
        equation=_DEVIATION,
        source=f"population: {PPO2}; sample: {MADRYLAB}",
        finding="Differs in the first steps only.",
        where="minutiae.control.moments:Estimator",
        who={
            "ppo2": "population",
            "implementation-matters": "sample",
            "sb3": "population",
            "cleanrl": "population",
        },
    )
    observation_clipping: float | None = detail(
        default=10.0,
        levels=number(above=0, off=True),
        kind=NUMBER,
        room="host",
        title="observation clipping",
        rule="o <- clip(o, -c, c), after normalization where that is on.",
        equation=r"o \leftarrow \operatorname{clip}(o, -c, c)",
        source=f"{ENGSTROM}, section 3, optimization 7; {HUANG}, continuous detail 7",
        finding=f"{ANDRYCHOWICZ}: no effect. Not ablated by {ENGSTROM}.",
        where="minutiae.control.normalizers:ObservationNormalizer.normalize",
        who={"ppo2": "10", "implementation-matters": "10", "sb3": "off", "cleanrl": "10"},
    )
    reward_scaling: str | None = detail(
        default="returns",
        levels=choice("returns", "rewards", off=True),
        kind=NUMBER,
        room="host",
        title="reward scaling",
        rule=(
            "returns: R <- discount * R + r, then r / deviation(R), no mean subtracted; rewards: (r - "
            "mean(r)) / deviation(r) + mean(r)."
        ),
        equation=(
            r"r_t \leftarrow \begin{cases} r_t & \text{off} \\ "
            r"r_t / \sigma(R), \quad R_t = \gamma R_{t-1} + r_t & \text{returns} \\ "
            r"\mu(r) + (r_t - \mu(r)) / \sigma(r) & \text{rewards} "
            r"\end{cases}"
        ),
        source=(
            f"{ENGSTROM}, section 3, optimization 2 and Algorithm 1; {HUANG}, continuous detail 8; rewards: {MADRYLAB}"
        ),
        finding=(
            f"{ENGSTROM}: one of three details found necessary. {DRAFT}: the largest main effect at a high "
            "learning rate (+219 at 2.2e-4 on Humanoid), about none at a low one (+11 at 1e-5)."
        ),
        where="minutiae.control.normalizers:RewardScaler",
        who={"ppo2": "returns", "implementation-matters": "returns", "sb3": "off", "cleanrl": "returns"},
    )
    reward_scaling_reset: str = detail(
        default="on_done",
        levels=choice("never", "on_done", "on_terminated", "on_reset", "gymnasium"),
        kind=NUMBER,
        room="host",
        applies=only("reward_scaling", "returns"),
        title="when the running return starts again",
        rule=(
            "R <- 0. never; on_done: after an episode's last step; on_terminated: after a termination, "
            "not after a truncation; on_reset: as on_done, and when rows are reset from outside; "
            "gymnasium: R <- discount * R * (1 - terminated) + r, so the last step itself forgets the "
            "episode."
        ),
        equation=(
            r"R_t = \gamma m_t R_{t-1} + r_t \qquad m_t = \begin{cases} 1 & \text{never} \\ "
            r"1 - e_{t-1} & \text{on\_done} \\ 1 - d_{t-1} & \text{on\_terminated} \\ "
            r"1 - e_{t-1}, \text{ and } 0 \text{ after a reset from outside} & \text{on\_reset} \\ "
            r"1 - d_t & \text{gymnasium} "
            r"\end{cases}"
        ),
        source=(f"never: {ENGSTROM}, Algorithm 1; on_done: {PPO2}; on_reset: {MADRYLAB}; gymnasium: NormalizeReward"),
        finding="Unmeasured: different algorithms under one name.",
        where="minutiae.control.normalizers:RewardScaler",
        who={
            "ppo2": "on_done",
            "implementation-matters": "on_reset",
            "sb3": "on_done",
            "cleanrl": "gymnasium",
        },
    )
    reward_scaling_estimator: str = detail(
        default="population",
        levels=choice("population", "sample"),
        kind=NUMBER,
        room="host",
        applies=some("reward_scaling"),
        title="estimator of the rewards' deviation",
        rule=_POPULATION_OR_SAMPLE,
        equation=_DEVIATION,
        source=f"population: {PPO2}; sample: {MADRYLAB}",
        finding="First scaled rewards are near the clip range (population) or near 1 in size (sample).",
        where="minutiae.control.moments:Estimator",
        who={
            "ppo2": "population",
            "implementation-matters": "sample",
            "sb3": "population",
            "cleanrl": "population",
        },
    )
    reward_clipping: float | None = detail(
        default=10.0,
        levels=number(above=0, off=True),
        kind=NUMBER,
        room="host",
        title="reward clipping",
        rule="r <- clip(r, -c, c), after scaling where that is on. Logged returns stay raw.",
        equation=r"r_t \leftarrow \operatorname{clip}(r_t, -c, c)",
        source=f"{ENGSTROM}, section 3, optimization 5 (5 or 10); {HUANG}, continuous detail 9",
        finding=(f"Not ablated by {ENGSTROM}; in {MADRYLAB} it is tuned from 2.5 to 30 and inactive without scaling."),
        where="minutiae.control.normalizers:RewardScaler",
        who={"ppo2": "10", "implementation-matters": "10", "sb3": "off", "cleanrl": "10"},
    )
