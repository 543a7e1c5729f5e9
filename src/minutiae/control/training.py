"""The door to training: from presets or configs and seeds to run directories, new or resumed. No loop lives here."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from minutiae.control.chunks import plan_chunks
from minutiae.control.progress import Listener, ignore
from minutiae.control.run import Run, open_run, open_runs
from minutiae.control.workers import Workers, usable_cores
from minutiae.details import Config, check_actions, preset, to_toml
from minutiae.errors import ConfigError, RunError
from minutiae.runs.directory import RunDirectory, is_run
from minutiae.runs.group import RunGroup, is_group

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
    if seeds < 1:
        raise ConfigError(f"seeds is {seeds}; it counts agents and must be at least 1")
    if isinstance(preset_or_config, Config):
        if environment is not None or flavour is not None:
            raise ConfigError("a Config names its environment itself; leave out environment and flavour")
        config, label = preset_or_config.replace(**details), preset_or_config.algorithm
    else:
        if environment is None:
            raise ConfigError(f"the preset {preset_or_config!r} needs an environment, such as 'Hopper-v5'")
        config = preset(preset_or_config, environment, flavour, **details)
        label = preset_or_config if flavour is None else f"{preset_or_config}-{flavour}"
    agents = [(config, seed + index) for index in range(seeds)]
    folder = name or _free_name(Path(out), f"{label}-{config.environment}")
    return train_population(agents, name=folder, out=out, workers=workers, sinks=sinks, listener=listener)


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
        out, workers, sinks, listener: as in `train`.

    Raises:
        As `train`.
    """
    if not agents:
        raise ConfigError("there are no agents to train; give at least one (config, seed) pair")
    for config, seed in agents:
        _check(config, seed)
    path = Path(out) / _checked_name(name)
    texts = [(to_toml(config), seed) for config, seed in agents]
    if len(agents) == 1 and names is None:
        run = RunDirectory.create(path, *texts[0], about=_about())
        _train_here([[run]], sinks, listener)
        return [open_run(path)]
    members = list(names) if names is not None else _member_names([seed for _, seed in agents])
    chunks = plan_chunks([config for config, _ in agents], _workers(workers, sinks))
    group = RunGroup.create(path, members, [[members[agent] for agent in chunk] for chunk in chunks])
    for member, (text, seed) in zip(members, texts, strict=True):
        RunDirectory.create(group.member_path(member), text, seed, about=_about())
    return resume(path, workers=workers, sinks=sinks, listener=listener)


def resume(
    path: str | Path, *, workers: int | None = None, sinks: Sequence[Any] = (), listener: Listener = ignore
) -> list[Run]:
    """Go on with a run or a group that was stopped, to the same bits as if it had not been.

    A run that belongs to a group is trained with the runs it shared a population with. Finished runs are returned as
    they are.

    Raises:
        RunError: nothing is there, or it is damaged.
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
    _train_here([[RunDirectory.open(path)]], sinks, listener)
    return [open_run(path)]


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
    count = _workers(workers, sinks)
    # A group of several populations always trains in worker processes, also when one is left: same process, same bits.
    if len(group.chunks) > 1 and all(isinstance(sink, str) for sink in sinks):
        Workers(unfinished, count, list(sinks), listener).train()
    else:
        _train_here(unfinished, sinks, listener)


def _train_here(chunks: Sequence[Sequence[RunDirectory]], sinks: Sequence[Any], listener: Listener) -> None:
    """Train one population after another in this process."""
    from minutiae.control.trainer import Trainer

    for chunk in chunks:
        Trainer(chunk, sinks=sinks, listener=listener).train()


def _workers(asked: int | None, sinks: Sequence[Any]) -> int:
    if asked is not None and asked < 1:
        raise ConfigError(f"workers is {asked}; it counts processes and must be at least 1")
    if not all(isinstance(sink, str) for sink in sinks):
        return 1  # objects cannot be handed to another process
    return asked if asked is not None else len(usable_cores())


def _check(config: Config, seed: int) -> None:
    from minutiae.control.policies.distributions import Categorical
    from minutiae.control.population import policy_of

    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ConfigError(f"a seed is a whole number of at least 0, not {seed!r}")
    policy, _ = policy_of(config)
    check_actions(config, isinstance(policy.distribution, Categorical))


def _member_names(seeds: Sequence[int]) -> list[str]:
    if len(set(seeds)) == len(seeds):
        return [f"seed-{seed}" for seed in seeds]
    return [f"agent-{index}" for index in range(len(seeds))]


def _checked_name(name: str) -> str:
    if not name or name in (".", "..") or re.search(r"[/\\\x00]", name):
        raise ConfigError(f"{name!r} is no folder name; give one without slashes, and the place with out=...")
    return name


def _free_name(out: Path, wanted: str) -> str:
    base = re.sub(r"[^\w.+-]+", "-", wanted)
    number = 1
    while (out / (base if number == 1 else f"{base}-{number}")).exists():
        number += 1
    return base if number == 1 else f"{base}-{number}"


def _about() -> dict[str, str]:
    """Where a run was made: versions and machine, for whoever compares bits."""
    about = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    for package in ("minutiae", "jax", "jaxlib", "numpy", "gymnasium", "envpool", "optax"):
        try:
            about[package] = version(package)
        except PackageNotFoundError:
            continue
    return about
