"""Since when a process of this machine runs, from what its start time is kept as."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime


def process_began(started: str) -> datetime | None:
    """When the process began of which ``process_start_time`` said this; None where that cannot be told.

    Linux only: there the start is kept in clock ticks since the machine was started.
    """
    ticks = started.partition("@")[0]
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    if clock is None or not ticks.isdecimal():
        return None
    up_since = time.time() - time.clock_gettime(clock)
    return datetime.fromtimestamp(up_since + int(ticks) / os.sysconf("SC_CLK_TCK"), UTC)
