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
        rule="random: drawn anew each iteration, without replacement; strided: evenly spaced.",
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
        source=f"{MADRYLAB}: at most 10",
        finding="Unmeasured.",
        where="minutiae.control.learner.natural_gradient:line_search",
        who={"implementation-matters": "10"},
    )
