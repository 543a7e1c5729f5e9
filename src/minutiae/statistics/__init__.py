"""How sure we are: arrays in, results with intervals out. Pure functions; no files, no frames, no JAX.

The modules write `scipy.stats.t` and not `from scipy import stats`: SciPy imports its large parts when they are first
named so, and importing this room takes less than half of the time.
"""

from minutiae.errors import StatisticsError
from minutiae.statistics.attribution import Attribution, attribute, shapley_weights
from minutiae.statistics.bootstrap import bootstrap_difference, bootstrap_interval
from minutiae.statistics.comparison import Comparison, permutation_test, welch_test
from minutiae.statistics.decomposition import Decomposition, LargestEffect, decompose
from minutiae.statistics.design import Aliased
from minutiae.statistics.effects import estimate_effects, simple_effects
from minutiae.statistics.improvement import cliffs_delta, probability_of_improvement
from minutiae.statistics.intervals import (
    distribution_free_tolerance_interval,
    normal_tolerance_interval,
    student_interval,
)
from minutiae.statistics.least_squares import Effect, Effects
from minutiae.statistics.magnitude import hedges_g
from minutiae.statistics.orderings import attribute_orderings
from minutiae.statistics.planning import SeedsNeeded, detectable_difference, power, seeds_needed
from minutiae.statistics.profiles import performance_profile
from minutiae.statistics.results import Band, Interval, ToleranceInterval
from minutiae.statistics.scaling import Unit, deviation_unit, pool_effects, range_unit
from minutiae.statistics.simultaneous import holm
from minutiae.statistics.summaries import (
    interquartile_mean,
    mean,
    median,
    normalize_scores,
    optimality_gap,
)
from minutiae.statistics.tuning import Tuned, choose_setting, selection_optimism, tuned_interval

__all__ = [
    "Aliased",
    "Attribution",
    "Band",
    "Comparison",
    "Decomposition",
    "Effect",
    "Effects",
    "Interval",
    "LargestEffect",
    "SeedsNeeded",
    "StatisticsError",
    "ToleranceInterval",
    "Tuned",
    "Unit",
    "attribute",
    "attribute_orderings",
    "bootstrap_difference",
    "bootstrap_interval",
    "choose_setting",
    "cliffs_delta",
    "decompose",
    "detectable_difference",
    "deviation_unit",
    "distribution_free_tolerance_interval",
    "estimate_effects",
    "hedges_g",
    "holm",
    "interquartile_mean",
    "mean",
    "median",
    "normal_tolerance_interval",
    "normalize_scores",
    "optimality_gap",
    "performance_profile",
    "permutation_test",
    "pool_effects",
    "power",
    "probability_of_improvement",
    "range_unit",
    "seeds_needed",
    "selection_optimism",
    "shapley_weights",
    "simple_effects",
    "student_interval",
    "tuned_interval",
    "welch_test",
]
