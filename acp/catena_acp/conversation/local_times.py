"""Times as a person reads them, in this machine's zone. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta


def time_words(at: datetime, now: datetime) -> str:
    """`17:00`, `tomorrow 09:00`, `24 Nov 09:00`, `2 Jan 2027 09:00`; seconds are rounded up to a whole minute."""
    if at.second or at.microsecond:
        at = at.replace(second=0, microsecond=0) + timedelta(minutes=1)
    here, today = at.astimezone(), now.astimezone().date()
    clock = f"{here:%H:%M}"
    if here.date() == today:
        return clock
    if here.date() == today + timedelta(days=1):
        return f"tomorrow {clock}"
    year = "" if here.year == today.year else f" {here.year}"
    return f"{here.day} {here:%b}{year} {clock}"
