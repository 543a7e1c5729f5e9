"""Details of PPO's policy loss: clipping, KL penalty, stopping, entropy. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.conditions import off, only, some
from minutiae.details.detail import NUMBER, detail
from minutiae.details.levels import choice, number
from minutiae.details.sources import (
    ANDRYCHOWICZ,
    CLEANRL,
    ENGSTROM,
    HUANG,
    MADRYLAB,
    PPO,
    PPO2,
    SB3,
    SPINNING_UP,
    YE,
)

_PPO_ONLY = only("algorithm", "ppo")


@dataclass(frozen=True, kw_only=True, repr=False)
class PolicyUpdate:
    """What a gradient step of PPO's policy descends."""

    ratio_clipping: float | None = detail(
        default=0.2,
        levels=number(above=0, off=True),
        kind=NUMBER,
        room="learner",
        applies=_PPO_ONLY,
        title="ratio clipping",
        rule=("L = mean min(rho A, clip(rho, 1 - eps, 1 + eps) A), rho = new / old probability; off: L = mean rho A."),
        equation=(
            r"L = \mathbb{E}[\min(\rho A, \operatorname{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon) A)] \qquad "
            r"\rho = \frac{\pi_\theta(a | s)}{\pi_{\text{old}}(a | s)}"
        ),
        source=f"{PPO}, equation 7",
        finding=(
            f"{PPO}, normalized scores: off: -0.39; 0.1: 0.76; 0.2: 0.82; 0.3: 0.70. {ENGSTROM}: off does as "
            "well once the other details are tuned."
        ),
        where="minutiae.objectives.ratios:clipped_surrogate",
        who={"ppo2": "0.2", "implementation-matters": "0.2", "sb3": "0.2", "cleanrl": "0.2"},
    )
    ratio_clipping_annealing: str | None = detail(
        default=None,
        levels=choice("linear", off=True),
        kind=NUMBER,
        room="learner",
        applies=some("ratio_clipping"),
        title="ratio clipping annealing",
        rule="linear: eps_i = eps (1 - i / iterations).",
        equation=(
            r"\varepsilon_i = \begin{cases} \varepsilon & \text{off} \\ \varepsilon (1 - i / I) & \text{linear} "
            r"\end{cases}"
        ),
        source=f"{PPO}, Atari; {HUANG}, auxiliary detail 1",
        finding=f"{PPO2} keeps the range constant by default, whatever is written about it.",
        where="minutiae.control.schedules:scheduled",
        who={"ppo2": "off", "implementation-matters": "off", "sb3": "off", "cleanrl": "off"},
    )
    dual_clipping: float | None = detail(
        default=None,
        levels=number(above=1, off=True),
        kind=NUMBER,
        room="learner",
        applies=_PPO_ONLY,
        title="dual clipping",
        rule="Where A < 0 the clipped surrogate is at least c A: L = mean max(min(rho A, clip(rho) A), c A).",
        equation=(
            r"L = \mathbb{E}\begin{cases} "
            r"\min(\rho A, \operatorname{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon) A) & A \ge 0 \\ "
            r"\max(\min(\rho A, \operatorname{clip}(\rho, 1 - \varepsilon, 1 + \varepsilon) A), c A) & A < 0 "
            r"\end{cases}"
        ),
        source=f"{YE}",
        finding="Unmeasured here; guards against huge ratios at negative advantages.",
        where="minutiae.objectives.ratios:clipped_surrogate",
        who={"ppo2": "off", "implementation-matters": "off", "sb3": "off", "cleanrl": "off"},
    )
    kl_penalty: str | None = detail(
        default=None,
        levels=choice("fixed", "adaptive", off=True),
        kind=NUMBER,
        room="learner",
        applies=_PPO_ONLY,
        title="KL penalty",
        rule=(
            "L <- L - beta mean KL(old || new), exact. fixed: beta stays; adaptive: after an update with "
            "KL d, beta / 2 if d < target / 1.5, 2 beta if d > 1.5 target."
        ),
        equation=(
            r"L \leftarrow L - \beta_i \mathbb{E}[\operatorname{KL}(\pi_{\text{old}} \| \pi_\theta)] \qquad "
            r"\beta_{i+1} = \begin{cases} 0 & \text{off} \\ \beta_i & \text{fixed} \\ "
            r"\beta_i / 2 & \text{adaptive, where } d_i < d^* / 1.5 \\ "
            r"2 \beta_i & \text{adaptive, where } d_i > 1.5 d^* \\ "
            r"\beta_i & \text{adaptive, elsewhere} "
            r"\end{cases}"
        ),
        source=f"{PPO}, section 4",
        finding=f"{PPO}, normalized scores: adaptive 0.68 to 0.74, fixed 0.62 to 0.72, clipping 0.82.",
        where="minutiae.control.learner.losses:policy_loss",
        who={"ppo2": "off", "implementation-matters": "off", "sb3": "off", "cleanrl": "off"},
    )
    kl_penalty_coefficient: float = detail(
        default=1.0,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=some("kl_penalty"),
        title="coefficient of the KL penalty",
        rule="beta; with kl_penalty = adaptive, beta of the first iteration.",
        equation=r"\beta_0 = \beta",
        source=f"{PPO}, section 4 and table 1 (fixed: 0.3, 1, 3, 10)",
        finding=f"{PPO}, normalized scores of 0.3, 1, 3, 10: 0.62, 0.71, 0.72, 0.69.",
        where="minutiae.control.learner.program:initial_state",
    )
    kl_penalty_target: float = detail(
        default=0.01,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=only("kl_penalty", "adaptive"),
        title="target of the adaptive KL penalty",
        rule="The KL(old || new) per update that the adaptive penalty aims at.",
        equation=(
            r"\beta_{i+1} = \begin{cases} "
            r"\beta_i / 2 & d_i < d^* / 1.5 \\ 2 \beta_i & d_i > 1.5 d^* \\ \beta_i & \text{elsewhere} "
            r"\end{cases}"
        ),
        source=f"{PPO}, section 4 and table 1 (0.003, 0.01, 0.03)",
        finding=f"{PPO}, normalized scores of 0.003, 0.01, 0.03: 0.68, 0.74, 0.71.",
        where="minutiae.control.learner.program:adapted_kl_coefficient",
    )
    target_kl_stop: float | None = detail(
        default=None,
        levels=number(above=0, off=True),
        kind=NUMBER,
        room="learner",
        applies=_PPO_ONLY,
        title="stop at a KL",
        rule=(
            "No more gradient steps in this iteration once the estimated KL(old || new) exceeds this. No "
            "hidden factor: target_kl = 0.01 of SB3 and Spinning Up, which multiply by 1.5, is 0.015 "
            "here."
        ),
        equation=r"\text{stop once } \widehat{\operatorname{KL}}(\pi_{\text{old}} \| \pi_\theta) > d_{\max}",
        source=f"{HUANG}, auxiliary detail 3; {SPINNING_UP}",
        finding="Unmeasured in the large studies.",
        where="minutiae.control.learner.epochs:policy_epochs",
        who={"ppo2": "off", "implementation-matters": "off", "sb3": "off", "cleanrl": "off"},
    )
    target_kl_stop_estimator: str = detail(
        default="k3",
        levels=choice("k1", "k2", "k3", "exact"),
        kind=NUMBER,
        room="learner",
        applies=some("target_kl_stop"),
        title="estimator of the stopping KL",
        rule=(
            "Over a minibatch, with D = log new - log old: k1 mean(-D); k2 mean(D^2) / 2; k3 mean(exp(D) "
            "- 1 - D); exact: KL of the distributions."
        ),
        equation=(
            r"\widehat{\operatorname{KL}} = \begin{cases} \mathbb{E}[-D] & \text{k1} \\ "
            r"\mathbb{E}[D^2] / 2 & \text{k2} \\ \mathbb{E}[e^D - 1 - D] & \text{k3} \\ "
            r"\mathbb{E}[\operatorname{KL}(\pi_{\text{old}} \| \pi_\theta)] & \text{exact} "
            r"\end{cases} \qquad D = \log \pi_\theta(a | s) - \log \pi_{\text{old}}(a | s)"
        ),
        source=f"k1: {SPINNING_UP}; k2: {PPO2} (logged); k3: {SB3}, {CLEANRL}",
        finding="k1 can be negative; k2 and k3 cannot.",
        where="minutiae.control.learner.losses:stopping_kl",
        who={"sb3": "k3", "cleanrl": "k3"},
    )
    target_kl_stop_check: str = detail(
        default="per_minibatch",
        levels=choice("per_minibatch", "per_epoch"),
        kind=NUMBER,
        room="learner",
        applies=some("target_kl_stop"),
        title="when the stopping KL is checked",
        rule=(
            "per_minibatch: before each step, which is then not taken; per_epoch: after each epoch, on "
            "its last minibatch."
        ),
        source=f"per_minibatch: {SB3}; per_epoch: {CLEANRL}",
        finding="Unmeasured.",
        where="minutiae.control.learner.epochs:policy_epochs",
        who={"sb3": "per_minibatch", "cleanrl": "per_epoch"},
    )
    target_kl_stop_networks: str = detail(
        default="both",
        levels=choice("policy", "both"),
        kind=NUMBER,
        room="learner",
        # With an optimizer of its own the value network has epochs of its own, which no policy KL stops.
        applies=(some("target_kl_stop"), off("separate_optimizers")),
        title="what the stopping KL stops",
        rule="both: policy and value network; policy: the value network goes on. For a joint optimizer only.",
        source=f"both: {SB3}, {CLEANRL}; policy: {SPINNING_UP}",
        finding="Unmeasured.",
        where="minutiae.control.learner.epochs:policy_epochs",
        who={"sb3": "both", "cleanrl": "both"},
    )
    entropy_coefficient: float | None = detail(
        default=None,
        levels=number(off=True),
        kind=NUMBER,
        room="learner",
        off_value=0.0,
        applies=_PPO_ONLY,
        title="entropy coefficient",
        rule="loss <- loss - c mean entropy; a negative c penalizes entropy.",
        equation=r"\text{loss} \leftarrow \text{loss} - c \, \mathbb{E}[H(\pi_\theta(\cdot | s))]",
        source=f"{PPO}, equation 9; {HUANG}, core detail 10",
        finding=(
            f"{ANDRYCHOWICZ}: no gain except on HalfCheetah. The tuned PPO-NoClip of {MADRYLAB} uses -0.01 "
            "(Walker2d), -0.005 (Hopper) and 0.005 (Humanoid)."
        ),
        where="minutiae.control.learner.losses:policy_loss",
        who={"ppo2": "off", "implementation-matters": "off", "sb3": "off", "cleanrl": "off"},
    )
