"""Populations of returns with known truths, and how often intervals hold them."""

from __future__ import annotations

import numpy as np

POPULATIONS = ("normal", "skewed", "bimodal")


def draw(population: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Standard normal; log-normal; or half near 0 and half near 3, as when some agents never take off."""
    if population == "normal":
        return generator.normal(size=shape)
    if population == "skewed":
        return generator.lognormal(size=shape)
    return 0.3 * generator.normal(size=shape) + 3 * (generator.random(shape) < 0.5)


def true_mean(population: str) -> float:
    return {"normal": 0.0, "skewed": float(np.exp(0.5)), "bimodal": 1.5}[population]


def covered(bounds: np.ndarray, truth: float) -> float:
    """Share of `[simulations, 2]` intervals that hold the truth."""
    return float(np.mean((bounds[..., 0] <= truth) & (truth <= bounds[..., 1])))
