"""Details of the budget: task, algorithm, steps, segments of training. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.detail import STRUCTURE, detail
from minutiae.details.levels import choice, integer, text
from minutiae.details.sources import ENGSTROM, MADRYLAB, PPO, TRPO


@dataclass(frozen=True, kw_only=True, repr=False)
class Budget:
    """What is trained, by which algorithm, for how long."""

    environment: str = detail(
        levels=text(),
        kind=STRUCTURE,
        room="host",
        title="environment",
        rule=(
            "The id of the task; the prefixes envpool: and gymnasium: choose the simulator, module:callable builds one."
        ),
        source="Gymnasium and EnvPool ids",
        finding=("Results do not carry over between versions of a task: Humanoid-v2 and -v5 have other contact costs."),
        where="minutiae.control.environments.pools:make_pool",
    )
    algorithm: str = detail(
        default="ppo",
        levels=choice("ppo", "trpo"),
        kind=STRUCTURE,
        room="learner",
        title="algorithm",
        rule=(
            "ppo: epochs of minibatch gradient steps on the clipped surrogate. trpo: one natural-gradient "
            "step of the policy inside KL(old || new) <= max_kl, found by line search."
        ),
        equation=(
            r"\theta \leftarrow \begin{cases} "
            r"\text{minibatch gradient steps on } \mathbb{E}[\min(\rho A, \operatorname{clip}(\rho, 1 - "
            r"\varepsilon, 1 + \varepsilon) A)] & \text{ppo} \\ "
            r"\theta + 2^{-k} \sqrt{2 \delta / s^\top F s} \; s, \quad F s = g, \quad "
            r"\mathbb{E}[\operatorname{KL}(\pi_{\text{old}} \| \pi_\theta)] \le \delta & \text{trpo} "
            r"\end{cases}"
        ),
        source=f"ppo: {PPO}; trpo: {TRPO}",
        finding=(f"{ENGSTROM}: the choice moves the final reward less (99 to 242) than the details do (421 to 557)."),
        where="minutiae.control.learner.program:update_agent",
        who={"ppo2": "ppo", "implementation-matters": "ppo", "sb3": "ppo", "cleanrl": "ppo"},
    )
    steps: int = detail(
        default=1_000_000,
        levels=integer(at_least=1),
        # Annealing follows the share of iterations done, which one loop over a population can have only once.
        kind=STRUCTURE,
        room="host",
        title="environment steps",
        rule="iterations = floor(steps / (environments * rollout_length)); a remainder is not trained.",
        equation=r"\text{iterations} = \left\lfloor \frac{\text{steps}}{N T} \right\rfloor",
        source=f"{ENGSTROM}: 488 iterations of 2048 steps",
        finding="Annealing runs over the whole budget, so a run is not the beginning of a longer one.",
        where="minutiae.details.config:Config.iterations",
        who={"implementation-matters": "999424"},
    )
    segment_iterations: int | None = detail(
        default=None,
        levels=integer(at_least=1, off=True, off_word="automatic"),
        kind=STRUCTURE,
        room="host",
        title="iterations per segment",
        rule=(
            "A checkpoint is written and the pool renewed every so many iterations. automatic: about "
            "twenty time limits of steps of each row."
        ),
        source="minutiae: simulators cannot be saved, so an exact resume needs fresh ones at known places",
        finding="Renewing cuts running episodes, as truncations: the longer the segment, the fewer the cuts.",
        where="minutiae.control.population:segment_length",
    )
    held_out_diagnostics: int | None = detail(
        default=None,
        levels=integer(at_least=1, off=True),
        kind=STRUCTURE,
        room="host",
        title="held-out diagnostics",
        rule=(
            "Every so many iterations an extra rollout, on rows of its own and with frozen normalizers, "
            "measures ratio and KL of the update on samples that the update has not seen."
        ),
        source=f"{ENGSTROM}, figure 4; {MADRYLAB} does so every 10 iterations",
        finding=(
            f"In {MADRYLAB} the probe also updates the normalizers and so disturbs the training; here it does not."
        ),
        where="minutiae.control.learner.program:compile_held_out",
        who={"implementation-matters": "10"},
    )
