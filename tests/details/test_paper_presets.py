"""The study's presets, row by row against its table, and every difference between code and article."""

from __future__ import annotations

import pytest

from minutiae.details import CATALOGUE, differences, preset, preset_table
from minutiae.details.paper import DIFFERENCES
from minutiae.details.paper_rows import ROWS, paper_task

# MadryLab/implementation-matters, configuration files. Columns: task, agent, policy rate, value rate, first
# and last radius, reward scaling, initialization, annealing, value clipping, and what else is not as in other
# rows: entropy 0, lambda .95, reward and observation clipping 10 (off in ppo-m, trpo), gradient clipping off.
TABLE = """
Hopper   | ppo        | 3e-4    | 2.5e-4 | -   -   | returns | orth | T | F |
Hopper   | ppo-m      | 1.7e-4  | 4e-4   | -   -   | none    | xav  | F | F |
Hopper   | ppo-noclip | 6e-5    | 4e-4   | -   -   | rewards | orth | T | F | e=-.005 l=.925 r=2.5 g=4
Hopper   | trpo       | -       | 2e-4   | .13 .13 | none    | xav  | F | F |
Hopper   | trpo+      | -       | 2e-4   | .04 .07 | returns | orth | F | F | g=1.0
Walker2d | ppo        | 4e-4    | 3e-4   | -   -   | returns | orth | T | T |
Walker2d | ppo-m      | 1e-4    | 2e-4   | -   -   | none    | xav  | F | F |
Walker2d | ppo-noclip | 7.25e-5 | 6e-4   | -   -   | rewards | orth | T | F | e=-.01 l=.85 r=30 o=off g=.1
Walker2d | trpo       | -       | 3e-4   | .04 .04 | none    | xav  | F | F |
Walker2d | trpo+      | -       | 1e-4   | .07 .04 | returns | orth | F | F | g=1.0
Humanoid | ppo        | 1.5e-4  | 1e-4   | -   -   | returns | orth | T | T |
Humanoid | ppo-m      | 9e-5    | 4e-4   | -   -   | none    | xav  | F | F |
Humanoid | ppo-noclip | 2e-5    | 5e-5   | -   -   | returns | xav  | F | T | e=.005 l=.85 g=.5
Humanoid | trpo       | -       | 3e-4   | .07 .07 | none    | xav  | F | F |
Humanoid | trpo+      | -       | 5e-5   | .1  .05 | returns | xav  | F | T | l=.85 g=.5
"""


def _rows():
    for line in TABLE.strip().splitlines():
        task, name, rate, value_rate, radii, scaling, scheme, annealed, clipped, other = (
            cell.strip() for cell in line.split("|")
        )
        extra = dict(pair.split("=") for pair in other.split())
        yield pytest.param(
            task,
            name,
            rate,
            value_rate,
            radii.split(),
            scaling,
            scheme,
            annealed,
            clipped,
            extra,
            id=f"{task}-{name}",
        )


@pytest.mark.parametrize(
    ("task", "name", "rate", "value_rate", "radii", "scaling", "scheme", "annealed", "clipped", "extra"),
    list(_rows()),
)
@pytest.mark.parametrize("flavour", ["paper-artifact", "paper-text"])
def test_rows(flavour, task, name, rate, value_rate, radii, scaling, scheme, annealed, clipped, extra):
    config = preset(name, f"{task}-v4", flavour)
    text = flavour == "paper-text"
    trpo, minimal = name.startswith("trpo"), name in ("ppo-m", "trpo")

    assert config.algorithm == ("trpo" if trpo else "ppo")
    assert config.applies("learning_rate") is not trpo
    assert rate == "-" if trpo else config.learning_rate == float(rate)
    assert config.value_learning_rate == float(value_rate)
    assert config.learning_rate_annealing == ("linear" if annealed == "T" else None)
    assert config.gae_lambda == float(extra.get("l", ".95"))
    assert (config.entropy_coefficient or 0.0) == float(extra.get("e", "0"))
    assert config.reward_clipping == (None if minimal else float(extra.get("r", "10")))
    assert config.observation_clipping == (None if minimal or extra.get("o") == "off" else 10.0)
    assert config.observation_normalization is (None if minimal and text else True)

    described = {"none": None, "returns": "returns", "rewards": "returns" if text else "rewards"}
    assert config.reward_scaling == described[scaling]
    assert config.value_clipping == ({"T": "min" if text else "max", "F": None}[clipped])
    if trpo:
        assert config.max_kl == float(radii[0])
        moves = radii[0] != radii[1]
        assert config.max_kl_final == (float(radii[1]) if text and moves else None)

    gains = (
        config.initialization_hidden_gain,
        config.initialization_policy_head_gain,
        config.initialization_value_head_gain,
    )
    if scheme == "xav":
        assert (config.initialization, *gains) == ("xavier_uniform", 1.0, 1.0, 1.0)
    else:
        assert config.initialization == "orthogonal"
        assert gains == (pytest.approx(2**0.5), 0.01, 1.0)

    configured = float(extra["g"]) if "g" in extra else None
    if text:
        assert config.gradient_clipping == (None if minimal else configured or 0.5)
        assert config.gradient_clipping_scope == "joint"
    else:
        assert config.gradient_clipping == (None if trpo else configured)
        assert config.gradient_clipping_scope == ("joint" if trpo or configured is None else "policy_only")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.task}-{row.preset}")
