"""What can be switched: catalogue, config, presets. Standard library only; nothing here trains anything."""

from minutiae.details.checks import check_actions
from minutiae.details.config import CATALOGUE, THEMES, Config, differences, levels_of
from minutiae.details.detail import IMPLEMENTATIONS, NUMBER, STRUCTURE, Detail, detail
from minutiae.details.presets import FLAVOURS, Preset, flavoured_names, preset, preset_names, preset_table
from minutiae.details.program import numbers, structure
from minutiae.details.serialization import config_hash, from_mapping, from_toml, to_mapping, to_toml
from minutiae.details.sources import REFERENCES
from minutiae.details.trainers import Mismatch

__all__ = [
    "CATALOGUE",
    "FLAVOURS",
    "IMPLEMENTATIONS",
    "NUMBER",
    "REFERENCES",
    "STRUCTURE",
    "THEMES",
    "Config",
    "Detail",
    "Mismatch",
    "Preset",
    "check_actions",
    "config_hash",
    "detail",
    "differences",
    "flavoured_names",
    "from_mapping",
    "from_toml",
    "levels_of",
    "numbers",
    "preset",
    "preset_names",
    "preset_table",
    "structure",
    "to_mapping",
    "to_toml",
]
