"""Which directories have snapshots."""

from __future__ import annotations

from enum import StrEnum


class SnapshotScope(StrEnum):
    """The directories whose files are kept around turns."""

    REPOSITORIES = "repositories"  # those in a git work tree of the person's
    EVERYWHERE = "everywhere"
    OFF = "off"
