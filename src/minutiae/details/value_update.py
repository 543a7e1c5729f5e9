"""Details of the value loss and its epochs. No other theme's details."""

from __future__ import annotations

from dataclasses import dataclass

from minutiae.details.conditions import off, only, some
from minutiae.details.detail import NUMBER, STRUCTURE, detail
from minutiae.details.levels import choice, integer, number
from minutiae.details.optimization import OWN_VALUE_OPTIMIZER
from minutiae.details.sources import ANDRYCHOWICZ, DRAFT, ENGSTROM, HUANG, MADRYLAB, PPO, SB3, SPINNING_UP


@dataclass(frozen=True, kw_only=True, repr=False)
class ValueUpdate:
    """What a gradient step of the value network descends."""

    value_clipping: str | None = detail(
        default=None,
        levels=choice("max", "min", "clipped_only", "max_signed", off=True),
        kind=NUMBER,
        room="learner",
        title="value clipping",
        rule=(
            "With V_c = V_old + clip(V - V_old, -eps, eps): off (V - G)^2; max: max((V - G)^2, (V_c - "
            "G)^2); min: the smaller one; clipped_only: (V_c - G)^2; max_signed: max(V - G, V_c - G)^2."
        ),
        equation=(
            r"\ell = \begin{cases} (V - G)^2 & \text{off} \\ "
            r"\max((V - G)^2, (V_c - G)^2) & \text{max} \\ \min((V - G)^2, (V_c - G)^2) & \text{min} \\ "
            r"(V_c - G)^2 & \text{clipped\_only} \\ \max(V - G, V_c - G)^2 & \text{max\_signed} "
            r"\end{cases} \qquad V_c = V_{\text{old}} + \operatorname{clip}(V - V_{\text{old}}, -\varepsilon, "
            r"\varepsilon)"
        ),
        source=(
            f"{ENGSTROM}, section 3, optimization 1, which prints min; max: {HUANG}, core detail 9; "
            f"clipped_only: {SB3}; max_signed: {DRAFT}"
        ),
        finding=(
            f"{ENGSTROM}: the one of the four ablated details without a clear gain. {ANDRYCHOWICZ}: hurts "
            f"at any range. {DRAFT}: main effect -45 (learning rate 2.2e-4) and -32 (1e-5)."
        ),
        where="minutiae.objectives.values:clipped_value_loss",
        who={"ppo2": "max", "implementation-matters": "max", "sb3": "off", "cleanrl": "max"},
    )
    value_clipping_range: float = detail(
        default=0.2,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=some("value_clipping"),
        title="range of value clipping",
        rule="eps in V_old + clip(V - V_old, -eps, eps), in units of scaled rewards.",
        equation=r"V_c = V_{\text{old}} + \operatorname{clip}(V - V_{\text{old}}, -\varepsilon, \varepsilon)",
        source=f"{HUANG}, core detail 9: the policy's range; {MADRYLAB}: a parameter of its own, 0.2 as well",
        finding="Depends on the scale of rewards: 0.2 is tight unless they are scaled.",
        where="minutiae.objectives.values:clipped_value_loss",
        who={"ppo2": "0.2", "implementation-matters": "0.2", "cleanrl": "0.2"},
    )
    value_loss_coefficient: float = detail(
        default=0.5,
        levels=number(above=0),
        kind=NUMBER,
        room="learner",
        applies=(only("algorithm", "ppo"), off("separate_optimizers")),
        title="coefficient of the value loss",
        rule="loss = policy loss + c mean (V - G)^2, without a further 1/2. For a joint optimizer only.",
        equation=r"\text{loss} = \text{policy loss} + c \, \mathbb{E}[\ell]",
        source=f"{PPO}, equation 9; {HUANG}, core detail 10",
        finding="Same name, different factor: 0.5 is 0.25 here where the code halves the square as well.",
        where="minutiae.control.learner.epochs:policy_epochs",
        who={"ppo2": "0.25", "sb3": "0.5", "cleanrl": "0.25"},
    )
    value_epochs: int = detail(
        default=10,
        levels=integer(at_least=1),
        kind=STRUCTURE,
        room="learner",
        applies=OWN_VALUE_OPTIMIZER,
        title="epochs of the value network",
        rule="Passes over the batch per iteration by the value network's own optimizer.",
        equation=r"\text{gradient steps of the value network in an iteration} = E_V M",
        source=f"{MADRYLAB}; {SPINNING_UP}",
        finding="Unmeasured.",
        where="minutiae.control.learner.epochs:value_epochs",
        who={"implementation-matters": "10"},
    )
