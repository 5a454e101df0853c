"""Reading JSON of which nothing is certain: what is not of the expected kind counts as absent. Pure."""

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
    """The string under ``key`` where it is a name or a line: cut to what a person could still read; or None."""
    value = holder.get(key)
    return value[:MAX_NAME] if isinstance(value, str) else None


def object_of(holder: Json, name_of: str) -> Json | None:
    """The object under ``name``, or None."""
    value = holder.get(name_of)
    return value if isinstance(value, dict) else None


def objects_in(listed: object, most: int = MAX_LISTED) -> Iterable[dict[str, Any]]:
    """The objects of a list, among its first ``most`` items; none where it is not one."""
    if not isinstance(listed, list):
        return ()
    return (item for item in islice(listed, most) if isinstance(item, dict))


def number(value: object) -> float | None:
    """A number that is finite, not negative and exact; or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None
