"""`reproduce`: trains what an item needs, judges its claims, and writes its page. All training is done by studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minutiae.control.progress import Listener, ignore
from minutiae.errors import RunError
from minutiae.reports.study.page import Section, page
from minutiae.reports.study.tables import Table
from minutiae.reports.study.write import write_parts
from minutiae.reproduction.claims import Verdict, judge
from minutiae.reproduction.evidence import DIAGNOSTICS, Evidence
from minutiae.reproduction.numbers import algorithms_table
from minutiae.reproduction.pages import agreement_sentence, command, introduction, sections, verdict_sentences
from minutiae.reproduction.protocol import OUTCOMES, Item, Protocol, item_named, protocol_of
from minutiae.runs.atomic import write_atomic
from minutiae.studies.archive import RUNS, Archive, BothArchives
from minutiae.studies.archiving import archive_study
from minutiae.studies.execution import Executor, run_study
from minutiae.studies.results import StudyData, StudyResults
from minutiae.studies.store import Store
from minutiae.studies.study import Study

IN_BRIEF = ("verdicts", "attribution", "effects")
"""Tables of a study's report that its text has too."""


@dataclass(frozen=True)
class Reproduction:
    """One table or figure, judged.

    Attributes:
        item: what it is.
        protocol: how it was trained.
        verdicts: on every claim in every task.
        page_sections: of its page.
        opening: sentences of the answer.
        about: an introduction.
    """

    item: Item
    protocol: Protocol
    verdicts: tuple[Verdict, ...]
    page_sections: tuple[Section, ...]
    opening: tuple[str, ...]
    about: str

    @property
    def tables(self) -> list[Table]:
        """Every table of the page."""
        return [part for section in self.page_sections for part in section.parts if isinstance(part, Table)]

    def text(self) -> str:
        """For the terminal and for README files: the answer, then every table as Markdown."""
        # Of a study's report the claims, the attribution and the effects; the rest is on the page.
        brief = self.item.shows == "report"
        shown = [table.markdown() for table in self.tables if not brief or table.name in IN_BRIEF]
        lines = [f"# {self.item.title}", "", self.about, "", *self.opening, "", *shown]
        return "\n".join([*lines, "Made by:", "", f"    {command(self.item, self.protocol)}"]) + "\n"

    def write_page(self, folder: str | Path) -> Path:
        """Write the page, its figures and its tables, and the text as `README.md`; return the page's path.

        Raises:
            RunError: the folder cannot be written.
        """
        target = Path(folder) / "index.html"
        write_parts(target.parent, self.page_sections)
        text = page(
            "Reproduction of Engstrom et al. 2020", self.item.title, self.about, self.opening, self.page_sections
        )
        write_atomic(target.parent / "README.md", self.text().encode())
        write_atomic(target, text.encode())
        return target


def reproduce(
    name: str,
    folder: str | Path = "reproduction",
    *,
    tasks: Sequence[str] | None = None,
    agents: int | None = None,
    flavour: str = "paper-artifact",
    version: str = "v4",
    learning_rates: Sequence[float] | None = None,
    steps: int | None = None,
    train: bool = True,
    archive: str | Path | None = None,
    workers: int | None = None,
    listener: Listener = ignore,
    executor: Executor | None = None,
    on: str = "local",
    say: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    """A table or figure of Engstrom et al. 2020, trained and judged.

    Args:
        name: one of `protocol.ITEMS`.
        folder: its `runs` has a store for each set of runs; items share them, and what is there is not trained again.
        tasks: of Hopper, Walker2d and Humanoid; `None` is the item's own.
        agents: seeds of every cell; more later keep the earlier ones.
        flavour: `paper-artifact` (as released) or `paper-text` (as written).
        version: of the environments.
        learning_rates: that Figure 1 sweeps.
        steps: of a run; `None` is the article's million, which its claims are about.
        train: false judges what is there.
        archive: a folder with an archive for each store. Runs in it are not trained; those that are trained are added.
        workers: as of `run_study`, and so the next four.
        listener: told of every iteration of every run.
        executor: trains tasks.
        on: where.
        say: told of what happens besides.

    Raises:
        ConfigError: an unknown name, task, flavour or version.
        RunError: no run is there to be judged, or a folder cannot be read or written.
    """
    item = item_named(name)
    protocol = protocol_of(item, tasks, agents, learning_rates, flavour, version, steps)
    if item.study is None or item.store is None:
        return _composition(item, protocol)
    study = item.study(protocol)
    store = store_folder(folder, item)
    kept = None if archive is None else Path(archive) / item.store
    known = kept if kept is not None and (kept / RUNS).is_file() else None
    if kept is not None and known is None and not train:
        raise RunError(f"{kept} holds no archive of {name}: it has no {RUNS}; check the folder")
    if train:
        results = run_study(
            study, store, workers=workers, listener=listener, executor=executor, archive=known, on=on, say=say
        )
        if kept is not None:
            archive_study(store, kept, study)
    else:
        results = _as_it_is(study, store, known)
    return judged(item, protocol, results)


def store_folder(folder: str | Path, item: Item) -> Path:
    """Where the runs of an item lie; beside its page, which has a folder of its own."""
    assert item.store is not None
    return Path(folder) / "runs" / item.store


def _as_it_is(study: Study, folder: Path, archive: Path | None) -> StudyResults:
    """What a store and an archive have of a study."""
    store = Store(folder, study)
    if archive is not None:
        # Only looked at: a folder is not changed by being judged.
        store.archive = BothArchives(store.archive, Archive.open(archive))
    return StudyResults(store)


def judged(item: Item, protocol: Protocol, results: StudyResults) -> Reproduction:
    """The item's claims, by what was measured so far.

    Raises:
        RunError: no run has ended.
    """
    data = results.data()
    data = StudyData(data.study, data.folder, data.frame, results.curves(*DIAGNOSTICS), data.about)
    ended = data.frame.filter(data.frame["status"].is_in(("finished", "diverged")))
    if not len(ended):
        raise RunError(
            f"no run of {item.name} has ended yet in {data.folder}; leave out --judge to train, or name earlier runs "
            "with --archive"
        )
    # Only what has runs can be drawn; claims of the other tasks say that they wait.
    evidences = [Evidence(data, outcome) for outcome in OUTCOMES]
    verdicts = judge(evidences[0], item.name, protocol.tasks)
    return Reproduction(
        item,
        protocol,
        tuple(verdicts),
        tuple(sections(item, protocol, evidences, verdicts, results.seconds())),
        (*verdict_sentences(verdicts), *agreement_sentence(item, evidences)),
        introduction(item, protocol, evidences[0]),
    )


def _composition(item: Item, protocol: Protocol) -> Reproduction:
    """Table 1, which needs no runs."""
    pairs = zip(protocol.tasks, protocol.environments, strict=True)
    tables: list[Table] = [algorithms_table(protocol, task, environment) for task, environment in pairs]
    opening = (
        "Every algorithm is a preset; the switches below are what it sets.",
        "The first column names the detail: minutiae details NAME explains it and shows its code.",
    )
    return Reproduction(
        item, protocol, (), (Section("The algorithms", list(tables)),), opening, f"Settings: {protocol.flavour}."
    )
