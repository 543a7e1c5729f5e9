"""The papers and repositories that entries of the catalogue cite, and where to find them. Text only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ENGSTROM = "Engstrom et al. 2020"
HUANG = "Huang et al. 2022"
ANDRYCHOWICZ = "Andrychowicz et al. 2021"
HENDERSON = "Henderson et al. 2018"
HSU = "Hsu et al. 2020"
PARDO = "Pardo et al. 2018"
ADKINS = "Adkins et al. 2024"
YE = "Ye et al. 2020"
PPO = "Schulman et al. 2017"
GAE = "Schulman et al. 2016"
TRPO = "Schulman et al. 2015"
ADAM = "Kingma and Ba 2015"

PPO2 = "Baselines ppo2"
TRPO_MPI = "Baselines trpo_mpi"
MADRYLAB = "MadryLab/implementation-matters"
DRAFT = "implementation-matters/code-for-paper"
SB3 = "Stable-Baselines3"
CLEANRL = "CleanRL"
SPINNING_UP = "Spinning Up"
RSL_RL = "rsl_rl"
BRAX = "Brax"
SEED_RL = "SEED RL"

REFERENCES: Mapping[str, str] = MappingProxyType(
    {
        ENGSTROM: "Implementation Matters in Deep Policy Gradients, ICLR, arXiv 2005.12729",
        HUANG: "The 37 Implementation Details of Proximal Policy Optimization, ICLR blog track",
        ANDRYCHOWICZ: "What Matters In On-Policy Reinforcement Learning?, arXiv 2006.05990",
        HENDERSON: "Deep Reinforcement Learning that Matters, AAAI, arXiv 1709.06560",
        HSU: "Revisiting Design Choices in Proximal Policy Optimization, arXiv 2009.10897",
        PARDO: "Time Limits in Reinforcement Learning, ICML, arXiv 1712.00378",
        ADKINS: "A Method for Evaluating Hyperparameter Sensitivity in Reinforcement Learning, NeurIPS",
        YE: "Mastering Complex Control in MOBA Games with Deep Reinforcement Learning, arXiv 1912.09729",
        PPO: "Proximal Policy Optimization Algorithms, arXiv 1707.06347",
        GAE: "High-Dimensional Continuous Control Using Generalized Advantage Estimation, arXiv 1506.02438",
        TRPO: "Trust Region Policy Optimization, ICML, arXiv 1502.05477",
        ADAM: "Adam: A Method for Stochastic Optimization, ICLR, arXiv 1412.6980",
        PPO2: "github.com/openai/baselines at ea25b9e, baselines/ppo2",
        TRPO_MPI: "github.com/openai/baselines at ea25b9e, baselines/trpo_mpi",
        MADRYLAB: "github.com/MadryLab/implementation-matters, the study's released code",
        DRAFT: "github.com/implementation-matters/code-for-paper, the study's code of November 2019",
        SB3: "github.com/DLR-RM/stable-baselines3 and stable-baselines3-contrib",
        CLEANRL: "github.com/vwxyzjn/cleanrl, ppo_continuous_action.py",
        SPINNING_UP: "github.com/openai/spinningup",
        RSL_RL: "github.com/leggedrobotics/rsl_rl",
        BRAX: "github.com/google/brax, training/agents/ppo",
        SEED_RL: "github.com/google-research/seed_rl, the code of Andrychowicz et al. 2021",
    }
)
"""Short name to full one."""
