"""Ids and times: how they are made, and how the tables store times."""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def new_id() -> str:
    """A new id: 80 random bits as 16 characters of lower-case base32."""
    return base64.b32encode(os.urandom(10)).decode("ascii").lower()


def utc_now() -> datetime:
    """The time, aware and in UTC."""
    return datetime.now(UTC)


def to_milliseconds(time: datetime) -> int:
    """An aware time as the tables keep it."""
    return (time - _EPOCH) // _MILLISECOND


def from_milliseconds(milliseconds: int) -> datetime:
    """A time of the tables as an aware one in UTC."""
    return _EPOCH + milliseconds * _MILLISECOND
