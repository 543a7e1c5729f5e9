"""Details from outside the package: what one is, and finding it by `module:name`. No such detail lives here.

The name says where its code is, as environment ids of the form `module:Env-v0` do. So a config needs no list of
modules, worker processes find what they need, two packages cannot clash, and nothing is kept in any registry.
"""

from __future__ import annotations

import importlib
import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from minutiae.details.conditions import Condition, only
from minutiae.details.detail import STRUCTURE, Detail
from minutiae.details.levels import Levels
from minutiae.errors import ConfigError, nearest, unknown

STAGES: Mapping[str, str] = {
    "rewards": "host",
    "advantages": "learner",
    "policy_loss": "learner",
}
"""Where a custom detail may act, and in which room.

`rewards`: `function(level, rewards, terminated, truncated) -> rewards`, all NumPy `[T, N]`, rewards float64. On the
rewards of one agent's rollout, before scaling and clipping. Logged returns stay raw.

`advantages`: `function(level, advantages, batch) -> advantages`, JAX `[T, N]`. Before advantage normalization; value
targets keep the advantages as they were. `batch` is a `minutiae.control.batch.Batch`.

`policy_loss`: `function(level, terms, samples) -> loss`, a JAX scalar. Added to PPO's policy loss of every minibatch.
`terms` is a `minutiae.control.learner.losses.PolicyTerms`, `samples` a `minutiae.control.learner.structure.Samples`.

Functions are pure: JAX traces those of the learner once for each level.
"""

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "rewards": ("level", "rewards", "terminated", "truncated"),
    "advantages": ("level", "advantages", "batch"),
    "policy_loss": ("level", "terms", "samples"),
}
"""What a function of each stage is called with, in this order."""

CustomLevels = tuple[tuple[str, Any], ...]
"""Names and levels as text, TOML and Python share them: numbers, words, `"on"`, tuples of sizes; never off."""

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


@dataclass(frozen=True)
class CustomDetail:
    """A detail of somebody else's: its entry (which has no name until it is found), stage and function."""

    entry: Detail
    stage: str
    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, as a test of it does."""
        return self.function(*arguments)


def custom_detail(
    *,
    stage: str,
    levels: Levels,
    title: str,
    rule: str,
    source: str,
    finding: str = "Unmeasured.",
    applies: Condition | tuple[Condition, ...] = (),
) -> Callable[[Callable[..., Any]], CustomDetail]:
    """Make a function into a detail that configs name `module:function`; off, which is its default, leaves it out.

    Args:
        stage: one of `STAGES`, which say what the function gets and returns. It is never called where it is off.
        levels: what it may be, off among them: `number(above=0, off=True)`, `choice("a", "b", off=True)`, `flag()`.
        title, rule, source, finding: as of `Detail`, for `minutiae details module:function`.
        applies: conditions on the package's own details, as `only("algorithm", "ppo")`.

    Raises:
        ConfigError: no such stage, levels without off, or with another word for it, or, when the function is decorated,
            that it cannot be called with its stage's arguments.
    """
    if stage not in STAGES:
        raise ConfigError(unknown("stage", stage, STAGES))
    if not levels.off:
        raise ConfigError(
            f"a custom detail ({title}) can be off, so that configs without it stay what they are; give its levels "
            "off=True"
        )
    if levels.off_word != "off":
        raise ConfigError(
            f"a custom detail ({title}) is off by the word off, which is read without its module; leave out "
            f"off_word={levels.off_word!r}"
        )
    conditions = applies if isinstance(applies, tuple) else (applies,)
    if stage == "policy_loss":
        conditions = (only("algorithm", "ppo"), *conditions)

    def decorate(function: Callable[..., Any]) -> CustomDetail:
        _check_arguments(function, stage)
        entry = Detail(
            levels=levels,
            kind=STRUCTURE,
            room=STAGES[stage],
            default=None,
            title=title,
            rule=rule,
            source=source,
            finding=finding,
            where=f"{function.__module__}:{function.__qualname__}",
            who={},
            off_value=0.0,
            applies=conditions,
            theme="custom",
        )
        return CustomDetail(entry, stage, function)

    return decorate


def _check_arguments(function: Callable[..., Any], stage: str) -> None:
    """Refuse a function that its stage could not call, before it is called from inside a training."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions tell nothing of themselves
        return
    try:
        signature.bind(*ARGUMENTS[stage])
    except TypeError as error:
        raise ConfigError(
            f"the detail {function.__module__}:{function.__qualname__} cannot be called as its stage {stage!r} calls "
            f"it ({error}); define it as def {function.__name__}({', '.join(ARGUMENTS[stage])})"
        ) from None


