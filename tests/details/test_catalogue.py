"""The catalogue is complete and true: every entry speaks, names levels that exist and code that exists."""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minutiae
from minutiae.details import CATALOGUE, IMPLEMENTATIONS, NUMBER, REFERENCES, STRUCTURE, THEMES, Config, detail
from minutiae.details.detail import ROOMS
from minutiae.details.levels import Choice, Number, number

SOURCE = Path(minutiae.__file__).parent.parent

# Levels by number: the order in which programs select them. Inserting one moves the codes of those behind it.
ORDERS = {
    "final_state_bootstrap": ("next", "self", "zero"),
    "truncation_bootstrap": ("terminal", "bootstrap", "bootstrap_self", "mask_delta"),
    "value_target": ("gae", "monte_carlo"),
    "advantage_normalization": (None, "batch", "minibatch"),
    "ratio_clipping_annealing": (None, "linear"),
    "kl_penalty": (None, "fixed", "adaptive"),
    "target_kl_stop_estimator": ("k1", "k2", "k3", "exact"),
    "target_kl_stop_check": ("per_minibatch", "per_epoch"),
    "target_kl_stop_networks": ("policy", "both"),
    "line_search": ("improvement_ratio", "baselines", "strict"),
    "value_clipping": (None, "max", "min", "clipped_only", "max_signed"),
    "learning_rate_annealing": (None, "linear", "linear_per_gradient_step"),
    "learning_rate_annealing_networks": ("both", "policy", "value"),
    "adam_epsilon_style": ("after_correction", "before_correction"),
    "gradient_clipping_scope": ("joint", "per_network", "policy_only"),
}
STRUCTURES = {
    "environment",
    "algorithm",
    "steps",
    "segment_iterations",
    "held_out_diagnostics",
    "environments",
    "rollout_length",
    "action_bound",
    "policy_hidden_sizes",
    "value_hidden_sizes",
    "activation",
    "fisher_fraction",
    "conjugate_gradient_iterations",
    "line_search_backtracks",
    "value_epochs",
    "optimizer",
    "separate_optimizers",
    "update_order",
    "epochs",
    "minibatches",
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_entries_speak(name):
    entry = CATALOGUE[name]
    assert entry.name == name
    assert entry.theme in THEMES
    assert entry.room in ROOMS
    assert 1 <= len(entry.title.split()) <= 8
    for prose in (entry.rule, entry.source, entry.finding):
        assert prose.strip() == prose and len(prose) > 3
        assert "  " not in prose
    assert entry.rule.endswith(".") and entry.finding.endswith(".")


@pytest.mark.parametrize("name", CATALOGUE)
def test_rules_explain_every_named_level(name):
    entry = CATALOGUE[name]
    # The names of activations are the rule.
    if isinstance(entry.levels, Choice) and name != "activation":
        assert [level for level in entry.levels.names if level not in entry.rule] == []


@pytest.mark.parametrize("name", CATALOGUE)
def test_implementations_use_levels_that_exist(name):
    entry = CATALOGUE[name]
    assert set(entry.who) <= set(IMPLEMENTATIONS)
    for written in entry.who.values():
        assert entry.parse(written) == entry.check(entry.parse(written))


def test_implementations_by_hand():
    who = {
        (name, implementation): CATALOGUE[name].parse(CATALOGUE[name].who[implementation])
        for name, implementation in (
            ("value_clipping", "ppo2"),
            ("value_clipping", "sb3"),
            ("truncation_bootstrap", "cleanrl"),
            ("reward_scaling_reset", "cleanrl"),
            ("environment_reset_each_iteration", "implementation-matters"),
            ("adam_epsilon_style", "ppo2"),
            ("observation_normalization", "sb3"),
            ("value_loss_coefficient", "ppo2"),
        )
    }
    assert list(who.values()) == ["max", None, "terminal", "gymnasium", True, "before_correction", None, 0.25]


def test_kinds():
    assert {name for name, entry in CATALOGUE.items() if entry.kind == STRUCTURE} == STRUCTURES
    assert {entry.kind for entry in CATALOGUE.values()} == {NUMBER, STRUCTURE}


def test_orders():
    chosen = {
        name: entry.levels.order
        for name, entry in CATALOGUE.items()
        if isinstance(entry.levels, Choice) and entry.kind == NUMBER and entry.room == "learner"
    }
    assert chosen == ORDERS
    for name, order in ORDERS.items():
        assert [CATALOGUE[name].encode(level) for level in order] == list(range(len(order)))


def test_encoding_of_off():
    ranges = {name for name, entry in CATALOGUE.items() if isinstance(entry.levels, Number) and entry.levels.off}
    assert {name: CATALOGUE[name].encode(None) for name in ranges if CATALOGUE[name].kind == NUMBER} == {
        "observation_clipping": float("inf"),
        "reward_clipping": float("inf"),
        "ratio_clipping": float("inf"),
        "dual_clipping": float("inf"),
        "target_kl_stop": float("inf"),
        "entropy_coefficient": 0.0,
        "max_kl_final": float("inf"),
        "gradient_clipping": float("inf"),
    }


@pytest.mark.parametrize("name", ["environment", "policy_hidden_sizes"])
def test_text_and_sizes_have_no_number(name):
    with pytest.raises(TypeError, match=f"^{name} has no number: it is part of the structure$"):
        CATALOGUE[name].encode("x")


def test_a_field_is_its_entry():
    @dataclasses.dataclass
    class Themed:
        strength: float = detail(
            default=1.0,
            levels=number(above=0),
            kind=NUMBER,
            room="learner",
            title="strength",
            rule="x <- strength * x.",
            source="none",
            finding="None.",
            where="a:b",
        )

    (field,) = dataclasses.fields(Themed)
    assert Themed().strength == 1.0
    assert field.metadata["detail"].rule == "x <- strength * x."
    assert {name: dataclasses.replace(CATALOGUE[name], name="", theme="") for name in CATALOGUE} == {
        field.name: field.metadata["detail"] for field in dataclasses.fields(Config) if field.name != "custom"
    }


def _defines(tree: ast.Module, path: list[str]) -> bool:
    body: list[ast.stmt] = tree.body
    for part in path:
        found = [
            node
            for node in body
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == part
        ]
        if not found:
            return False
        body = found[0].body
    return True


@pytest.mark.parametrize("name", CATALOGUE)
def test_where_names_code_that_exists(name):
    module, _, path = CATALOGUE[name].where.partition(":")
    file = SOURCE / (module.replace(".", "/") + ".py")
    assert file.exists(), f"{name}: no module {module}"
    assert _defines(ast.parse(file.read_text()), path.split(".")), f"{name}: {module} does not define {path}"


def test_importing_details_needs_the_standard_library_only():
    probe = "import sys, minutiae.details; print(*sorted({n.partition('.')[0] for n in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split()
    assert {"numpy", "jax", "polars", "gymnasium", "envpool"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_author_and_repository_cited_is_in_the_references(name):
    entry = CATALOGUE[name]
    for prose in (entry.source, entry.finding):
        for cited in re.findall(r"[A-Z]\w+ (?:et al\.|and Ba) \d{4}|[\w-]+/[\w-]+-\w+|Baselines \w+_?\w*", prose):
            assert cited in REFERENCES
