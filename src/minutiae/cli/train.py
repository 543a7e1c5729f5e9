"""`minutiae train`: preset, environment and any detail as an option. The training itself is `minutiae.train`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from minutiae.cli.parsing import Whole, WholeOrNone, make_app, option_names, unknown_option
from minutiae.details import CATALOGUE, Config, entry_of, from_mapping, is_custom, preset_names, to_toml
from minutiae.details import preset as preset_config
from minutiae.details.levels import Flag
from minutiae.errors import ConfigError, MinutiaeError
from minutiae.runs.atomic import read_bytes

MOST_USED = (
    "steps",
    "environments",
    "rollout_length",
    "learning_rate",
    "discount",
    "gae_lambda",
    "ratio_clipping",
    "value_clipping",
    "entropy_coefficient",
    "reward_scaling",
    "observation_normalization",
    "truncation_bootstrap",
    "policy_hidden_sizes",
    "value_hidden_sizes",
    "epochs",
    "minibatches",
    "max_kl",
)
"""Details that the help page shows; every other one is an option as well."""


def _epilogue() -> str:
    rows = [(f"--{name.replace('_', '-')}", CATALOGUE[name].levels.describe()) for name in MOST_USED]
    width = max(len(option) for option, _ in rows)
    lines = [f"  {option:<{width}}  {text}" for option, text in rows]
    return "\n".join(
        [
            "Details most often changed:",
            *lines,
            "",
            f"All {len(CATALOGUE)} details are options, with dashes or underscores: minutiae details",
        ]
    )


app = make_app(
    "train",
    f"Train PRESET ({', '.join(preset_names())}) on ENVIRONMENT (an id of EnvPool or Gymnasium, or "
    "package.module:factory). Interrupting is safe: minutiae resume goes on.",
    _epilogue(),
)

_Switch = Annotated[bool, Parameter(negative="")]


@app.default
def train(
    preset: str | None = None,
    environment: str | None = None,
    /,
    *,
    seed: WholeOrNone = None,
    seeds: Whole = 1,
    flavour: str | None = None,
    name: str | None = None,
    out: Path = Path("runs"),
    workers: WholeOrNone = None,
    sink: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    config: Path | None = None,
    show_config: _Switch = False,
    **details: Annotated[str, Parameter(show=False)],
) -> int:
    """
    Parameters
    ----------
    preset
        Where the details start from.
    environment
        What to train on, as in Hopper-v5.
    seed
        The first seed; left out: 0, or the one in the config file.
    seeds
        How many agents, with seeds that follow the first.
    flavour
        paper-artifact or paper-text: the published study's own settings for its tasks.
    name
        Of the run's folder; left out: preset and environment.
    out
        The folder of runs.
    workers
        Worker processes for several agents; left out: one for each core.
    sink
        wandb or mlflow, beside TensorBoard; may be given twice.
    config
        A TOML file instead of preset and environment, such as --show-config prints or a run holds.
    show_config
        Print the complete effective config and train nothing.
    """
    chosen, arguments, stored_seed = choose(preset, environment, flavour, config, parse_levels(details))
    seed = stored_seed if seed is None else seed
    if seed < 0 or seeds < 1:
        raise ConfigError(f"--seed is at least 0 and --seeds at least 1, not {seed} and {seeds}")
    if show_config:
        sys.stdout.write(to_toml(chosen))
        return 0
    from minutiae.cli.training import show
    from minutiae.control.folders import usual_name
    from minutiae.control.training import train as train_runs

    arguments |= {"seed": seed, "seeds": seeds, "name": name, "out": out}

    def notes(folder: Path) -> list[str]:
        usual = out / usual_name(arguments["preset_or_config"], chosen.environment, flavour)
        taken = name is None and folder.name != usual.name
        lines = [chosen.remainder] if chosen.remainder is not None else []
        return [*lines, f"{usual} exists; this one is {folder}"] if taken else lines

    return show(
        lambda listener: train_runs(**arguments, workers=workers, sinks=sink, listener=listener), seeds, notes=notes
    )


def choose(
    preset: str | None,
    environment: str | None,
    flavour: str | None,
    file: Path | None,
    levels: dict[str, Any],
) -> tuple[Config, dict[str, Any], int]:
    """The config to train, the same as arguments of `minutiae.train`, and the first seed unless one is given.

    Raises:
        ConfigError: neither a preset with an environment nor a file is named, or both, or as `preset`.
    """
    if file is not None:
        if preset is not None or flavour is not None:
            raise ConfigError("--config replaces preset, environment and flavour; give one or the other")
        stored, seed = read_config(file)
        config = stored.replace(**levels)
        return config, {"preset_or_config": config}, seed
    if environment is not None and "environment" in levels:
        raise ConfigError("the environment is given twice; leave out --environment")
    environment = levels.pop("environment", environment)
    if preset is None or environment is None:
        missing = "PRESET and ENVIRONMENT" if preset is None else "ENVIRONMENT"
        raise ConfigError(f"{missing} missing, as in: minutiae train ppo Hopper-v5")
    named = {"preset_or_config": preset, "environment": environment, "flavour": flavour, **levels}
    return preset_config(preset, environment, flavour, **levels), named, 0


def prepare(words: Sequence[str]) -> list[str]:
    """Let a flag stand alone: `--separate-optimizers` means `--separate-optimizers on`.

    Raises:
        MinutiaeError: another detail stands alone, or an option that does not exist.
    """
    prepared = []
    for word, following in zip_longest(words, words[1:]):
        name = word.removeprefix("--").replace("-", "_")
        alone = following is None or following.startswith("--")
        if word.startswith("--") and "=" not in word and alone and f"--{name.replace('_', '-')}" not in _own():
            if name not in CATALOGUE and not is_custom(name):
                raise MinutiaeError(unknown_option(word, _all_options()))
            entry = entry_of(name)
            if not isinstance(entry.levels, Flag):
                raise MinutiaeError(f"{word} needs a level; allowed: {entry.levels.describe()}")
            word = f"{word}=on"
        prepared.append(_one_key(word))
    return prepared


def _one_key(word: str) -> str:
    """An option that names a custom detail, its dots as slashes: cyclopts takes a dot for a step into a table."""
    name, equals, level = word.partition("=")
    return name.replace(".", "/") + equals + level if word.startswith("--") and is_custom(name) else word


def parse_levels(details: Mapping[str, str]) -> dict[str, Any]:
    """Levels by the details' own names, from options as they were typed.

    Raises:
        MinutiaeError: an option that does not exist, or that is given twice.
        ConfigError: a level that its detail does not have.
    """
    levels: dict[str, Any] = {}
    for key, text in details.items():
        option = key.replace("/", ".")  # see `_one_key`
        name = option.replace("-", "_")
        if name not in CATALOGUE and not is_custom(name):
            raise MinutiaeError(unknown_option(f"--{option}", _all_options()))
        if name in levels:
            raise MinutiaeError(f"--{option} is given twice")
        levels[name] = entry_of(name).parse(text)
    return levels


def read_config(path: Path) -> tuple[Config, int]:
    """Config and seed in a file: what `--show-config` prints, or the `config.toml` of a run.

    Raises:
        MinutiaeError: the file cannot be read, is no TOML, or holds no config.
    """
    if path.is_dir():
        path = path / "config.toml"
    try:
        document = tomllib.loads(read_bytes(path).decode())
    except (ValueError, RecursionError) as error:  # TOML, its encoding, or its nesting
        raise ConfigError(f"{path} is not valid TOML: {' '.join(str(error).split())}") from error
    if isinstance(document.get("config"), dict):  # of a run
        seed = document.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ConfigError(f"{path}: seed is a whole number of at least 0, not {seed!r}")
        return _config_in(path, document["config"]), seed
    return _config_in(path, document), 0


def _config_in(path: Path, mapping: Mapping[str, Any]) -> Config:
    try:
        return from_mapping(mapping)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _own() -> list[str]:
    return [*option_names(app), "--help"]


def _all_options() -> list[str]:
    return [*option_names(app), *(f"--{name.replace('_', '-')}" for name in CATALOGUE)]
