"""Environments behind one door: pools that never show a reset as a transition. No learning happens here."""

from minutiae.control.environments.pools import describe, make_pool
from minutiae.control.environments.protocol import ActionSpace, EnvironmentFacts, Pool, Step
from minutiae.control.environments.rendering import render_episode

__all__ = ["ActionSpace", "EnvironmentFacts", "Pool", "Step", "describe", "make_pool", "render_episode"]
