"""Every random number in control comes from here: a stream is named by (seed, purpose, index), never by a state.

Because no generator lives longer than one rollout, a resumed run draws what the uninterrupted one would have drawn,
and agents that share a seed share environment seeds, sampling noise and minibatch order whatever their details.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is for. The numbers are part of the file format: changing one changes every result."""

    PARAMETERS = 0
    ENVIRONMENTS = 1
    ACTIONS = 2
    POLICY_MINIBATCHES = 3
    VALUE_MINIBATCHES = 4
    FISHER_SUBSET = 5
    HELD_OUT_ENVIRONMENTS = 6
    HELD_OUT_ACTIONS = 7
    EVALUATION_ENVIRONMENTS = 8
    EVALUATION_ACTIONS = 9


def stream(seed: int, purpose: Purpose, index: int = 0) -> np.random.Generator:
    """The generator named by (`seed` >= 0, `purpose`, `index` >= 0); the same name always gives the same stream."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, int(purpose), index])))


def environment_seeds(seed: int, purpose: Purpose, index: int, rows: int) -> list[int]:
    """`rows` seeds in [0, 2^31) for the environments of one agent in segment `index`."""
    return [int(value) for value in stream(seed, purpose, index).integers(0, 2**31, size=rows)]


def minibatch_order(seed: int, purpose: Purpose, iteration: int, epochs: int, batch: int) -> np.ndarray:
    """One permutation of the batch for each epoch: int32 `[epochs, batch]`."""
    generator = stream(seed, purpose, iteration)
    return np.stack([generator.permutation(batch) for _ in range(epochs)]).astype(np.int32)


def fisher_rows(seed: int, iteration: int, batch: int, size: int, strided: bool) -> np.ndarray:
    """The states of the Fisher product: int32 `[size]`, evenly strided (Baselines trpo_mpi) or drawn at random."""
    if strided:
        return np.linspace(0, batch, size, endpoint=False).astype(np.int32)
    return stream(seed, Purpose.FISHER_SUBSET, iteration).permutation(batch)[:size].astype(np.int32)
