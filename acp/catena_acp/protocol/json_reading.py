"""Tolerant reading of JSON: a value of an unexpected type counts as absent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

MAX_NAME = 4_000  # characters
MAX_LISTED = 2_000

Json = Mapping[str, Any]


def text_of(holder: Json, name_of: str) -> str | None:
    """The string under ``name``, or None."""
    value = holder.get(name_of)
    return value if isinstance(value, str) else None


def name_of(holder: Json, key: str) -> str | None:
    """The string under ``key``, cut to 4,000 characters; or None."""
    value = holder.get(key)
    return value[:MAX_NAME] if isinstance(value, str) else None


def object_of(holder: Json, name_of: str) -> Json | None:
    """The object under ``name``, or None."""
    value = holder.get(name_of)
    return value if isinstance(value, dict) else None


def objects_in(listed: object, most: int = MAX_LISTED) -> Iterable[dict[str, Any]]:
    """The objects among the first ``most`` items of a list; none where it is no list."""
    if not isinstance(listed, list):
        return ()
    return (item for item in islice(listed, most) if isinstance(item, dict))


def number(value: object) -> float | None:
    """A finite number from 0 up to 2**53, which floats hold exactly; or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None