def test_what_all_released_agents_share(row):
    config = preset(row.preset, f"{row.task}-v4", "paper-artifact")
    assert (config.iterations, config.samples_per_iteration, config.steps) == (488, 2048, 999_424)
    assert (config.environments, config.rollout_length) == (1, 2048)
    assert (config.minibatches, config.minibatch_size, config.value_epochs) == (32, 64, 10)
    assert config.environment_reset_each_iteration is True
    assert config.final_state_bootstrap == "self"
    assert config.truncation_bootstrap == "terminal"
    assert config.discount == 0.99
    assert config.action_bound is None
    assert config.observation_normalization is True
    assert config.observation_normalization_estimator == "sample"
    assert config.value_target_terminal_mask is True
    assert config.advantage_normalization == ("batch" if row.is_trpo else "minibatch")
    assert config.advantage_normalization_ddof == 1
    assert config.update_order == "value_first"
    assert config.adam_epsilon == 1e-5
    assert (config.policy_hidden_sizes, config.value_hidden_sizes, config.activation) == (
        (64, 64),
        (64, 64),
        "tanh",
    )
    if config.reward_scaling:
        assert config.reward_scaling_estimator == "sample"
    if config.reward_scaling == "returns":
        assert config.reward_scaling_reset == "on_reset"
    if config.value_clipping:
        assert config.value_clipping_range == 0.2
    if row.is_trpo:
        assert (config.fisher_fraction, config.fisher_subset) == (0.1, "random")
        assert (config.conjugate_gradient_iterations, config.conjugate_gradient_damping) == (10, 0.1)
        assert (config.line_search, config.line_search_accept_ratio) == ("improvement_ratio", 0.1)
        assert config.line_search_backtracks == 10
    else:
        assert config.separate_optimizers is True
        assert config.epochs == 10
        assert config.ratio_clipping == (None if row.preset == "ppo-noclip" else 0.2)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.task}-{row.preset}")
def test_article_and_code_differ_as_listed(row):
    environment = f"{row.task}-v4"
    found = differences(
        preset(row.preset, environment, "paper-text"), preset(row.preset, environment, "paper-artifact")
    )
    expected = {
        "environment_reset_each_iteration": None,
        "final_state_bootstrap": "next",
        "value_target_terminal_mask": None,
    }
    if row.preset in ("ppo-m", "trpo"):
        expected |= {"observation_normalization": None, "observation_normalization_estimator": "population"}
    else:
        expected |= {"reward_scaling_reset": "never"}
    if row.reward_scaling == "rewards":
        expected |= {"reward_scaling": "returns"}
    if row.value_clipping:
        expected |= {"value_clipping": "min"}
    if row.preset == "ppo":
        expected |= {"gradient_clipping": 0.5}
    if row.preset == "ppo-noclip":
        expected |= {"gradient_clipping_scope": "joint"}
    if row.preset == "trpo+":
        expected |= {"gradient_clipping": row.gradient_clipping, "max_kl_final": row.max_kl_final}
    assert found == expected


def test_every_difference_has_both_sides_a_source_and_an_effect():
    for difference in DIFFERENCES:
        assert "MadryLab/implementation-matters" in difference.source
        assert "Engstrom" in difference.source
        assert difference.article != difference.artifact
        assert any(difference.levels(row) for row in ROWS)
        for row in ROWS:
            assert set(difference.levels(row)) <= set(CATALOGUE)
    topics = [difference.topic for difference in DIFFERENCES]
    assert len(topics) == len(set(topics)) == 9


def test_nothing_that_applies_is_left_to_our_defaults():
    ours = {"environment", "segment_iterations", "held_out_diagnostics", "environment_reset_each_iteration"}
    for entry in preset_table():
        if entry.flavour is not None:
            config = preset(entry.name, f"{entry.task}-v4", entry.flavour)
            applying = {name for name in CATALOGUE if config.applies(name)}
            assert applying - set(entry.levels) - ours == set()


@pytest.mark.parametrize(
    ("environment", "task"),
    [
        ("Hopper-v2", "Hopper"),
        ("Hopper-v5", "Hopper"),
        ("Walker2d-v3", "Walker2d"),
        ("Humanoid-v4", "Humanoid"),
        ("gymnasium:Humanoid-v5", "Humanoid"),
        ("envpool:Hopper-v4", "Hopper"),
        ("Hopper-v1", None),
        ("Hopper-v10", None),
        ("HumanoidStandup-v5", None),
        ("hopper-v5", None),
        ("MyHopper-v5", None),
    ],
)
def test_tasks(environment, task):
    assert paper_task(environment) == task
