"""What an earlier form of a study, or of its custom details, left in its folder, in words. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from minutiae.details.custom_source import changed_sources
from minutiae.errors import MinutiaeError
from minutiae.runs.directory import RunDirectory, is_run
from minutiae.studies.factors import level_text
from minutiae.studies.results import planned_runs
from minutiae.studies.store import Store
from minutiae.studies.study import Study
from minutiae.studies.study_file import FILE, load_study

MOST_NAMED = 3
"""Changes, and runs, that the sentence names."""


def uncounted_runs(study: Study, folder: str | Path) -> list[str]:
    """Names of the runs in a study's folder that `study` asks for under no setting that tuning could choose."""
    found = {path.name for path in (Path(folder) / "runs").glob("*")}
    found -= {run.id for run in study.first_runs()} if found else set()
    if found and study.tuning is not None:
        for setting in study.settings:
            found -= {run.id for run in study.final_runs(dict.fromkeys(study.places, setting))}
    return sorted(found)


def uncounted_words(study: Study, folder: str | Path) -> str | None:
    """One sentence on the runs that `study` would leave uncounted in `folder`; `None` where there are none.

    Call it before the folder's `study.toml` is replaced: what changed is told by comparing with it.
    """
    found = uncounted_runs(study, folder)
    if not found:
        return None
    total = len(list((Path(folder) / "runs").glob("*")))
    try:
        changed = list(_changes(load_study(Path(folder) / FILE, stored=True), study))
    except MinutiaeError:  # no earlier form that can be read
        changed = []
    why = f" ({_some(changed, '; ', 'changes')})" if changed else ""
    return (
        f"{len(found):,} of the {total:,} runs in {folder} are of an earlier form of this study{why}: "
        f"{_some(found, ', ')} are kept and not counted; give the study another name to go on with both"
    )


def changed_source_words(store: Store) -> str | None:
    """One sentence on the study's runs that were made with another source of a custom detail; `None` without any.

    Raises:
        ConfigError: a detail's module is missing.
        RunError: the config of a run is damaged.
    """
    changed: dict[str, list[str]] = {}
    total = 0
    for run in planned_runs(store) if store.study.command is None else []:
        elsewhere = store.elsewhere(run.id)
        if elsewhere is None and not is_run(store.run_path(run.id)):
            continue
        total += 1
        if run.own.custom:
            about = elsewhere.about if elsewhere is not None else RunDirectory.open(store.run_path(run.id)).about
            for name in changed_sources(run.own, about):
                changed.setdefault(name, []).append(run.id)
    if not changed:
        return None
    runs = {run for found in changed.values() for run in found}
    return (
        f"the source of {_some([repr(name) for name in changed], ', ', 'details')} has changed since {len(runs):,} of "
        f"the {total:,} runs in {store.path} were made: they are kept and counted beside what is trained now; give the "
        "study another name to train all with the new one"
    )


def _changes(before: Study, after: Study) -> Iterator[str]:
    """`base.steps was 4096 and is 8192`, and the like."""
    for name in ("preset", "flavour", "command", "results"):
        if getattr(before, name) != getattr(after, name):
            yield f"{name} was {level_text(getattr(before, name))} and is {level_text(getattr(after, name))}"
    if before.environments != after.environments:
        yield f"environments were {', '.join(before.environments)} and are {', '.join(after.environments)}"
    yield from _changed_levels("base", before, after, before.base, after.base)
    for name in ("factors", "bundles", "tuning"):
        if getattr(before, name) != getattr(after, name):
            yield f"{'factors' if name == 'bundles' else name} changed"
    if (before.seeds, before.first_seed) != (after.seeds, after.first_seed):
        yield "seeds changed"


def _changed_levels(
    where: str, before: Study, after: Study, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        was = before.written(name, old[name]) if name in old else "the preset's"
        now = after.written(name, new[name]) if name in new else "the preset's"
        if was != now:
            yield f"{where}.{name} was {was} and is {now}"


def _some(items: list[str], separator: str, noun: str = "") -> str:
    more = len(items) - MOST_NAMED
    return separator.join(items[:MOST_NAMED]) + (f" and {more} more{f' {noun}' if noun else ''}" if more > 0 else "")
