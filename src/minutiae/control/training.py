"""The door to training: from presets or configs and seeds to run directories, new or resumed. No loop lives here."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minutiae.control.chunks import check_memory, plan_chunks
from minutiae.control.folders import (
    checked_name,
    create_group,
    free_name,
    member_names,
    removed_unless_begun,
    usual_name,
)
from minutiae.control.progress import Listener, ignore
from minutiae.control.run import Run, open_run, open_runs
from minutiae.control.workers import Workers, worker_count
from minutiae.details import Config, check_actions, from_toml, preset, structure, to_toml
from minutiae.details.custom_source import changed_sources, source_hashes
from minutiae.errors import ConfigError, RunError
from minutiae.runs.directory import RunDirectory, RunExists, is_run
from minutiae.runs.group import RunGroup, is_group
from minutiae.runs.origin import origin

__all__ = ["Run", "open_run", "open_runs", "resume", "train", "train_population"]


def train(
    preset_or_config: str | Config,
    environment: str | None = None,
    *,
    flavour: str | None = None,
    seed: int = 0,
    seeds: int = 1,
    name: str | None = None,
    out: str | Path = "runs",
    workers: int | None = None,
    sinks: Sequence[Any] = (),
    listener: Listener = ignore,
    **details: Any,
) -> list[Run]:
    """Train one config with one or more seeds and return the finished runs, in the order of their seeds.

    Args:
        preset_or_config: a preset's name (with `environment`), or a whole `Config` (without).
        environment: an environment id, such as `"Hopper-v5"`.
        flavour: of the preset: `None`, `"paper-artifact"` or `"paper-text"`.
        seed: the first seed, at least 0.
        seeds: how many agents, with seeds `seed` ... `seed + seeds - 1`.
        name: of the folder below `out`; by default preset and environment, with a number when that is taken.
        out: where runs are kept.
        workers: worker processes for several agents, by default one per usable core.
        sinks: beyond TensorBoard: `"wandb"`, `"mlflow"`, or objects of your own.
        listener: told of every iteration of every run.
        details: levels of any detail, by name (`steps=100_000, value_clipping="max"`).

    Raises:
        ConfigError: an unknown preset, detail or level, or numbers that do not fit together.
        UnsupportedEnvironment: an environment that is unknown or has spaces no policy here can handle.
        RunError: the folder exists already or cannot be written.
    """
    seed, seeds = _whole(seed, "seed", 0), _whole(seeds, "seeds", 1)
    if isinstance(preset_or_config, Config):
        if environment is not None or flavour is not None:
            raise ConfigError("a Config names its environment itself; leave out environment and flavour")
        config = preset_or_config.replace(**details)
    else:
        if not isinstance(preset_or_config, str):
            raise ConfigError(
                f"the first argument is a preset's name or a Config, not {preset_or_config!r}; as in "
                "train('ppo', 'Hopper-v5')"
            )
        if environment is None:
            raise ConfigError(f"the preset {preset_or_config!r} needs an environment, such as 'Hopper-v5'")
        config = preset(preset_or_config, environment, flavour, **details)
    agents = [(config, seed + index) for index in range(seeds)]
    usual = usual_name(preset_or_config, config.environment, flavour)
    while True:
        folder = free_name(Path(out), usual) if name is None else name
        try:
            return train_population(agents, name=folder, out=out, workers=workers, sinks=sinks, listener=listener)
        except RunExists:
            if name is not None:
                raise  # otherwise another process has just taken the name that was free


def train_population(
    agents: Sequence[tuple[Config, int]],
    *,
    name: str,
    names: Sequence[str] | None = None,
    out: str | Path = "runs",
    workers: int | None = None,
    sinks: Sequence[Any] = (),
    listener: Listener = ignore,
) -> list[Run]:
    """Train any mix of configs and seeds; agents of equal structure are trained as one batched program.

    Args:
        agents: (config, seed) pairs.
        name: of the folder below `out`: the run itself for one agent, a group of runs for several.
        names: of the runs in a group, one per agent; by default `seed-S`, or `agent-I` where seeds repeat.
        out: as in `train`, and so the next three.
        workers: worker processes for several agents, by default one per usable core.
        sinks: beyond TensorBoard.
        listener: told of every iteration of every run.

    Raises:
        ConfigError: as `train`.
        UnsupportedEnvironment: as `train`.
        RunError: as `train`.
    """
    if not agents:
        raise ConfigError("there are no agents to train; give at least one (config, seed) pair")
    agents = [_agent(given) for given in agents]
    for config, _ in agents:
        _check(config)
    if names is not None and len(names) != len(agents):
        raise ConfigError(f"there are {len(names)} names for {len(agents)} agents; give one for each, or none")
    path = Path(out) / checked_name(name)
    chunks = plan_chunks([config for config, _ in agents], _workers(workers, sinks))
    _check_sinks(sinks, max(len(chunk) for chunk in chunks))
    made = [(to_toml(config), seed, origin() | source_hashes(config)) for config, seed in agents]
    if len(agents) == 1 and names is None:
        run = RunDirectory.create(path, *made[0])
        with removed_unless_begun(path, [path]):
            _train_here([[run]], sinks, listener)
        return [open_run(path)]
    members = list(names) if names is not None else member_names([seed for _, seed in agents])
    create_group(path, members, [[members[agent] for agent in chunk] for chunk in chunks], made)
    with removed_unless_begun(path, [path / member for member in members]):
        return resume(path, workers=workers, sinks=sinks, listener=listener)


def resume(
    path: str | Path, *, workers: int | None = None, sinks: Sequence[Any] = (), listener: Listener = ignore
) -> list[Run]:
    """Go on with a run or a group that was stopped, to the same bits as if it had not been.

    A run that belongs to a group is trained with the runs it shared a population with. Finished runs are returned as
    they are. Where the source of a custom detail is another one now, a warning says so.

    Raises:
        RunError: nothing is there, or it is damaged.
        ConfigError: this machine has not the memory for it.
    """
    path = Path(path)
    folder = path.resolve()  # "." has a name and a parent only then
    if is_run(path) and is_group(folder.parent) and folder.name in RunGroup.open(folder.parent).members:
        group = RunGroup.open(folder.parent)
        mine = [chunk for chunk in group.chunks if folder.name in chunk]
        _train_group(group, mine, workers, sinks, listener)
        return [open_run(path)]
    if is_group(path):
        group = RunGroup.open(path)
        _train_group(group, group.chunks, workers, sinks, listener)
        return [open_run(group.member_path(name)) for name in group.members]
    run = RunDirectory.open(path)
    _check_unfinished([run])
    _warn_of_changed_sources([run])
    _train_here([[run]], sinks, listener)
    return [open_run(path)]


def _check_unfinished(runs: Sequence[RunDirectory]) -> None:
    """Refuse what this machine has not the memory for: the run may have been begun on a larger one."""
    for text in dict.fromkeys(run.config_text for run in runs if not run.finished):
        check_memory(from_toml(text))


def _train_group(
    group: RunGroup, chunks: Sequence[Sequence[str]], workers: int | None, sinks: Sequence[Any], listener: Listener
) -> None:
    """Train what is unfinished of `chunks`, which are some or all of the group's."""
    if group.missing:
        raise RunError(
            f"{group.path} was stopped before all of its runs were made ({len(group.missing)} of {len(group.members)} "
            "are missing); nothing was trained yet: delete it and train again"
        )
    runs = [[group.run(name) for name in chunk] for chunk in chunks]
    unfinished = [chunk for chunk in runs if not all(run.finished for run in chunk)]
    _check_unfinished([run for chunk in unfinished for run in chunk])
    _warn_of_changed_sources([run for chunk in unfinished for run in chunk])
    count = _workers(workers, sinks)
    _find_custom(unfinished)
    # A group of several populations always trains in worker processes, also when one is left: same process, same bits.
    if len(group.chunks) > 1 and all(isinstance(sink, str) for sink in _listed(sinks)):
        Workers(unfinished, count, _listed(sinks), listener).train()
    else:
        _train_here(unfinished, sinks, listener)


