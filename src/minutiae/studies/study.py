"""`Study`: the question as a design, checked before anything trains. Nothing is trained and no store is opened here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

from minutiae.control.metrics import METRICS
from minutiae.details import CATALOGUE, Config, config_hash, entry_of, is_custom, preset
from minutiae.details.config import check_names
from minutiae.details.custom import stored_level
from minutiae.details.serialization import with_stored_levels
from minutiae.errors import ConfigError, unknown
from minutiae.studies.designs import Cell, Design, Factor, make_design
from minutiae.studies.external import External
from minutiae.studies.factors import is_number, level_text
from minutiae.studies.tuning import Tuning, at_least, split_factors
from minutiae.studies.validity import check_cells, check_meanings, check_seeds, check_words, checked_ranges

STAGES = ("tuning", "report")

OUTCOMES = ("final_return", "best_return", "area_under_curve", "evaluation", "evaluation_deterministic")
"""Outcomes with a rule of their own; any column of `metrics.parquet` is one too, by the mean of its last iterations."""

PRESET = "preset"
"""The one factor that is no detail: its levels are presets, from which the cell's other details start."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study: where it stands in the design, and all that its trainer needs.

    Attributes:
        cell: a level for each factor.
        setting: a level for each tuned detail; empty without tuning.
        stage: `tuning` or `report`.
    """

    environment: str
    cell: Cell
    setting: Cell
    seed: int
    stage: str
    config: Config | External = field(repr=False)

    @cached_property
    def id(self) -> str:
        """The name of its folder: 16 hexadecimal digits of config and seed."""
        return self.config.id(self.seed) if isinstance(self.config, External) else config_hash(self.config, self.seed)

    @property
    def own(self) -> Config:
        """The config of a run that minutiae trains."""
        assert isinstance(self.config, Config)
        return self.config

    @property
    def iterations(self) -> int:
        """Of which progress is told; a command of somebody else's is one."""
        return 1 if isinstance(self.config, External) else self.config.iterations


