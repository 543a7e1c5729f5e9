"""What a rollout hands to the learner: arrays of real transitions, nothing padded, nothing masked."""

from __future__ import annotations

from typing import Any, NamedTuple


class Batch(NamedTuple):
    """T real transitions of N rows, `[T, N, ...]`, with a leading `P` for a population.

    | field | shape | type | meaning |
    |---|---|---|---|
    | observations | `[T, N, O]` | float32 | normalized observation the action was chosen from |
    | next_observations | `[T, N, O]` | float32 | normalized true successor, before any reset |
    | actions | `[T, N, A]` | float32 or int32 | the sampled action (`clip_stored` stores the clipped one) |
    | rewards | `[T, N]` | float32 | scaled and clipped reward |
    | terminated | `[T, N]` | bool | the episode ended in a terminal state |
    | truncated | `[T, N]` | bool | the episode was cut (time limit); never true where `terminated` is |

    Under `observation_normalization_update = per_iteration_before_update` observations are normalized anew after the
    rollout, by the statistics that it has moved.
    """

    observations: Any
    next_observations: Any
    actions: Any
    rewards: Any
    terminated: Any
    truncated: Any


class Indices(NamedTuple):
    """The random choices of one update, drawn on the host: int32.

    `policy` `[epochs, B]` (or of both networks with a joint optimizer), `value` `[value_epochs, B]`, `fisher` `[F]`;
    what an algorithm does not use has a first axis of 0.
    """

    policy: Any
    value: Any
    fisher: Any