def _warn_of_changed_sources(runs: Sequence[RunDirectory]) -> None:
    """Say which custom details are not those any more with which unfinished `runs` were begun.

    Raises:
        ConfigError: one is missing; the text names its module.
    """
    changed: dict[str, list[RunDirectory]] = {}
    for run in runs:
        for name in [] if run.finished else changed_sources(from_toml(run.config_text), run.about):
            changed.setdefault(name, []).append(run)
    for name, begun in changed.items():
        more = f" and {len(begun) - 1} more" if len(begun) > 1 else ""
        warnings.warn(
            f"the source of the detail {name!r} has changed since {begun[0].path}{more} was begun: what is left is "
            "trained with the new one; to have one detail all through, train again under another name",
            stacklevel=3,
        )


def _find_custom(chunks: Sequence[Sequence[RunDirectory]]) -> None:
    """Find the custom details of runs that are to be trained, before a process is started for them.

    Raises:
        ConfigError: one is missing; the text names its module.
    """
    for config in {from_toml(run.config_text) for chunk in chunks for run in chunk if not run.finished}:
        config.replace()


def _train_here(chunks: Sequence[Sequence[RunDirectory]], sinks: Sequence[Any], listener: Listener) -> None:
    """Train one population after another in this process."""
    from minutiae.control.trainer import Trainer

    _find_custom(chunks)
    for chunk in chunks:
        Trainer(chunk, sinks=sinks, listener=listener).train()


def _workers(asked: int | None, sinks: Sequence[Any]) -> int:
    count = worker_count(asked)
    # Objects cannot be handed to another process.
    return count if all(isinstance(sink, str) for sink in _listed(sinks)) else 1


def _listed(sinks: Any) -> list[Any]:
    return [sinks] if isinstance(sinks, str) else list(sinks)


def _check_sinks(sinks: Any, runs: int) -> None:
    """Refuse a sink that does not exist before anything is written; functions are called for each run later."""
    from minutiae.runs.sinks import make_sinks

    make_sinks([sink for sink in _listed(sinks) if not callable(sink)], runs)


def _whole(value: Any, name: str, at_least: int) -> int:
    """`value` as a whole number, NumPy's included.

    Raises:
        ConfigError: it is none, or too small.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < at_least:
        raise ConfigError(f"{name} is a whole number of at least {at_least}, not {value!r}")
    return number


def _agent(given: Any) -> tuple[Config, int]:
    """`given` as an agent: a config and a seed."""
    if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[0], Config):
        raise ConfigError(f"an agent is a pair (Config, seed), not {given!r}; as in (preset('ppo', 'Hopper-v5'), 0)")
    config, seed = given
    return config, _whole(seed, "seed", 0)


def _check(config: Config) -> None:
    from minutiae.control.acting import policy_of
    from minutiae.control.policies.distributions import Categorical

    structure(config)  # finds custom details, or says what is missing
    policy, _ = policy_of(config)
    check_actions(config, isinstance(policy.distribution, Categorical))
    check_memory(config)
