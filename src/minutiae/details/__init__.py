"""What can be switched: catalogue, config, presets. Standard library only; nothing here trains anything."""

from minutiae.details.config import CATALOGUE, Config, differences, levels_of
from minutiae.details.detail import NUMBER, STRUCTURE, Detail, detail
from minutiae.details.presets import preset, preset_names
from minutiae.details.program import numbers, structure
from minutiae.details.serialization import config_hash, from_mapping, from_toml, to_mapping, to_toml

__all__ = [
    "CATALOGUE",
    "NUMBER",
    "STRUCTURE",
    "Config",
    "Detail",
    "config_hash",
    "detail",
    "differences",
    "from_mapping",
    "from_toml",
    "levels_of",
    "numbers",
    "preset",
    "preset_names",
    "structure",
    "to_mapping",
    "to_toml",
]
