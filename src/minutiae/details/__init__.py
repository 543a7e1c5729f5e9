"""What can be switched: catalogue, config, presets. Standard library only; nothing here trains anything."""

from minutiae.details.checks import check_actions
from minutiae.details.config import CATALOGUE, THEMES, Config, differences, entry_of, levels_of
from minutiae.details.custom import STAGES, Bound, CustomDetail, bound, custom_detail, is_custom, is_custom_name
from minutiae.details.detail import IMPLEMENTATIONS, NUMBER, STRUCTURE, Detail, detail
from minutiae.details.levels import choice, flag, integer, number
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
    "STAGES",
    "STRUCTURE",
    "THEMES",
    "Bound",
    "Config",
    "CustomDetail",
    "Detail",
    "Mismatch",
    "Preset",
    "bound",
    "check_actions",
    "choice",
    "config_hash",
    "custom_detail",
    "detail",
    "differences",
    "entry_of",
    "flag",
    "flavoured_names",
    "from_mapping",
    "from_toml",
    "integer",
    "is_custom",
    "is_custom_name",
    "levels_of",
    "number",
    "numbers",
    "preset",
    "preset_names",
    "preset_table",
    "structure",
    "to_mapping",
    "to_toml",
]
