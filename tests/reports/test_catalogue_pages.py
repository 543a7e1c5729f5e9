"""The catalogue as text: every detail is there, with its levels in each preset and the code that implements it."""

from __future__ import annotations

import ast
import dataclasses

import pytest

from minutiae.details import CATALOGUE, preset, preset_names
from minutiae.errors import ConfigError, MinutiaeError
from minutiae.reports.catalogue import detail_text, details_text, presets_text
from minutiae.reports.implementation import implementation


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_detail_leads_to_its_code(name: str) -> None:
    found = implementation(CATALOGUE[name])
    assert found.path.read_text().splitlines()[found.line - 1] == found.text.splitlines()[0]
    (node,) = ast.parse(_dedented(found.text)).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    assert node.name == CATALOGUE[name].where.replace(":", ".").split(".")[-1]


def _dedented(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return "\n".join(line[indent:] for line in text.splitlines())


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_detail_in_full(name: str) -> None:
    detail = CATALOGUE[name]
    text = " ".join(detail_text(name).split())
    for part in (detail.title, detail.levels.describe(), detail.rule, detail.finding, detail.source, detail.kind):
        assert " ".join(part.split()) in text
    for who, level in detail.who.items():
        assert f"{who} {level}" in text


def test_page_of_one_detail() -> None:
    text = detail_text("value-clipping")
    assert text.startswith("value_clipping: value clipping\n")
    assert "levels     off, max, min, clipped_only, max_signed\n" in text
    assert "presets    ppo ppo-m ppo-noclip trpo: off, trpo+: max\n" in text
    assert "(minutiae.objectives.values:clipped_value_loss)" in text
    assert "def clipped_value_loss(" not in text
    assert "def clipped_value_loss(" in detail_text("value_clipping", code=True)


def test_table_has_every_detail_once() -> None:
    first_words = [line.split(" ")[0] for line in details_text().splitlines() if line]
    assert [word for word in first_words if word in CATALOGUE] == list(CATALOGUE)


def test_table_shows_what_presets_differ_in() -> None:
    lines = {line.split()[0]: line.split(maxsplit=3)[1:] for line in details_text().splitlines() if line}
    assert lines["value_clipping"] == ["number", "off", "trpo+: max"]
    assert lines["ratio_clipping"] == ["number", "0.2", "ppo-noclip: off"]
    assert lines["minibatches"] == ["structure", "32"]
    assert lines["max_kl"][1] == "(0.01)"


@pytest.mark.parametrize("name", preset_names())
def test_table_of_one_preset(name: str) -> None:
    config = preset(name, "Hopper-v5")
    lines = {line.split()[0]: line for line in details_text(name).splitlines() if line}
    for detail in CATALOGUE.values():
        if detail.name != "environment":
            level = detail.format(getattr(config, detail.name))
            shown = level if config.applies(detail.name) else f"({level})"
            assert lines[detail.name].split()[2] == shown
        assert lines[detail.name].endswith(detail.levels.describe())


def test_presets() -> None:
    text = presets_text()
    for name in preset_names():
        assert f"{name}\n" in text
    assert "ppo-noclip\n" in text
    assert "  ratio_clipping off\n" in text
    assert "--flavour" not in text
    assert "  not matched: last rollout, last minibatch, gSDE," in text
    gaps = presets_text("sb3")
    assert "not matched: last rollout. There total_timesteps is rounded up to whole rollouts; here" in gaps
    assert "--flavour" not in gaps
    flavours = presets_text("trpo")
    assert "trpo --flavour paper-artifact on Humanoid\n" in flavours


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: detail_text("value_cliping"), "unknown detail 'value_cliping'; did you mean 'value_clipping'"),
        (lambda: details_text("pro"), "unknown preset 'pro'; did you mean 'ppo'"),
        (lambda: presets_text("pro"), "unknown preset 'pro'; did you mean 'ppo'"),
    ],
)
def test_unknown_names(call: object, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        call()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("minutiae.nowhere:function", "the source of minutiae.nowhere is not installed"),
        ("minutiae.objectives.values:nothing", r"values\.py has no nothing; the installation is damaged"),
    ],
)
def test_missing_code(where: str, text: str) -> None:
    with pytest.raises(MinutiaeError, match=text):
        implementation(dataclasses.replace(CATALOGUE["value_clipping"], where=where))
