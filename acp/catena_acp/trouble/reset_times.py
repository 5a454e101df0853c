"""Reset times of limits, read from an error's data or words. Pure.

A time of day without a zone is in this machine's zone, where the agent runs; one that has passed today means tomorrow.
It is what clocks show there then, so also after they are set forward or back. Times in the past, or more than 400 days
ahead, are ignored, and so is a time in a zone that is not known here: as another zone's, it would be wrong by hours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from itertools import islice
from typing import Any, Final

_MAX_WAIT: Final = timedelta(days=400)
_DEPTH: Final = 6  # levels of nested data that are read
_VALUES: Final = 1_000  # values of nested data that are read

_MOMENTS: Final = frozenset(
    [
        "resetsat",
        "resetat",
        "resettime",
        "resetstime",
        "resets",
        "reset",
        "resettimestamp",
        "ratelimitreset",
        "xratelimitreset",
        "xratelimitresetrequests",
        "xratelimitresettokens",
        "anthropicratelimitunifiedreset",
    ]
)
_SECONDS: Final = frozenset(
    [
        "retryafter",
        "retryafterseconds",
        "retryaftersec",
        "retryaftersecs",
        "resetsinseconds",
        "resetsin",
        "resetinseconds",
        "retrydelay",
        "retryin",
    ]
)
_MILLISECONDS: Final = frozenset(["retryafterms", "retryaftermillis", "retrydelayms", "resetsinms"])

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_EPOCH = re.compile(r"\|(\d{10}|\d{13})(?!\d)")
_SPAN = re.compile(
    r"\b(?:try again|retry|retry after|resets?|reset|available(?: again)?|wait|comes? back)\s+"
    r"(?:(?:in|after|for)\s+)?(?:about\s+|another\s+)?"
    r"((?:\d+(?:\.\d+)?\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])[\s,]*(?:and\s+)?){1,8})",
    re.IGNORECASE,
)
_PART = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(d|h|m|s)", re.IGNORECASE)
_UNITS: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_ZONE: Final = (
    r"(?:\s*\(?(?P<zone>(?:(?:UTC|GMT)[+\u2212-]\d|[+\u2212-]\d\d)\d?(?::?\d\d)?(?![\d:A-Z])"
    r"|[A-Z][A-Z_]{1,19}(?:/[A-Z0-9_+-]{1,30}){1,2}|(?-i:[A-Z]{1,4}T|UTC|MSK|Z)\b"
    r"|(?:pacific|mountain|central|eastern)(?: standard| daylight)? time\b)\)?)?"
)
_ISO = re.compile(
    r"\b(?:resets?|until|again|after)\b\D{0,16}?"
    r"(?P<moment>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)" + _ZONE,
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"\b(?:resets?|resetting|try again|retry|available(?: again)?|until)\b\s*(?:(?:at|on|by)\s+)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>20\d\d))?,?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?\s*(?:(?P<half>[ap])(?:m|\.m\.?)(?![a-z]))?" + _ZONE,
    re.IGNORECASE,
)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+\u2212-])(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)

# What the time zone database does not have by these names, or on some systems not any more. IST and CST are other zones
# in other countries: what clocks are called on this machine goes before it.
_PLACES: Final = {
    "PT": "America/Los_Angeles",
    "MT": "America/Denver",
    "CT": "America/Chicago",
    "ET": "America/New_York",
    "US/PACIFIC": "America/Los_Angeles",
    "US/MOUNTAIN": "America/Denver",
    "US/CENTRAL": "America/Chicago",
    "US/EASTERN": "America/New_York",
}
_BY_HOURS: Final = (
    (-10, "HST"), (-9, "AKST"), (-8, "AKDT PST"), (-7, "PDT MST"), (-6, "MDT CST"), (-5, "CDT EST"), (-4, "EDT AST"),
    (-3, "ADT BRT ART"), (0, "Z UTC GMT WET"), (1, "BST WEST CET"), (2, "CEST EET SAST"), (3, "EEST MSK"), (5.5, "IST"),
    (8, "SGT HKT AWST"), (9, "JST KST"), (10, "AEST"), (11, "AEDT"), (12, "NZST"), (13, "NZDT"),
)  # fmt: skip
_OFFSETS: Final = {name: timedelta(hours=hours) for hours, names in _BY_HOURS for name in names.split()}


def end_in_data(data: Any, now: datetime) -> datetime | None:
    """The earliest reset time in an error's data; None if there is none."""
    items = islice(_items(data), _VALUES)
    found = [at for key, value in items if (at := _by_key(key, value, now))]
    return min(found, default=None)


def end_in_words(text: str, now: datetime, zone: tzinfo | None = None) -> datetime | None:
    """The reset time in a text; ``zone`` is this machine's where it is None."""
    if epoch := _EPOCH.search(text):
        return _moment(int(epoch[1]), now)
    if iso := _ISO.search(text):
        return _iso_time(iso, now, zone)
    if span := _SPAN.search(text):
        return _after(sum(float(n) * _UNITS[unit.lower()] for n, unit in _PART.findall(span[1])), now)
    for clock in _CLOCK.finditer(text):
        if at := _clock_time(clock, now, zone):
            return at
    return None