@dataclass(frozen=True, kw_only=True)
class Study:
    """Which cells, how often, judged by what.

    Attributes:
        question: in words; it heads the report.
        preset, flavour, base: what every cell starts from; `base` holds details other than the preset's.
        environments: ids; every cell is trained in each.
        factors: details or `preset` with two or more levels each, as `{"value_clipping": [None, "max"]}`; effects count
            from the first level. Levels that stand for several details are a mapping of their own, as
            `{"preprocessing": {"plain": {...}, "scaled": {"reward_scaling": "returns", ...}}}`. Kept as `Factor`s.
        bundles: of the factors of the second kind: factor -> level -> detail -> level; filled from `factors`.
        design, options: a name in `designs.DESIGNS` and what `make_design` takes for it.
        seeds, first_seed: how many seeds are reported for each cell and environment, and the first.
        tuning: a grid to search within every cell, or `None`.
        outcomes: what a run is judged by; the first is the report's.
        ranges: of the first outcome in each environment, as `{"Hopper-v5": (0, 3000)}`: the report counts effects in
            these to average them over environments. Left out, it counts in deviations.
        population: agents trained as one program, at most; `None` chooses. Results depend on it by rounding only.
        command: of somebody else's trainer, as `python train.py --lr {lr} --seed {seed}`; factors are then any names.
        results: where its outcomes are, see `external.read_outcome`.
        stored: levels of details from outside the package are taken as they stand, so that to read a study imports
            nobody's code. `run_study` checks them first.

    Raises:
        ConfigError: a name, level or number that is none, or a cell (which is named) whose details do not fit together.
    """

    environments: tuple[str, ...]
    factors: Any
    question: str = ""
    preset: str = "ppo"
    flavour: str | None = None
    base: Mapping[str, Any] = field(default_factory=dict)
    bundles: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    design: str = "factorial"
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 5
    first_seed: int = 0
    tuning: Tuning | None = None
    outcomes: tuple[str, ...] = ("final_return",)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    population: int | None = None
    command: str | None = None
    results: str = "outcome.json"
    stored: bool = field(default=False, compare=False, repr=False)

    def __new__(cls, *unnamed: Any, **given: Any) -> Self:
        # Said here, and not by the TypeError of a dataclass: that names neither what is allowed nor what was meant.
        names = [one.name for one in fields(cls)]
        if unnamed:
            raise ConfigError(
                f"a Study takes every argument by its name, and not {unnamed[0]!r} alone; as in "
                "Study(environments=['Hopper-v5'], factors={'value_clipping': ['off', 'max']})"
            )
        for name in given:
            if name not in names:
                remedy = f"write it in base={{{name!r}: ...}}" if name in CATALOGUE else None
                raise ConfigError(unknown("argument of Study", name, names, remedy))
        return super().__new__(cls)

    def __post_init__(self) -> None:
        factors, bundles = split_factors(self.factors)
        _set(
            self, factors=factors, bundles={**bundles, **self.bundles}, base=dict(self.base), options=dict(self.options)
        )
        check_words(self)
        _set(self, environments=_texts(self.environments, "environments"), outcomes=_texts(self.outcomes, "outcomes"))
        check_seeds(self)
        _set(self, ranges=checked_ranges(self))
        if self.command is not None and (self.flavour is not None or self.population is not None):
            raise ConfigError("preset, flavour and population are of our own trainer; leave them out beside a command")
        if self.population is not None:
            at_least(self.population, "population", 1)
        if self.command is None:
            for name in self.outcomes:
                if name not in OUTCOMES and name not in METRICS:
                    raise ConfigError(unknown("outcome", name, [*OUTCOMES, *METRICS]))
        for bundle in self.bundles:
            if self.command is None and (bundle in CATALOGUE or bundle == PRESET):
                raise ConfigError(f"the factor {bundle!r} is a detail; give it a list of levels, or another name")
        bundles = {
            name: {level: self._levels(details) for level, details in levels.items()}
            for name, levels in self.bundles.items()
        }
        _set(self, base=self._levels(self.base), bundles=bundles)
        _set(self, factors=tuple(self._checked(factor) for factor in self.factors))
        if self.tuning is not None:
            grid = tuple(self._checked(factor) for factor in self.tuning.grid)
            _set(self, tuning=Tuning(grid, self.tuning.seeds, self.tuning.protocol))
        check_meanings(self)
        check_cells(self)

    def _checked(self, factor: Factor) -> Factor:
        """The factor with every level in the one form that it has."""
        name = factor.name
        if name in self.bundles:
            for level in factor.levels:
                if level not in self.bundles[name]:
                    raise ConfigError(unknown(f"level of {name}", str(level), self.bundles[name]))
            return factor
        if self.command is not None:
            return Factor(name, tuple(self._level(name, level) for level in factor.levels))
        if name == PRESET:
            return Factor(name, tuple(map(str, factor.levels)))
        check_names([name])
        if name == "environment":
            raise ConfigError("the environment is no factor; list several under environments, each is analyzed")
        return Factor(name, tuple(self._level(name, level) for level in factor.levels))

    def _levels(self, details: Mapping[str, Any]) -> dict[str, Any]:
        if self.command is None:
            check_names(details)
        if "environment" in details:
            raise ConfigError("the environment is no detail of a cell; list it under environments")
        return {name: self._level(name, level) for name, level in details.items()}

    def _level(self, name: str, level: Any) -> Any:
        """A level in the one form that it has; of what is no detail, as it is."""
        level = tuple(level) if isinstance(level, list) else level
        if not self._is_detail(name):
            # Text is what a command gets and a file holds; numbers stay numbers.
            return level if is_number(level) else level_text(level)
        if self.stored and is_custom(name):
            return stored_level(level)
        entry = entry_of(name)
        return entry.parse(level) if isinstance(level, str) else entry.check(level)

    def _is_detail(self, name: str) -> bool:
        """Whether `name` is a detail of our own trainer, of the catalogue or from outside."""
        return self.command is None and (name in CATALOGUE or (is_custom(name) and name not in self.bundles))

    @cached_property
    def layout(self) -> Design:
        """The design with its cells."""
        options = dict(self.options)
        if "cells" in options:
            options["cells"] = [
                {name: self._level(name, level) for name, level in cell.items()} for cell in options["cells"]
            ]
        return make_design(self.design, self.factors, **options)

    @property
    def places(self) -> list[tuple[str, Cell]]:
        """Every cell in every environment: what tuning chooses a setting for."""
        return [(environment, cell) for environment in self.environments for cell in self.layout.cells]

    @property
    def run_count(self) -> int:
        """All runs, those included whose setting tuning has yet to choose."""
        first = len(self.places) * (self.seeds if self.tuning is None else self.tuning.seeds * len(self.settings))
        held_out = self.tuning is not None and self.tuning.protocol == "held_out"
        return first + (len(self.places) * self.seeds if held_out else 0)

    @property
    def settings(self) -> tuple[Cell, ...]:
        """The tuned settings; one empty setting without tuning."""
        return ((),) if self.tuning is None else self.tuning.settings

    def config(self, environment: str, cell: Cell, setting: Cell = ()) -> Config | External:
        """The config of one cell, or its command.

        Raises:
            ConfigError: its details do not fit together; the text begins with the cell.
        """
        levels: dict[str, Any] = {}
        start = self.preset
        for factor, level in zip(self.factors, cell, strict=True):
            if factor.name == PRESET and self.command is None:
                start = level
            else:
                levels |= self.bundles[factor.name][level] if factor.name in self.bundles else {factor.name: level}
        if setting:
            assert self.tuning is not None
            levels |= {factor.name: level for factor, level in zip(self.tuning.grid, setting, strict=True)}
        if self.command is not None:
            return External(self.command, {**self.base, **levels}, environment, self.results)
        levels = {**self.base, **levels}
        custom = {name: level for name, level in levels.items() if self.stored and is_custom(name)}
        own = {name: level for name, level in levels.items() if name not in custom}
        try:
            return with_stored_levels(preset(start, environment, self.flavour, **own), custom)
        except ConfigError as error:
            raise ConfigError(f"cell {self.label(cell)}: {error}") from error

    def label(self, cell: Cell) -> str:
        """The cell in words, as in `value_clipping=max, reward_scaling=off`."""
        pairs = zip(self.factors, cell, strict=True)
        return ", ".join(f"{factor.name}={self.written(factor.name, level)}" for factor, level in pairs)

    def setting_label(self, setting: Cell) -> str:
        """A tuned setting in words, as in `learning_rate=0.0003`."""
        grid = () if self.tuning is None else self.tuning.grid
        pairs = zip(grid, setting, strict=True)
        return ", ".join(f"{factor.name}={self.written(factor.name, level)}" for factor, level in pairs)

    def written(self, name: str, level: Any) -> str:
        """A level of a factor or detail as people write it."""
        return CATALOGUE[name].format(level) if self.command is None and name in CATALOGUE else level_text(level)

    def first_runs(self) -> list[PlannedRun]:
        """What can be trained at once: the tuning of every cell, or, without one, all that is reported."""
        if self.tuning is None:
            return list(self._runs("report", range(self.first_seed, self.first_seed + self.seeds)))
        return list(self._runs("tuning", range(self.first_seed, self.first_seed + self.tuning.seeds)))

    def final_runs(self, chosen: Mapping[tuple[str, Cell], Cell]) -> list[PlannedRun]:
        """What is reported: every cell at its `chosen` setting, on seeds that did not choose it (but see `Tuning`)."""
        if self.tuning is None:
            return self.first_runs()
        if self.tuning.protocol == "engstrom":
            seeds = range(self.first_seed, self.first_seed + self.tuning.seeds)
        else:
            seeds = range(self.first_seed + self.tuning.seeds, self.first_seed + self.tuning.seeds + self.seeds)
        return list(self._runs("report", seeds, chosen))

    def _runs(
        self, stage: str, seeds: Sequence[int], chosen: Mapping[tuple[str, Cell], Cell] | None = None
    ) -> Iterator[PlannedRun]:
        # Seeds outermost: a study that is stopped early has whole grids of the first seeds.
        for seed in seeds:
            for environment in self.environments:
                for cell in self.layout.cells:
                    settings = self.settings if chosen is None else (chosen[environment, cell],)
                    for setting in settings:
                        config = self.config(environment, cell, setting)
                        yield PlannedRun(environment, cell, setting, seed, stage, config)


def _texts(values: Any, name: str) -> tuple[str, ...]:
    values = (values,) if isinstance(values, str) else tuple(values)
    if not values or not all(isinstance(value, str) and value for value in values):
        raise ConfigError(f"{name} is a list of at least one name, not {list(values)!r}")
    if len(set(values)) < len(values):
        raise ConfigError(f"{name} names one twice: {', '.join(values)}; leave it out")
    return values


def _set(study: Study, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(study, name, MappingProxyType(value) if isinstance(value, dict) else value)
