"""What would make a study's tables say something false: names that mean two things, details set twice, equal cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minutiae.details import CATALOGUE
from minutiae.errors import ConfigError, unknown
from minutiae.studies.factors import is_number
from minutiae.studies.tuning import at_least

if TYPE_CHECKING:
    from minutiae.studies.study import Study

COLUMNS = ("run_id", "environment", "seed", "stage", "cell", "status", "reason", "iterations", "steps")
"""What the table of runs has besides factors, tuned details and outcomes."""


def check_words(study: Study) -> None:
    """Refuse anything but text where text is meant.

    Raises:
        ConfigError: with the field and what was given.
    """
    for name in ("question", "preset", "flavour", "design", "command", "results"):
        value = getattr(study, name)
        if not isinstance(value, str) and not (value is None and name in ("flavour", "command")):
            raise ConfigError(f"{name} is text, not {value!r}")
    cells = study.options.get("cells", [])
    if not isinstance(cells, list | tuple) or not all(isinstance(cell, Mapping) for cell in cells):
        raise ConfigError(f"cells is a list of tables, each with a level for every factor, not {cells!r}")


def check_seeds(study: Study) -> None:
    """Refuse anything but how many seeds, and the first.

    Raises:
        ConfigError: with what to write for a list of seeds.
    """
    seeds = study.seeds
    if isinstance(seeds, list | tuple | range):
        numbers = [seed for seed in seeds if isinstance(seed, int)]
        raise ConfigError(
            f"seeds is how many, not a list; they follow first_seed: write seeds = {max(1, len(seeds))} and "
            f"first_seed = {min(numbers, default=0)}"
        )
    at_least(seeds, "seeds", 1)
    at_least(study.first_seed, "first_seed", 0)


def checked_ranges(study: Study) -> dict[str, tuple[float, float]]:
    """The ranges of the first outcome as pairs of numbers.

    Raises:
        ConfigError: not a pair for every environment, or a pair that is none.
    """
    if not isinstance(study.ranges, Mapping):
        raise ConfigError(f"ranges is a table with a pair for each environment, not {study.ranges!r}")
    for name in study.ranges:
        if name not in study.environments:
            raise ConfigError(unknown("environment in ranges", name, study.environments))
    missing = [name for name in study.environments if name not in study.ranges]
    if study.ranges and missing:
        raise ConfigError(f"ranges has none for {missing[0]}; give one for every environment, or leave all out")
    pairs = {}
    for name, pair in study.ranges.items():
        numbers = isinstance(pair, list | tuple) and len(pair) == 2 and all(map(is_number, pair))
        if not numbers or not math.isfinite(pair[1] - pair[0]) or pair[0] >= pair[1]:
            raise ConfigError(f"the range of {name} is two numbers, the lower one first, as in [0, 3000]; not {pair!r}")
        pairs[name] = (float(pair[0]), float(pair[1]))
    return pairs


def check_meanings(study: Study) -> None:
    """Refuse a factor whose name the tables use for something else, and a detail that two of them set.

    Raises:
        ConfigError: with the name, and who uses it.
    """
    tuned = () if study.tuning is None else study.tuning.grid
    owners: dict[str, str] = dict.fromkeys(study.base, "base")
    for factor, kind in [*((one, "the factor") for one in study.factors), *((one, "the tuned") for one in tuned)]:
        if factor.name in COLUMNS or factor.name in study.outcomes:
            remedy = "set it under [base]" if factor.name in CATALOGUE else "rename it"
            raise ConfigError(f"{factor.name} is a column of the study's tables and cannot be a factor; {remedy}")
        details = study.bundles.get(factor.name, {"": {factor.name: None}})
        for detail in dict.fromkeys(name for level in details.values() for name in level):
            if detail in owners:
                raise ConfigError(
                    f"{detail} is set by {owners[detail]} and by {kind} {factor.name}; one would overwrite the other, "
                    "leave it out of one"
                )
            owners[detail] = f"{kind} {factor.name}"


def check_cells(study: Study) -> None:
    """Build every config, and refuse two cells, or settings of one, that are the same.

    Raises:
        ConfigError: a cell whose details do not fit together, or two that would be one and the same run.
    """
    for environment in study.environments:
        seen: dict[Any, str] = {}
        for cell in study.layout.cells:
            for setting in study.settings:
                config = study.config(environment, cell, setting)
                key = getattr(config, "text", config)
                label = study.label(cell) + (f" with {study.setting_label(setting)}" if setting else "")
                if key in seen:
                    raise ConfigError(
                        f"the cells {seen[key]} and {label} are the same run; let their levels differ in a detail"
                    )
                seen[key] = label
