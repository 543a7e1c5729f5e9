"""A study may cross details from outside the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_studies import small_study

import minutiae
from minutiae.errors import ConfigError

pytestmark = pytest.mark.usefixtures("quick_compilation")

NEGATED = "outside_details:negated"


def test_a_study_crosses_a_detail_from_outside(tmp_path: Path) -> None:
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