def is_custom(name: str) -> bool:
    """Whether `name` can only be that of a custom detail; well formed or not."""
    return ":" in name


def is_custom_name(name: Any) -> bool:
    """Whether `name` is a well-formed name of a custom detail. Nothing is imported."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def check_form(name: str) -> None:
    """Refuse what cannot name a custom detail. Nothing is imported.

    Raises:
        ConfigError: with the form that is allowed.
    """
    if not is_custom_name(name):
        raise ConfigError(f"{name!r} names no detail; allowed: the name of a detail, or 'package.module:detail'")


def find(name: str) -> CustomDetail:
    """Import the custom detail `module:name`.

    Raises:
        ConfigError: there is no such module, it cannot be imported, or it has no such detail.
    """
    check_form(name)
    module, _, attribute = name.partition(":")
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the detail {name!r} needs the module {module!r}, and there is no module {error.name!r}; put it where "
            "Python finds it (the working directory, PYTHONPATH, or an installed package)"
        ) from None
    except (Exception, SystemExit) as error:  # whatever the code of somebody else raises; no exit of ours is theirs
        raise ConfigError(
            f"the detail {name!r} needs the module {module!r}, which cannot be imported: {_told(error)}"
        ) from error
    found = getattr(imported, attribute, None)
    if isinstance(found, CustomDetail):
        return found
    known = [key for key, value in vars(imported).items() if isinstance(value, CustomDetail)]
    guess = nearest(attribute, known)
    hint = f"did you mean '{module}:{guess}'?" if guess else f"it has {', '.join(known) or 'none'};"
    raise ConfigError(
        f"the module {module!r} has no detail {attribute!r}; {hint} a detail is a function under "
        "@minutiae.custom_detail(...)"
    )


def level_of(name: str, written: Any) -> Any:
    """The level that `written` stands for, which may be off.

    Raises:
        ConfigError: as `find`, or it stands for none.
    """
    levels = find(name).entry.levels
    return levels.parse(name, written) if isinstance(written, str) else levels.check(name, written)


def checked_levels(given: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> CustomLevels:
    """Custom levels in their one form and order, without those that are off.

    Raises:
        ConfigError: as `level_of`.
    """
    try:
        pairs = dict(given)
    except (TypeError, ValueError):
        raise ConfigError(f"custom is a mapping from 'module:detail' to its level, not {given!r}") from None
    levels = {name: level_of(name, written) for name, written in pairs.items()}
    return tuple(sorted((name, plain(level)) for name, level in levels.items() if level is not None))


def stored_levels(given: Mapping[str, Any]) -> CustomLevels:
    """As `checked_levels` of what a config once wrote, without importing anybody's code: opening a run runs none.

    Raises:
        ConfigError: a name that is none.
    """
    for name in given:
        check_form(name)
    levels = {name: stored_level(level) for name, level in given.items()}
    return tuple(sorted((name, plain(level)) for name, level in levels.items() if level is not None))


def stored_level(written: Any) -> Any:
    """The level that text or TOML holds, unchecked: off is `None`, on `True`, a list a tuple. Nothing is imported."""
    # `is`, for 0 == False, and 0 is a level like any other.
    if written is False or written == "off":
        return None
    return True if written == "on" else tuple(written) if isinstance(written, list) else written


def plain(level: Any) -> Any:
    """A level as text and TOML hold it."""
    return "on" if level is True else level


@dataclass(frozen=True)
class Bound:
    """A custom detail at a level: hashable, so that a compiled program is kept by it."""

    name: str
    level: Any
    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """What the detail makes of the stage's arguments.

        Raises:
            ConfigError: the function raised something; the text says what and where, for a worker process sends a line.
        """
        try:
            return self.function(self.level, *arguments)
        except (Exception, SystemExit) as error:  # whatever the code of somebody else raises
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise ConfigError(
                f"the detail {self.name!r} raised {_told(error)} ({last.filename}, line {last.lineno})"
            ) from error


def _told(error: BaseException) -> str:
    """An error's type and the first paragraph of its text, as one line: JAX appends pages."""
    return f"{type(error).__name__}: {' '.join(str(error).partition(chr(10) * 2)[0].split())}"


def bound(levels: CustomLevels, stage: str) -> tuple[Bound, ...]:
    """The custom details of one stage, in the order of their names, which is the order in which they act.

    Raises:
        ConfigError: as `find`.
    """
    found = [(name, written, find(name)) for name, written in levels]
    return tuple(
        Bound(name, level_of(name, written), custom.function)
        for name, written, custom in found
        if custom.stage == stage
    )
