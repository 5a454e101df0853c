"""How long something took, in few characters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def duration_of(data: Mapping[str, Any]) -> float | None:
    """Return the seconds between ``started_at`` and ``ended_at`` of a message's data, if both are known."""
    started, ended = _time(data.get("started_at")), _time(data.get("ended_at"))
    if started is None or ended is None or (started.tzinfo is None) != (ended.tzinfo is None):
        return None
    return max(0.0, (ended - started).total_seconds())


def duration_text(seconds: float, *, precise: bool = True) -> str:
    """Return `0.3 s`, `42 s`, `3 min 12 s` or `2 h 5 min`; not ``precise``: in whole seconds from 1 s on."""
    if seconds < 9.95 and precise:
        return f"{seconds:.1f} s"
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
