"""How long ago something was, as short as a list wants it."""

from __future__ import annotations

from datetime import datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_DATE_AFTER_DAYS = 60


def age(then: datetime, now: datetime) -> str:
    """`now`, `5 min`, `3 h`, `12 d`; the date where it is longer ago than two months."""
    seconds = (now - then).total_seconds()
    if seconds >= _DATE_AFTER_DAYS * 86_400:
        return then.astimezone().date().isoformat()
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"
