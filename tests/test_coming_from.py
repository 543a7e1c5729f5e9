"""The tables for people who come from other trainers: complete, and true of our details, defaults and presets."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from minutiae.details import CATALOGUE, preset, preset_names

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "coming-from"
PAGES = ("stable-baselines3", "cleanrl", "tianshou", "rllib")
PRESETS = {"stable-baselines3": "sb3", "cleanrl": "cleanrl"}
HEADING = "| argument | default | detail | level | ours | notes |"

# Of the releases that the pages name.
ARGUMENTS = {
    "stable-baselines3": """policy env learning_rate n_steps batch_size n_epochs gamma gae_lambda clip_range
        clip_range_vf normalize_advantage ent_coef vf_coef max_grad_norm use_sde sde_sample_freq rollout_buffer_class
        rollout_buffer_kwargs target_kl stats_window_size tensorboard_log policy_kwargs verbose seed device
        _init_setup_model""",
    "cleanrl": """exp_name seed torch_deterministic cuda track wandb_project_name wandb_entity capture_video save_model
        upload_model hf_entity env_id total_timesteps learning_rate num_envs num_steps anneal_lr gamma gae_lambda
        num_minibatches update_epochs norm_adv clip_coef clip_vloss ent_coef vf_coef max_grad_norm target_kl batch_size
        minibatch_size num_iterations""",
    "tianshou": """policy critic optim eps_clip dual_clip value_clip advantage_normalization recompute_advantage vf_coef
        ent_coef max_grad_norm gae_lambda max_batchsize gamma return_scaling batch_size update_step_num_repetitions
        collection_step_num_env_steps collection_step_num_episodes max_epochs epoch_num_steps""",
    "rllib": """lr gamma lambda_ use_critic use_gae use_kl_loss kl_coeff kl_target vf_loss_coeff entropy_coeff
        clip_param vf_clip_param grad_clip grad_clip_by num_epochs minibatch_size shuffle_batch_per_epoch
        train_batch_size_per_learner num_env_runners rollout_fragment_length""",
}


class Row(NamedTuple):
    """One line of a table; texts without their backquotes."""

    argument: str
    default: str
    detail: str
    level: str
    ours: str
    notes: str


def rows(page: str) -> list[Row]:
    """All rows of all tables of a page."""
    found, inside = [], False
    for line in (FOLDER / f"{page}.md").read_text().splitlines():
        inside = line.startswith("|") and (inside or line == HEADING)
        if inside and line != HEADING and not line.startswith("|---"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 6, line
            found.append(Row(cells[0], cells[1], *(cell.strip("`") for cell in cells[2:5]), cells[5]))
    assert len(found) > 20
    return found


def every_row() -> list[pytest.ParameterSet]:
    return [pytest.param(page, row, id=f"{page}-{row.argument}") for page in PAGES for row in rows(page)]


@pytest.mark.parametrize(("page", "row"), every_row())
def test_details_levels_and_defaults_exist(page: str, row: Row) -> None:
    assert row.default
    if row.detail == "-":
        assert (row.level, row.ours) == ("", "")
        return
    entry = CATALOGUE[row.detail]
    if row.ours:
        assert entry.parse(row.ours) == entry.default
    else:
        assert row.detail == "environment"
    if row.level:
        level = entry.parse(row.level)
        if page in PRESETS:
            assert getattr(preset(PRESETS[page], "Hopper-v5"), row.detail) == level
    else:
        # A level that depends on numbers of the caller's own; what it is stands in the notes.
        assert row.notes or row.default == "required" or row.detail == "environment"


@pytest.mark.parametrize("page", PAGES)
def test_every_argument_has_a_row(page: str) -> None:
    named = {name for row in rows(page) for name in re.findall(r"`([^`]+)`", row.argument)}
    assert set(ARGUMENTS[page].split()) <= named


@pytest.mark.parametrize("page", sorted(PRESETS))
def test_what_a_preset_has_away_from_ours_is_told(page: str) -> None:
    config, told = preset(PRESETS[page], "Hopper-v5"), {row.detail for row in rows(page)}
    away = {name for name, entry in CATALOGUE.items() if getattr(config, name) != entry.default}
    assert away - {"environment"} <= told


def test_words_in_backquotes_that_look_like_ours_are() -> None:
    for page in ("README", *PAGES):
        text = (FOLDER / f"{page}.md").read_text()
        for option in re.findall(r"--([a-z][a-z-]+)", text):
            known = {*CATALOGUE, "seed", "seeds", "name", "sink", "deterministic"}
            assert option.replace("-", "_") in known, f"{page}: --{option}"
        for name in re.findall(r"minutiae (?:train|presets) (\w+)", text):
            assert name in preset_names(), f"{page}: {name}"


@pytest.mark.skipif(importlib.util.find_spec("stable_baselines3") is None, reason="Stable-Baselines3 is not installed")
def test_arguments_and_defaults_are_those_of_the_installed_stable_baselines3() -> None:
    from stable_baselines3 import PPO

    parameters = inspect.signature(PPO).parameters
    assert list(parameters) == ARGUMENTS["stable-baselines3"].split()
    written = {row.argument.strip("`"): row.default.strip("`") for row in reversed(rows("stable-baselines3"))}
    for name, parameter in parameters.items():
        if isinstance(parameter.default, float):
            assert float(written[name]) == parameter.default
        elif parameter.default is inspect.Parameter.empty:
            assert written[name] == "required"
        else:
            assert written[name].replace('"', "'") == repr(parameter.default)
