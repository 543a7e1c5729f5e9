"""Where a reproduction knowingly differs from Engstrom et al. 2020, and by what that can be tested. Judges nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """One known difference.

    Attributes:
        topic: in a few words.
        text: theirs and ours.
        test: the switch that stands for it, as people type it; `None` where none can.
    """

    topic: str
    text: str
    test: str | None = None

    def __str__(self) -> str:
        return f"{self.topic}: {self.text}." + (f" To test it: {self.test}." if self.test else "")


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "Simulator",
        "the article's v2 tasks ran on MuJoCo 1.5 or 2.0 by mujoco-py, which is no longer maintained; ours are v4 "
        "on today's MuJoCo, with the same models, rewards and time limits. Walker2d keeps its unlike feet (friction "
        "0.9 and 1.9), which v5 makes alike",
        "--version v5 (or v3)",
    ),
    Difference(
        "Contact forces of Humanoid",
        "zero in v4, so 84 of the 376 observations are constant and the cost of contact, at most 10 a step, is never "
        "paid. In v2 that depends on the simulator: zero with MuJoCo 2.0, not with 1.5",
        "--version v5",
    ),
    Difference(
        "Which return is final",
        "the article does not say. Both candidates are reported: the mean of the last five iterations, which the "
        "released code stores, and the best iteration, which notebooks of the authors' earlier code take",
    ),
    Difference(
        "Agents",
        "at least 80 per cell in the article, as many as --agents says here; every interval tells its n",
        "--agents 80 keeps those that are trained and adds the rest",
    ),
    Difference(
        "Released code against article",
        "they disagree in nine points (value clipping by the larger or the smaller error, gradient clipping off or "
        "0.5, no reset between iterations, ...): minutiae presets ppo lists them",
        "--flavour paper-text",
    ),
    Difference(
        "Held-out samples",
        "the released code's fresh rollouts also move the normalizers and the stream of random numbers, so looking "
        "changes training; here they change nothing",
    ),
    Difference(
        "Statistics of observations",
        "the released code counts the last observation of an episode beside the first of the next, here only what "
        "the policy acts on counts. With random actions on Hopper and Walker2d no deviation differs by more than "
        "14 %, nor a mean by more than an eighth of a deviation",
    ),
    Difference(
        "Learning rates of Figure 1",
        "the article names none; swept here are those of the authors' earlier code",
        "--learning-rates",
    ),
)
"""Those that bear on returns or diagnostics; what is equal is in the presets."""
