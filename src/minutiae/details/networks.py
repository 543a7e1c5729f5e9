"""Details of the networks: sizes, activation, first parameters. No other theme's details."""

from __future__ import annotations

import math
from dataclasses import dataclass

from minutiae.details.detail import NUMBER, STRUCTURE, detail
from minutiae.details.levels import choice, number, sizes
from minutiae.details.sources import ANDRYCHOWICZ, ENGSTROM, HENDERSON, HUANG, MADRYLAB

_SQRT_2 = str(math.sqrt(2))


@dataclass(frozen=True, kw_only=True, repr=False)
class Networks:
    """Two separate networks, policy and value, and where their training starts."""

    policy_hidden_sizes: tuple[int, ...] = detail(
        default=(64, 64),
        levels=sizes(),
        kind=STRUCTURE,
        room="learner",
        title="hidden layers of the policy",
        rule="Widths of the fully connected layers before the policy's head.",
        equation=r"h_l = f(W_l h_{l-1} + b_l), \quad W_l \in \mathbb{R}^{n_l \times n_{l-1}}, \quad h_0 = o",
        source=f"{HENDERSON}; {ANDRYCHOWICZ}",
        finding=(
            f"{HENDERSON}: (400, 300) collapses PPO on Hopper (61 against 2790 of 64,64). {ANDRYCHOWICZ}: "
            "the best width depends on the task."
        ),
        where="minutiae.control.policies.networks:forward",
        who={"ppo2": "64,64", "implementation-matters": "64,64", "sb3": "64,64", "cleanrl": "64,64"},
    )
    value_hidden_sizes: tuple[int, ...] = detail(
        default=(64, 64),
        levels=sizes(),
        kind=STRUCTURE,
        room="learner",
        title="hidden layers of the value network",
        rule="Widths of the fully connected layers before the value head.",
        equation=r"h_l = f(W_l h_{l-1} + b_l), \quad W_l \in \mathbb{R}^{n_l \times n_{l-1}}, \quad h_0 = o",
        source=f"{ANDRYCHOWICZ}",
        finding=f"{ANDRYCHOWICZ}: wide value networks do well.",
        where="minutiae.control.policies.networks:forward",
        who={"ppo2": "64,64", "implementation-matters": "64,64", "sb3": "64,64", "cleanrl": "64,64"},
    )
    activation: str = detail(
        default="tanh",
        levels=choice("tanh", "relu", "leaky_relu", "elu", "swish", "sigmoid"),
        kind=STRUCTURE,
        room="learner",
        title="activation",
        rule="h <- f(W h + b) in every hidden layer of both networks.",
        equation=(
            r"f(x) = \begin{cases} \tanh x & \text{tanh} \\ \max(x, 0) & \text{relu} \\ "
            r"\max(x, x / 100) & \text{leaky\_relu} \\ \max(x, 0) + \min(e^x - 1, 0) & \text{elu} \\ "
            r"x / (1 + e^{-x}) & \text{swish} \\ 1 / (1 + e^{-x}) & \text{sigmoid} "
            r"\end{cases}"
        ),
        source=f"{ENGSTROM}, section 3, optimization 8; {ANDRYCHOWICZ}; {HENDERSON}",
        finding=(
            f"{ANDRYCHOWICZ}: tanh best, relu worst; {HENDERSON}: mostly the opposite. Not ablated by {ENGSTROM}."
        ),
        where="minutiae.control.policies.networks:forward",
        who={"ppo2": "tanh", "implementation-matters": "tanh", "sb3": "tanh", "cleanrl": "tanh"},
    )
    initialization: str = detail(
        default="orthogonal",
        levels=choice("orthogonal", "xavier_uniform", "lecun_normal", "he_normal", "torch_default"),
        kind=NUMBER,
        room="host",
        title="initialization",
        rule=(
            "Weights = gain * scheme. orthogonal: orthonormal rows or columns; xavier_uniform: U(+-sqrt(6 "
            "/ (in + out))); lecun_normal: N(0, 1 / in); he_normal: N(0, 2 / in); torch_default: U(+-1 / "
            "sqrt(in)), biases too. Otherwise biases are 0."
        ),
        equation=(
            r"W = g \cdot \begin{cases} "
            r"Q, \quad Q^\top Q = I \text{ or } Q Q^\top = I & \text{orthogonal} \\ "
            r"\mathcal{U}\left(\pm \sqrt{6 / (n_{\text{in}} + n_{\text{out}})}\right) & \text{xavier\_uniform} \\ "
            r"\mathcal{N}(0, 1 / n_{\text{in}}) & \text{lecun\_normal} \\ "
            r"\mathcal{N}(0, 2 / n_{\text{in}}) & \text{he\_normal} \\ "
            r"\mathcal{U}(\pm 1 / \sqrt{n_{\text{in}}}) & \text{torch\_default} "
            r"\end{cases}"
        ),
        source=f"{ENGSTROM}, section 3, optimization 3; {HUANG}, core detail 2",
        finding=(
            f"{ENGSTROM}: one of three details found necessary, but its switch turns scheme and gains "
            f"together. {ANDRYCHOWICZ}: the scheme matters little, the gain of the policy's head much."
        ),
        where="minutiae.control.policies.initialization:initialize",
        who={
            "ppo2": "orthogonal",
            "implementation-matters": "orthogonal",
            "sb3": "orthogonal",
            "cleanrl": "orthogonal",
        },
    )
    initialization_hidden_gain: float = detail(
        default=math.sqrt(2),
        levels=number(above=0),
        kind=NUMBER,
        room="host",
        title="gain of hidden layers",
        rule="Factor of the first weights of every hidden layer, whatever the scheme.",
        equation=r"W_l \leftarrow g W_l \text{ in every hidden layer}",
        source=f"{HUANG}, core detail 2",
        finding=f"In {MADRYLAB} gains exist for the orthogonal scheme only; xavier has gain 1 there.",
        where="minutiae.control.policies.initialization:initialize",
        who={"ppo2": _SQRT_2, "implementation-matters": _SQRT_2, "sb3": _SQRT_2, "cleanrl": _SQRT_2},
    )
    initialization_policy_head_gain: float = detail(
        default=0.01,
        levels=number(above=0),
        kind=NUMBER,
        room="host",
        title="gain of the policy's head",
        rule=(
            "Factor of the first weights of the layer that gives mean or logits; small: actions start near the center."
        ),
        equation=r"\mu(s) = g W h_L(s) + b",
        source=f"{ANDRYCHOWICZ}; {HUANG}, core detail 2",
        finding=f"{ANDRYCHOWICZ}: a cliff at 1.0; 0.01 gives +66 % on Humanoid.",
        where="minutiae.control.policies.initialization:initialize",
        who={"ppo2": "0.01", "implementation-matters": "0.01", "sb3": "0.01", "cleanrl": "0.01"},
    )
    initialization_value_head_gain: float = detail(
        default=1.0,
        levels=number(above=0),
        kind=NUMBER,
        room="host",
        title="gain of the value head",
        rule="Factor of the first weights of the layer that gives the value.",
        equation=r"V(s) = g W h_L(s) + b",
        source=f"{ANDRYCHOWICZ}; {HUANG}, core detail 2",
        finding=f"{ANDRYCHOWICZ}: small.",
        where="minutiae.control.policies.initialization:initialize",
        who={"ppo2": "1", "implementation-matters": "1", "sb3": "1", "cleanrl": "1"},
    )
    initial_log_standard_deviation: float = detail(
        default=0.0,
        levels=number(at_least=-20, at_most=5),
        kind=NUMBER,
        room="host",
        title="initial log standard deviation",
        rule=(
            "Continuous actions only. log sigma_0 of every action; sigma = exp(log sigma) does not depend on the state."
        ),
        equation=(
            r"a = \mu(s) + e^{\log \sigma} z, \quad z \sim \mathcal{N}(0, I), \quad \log \sigma "
            r"\text{ starts at } \log \sigma_0"
        ),
        source=f"{ANDRYCHOWICZ}; {HUANG}, continuous detail 2",
        finding=f"{ANDRYCHOWICZ}: important; sigma_0 = 0.5 (log: -0.69) best on four of five tasks.",
        where="minutiae.control.policies.initialization:initialize",
        who={"ppo2": "0", "implementation-matters": "0", "sb3": "0", "cleanrl": "0"},
    )
