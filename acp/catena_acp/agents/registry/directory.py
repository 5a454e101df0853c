"""The directory of installed agents and of the registry's data, and how a file there is written.

Completion and the first frame look for installed agents, and need nothing of the registry's data for that.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from catena_store.database.location import data_directory


def agents_directory() -> Path:
    """The directory of installed agents and of the registry's data."""
    return data_directory() / "agents"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader finds all of it or the old one, also after a crash. Raises OSError."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
