"""Details of collecting data: rows, rollouts, episode boundaries, actions. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.detail import NUMBER, STRUCTURE, detail
from minutiae.details.levels import choice, flag, integer, number
from minutiae.details.sources import (
    ANDRYCHOWICZ,
    BRAX,
    HSU,
    HUANG,
    MADRYLAB,
    PARDO,
    RSL_RL,
    SB3,
    SEED_RL,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Collection:
    """How transitions are gathered and what counts as the end of one."""

    environments: int = detail(
        default=16,
        levels=integer(at_least=1),
        kind=STRUCTURE,
        room="host",
        title="parallel environments",
        rule="N rows step side by side; one iteration gathers environments * rollout_length transitions.",
        equation=r"B = N T \text{ transitions in an iteration}",
        source=f"{HUANG}, core detail 1; {ANDRYCHOWICZ}",
        finding=(f"{ANDRYCHOWICZ}: more of them at a fixed batch cost sample efficiency, sharply on some tasks."),
        where="minutiae.control.environments.pools:make_pool",
        who={"ppo2": "1", "implementation-matters": "1", "sb3": "1", "cleanrl": "1"},
    )
    rollout_length: int = detail(
        default=128,
        levels=integer(at_least=1),
        kind=STRUCTURE,
        room="host",
        title="rollout length",
        rule="T real transitions of every row per iteration; reset transitions are never counted.",
        equation=r"B = N T \text{ transitions in an iteration}",
        source=f"{HUANG}, core detail 1; {ANDRYCHOWICZ}",
        finding="At equal batch a longer rollout leaves fewer tails to bootstrap.",
        where="minutiae.control.collector:Collector.collect",
        who={"ppo2": "2048", "implementation-matters": "2048", "sb3": "2048", "cleanrl": "2048"},
    )
    environment_reset_each_iteration: bool | None = detail(
        default=None,
        levels=flag(),
        kind=NUMBER,
        room="host",
        title="environment reset each iteration",
        rule="on: every row is reset before each rollout, and unfinished episodes are dropped.",
        source=f"{MADRYLAB} (not in the paper)",
        finding=(
            "Unmeasured. Shifts the states seen towards episode starts; every rollout's tail is a partial episode."
        ),
        where="minutiae.control.collector:Collector.collect",
        who={"ppo2": "off", "implementation-matters": "on", "sb3": "off", "cleanrl": "off"},
    )
    final_state_bootstrap: str = detail(
        default="next",
        levels=choice("next", "self", "zero"),
        kind=NUMBER,
        room="learner",
        title="bootstrap at the end of a rollout",
        rule=(
            "The value behind the last step of a rollout whose episode goes on. next: V(s_T); self: "
            "V(s_{T-1}), the last state's own value; zero: 0."
        ),
        equation=(
            r"V_{\text{behind}} = \begin{cases} "
            r"V(s_T) & \text{next} \\ V(s_{T-1}) & \text{self} \\ 0 & \text{zero} "
            r"\end{cases}"
        ),
        source=f"self: {MADRYLAB}, advantage_and_return, which throws the last state away",
        finding="Unmeasured.",
        where="minutiae.objectives.advantages:bootstrap",
        who={"ppo2": "next", "implementation-matters": "self", "sb3": "next", "cleanrl": "next"},
    )
    truncation_bootstrap: str = detail(
        default="bootstrap",
        levels=choice("terminal", "bootstrap", "bootstrap_self", "mask_delta"),
        kind=NUMBER,
        room="learner",
        title="bootstrap at a time limit",
        rule=(
            "At a truncation. terminal: as a death, V = 0; bootstrap: r + discount * V(s'), s' the true "
            "successor; bootstrap_self: r + discount * V(s); mask_delta: delta = 0, and so the advantage "
            "of that step."
        ),
        equation=(
            r"\delta_t = \begin{cases} "
            r"r_t - V(s_t) & \text{terminal} \\ r_t + \gamma V(s'_t) - V(s_t) & \text{bootstrap} \\ "
            r"r_t + \gamma V(s_t) - V(s_t) & \text{bootstrap\_self} \\ 0 & \text{mask\_delta} "
            r"\end{cases}"
        ),
        source=(f"{PARDO}; bootstrap: {SB3} since 1.4; bootstrap_self: {RSL_RL}; mask_delta: {BRAX}, {SEED_RL}"),
        finding=(
            f"{PARDO}: large where limits are short or not part of the task; {ANDRYCHOWICZ}: none at "
            "limits of 1000 steps."
        ),
        where="minutiae.objectives.advantages:bootstrap",
        who={
            "ppo2": "terminal",
            "implementation-matters": "terminal",
            "sb3": "bootstrap",
            "cleanrl": "terminal",
        },
    )
    discount: float = detail(
        default=0.99,
        levels=number(at_least=0, at_most=1),
        kind=NUMBER,
        room="learner",
        title="discount",
        rule="gamma in G_t = sum_k gamma^k r_{t+k}; reward scaling uses the same one.",
        equation=r"G_t = \sum_{k \ge 0} \gamma^k r_{t+k}",
        source=f"{ANDRYCHOWICZ}",
        finding=f"{ANDRYCHOWICZ}: among the most important numbers; tune it per task.",
        where="minutiae.objectives.advantages:generalized_advantages",
        who={"ppo2": "0.99", "implementation-matters": "0.99", "sb3": "0.99", "cleanrl": "0.99"},
    )
    action_bound: str | None = detail(
        default="clip_at_environment",
        levels=choice("clip_at_environment", "clip_stored", "tanh", off=True),
        kind=STRUCTURE,
        room="learner",
        title="action bound",
        rule=(
            "Continuous actions only. off: sampled actions go to the simulator as they are; "
            "clip_at_environment: the simulator gets clip(a, low, high), the batch keeps a; clip_stored: "
            "both get the clipped action; tanh: a = low + (high - low) (tanh(u) + 1) / 2 with the density "
            "corrected for the squashing."
        ),
        equation=(
            r"a_{\text{simulator}} = \begin{cases} a & \text{off} \\ "
            r"\operatorname{clip}(a, l, h) & \text{clip\_at\_environment} \\ "
            r"\operatorname{clip}(a, l, h), \text{ stored as well} & \text{clip\_stored} \\ "
            r"l + \frac{h - l}{2} (\tanh u + 1) & \text{tanh} \end{cases} \qquad "
            r"\text{tanh: } \log \pi(a) = \log \mathcal{N}(u) - \sum_j \log \frac{h_j - l_j}{2} (1 - \tanh^2 u_j)"
        ),
        source=f"{HUANG}, continuous detail 5; {ANDRYCHOWICZ}; {HSU}",
        finding=f"{ANDRYCHOWICZ}: tanh slightly better than clipping on some tasks.",
        where="minutiae.control.policies.actions:to_environment",
        who={
            "ppo2": "clip_at_environment",
            "implementation-matters": "off",
            "sb3": "clip_at_environment",
            "cleanrl": "clip_at_environment",
        },
    )
