"""Reading JSON of which nothing is certain: what is not of the expected kind counts as absent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = Mapping[str, Any]


def text(holder: Json, name: str) -> str | None:
    """The string under ``name``, or None."""
    value = holder.get(name)
    return value if isinstance(value, str) else None


def part(holder: Json, name: str) -> Json | None:
    """The object under ``name``, or None."""
    value = holder.get(name)
    return value if isinstance(value, dict) else None


def objects(listed: object) -> Iterable[dict[str, Any]]:
    """The objects of a list; none where it is not one."""
    return (item for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()


def number(value: object) -> float | None:
    """A number that is finite, not negative and exact; or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None
