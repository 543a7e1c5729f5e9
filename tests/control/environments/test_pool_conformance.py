"""Every pool that minutiae ships runs the conformance tests it ships."""

from __future__ import annotations

from collections.abc import Sequence

from minutiae.control.environments import Pool, make_pool
from minutiae.control.environments.testing import PoolConformance


class TestEnvPoolContinuous(PoolConformance):
    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("Hopper-v5", seeds)


class TestEnvPoolDiscrete(PoolConformance):
    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("envpool:CartPole-v1", seeds, threads=1)


class TestEnvPoolTimeLimit(PoolConformance):
    steps = 210  # Pendulum's limit is 200 and nothing else ends it

    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("Pendulum-v1", seeds)


class TestEnvPoolUncountedFamily(PoolConformance):
    seeded = False

    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("highway-fast-v0", seeds)


class TestGymnasium(PoolConformance):
    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("gymnasium:CartPole-v1", seeds)


class TestGymnasiumMuJoCo(PoolConformance):
    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("gymnasium:Hopper-v5", seeds)


class TestFactory(PoolConformance):
    seeded = False

    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("probes:truncated_continuous", seeds)


class TestTupleObservations(PoolConformance):
    seeded = False  # three seeds may be dealt the same hand

    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("gymnasium:Blackjack-v1", seeds)


class TestVectorDisabled(PoolConformance):
    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("vector_probes:cart_pole_disabled", seeds)


class TestVectorNextStep(PoolConformance):
    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("vector_probes:cart_pole_next_step", seeds)


class TestVectorSameStep(PoolConformance):
    restarts_running_rows = False

    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("vector_probes:cart_pole_same_step", seeds)


class TestProcesses(PoolConformance):
    steps = 40

    def make(self, seeds: Sequence[int]) -> Pool:
        return make_pool("gymnasium:CartPole-v1", seeds, processes=2)
