"""Details from outside the package in configs, texts and pages: their names say where they are, off leaves no trace."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from minutiae.details import (
    Config,
    config_hash,
    custom_detail,
    differences,
    entry_of,
    flag,
    from_mapping,
    from_toml,
    integer,
    number,
    preset,
    structure,
    to_mapping,
    to_toml,
)
from minutiae.errors import ConfigError
from minutiae.reports.catalogue import detail_text

PULLED, NEGATED, CHANGED = (f"outside_details:{name}" for name in ("pulled", "negated", "changed"))


def config(**custom):
    return Config(environment="Hopper-v5").replace(**custom)


def test_levels_have_one_form():
    on = config(**{PULLED: 1, NEGATED: True})
    assert on.custom == ((NEGATED, "on"), (PULLED, 1.0))
    assert on == config(**{NEGATED: "on", PULLED: "1.0"}) == Config(environment="Hopper-v5", custom=dict(on.custom))
    assert preset("ppo", "Hopper-v5", **{PULLED: 1, NEGATED: True}) == on
    assert differences(on) == {NEGATED: "on", PULLED: 1.0}
    assert differences(on, config(**{PULLED: 2.0})) == {NEGATED: "on", PULLED: 1.0}
    assert (on.applies(PULLED), on.applies(CHANGED)) == (True, False)


@pytest.mark.parametrize("off", [None, "off", False])
def test_off_is_as_if_it_were_not_there(off):
    plain = config()
    without = config(**{NEGATED: True}).replace(**{NEGATED: off})
    assert without == plain
    assert config_hash(without, 0) == config_hash(plain, 0) != config_hash(config(**{NEGATED: True}), 0)
    assert "custom" not in to_toml(without)
    # The runs of everybody else keep their names.
    assert config_hash(plain, 0) == "c9ff3c3b7132c6aa"


@pytest.mark.parametrize("zero", [0, 0.0])
def test_zero_is_a_level_and_not_off(zero):
    on = config(**{"outside_details:added": zero})
    assert on.custom == (("outside_details:added", 0.0),)
    assert from_toml(to_toml(on)) == from_mapping(to_mapping(on)) == on
    assert config_hash(from_toml(to_toml(on)), 0) == config_hash(on, 0) != config_hash(config(), 0)
    assert from_mapping({"environment": "Hopper-v5", "outside_details:added": zero}) == on
    assert from_mapping({"environment": "Hopper-v5", "outside_details:added": False}) == config()


def test_texts_hold_the_module():
    on = config(**{PULLED: 0.5, NEGATED: True, CHANGED: "zero"})
    text = to_toml(on)
    assert text.endswith(
        '# custom: from outside the package\n"outside_details:changed" = "zero"\n"outside_details:negated" = "on"\n'
        '"outside_details:pulled" = 0.5\n'
    )
    assert from_toml(text) == from_mapping(to_mapping(on)) == from_mapping(tomllib.loads(text)) == on


def test_programs_are_told_apart_by_what_the_learner_does():
    plain = config()
    # Rewards are the host's: agents that differ in them share a program.
    assert structure(config(**{CHANGED: "zero"})) == structure(plain)
    assert len({structure(plain), structure(config(**{PULLED: 1.0})), structure(config(**{PULLED: 2.0}))}) == 3


def test_reading_a_config_runs_nobodys_code():
    program = (
        "import sys\n"
        "from minutiae.details import from_mapping, to_toml\n"
        f"config = from_mapping({{'environment': 'Hopper-v5', '{PULLED}': 0.5, 'nowhere:at_all': 'on'}})\n"
        "print(config.custom, 'outside_details' in sys.modules, to_toml(config)[-50:])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("(('nowhere:at_all', 'on'), ('outside_details:pulled', 0.5)) False ")


def test_the_page_of_a_detail():
    assert entry_of(PULLED).name == PULLED
    text = detail_text(PULLED, code=True)
    assert text.startswith("outside_details:pulled: pull of the mean to zero\n\nlevels     off or a number above 0\n")
    assert "needs      algorithm = ppo\n" in text
    assert "(outside_details:pulled)" in text
    assert "def pulled(level: float" in text
    assert "finding    Unmeasured.\n" in text
    assert "presets" not in text


def short(level, terms):
    """Lacks an argument of every stage."""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: config(**{"nowhere.details:pulled": 1}),
            "the detail 'nowhere.details:pulled' needs the module 'nowhere.details', and there is no module 'nowhere'; "
            "put it where Python finds it (the working directory, PYTHONPATH, or an installed package)",
        ),
        (
            lambda: config(**{"outside_details:puled": 1}),
            "the module 'outside_details' has no detail 'puled'; did you mean 'outside_details:pulled'? a detail is a "
            "function under @minutiae.custom_detail(...)",
        ),
        (
            lambda: config(**{"outside_details:not_a_detail": 1}),
            "the module 'outside_details' has no detail 'not_a_detail'; it has changed, negated, pulled, "
            "shortened, spread, mistaken, added, scribbled, unreal; a detail is a function under "
            "@minutiae.custom_detail(...)",
        ),
        (
            lambda: config(**{"outside_details:": 1}),
            "'outside_details:' names no detail; allowed: the name of a detail, or 'package.module:detail'",
        ),
        (
            lambda: config(**{PULLED: -1}),
            "outside_details:pulled = -1 is out of range; allowed: off or a number above 0",
        ),
        (
            lambda: config(**{CHANGED: "zeros"}),
            "unknown level of outside_details:changed 'zeros'; did you mean 'zero'? allowed: off, zero, negated",
        ),
        (
            lambda: preset("trpo", "Hopper-v5", **{PULLED: 1}),
            "outside_details:pulled = 1.0 would have no effect: it needs algorithm = ppo, and here algorithm = trpo; "
            "leave it out (its default is off) or set algorithm = ppo",
        ),
        (
            lambda: Config(environment="Hopper-v5", custom=3),
            "custom is a mapping from 'module:detail' to its level, not 3",
        ),
        (
            lambda: custom_detail(stage="reward", levels=flag(), title="a", rule="b", source="c"),
            "unknown stage 'reward'; did you mean 'rewards'? allowed: rewards, advantages, policy_loss",
        ),
        (
            lambda: custom_detail(stage="rewards", levels=number(above=0), title="a", rule="b", source="c"),
            "a custom detail (a) can be off, so that configs without it stay what they are; give its levels off=True",
        ),
        (
            lambda: custom_detail(
                stage="rewards", levels=integer(off=True, off_word="all"), title="a", rule="b", source="c"
            ),
            "a custom detail (a) is off by the word off, which is read without its module; leave out off_word='all'",
        ),
        (
            lambda: custom_detail(stage="policy_loss", levels=flag(), title="a", rule="b", source="c")(short),
            "the detail test_custom_details:short cannot be called as its stage 'policy_loss' calls it (too many "
            "positional arguments); define it as def short(level, terms, samples)",
        ),
    ],
)
def test_mistakes_teach(make, message):
    with pytest.raises(ConfigError) as raised:
        make()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_a_module_that_breaks_is_named(line, said, tmp_path, monkeypatch):
    (tmp_path / "broken_details.py").write_text(line + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError) as raised:
        config(**{"broken_details:any": 1})
    assert str(raised.value) == (
        f"the detail 'broken_details:any' needs the module 'broken_details', which cannot be imported: {said}"
    )


def test_an_interruption_at_import_passes(tmp_path, monkeypatch):
    (tmp_path / "slow_details.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        config(**{"slow_details:any": 1})
