"""Details of optimizers, learning rates, gradient clipping and minibatches. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.conditions import either, on, only, some
from minutiae.details.detail import NUMBER, STRUCTURE, detail
from minutiae.details.levels import choice, flag, integer, number
from minutiae.details.sources import (
    ADAM,
    ANDRYCHOWICZ,
    DRAFT,
    ENGSTROM,
    HUANG,
    MADRYLAB,
    PPO2,
    SPINNING_UP,
)

_PPO_ONLY = only("algorithm", "ppo")
_ADAM_ONLY = only("optimizer", "adam")
OWN_VALUE_OPTIMIZER = either(only("algorithm", "trpo"), on("separate_optimizers"))
"""The value network has an optimizer of its own: always under TRPO, under PPO by choice."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Optimization:
    """How gradients become parameters."""

    optimizer: str = detail(
        default="adam",
        levels=choice("adam", "rmsprop", "sgd"),
        kind=STRUCTURE,
        room="learner",
        title="optimizer",
        rule=(
            "adam: betas 0.9 and 0.999, no weight decay; rmsprop: step = rate * g / sqrt(v + 1e-5), decay 0.99; "
            "sgd: no momentum."
        ),
        equation=(
            r"\theta \leftarrow \theta - \alpha \cdot \begin{cases} "
            r"\hat m / (\sqrt{\hat v} + \epsilon), \quad m \leftarrow 0.9 m + 0.1 g, \; v \leftarrow 0.999 v + "
            r"0.001 g^2 & \text{adam} \\ "
            r"g / \sqrt{v + 10^{-5}}, \quad v \leftarrow 0.99 v + 0.01 g^2 & \text{rmsprop} \\ "
            r"g & \text{sgd} "
            r"\end{cases}"
        ),
        source=f"{ADAM}; {HUANG}, core detail 3",
        finding=f"{ANDRYCHOWICZ}: no difference if tuned.",
        where="minutiae.control.learner.optimizers:optimizer_step",
        who={"ppo2": "adam", "implementation-matters": "adam", "sb3": "adam", "cleanrl": "adam"},
    )
    separate_optimizers: bool | None = detail(
        default=None,
        levels=flag(),
        kind=STRUCTURE,
        room="learner",
        applies=_PPO_ONLY,
        title="separate optimizers",
        rule=(
            "on: policy and value network have each their own optimizer, learning rate, epochs and "
            "shuffles; off: one loss, one step for both. TRPO's value network always has its own."
        ),
        source=f"{MADRYLAB}; {SPINNING_UP}",
        finding="Unmeasured; lets the value network's learning rate be tuned by itself.",
        where="minutiae.control.learner.structure:Structure.joint",
        who={"ppo2": "off", "implementation-matters": "on", "sb3": "off", "cleanrl": "off"},
    )
    update_order: str = detail(
        default="value_first",
        levels=choice("value_first", "policy_first"),
        kind=STRUCTURE,
        room="learner",
        applies=OWN_VALUE_OPTIMIZER,
        title="order of the two updates",
        rule="value_first: all epochs of the value network, then the policy's; policy_first: the reverse.",
        source=f"value_first: {MADRYLAB}",
        finding=("Advantages are fixed before either, so the order changes nothing that is learned or logged."),
        where="minutiae.control.learner.program:update_agent",
        who={"implementation-matters": "value_first"},
    )
    learning_rate: float = detail(
        default=3e-4,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=_PPO_ONLY,
        title="learning rate",
        rule="Step size of the joint optimizer, or of the policy's own.",
        equation=r"\theta \leftarrow \theta - \alpha \, u, \quad u \text{ the optimizer's direction}",
        source=f"{ANDRYCHOWICZ}",
        finding=(
            f"{ANDRYCHOWICZ}: the most important number. {ENGSTROM} tunes it in every cell, and so must an ablation."
        ),
        where="minutiae.control.learner.epochs:learning_rate",
        who={"ppo2": "3e-4", "implementation-matters": "3e-4", "sb3": "3e-4", "cleanrl": "3e-4"},
    )
    value_learning_rate: float = detail(
        default=3e-4,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=OWN_VALUE_OPTIMIZER,
        title="learning rate of the value network",
        rule="Step size of the value network's own optimizer.",
        equation=r"\phi \leftarrow \phi - \alpha_V \, u, \quad u \text{ the optimizer's direction}",
        source=f"{ENGSTROM}, appendix A.1; {MADRYLAB}: base 1.5e-4, tuned per cell",
        finding="Unmeasured.",
        where="minutiae.control.learner.epochs:learning_rate",
        who={"implementation-matters": "1.5e-4"},
    )
    learning_rate_annealing: str | None = detail(
        default="linear",
        levels=choice("linear", "linear_per_gradient_step", off=True),
        kind=NUMBER,
        room="learner",
        title="learning rate annealing",
        rule=(
            "linear: rate_i = rate (1 - i / iterations) in iteration i = 0, 1, ...; "
            "linear_per_gradient_step: the same line, followed from gradient step to gradient step."
        ),
        equation=(
            r"\alpha_{i,k} = \begin{cases} \alpha & \text{off} \\ \alpha (1 - i / I) & \text{linear} \\ "
            r"\alpha (1 - (i + k / K) / I) & \text{linear\_per\_gradient\_step} "
            r"\end{cases}"
        ),
        source=f"{ENGSTROM}, section 3, optimization 4; {HUANG}, core detail 4",
        finding=(
            f"{ENGSTROM}: one of three details found necessary. {ANDRYCHOWICZ}: slight (about 15 % on "
            f"Ant). {DRAFT}: the sign turns with the learning rate (+61 at 2.2e-4, -85 at 1e-5)."
        ),
        where="minutiae.control.schedules:scheduled",
        who={"ppo2": "linear", "implementation-matters": "linear", "sb3": "off", "cleanrl": "linear"},
    )
    learning_rate_annealing_networks: str = detail(
        default="both",
        levels=choice("both", "policy", "value"),
        kind=NUMBER,
        room="learner",
        applies=(some("learning_rate_annealing"), on("separate_optimizers")),
        title="whose learning rate is annealed",
        rule="With separate optimizers. both: of both networks; policy, value: of that network alone.",
        source=f"both: {MADRYLAB}",
        finding="Unmeasured.",
        where="minutiae.control.schedules:scheduled",
        who={"implementation-matters": "both"},
    )
    adam_epsilon: float = detail(
        default=1e-5,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=_ADAM_ONLY,
        title="epsilon of Adam",
        rule="step = rate * m_hat / (sqrt(v_hat) + epsilon).",
        equation=r"\theta \leftarrow \theta - \alpha \frac{\hat m}{\sqrt{\hat v} + \epsilon}",
        source=f"{HUANG}, core detail 3",
        finding=(f"1e-5 in {MADRYLAB} too (for the value network hard-coded), though it is often said to use 1e-8."),
        where="minutiae.control.learner.optimizers:adam_epsilon",
        who={"ppo2": "1e-5", "implementation-matters": "1e-5", "sb3": "1e-5", "cleanrl": "1e-5"},
    )
    adam_epsilon_style: str = detail(
        default="after_correction",
        levels=choice("after_correction", "before_correction"),
        kind=NUMBER,
        room="learner",
        applies=_ADAM_ONLY,
        title="where Adam's epsilon is added",
        rule=(
            "after_correction: to sqrt(v_hat), v corrected for its start at zero; before_correction: to "
            "sqrt(v), which is epsilon / sqrt(1 - 0.999^t) after correction."
        ),
        equation=(
            r"\theta \leftarrow \theta - \alpha \begin{cases} "
            r"\hat m / (\sqrt{\hat v} + \epsilon) & \text{after\_correction} \\ "
            r"\hat m / \left(\sqrt{\hat v} + \epsilon / \sqrt{1 - 0.999^t}\right) & \text{before\_correction} "
            r"\end{cases}"
        ),
        source=f"{ADAM}, Algorithm 1 and section 2; before_correction: TensorFlow 1, so {PPO2}",
        finding="before_correction makes epsilon up to 32 times larger in the first steps.",
        where="minutiae.control.learner.optimizers:adam_epsilon",
        who={
            "ppo2": "before_correction",
            "implementation-matters": "after_correction",
            "sb3": "after_correction",
            "cleanrl": "after_correction",
        },
    )
    gradient_clipping: float | None = detail(
        default=0.5,
        levels=number(above=0, off=True),
        kind=NUMBER,
        room="learner",
        title="gradient clipping",
        rule=(
            "g <- g min(1, c / (|g| + 1e-6)), |g| the global norm. Under trpo: of the value network's gradient only."
        ),
        equation=r"g \leftarrow g \min\left(1, \frac{c}{\|g\| + 10^{-6}}\right)",
        source=f"{ENGSTROM}, section 3, optimization 9; {HUANG}, core detail 11",
        finding=(f"{ANDRYCHOWICZ}: a small gain. Off in the tuned PPO of {MADRYLAB}, though among the paper's nine."),
        where="minutiae.control.learner.optimizers:clip_scales",
        who={"ppo2": "0.5", "implementation-matters": "off", "sb3": "0.5", "cleanrl": "0.5"},
    )
    gradient_clipping_scope: str = detail(
        default="joint",
        levels=choice("joint", "per_network", "policy_only"),
        kind=NUMBER,
        room="learner",
        applies=(_PPO_ONLY, some("gradient_clipping")),
        title="what gradient clipping measures",
        rule=(
            "joint: one norm over all that one optimizer steps (both networks, or each alone with "
            "separate optimizers); per_network: a norm for each network; policy_only: the value network's "
            "gradient is not clipped."
        ),
        equation=(
            r"\|g\| = \begin{cases} \sqrt{\|g_\pi\|^2 + \|g_V\|^2} & \text{joint} \\ "
            r"\|g_\pi\| \text{ for } g_\pi, \; \|g_V\| \text{ for } g_V & \text{per\_network} \\ "
            r"\|g_\pi\| \text{ for } g_\pi, \; g_V \text{ not clipped} & \text{policy\_only} "
            r"\end{cases}"
        ),
        source=f"joint: {PPO2}; policy_only: {MADRYLAB}",
        finding="Unmeasured.",
        where="minutiae.control.learner.optimizers:clip_scales",
        who={"ppo2": "joint", "implementation-matters": "policy_only", "sb3": "joint", "cleanrl": "joint"},
    )
    epochs: int = detail(
        default=10,
        levels=integer(at_least=1),
        kind=STRUCTURE,
        room="learner",
        applies=_PPO_ONLY,
        title="epochs",
        rule="Passes over the batch per iteration by the joint optimizer, or by the policy's own.",
        equation=r"\text{gradient steps in an iteration} = E M",
        source=f"{ANDRYCHOWICZ}; {HUANG}, core detail 6",
        finding=f"{ANDRYCHOWICZ}: more than one is crucial.",
        where="minutiae.control.learner.epochs:policy_epochs",
        who={"ppo2": "10", "implementation-matters": "10", "sb3": "10", "cleanrl": "10"},
    )
    minibatches: int = detail(
        default=32,
        levels=integer(at_least=1),
        kind=STRUCTURE,
        room="learner",
        title="minibatches",
        rule=("Each epoch shuffles all transitions and cuts them into so many equal parts, one gradient step each."),
        equation=r"\text{samples in a gradient step} = \frac{N T}{M}",
        source=f"{HUANG}, core detail 6; {ANDRYCHOWICZ}",
        finding=f"{ANDRYCHOWICZ}: little effect on quality.",
        where="minutiae.control.learner.epochs:run_epochs",
        who={"ppo2": "32", "implementation-matters": "32", "sb3": "32", "cleanrl": "32"},
    )
