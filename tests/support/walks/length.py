"""How far random walks go: a short way by default, further by ``CATENA_WALKS``."""

from __future__ import annotations

import os


def walks(few: int) -> int:
    """So many, times what ``CATENA_WALKS`` says."""
    return max(1, round(few * float(os.environ.get("CATENA_WALKS", "1"))))
