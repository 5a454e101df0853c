"""Room on the disk of the snapshots: the store, and everybody else's work, goes first."""

from __future__ import annotations

import os
from pathlib import Path

_LEAST_FREE = 200_000_000  # bytes that stay free whatever is kept
_LEAST_SHARE = 0.02  # of the whole disk
_PER_FILE = 4_096  # bytes that a small content takes beside its own


def want_of_room(place: Path, sizes: list[int]) -> str | None:
    """Why files of these sizes are not to be kept on the disk of a place; None where there is room for them.

    As much stays free as the larger of 200 MB and 2 % of the disk. Raises OSError.
    """
    disk = os.statvfs(place)
    free, whole = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    least = max(_LEAST_FREE, int(whole * _LEAST_SHARE))
    needed = sum(sizes) + len(sizes) * _PER_FILE
    if free - needed >= least:
        return None
    need = f", these files need {_megabytes(needed)}" if sizes else ""
    return f"the disk has {_megabytes(free)} free{need}, and {_megabytes(least)} must stay free"


def has_room_to_rewrite(place: Path, size: int) -> bool:
    """Whether so many bytes can be written beside those that they replace: in half of what is free. Raises OSError."""
    disk = os.statvfs(place)
    return size <= disk.f_bavail * disk.f_frsize // 2


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
