"""A study may cross details from outside the package."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from small_studies import BASE, small_study

import minutiae
from minutiae.control.progress import Listener
from minutiae.details.custom_source import source_hashes
from minutiae.errors import ConfigError
from minutiae.reports.sides import default_outcome, read_side
from minutiae.reports.study import write_report
from minutiae.runs.directory import RunDirectory
from minutiae.studies.archiving import archive_study
from minutiae.studies.claims import Claims
from minutiae.studies.revisions import changed_source_words
from minutiae.studies.store import Store, Task
from minutiae.studies.study_file import study_to_toml

pytestmark = pytest.mark.usefixtures("quick_compilation")

NEGATED = "outside_details:negated"


def test_a_study_crosses_a_detail_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = small_study(factors={NEGATED: ["off", "on"], "value_clipping": ["off", "max"]}, seeds=1)
    assert study.label((None, "max")) == "outside_details:negated=off, value_clipping=max"
    plain = small_study(seeds=1)
    # The cell without it is the very run of a study that never heard of it.
    assert len({run.id for run in study.first_runs()} & {run.id for run in plain.first_runs()}) == 2
    minutiae.run_study(study, tmp_path / "study", workers=1)
    results = minutiae.open_study(tmp_path / "study")
    frame = results.frame()
    assert frame[NEGATED].to_list() == ["off", "off", "on", "on"]
    assert frame["status"].to_list() == ["finished"] * 4
    shutil.copytree(tmp_path / "study", tmp_path / "copy")
    assert minutiae.open_study(tmp_path / "copy").study == study
    # Whoever only reads it needs no module.
    monkeypatch.setitem(sys.modules, "outside_details", None)
    assert NEGATED in write_report(tmp_path / "copy").read_text()
    assert archive_study(tmp_path / "copy", tmp_path / "archive") == 4
    assert read_side(tmp_path / "copy", "final_return", "A", {NEGATED: "on"}).runs


def test_reading_a_study_runs_nobodys_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "passing_details.py").write_text(
        "from minutiae import custom_detail\nfrom minutiae.details import choice, flag, number\n"
        "words = dict(stage='advantages', title='a', rule='b', source='c')\n"
        "added = custom_detail(levels=number(at_least=0, off=True), **words)(lambda c, a, b: a + c)\n"
        "turned = custom_detail(levels=flag(), **words)(lambda c, a, b: -a)\n"
        "chosen = custom_detail(levels=choice('one', 'two', off=True), **words)(lambda c, a, b: a)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    added, turned, chosen = (f"passing_details:{name}" for name in ("added", "turned", "chosen"))
    study = small_study(factors={added: ["off", 0, 0.5], turned: ["off", "on"]}, base={**BASE, chosen: "two"}, seeds=1)
    store = Store.create(tmp_path / "study", study)
    with store.claims() as claims:
        store.plan(study.first_runs(), claims)
    frame = minutiae.open_study(store.path).frame()
    assert frame[added].to_list() == ["off", "off", "0.0", "0.0", "0.5", "0.5"]
    assert frame[turned].to_list() == ["off", "on"] * 3
    ids = [run.id for run in study.first_runs()]
    assert frame["run_id"].to_list() == ids
    # From here on the module would say so if it were imported.
    monkeypatch.delitem(sys.modules, "passing_details")
    (tmp_path / "passing_details.py").write_text("raise AssertionError('imported')\n")
    importlib.invalidate_caches()
    results = minutiae.open_study(store.path)
    assert results.frame().equals(frame)
    assert results.study == study
    assert study_to_toml(results.study) == study_to_toml(study)
    assert [run.id for run in results.study.first_runs()] == ids
    assert archive_study(store.path, tmp_path / "archive") == 0
    assert default_outcome(store.path) == "final_return"
    assert "passing_details" not in sys.modules
    with pytest.raises(ConfigError, match="cannot be imported: AssertionError: imported"):
        minutiae.run_study(results.study, store.path)


def test_a_study_that_goes_on_with_another_source_says_so(tmp_path: Path) -> None:
    study = small_study(factors={NEGATED: ["off", "on"], "value_clipping": ["off", "max"]}, seeds=1)
    store = Store.create(tmp_path / "study", study)
    with store.claims() as claims:
        store.plan(study.first_runs(), claims)
    crossed = [run for run in study.first_runs() if run.own.custom]
    mine = RunDirectory.open(store.run_path(crossed[0].id))
    assert mine.about[NEGATED] == source_hashes(crossed[0].own)[NEGATED]
    assert changed_source_words(store) is None
    file = mine.path / "config.toml"
    file.write_text(file.read_text().replace(mine.about[NEGATED], "0" * 16))

    def fail(store: Store, tasks: Sequence[Task], claims: Claims, listener: Listener) -> None:
        for task in tasks:
            store.fail(task, "left out")

    with pytest.warns(UserWarning) as said:
        minutiae.run_study(study, store.path, executor=fail)
    assert [str(one.message) for one in said] == [
        f"the source of 'outside_details:negated' has changed since 1 of the 4 runs in {store.path} were made: they "
        "are kept and counted beside what is trained now; give the study another name to train all with the new one"
    ]


def test_a_fraction_asks_for_a_short_name() -> None:
    two = {NEGATED: ["off", "on"], "value_clipping": ["off", "max"], "reward_scaling": ["off", "returns"]}
    with pytest.raises(ConfigError) as raised:
        small_study(factors=two, design="fractional", options={"runs": 4})
    assert str(raised.value) == (
        "a fractional design cannot name the factor 'outside_details:negated'; give it a short name, as in short = "
        "{ off = {}, on = { 'outside_details:negated' = ... } }"
    )
    short = {**two, "flipped": {"off": {}, "on": {NEGATED: "on"}}}
    del short[NEGATED]
    study = small_study(factors=short, design="fractional", options={"runs": 4})
    assert sum(NEGATED in dict(run.own.custom) for run in study.first_runs()) == 4
