"""Health of the file: whether it is sound, and how much is in it."""

from __future__ import annotations

from dataclasses import dataclass

from catena_store.database.database import Reader

_MOST_COMPLAINTS = 20


@dataclass(frozen=True, slots=True)
class Health:
    """The findings of a check of the whole file."""

    complaints: tuple[str, ...]  # in SQLite's words; none where the file is sound
    conversations: int
    messages: int


async def check(r: Reader, *, compare_indexes: bool = False) -> Health:
    """Check the whole file; comparing indexes with their tables takes longer. Raises StoreUnusable."""
    pragma = "integrity_check" if compare_indexes else "quick_check"
    complaints = await r.all(f"PRAGMA {pragma}({_MOST_COMPLAINTS})")
    conversations = await r.one("SELECT count(*) FROM conversation")
    messages = await r.one("SELECT count(*) FROM message")
    return Health(
        complaints=tuple(words for (words,) in complaints if words != "ok"),
        conversations=conversations[0] if conversations else 0,
        messages=messages[0] if messages else 0,
    )
