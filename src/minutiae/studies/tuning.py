"""What is crossed and what is tuned: factors from plain mappings, and the grid that every cell searches for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from minutiae.errors import ConfigError, unknown
from minutiae.studies.designs import Cell, Factor, make_design

PROTOCOLS = ("held_out", "engstrom")
"""Who is reported after tuning: fresh seeds that chose nothing, or (by name only) the seeds that chose."""


@dataclass(frozen=True)
class Tuning:
    """A grid searched anew within every cell.

    Attributes:
        grid: details and the levels to try, crossed, as `{"learning_rate": [1e-4, 3e-4]}`; kept as `Factor`s.
        seeds: how many, for every setting of every cell.
        protocol: `held_out` reports fresh seeds at the setting with the highest mean; `engstrom` reports the very seeds
            that chose it (Engstrom et al. 2020), which overstates.
    """

    grid: Any
    seeds: int = 3
    protocol: str = "held_out"

    def __post_init__(self) -> None:
        grid, bundles = split_factors(self.grid)
        if bundles:
            raise ConfigError(f"the tuned {min(bundles)} is a list of levels, not a table")
        object.__setattr__(self, "grid", grid)
        if not self.grid:
            raise ConfigError("tuning needs a grid; name at least one detail, as in learning_rate = [1e-4, 3e-4]")
        if self.protocol not in PROTOCOLS:
            raise ConfigError(unknown("tuning protocol", self.protocol, PROTOCOLS))
        at_least(self.seeds, "tuning seeds", 1)

    @cached_property
    def settings(self) -> tuple[Cell, ...]:
        """Every combination of the grid's levels."""
        return make_design("factorial", self.grid).cells


def split_factors(given: Any) -> tuple[tuple[Factor, ...], dict[str, dict[str, dict[str, Any]]]]:
    """Factors out of a mapping (or factors already), and those of their levels that stand for several details.

    Raises:
        ConfigError: neither a list of levels nor a table of tables.
    """
    if not isinstance(given, Mapping):
        return tuple(given), {}
    factors, bundles = [], {}
    for name, levels in given.items():
        if isinstance(levels, Mapping):
            for level, details in levels.items():
                if not isinstance(details, Mapping):
                    raise ConfigError(f"{name}.{level} is a table of details and their levels, not {details!r}")
            bundles[name] = {level: dict(details) for level, details in levels.items()}
            factors.append(Factor(name, tuple(levels)))
        elif isinstance(levels, list | tuple):
            factors.append(Factor(name, tuple(levels)))
        else:
            raise ConfigError(f"{name} is a list of levels, not {levels!r}; as in {name} = [{levels!r}, ...]")
    return tuple(factors), bundles


def at_least(value: Any, name: str, least: int) -> None:
    """Refuse what is no whole number of at least `least`.

    Raises:
        ConfigError: with `name` and the value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} is a whole number of at least {least}, not {value!r}")
