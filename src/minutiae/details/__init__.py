"""What can be switched: catalogue, config, presets. Standard library only; nothing here trains anything."""

from minutiae.details.config import CATALOGUE, Config, differences, levels_of, numbers, structure
from minutiae.details.detail import NUMBER, STRUCTURE, Detail, detail
from minutiae.details.files import config_hash, from_mapping, from_toml, to_mapping, to_toml
from minutiae.details.presets import preset, preset_names

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
