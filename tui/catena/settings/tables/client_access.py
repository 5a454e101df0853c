"""The settings `files` and `terminals`: what agents may do through Catena on this computer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KEYS = ("files", "terminals")
_VALUES = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class ClientAccess:
    """Whether agents may read and write files, and run commands in terminals, through Catena."""

    files: bool = True
    terminals: bool = True


def client_access(
    document: Mapping[str, Any], wrong: Callable[[tuple[str, ...], str], Exception]
) -> ClientAccess:
    """Read both settings; ``wrong`` makes the error to raise for a key."""
    values: dict[str, bool] = {}
    for key in KEYS:
        value = document.get(key, True)
        if isinstance(value, str):
            value = _VALUES.get(value)
        if not isinstance(value, bool):
            raise wrong((key,), "must be true or false")
        values[key] = value
    return ClientAccess(**values)
