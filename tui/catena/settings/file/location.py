"""Where the settings file is."""

from __future__ import annotations

import os
from pathlib import Path

FILE_NAME = "config.toml"


def config_directory() -> Path:
    """The directory of the settings file: ``CATENA_CONFIG_DIR``, or the system's place for configuration."""
    if named := os.environ.get("CATENA_CONFIG_DIR"):
        return Path(named).expanduser()
    from platformdirs import user_config_path

    return user_config_path("catena")


def settings_path() -> Path:
    """The path of the settings file, whether it exists or not."""
    return config_directory() / FILE_NAME
