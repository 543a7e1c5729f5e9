"""Details of TRPO's policy step: radius, direction, line search. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.conditions import only, smaller
from minutiae.details.detail import NUMBER, STRUCTURE, detail
from minutiae.details.levels import choice, integer, number
from minutiae.details.sources import ENGSTROM, MADRYLAB, SB3, TRPO, TRPO_MPI

_TRPO_ONLY = only("algorithm", "trpo")


@dataclass(frozen=True, kw_only=True, repr=False)
class TrustRegion:
    """How far and in which direction TRPO's policy moves."""

    max_kl: float = detail(
        default=0.01,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=_TRPO_ONLY,
        title="trust-region radius",
        rule="mean KL(old || new) <= delta; the full step is sqrt(2 delta / (s' F s)) s.",
        equation=(
            r"\mathbb{E}[\operatorname{KL}(\pi_{\text{old}} \| \pi_\theta)] \le \delta \qquad "
            r"\Delta\theta = \sqrt{\frac{2 \delta}{s^\top F s}} \; s"
        ),
        source=f"{TRPO}, appendix C; 0.01 in {TRPO_MPI}",
        finding=f"Tuned radii (0.04 to 0.13, {ENGSTROM}) are 4 to 13 times the classical 0.01.",
        where="minutiae.control.learner.natural_gradient:scaled_to_radius",
        who={"implementation-matters": "0.01"},
    )
    max_kl_final: float | None = detail(
        default=None,
        levels=number(above=0, off=True),
        kind=NUMBER,
        room="learner",
        applies=_TRPO_ONLY,
        title="final trust-region radius",
        rule="delta_i = max_kl + (max_kl_final - max_kl) i / iterations; off: delta_i = max_kl.",
        equation=r"\delta_i = \delta + (\delta_{\text{final}} - \delta) \frac{i}{I}",
        source=f"{ENGSTROM}, appendix A.1",
        finding=(
            f"Configured in {MADRYLAB} but never in force: the step reads the parameter that the schedule leaves alone."
        ),
        where="minutiae.control.schedules:scheduled",
        who={"implementation-matters": "off"},
    )
    fisher_fraction: float = detail(
        default=1.0,
        levels=number(above=0, at_most=1),
        kind=STRUCTURE,
        room="learner",
        applies=_TRPO_ONLY,
        title="fraction of states in the Fisher matrix",
        rule="F is the Hessian of mean KL(old || new) over floor(fraction * batch) states.",
        equation=(
            r"F = \nabla^2_\theta \frac{1}{|S|} \sum_{s \in S} "
            r"\operatorname{KL}(\pi_{\text{old}}(\cdot | s) \| \pi_\theta(\cdot | s)) \text{ at } "
            r"\theta_{\text{old}}, \quad "
            r"|S| = \lfloor f B \rfloor"
        ),
        source=f"{TRPO}, appendix C; every fifth state in {TRPO_MPI}, a random tenth in {MADRYLAB}",
        finding="Unmeasured.",
        where="minutiae.control.seeding:fisher_rows",
        who={"implementation-matters": "0.1"},
    )
    fisher_subset: str = detail(
        default="random",
        levels=choice("random", "strided"),
        kind=NUMBER,
        room="host",
        applies=smaller("fisher_fraction", 1),
        title="which states are in the Fisher matrix",
        rule=(
            "random: drawn anew each iteration, without replacement; strided: evenly spaced in time, environments "
            "side by side, so that a stride which fits their number meets the same environments at every step."
        ),
        equation=(
            r"S = \begin{cases} |S| \text{ of the } B \text{ states, without replacement} & \text{random} \\ "
            r"\{ s_{\lfloor k B / |S| \rfloor} : k = 0, \ldots, |S| - 1 \} & \text{strided} "
            r"\end{cases}"
        ),
        source=f"random: {MADRYLAB}; strided: {TRPO_MPI}",
        finding="Unmeasured.",
        where="minutiae.control.seeding:fisher_rows",
        who={"implementation-matters": "random"},
    )
    conjugate_gradient_iterations: int = detail(
        default=10,
        levels=integer(at_least=1),
        kind=STRUCTURE,
        room="learner",
        applies=_TRPO_ONLY,
        title="conjugate-gradient iterations",
        rule="(F + damping I) s = g is solved approximately by so many steps from s = 0.",
        equation=(
            r"s_{k+1} = s_k + \alpha_k p_k, \quad \alpha_k = \frac{q_k^\top q_k}{p_k^\top F p_k} \qquad "
            r"q_{k+1} = q_k - \alpha_k F p_k, \quad p_{k+1} = q_{k+1} + \frac{q_{k+1}^\top q_{k+1}}{q_k^\top q_k} "
            r"p_k \qquad "
            r"s_0 = 0, \; q_0 = p_0 = g"
        ),
        source=f"{TRPO}, appendix C; 10 in {TRPO_MPI}",
        finding="Unmeasured.",
        where="minutiae.control.learner.natural_gradient:conjugate_gradient",
        who={"implementation-matters": "10"},
    )
    conjugate_gradient_damping: float = detail(
        default=0.1,
        levels=number(at_least=0),
        kind=NUMBER,
        room="learner",
        applies=_TRPO_ONLY,
        title="damping of the Fisher matrix",
        rule="F v <- F v + damping * v.",
        equation=r"F v \leftarrow F v + \lambda v",
        source=f"{TRPO_MPI} and {MADRYLAB}: 0.1",
        finding="Unmeasured.",
        where="minutiae.control.learner.natural_gradient:fisher_vector_product",
        who={"implementation-matters": "0.1"},
    )
    line_search: str = detail(
        default="improvement_ratio",
        levels=choice("improvement_ratio", "baselines", "strict"),
        kind=NUMBER,
        room="learner",
        applies=_TRPO_ONLY,
        title="line-search rule",
        rule=(
            "What a candidate must show. improvement_ratio: improvement > 0, improvement / expected > "
            "accept ratio, KL <= delta; baselines: improvement >= 0, KL <= 1.5 delta; strict: improvement "
            "> 0, KL < delta."
        ),
        equation=(
            r"\text{accept if } \begin{cases} "
            r"\Delta L > 0, \; \Delta L > c \, 2^{-k} g^\top \Delta\theta, \; \operatorname{KL} \le \delta & "
            r"\text{improvement\_ratio} \\ "
            r"\Delta L \ge 0, \; \operatorname{KL} \le 1.5 \delta & \text{baselines} \\ "
            r"\Delta L > 0, \; \operatorname{KL} < \delta & \text{strict} "
            r"\end{cases}"
        ),
        source=f"improvement_ratio: {MADRYLAB}; baselines: {TRPO_MPI}; strict: {SB3} contrib",
        finding="Unmeasured.",
        where="minutiae.control.learner.natural_gradient:accepts",
        who={"implementation-matters": "improvement_ratio"},
    )
    line_search_accept_ratio: float = detail(
        default=0.1,
        levels=number(at_least=0, at_most=1),
        kind=NUMBER,
        room="learner",
        applies=only("line_search", "improvement_ratio"),
        title="accepted share of the expected improvement",
        rule="improvement / (g' step) must exceed this.",
        equation=r"\Delta L > c \, 2^{-k} g^\top \Delta\theta",
        source=f"{MADRYLAB}",
        finding="Unmeasured.",
        where="minutiae.control.learner.natural_gradient:accepts",
        who={"implementation-matters": "0.1"},
    )
    line_search_backtracks: int = detail(
        default=10,
        levels=integer(at_least=1),
        kind=STRUCTURE,
        room="learner",
        applies=_TRPO_ONLY,
        title="line-search candidates",
        rule=("2^-k of the full step is tried for k = 0 ... n - 1; the parameters stay as they are when none passes."),
        equation=(
            r"\theta \leftarrow \theta + 2^{-k} \Delta\theta \text{ with the first } k \in \{0, \ldots, n - 1\} "
            r"\text{ that passes}"
        ),
        source=f"{MADRYLAB}: at most 10",
        finding="Unmeasured.",
        where="minutiae.control.learner.natural_gradient:line_search",
        who={"implementation-matters": "10"},
    )
