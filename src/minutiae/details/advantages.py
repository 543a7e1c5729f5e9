"""Details of advantages and value targets. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.conditions import some
from minutiae.details.detail import NUMBER, detail
from minutiae.details.levels import choice, flag, integer, number
from minutiae.details.sources import ADKINS, ANDRYCHOWICZ, GAE, HUANG, MADRYLAB, RSL_RL, SPINNING_UP


@dataclass(frozen=True, kw_only=True, repr=False)
class Advantages:
    """What the policy is told to prefer and what the value network is told to predict."""

    gae_lambda: float = detail(
        default=0.95,
        levels=number(at_least=0, at_most=1),
        kind=NUMBER,
        room="learner",
        title="lambda of generalized advantages",
        rule=(
            "A_t = delta_t + discount * lambda * A_{t+1}, cut where an episode ends; delta_t = r_t + "
            "discount V_{t+1} - V_t."
        ),
        equation=(
            r"A_t = \delta_t + \gamma \lambda (1 - e_t) A_{t+1} \qquad \delta_t = r_t + \gamma (1 - d_t) "
            r"V(s'_t) - V(s_t)"
        ),
        source=f"{GAE}, equation 16; {HUANG}, core detail 5",
        finding=f"{ANDRYCHOWICZ}: about 0.9 best; GAE and V-trace beat n-step returns.",
        where="minutiae.objectives.advantages:generalized_advantages",
        who={"ppo2": "0.95", "implementation-matters": "0.95", "sb3": "0.95", "cleanrl": "0.95"},
    )
    value_target: str = detail(
        default="gae",
        levels=choice("gae", "monte_carlo"),
        kind=NUMBER,
        room="learner",
        title="value target",
        rule=(
            "gae: G = V_old + A; monte_carlo: the discounted rewards to go, to the end of the episode or of the "
            "rollout, whichever is first. Fixed for the whole iteration."
        ),
        equation=(
            r"G_t = \begin{cases} V_{\text{old}}(s_t) + A_t & \text{gae} \\ "
            r"\sum_{k=0}^{\text{end}} \gamma^k r_{t+k} & \text{monte\_carlo} "
            r"\end{cases}"
        ),
        source=f"{HUANG}, core detail 5; monte_carlo: {MADRYLAB}; {SPINNING_UP} adds a value at the rollout's end",
        finding="Unmeasured.",
        where="minutiae.control.learner.preparation:prepare",
        who={"ppo2": "gae", "implementation-matters": "gae", "sb3": "gae", "cleanrl": "gae"},
    )
    advantage_normalization: str | None = detail(
        default="minibatch",
        levels=choice("batch", "minibatch", off=True),
        kind=NUMBER,
        room="learner",
        title="advantage normalization",
        rule=(
            "A <- (A - mean(A)) / (std(A) + 1e-8). batch: over the iteration, once; minibatch: over the "
            "samples of each policy step (for trpo, whose one step sees them all, that is the batch)."
        ),
        equation=(
            r"A \leftarrow \begin{cases} A & \text{off} \\ "
            r"(A - \mu_A) / (\sigma_A + 10^{-8}) \text{ over the iteration} & \text{batch} \\ "
            r"(A - \mu_A) / (\sigma_A + 10^{-8}) \text{ over each minibatch} & \text{minibatch} "
            r"\end{cases}"
        ),
        source=f"{HUANG}, core detail 7; batch: {RSL_RL}",
        finding=(
            f"{ANDRYCHOWICZ}: at most 10 %. {ADKINS}: centering per minibatch gains at little sensitivity. "
            f"Unconditional in {MADRYLAB}, though not among the paper's nine."
        ),
        where="minutiae.objectives.advantages:normalize",
        who={
            "ppo2": "minibatch",
            "implementation-matters": "minibatch",
            "sb3": "minibatch",
            "cleanrl": "minibatch",
        },
    )
    advantage_normalization_ddof: int = detail(
        default=0,
        levels=integer(at_least=0, at_most=1),
        kind=NUMBER,
        room="learner",
        applies=some("advantage_normalization"),
        title="degrees of freedom in the advantages' deviation",
        rule="std(A) = sqrt(sum (A - mean)^2 / (n - ddof)).",
        equation=r"\sigma_A = \sqrt{\frac{\sum_i (A_i - \mu_A)^2}{\max(n - \text{ddof}, 1)}}",
        source="NumPy's std divides by n (0), PyTorch's by n - 1 (1)",
        finding="0.8 % in scale at minibatches of 64.",
        where="minutiae.objectives.advantages:normalize",
        who={"ppo2": "0", "implementation-matters": "1", "sb3": "1", "cleanrl": "1"},
    )
    value_target_terminal_mask: bool | None = detail(
        default=None,
        levels=flag(),
        kind=NUMBER,
        room="learner",
        title="terminal states left out of the value loss",
        rule="on: samples that end an episode, by termination or truncation, take no part in the value loss.",
        equation=r"\text{value loss} = \frac{\sum_t m_t \ell_t}{\max(\sum_t m_t, 1)}, \quad m_t = 1 - e_t \text{ (on)}",
        source=f"{MADRYLAB}, value_step (not in the paper)",
        finding="Unmeasured.",
        where="minutiae.control.learner.preparation:prepare",
        who={"ppo2": "off", "implementation-matters": "on", "sb3": "off", "cleanrl": "off"},
    )