def _items(data: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every key and value in nested data, down to six levels."""
    if depth > _DEPTH:
        return
    if isinstance(data, Mapping):
        for key, value in islice(data.items(), _VALUES):
            yield str(key), value
            yield from _items(value, depth + 1)
    elif isinstance(data, list | tuple):
        for value in data[:_VALUES]:
            yield from _items(value, depth + 1)


def _by_key(key: str, value: Any, now: datetime) -> datetime | None:
    name = re.sub(r"[^a-z]", "", key.lower())
    if name in _MOMENTS:
        return _moment(value, now)
    if name in _SECONDS or name in _MILLISECONDS:
        seconds = _number(value)
        if seconds is None and isinstance(value, str):
            from email.utils import parsedate_to_datetime  # for this alone

            try:
                return _plausible(parsedate_to_datetime(value), now)
            except (ValueError, OverflowError):
                seconds = _span(value)
        if seconds is None:
            return None
        return _after(seconds / 1000 if name in _MILLISECONDS else seconds, now)
    return None


def _span(text: str) -> float | None:
    """The seconds of a duration such as `34.07s` or `1m30s`."""
    parts = _PART.findall(text[:40])
    return sum(float(n) * _UNITS[unit.lower()] for n, unit in parts) if parts else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _after(seconds: float, now: datetime) -> datetime | None:
    if not 0 < seconds <= _MAX_WAIT.total_seconds():
        return None
    return now + timedelta(seconds=seconds)


def _moment(value: Any, now: datetime) -> datetime | None:
    """A time given in seconds or milliseconds since 1970, or in ISO 8601 (UTC where it has no zone)."""
    number = _number(value)
    try:
        if number is not None:
            return _plausible(datetime.fromtimestamp(number / 1000 if number > 1e11 else number, UTC), now)
        if isinstance(value, str):
            at = datetime.fromisoformat(re.sub(r"\s?(?:UTC|Z)$", "+00:00", value.strip()[:40], flags=re.I))
            return _plausible(at, now)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _plausible(at: datetime, now: datetime) -> datetime | None:
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at.astimezone(UTC) if now < at <= now + _MAX_WAIT else None


def _clock_time(found: re.Match[str], now: datetime, zone: tzinfo | None) -> datetime | None:
    half, minute = (found["half"] or "").lower()[:1], found["minute"]
    hour = int(found["hour"])
    if not half and minute is None:
        return None  # a number alone is not a time of day
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        zone = _zone(found["zone"], now, zone)
        today = now.astimezone(zone).date()
        clock = time(hour, int(minute or 0))
    except (KeyError, ValueError):
        return None
    # A time that clocks show twice, where they are set back: the first of the two that is still to come.
    moments = [
        _on_clocks(datetime.combine(day, clock.replace(fold=fold)), zone)
        for day in _days(found, today)
        for fold in (0, 1)
    ]
    return next((at for moment in moments if (at := _plausible(moment, now))), None)


def _days(found: re.Match[str], today: date) -> Iterator[date]:
    """The days that are meant, the nearest first."""
    if not found["month"]:
        yield from (today, today + timedelta(days=1))
        return
    month = _MONTHS.index(found["month"].lower()[:3]) + 1
    for year in [int(found["year"])] if found["year"] else [today.year, today.year + 1]:
        with suppress(ValueError):  # it has no such day
            yield date(year, month, int(found["day"]))


def _iso_time(found: re.Match[str], now: datetime, zone: tzinfo | None) -> datetime | None:
    """A date with a time, in UTC if it has no zone."""
    try:
        moment = datetime.fromisoformat(found["moment"])
        return _plausible(_on_clocks(moment, _zone(found["zone"] or "UTC", now, zone)), now)
    except (KeyError, ValueError, OverflowError):
        return None


def _on_clocks(shown: datetime, zone: tzinfo | None) -> datetime:
    """The moment at which the clocks of a zone, or of this machine, show a date and time."""
    return datetime.fromtimestamp(shown.replace(tzinfo=zone).timestamp(), UTC)


def _zone(name: str | None, now: datetime, here: tzinfo | None) -> tzinfo | None:
    """A time zone by what it is called; ``here`` where it has no name. Raises KeyError if it is not known."""
    if name is None:
        return here
    if offset := _OFFSET.fullmatch(name):
        sign = 1 if offset[1] == "+" else -1
        return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0)))
    short = "".join(word[0] for word in name.split()).upper() if " " in name else name.upper()
    for days in range(0, 366, 30):  # summer time has another name
        clock = (now + timedelta(days=days)).astimezone(here)
        if clock.tzname() == short and (own := clock.utcoffset()) is not None:
            return timezone(own)
    if short in _OFFSETS:
        return timezone(_OFFSETS[short])
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(_PLACES.get(short, name))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise KeyError(name) from error


def format_time(at: datetime, now: datetime) -> str:
    """Format a time as `17:00`, `tomorrow 09:00`, `24 Nov 09:00` or `2 Jan 2027 09:00`, rounded up to a minute."""
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
