"""Recollection: whole turns of any conversation, by the prompt that began them."""

from __future__ import annotations

from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.finding.search import prompts_of
from catena_store.records import Message

__all__ = ["conversations_with_directories", "prompts_of", "turn_rows"]


async def conversations_with_directories(r: Reader) -> list[tuple[str, str]]:
    """The id and the directory of every conversation that lists show."""
    found = await r.all("SELECT id, cwd FROM conversation WHERE deleted_at IS NULL AND pruned_at IS NULL")
    return [(id, cwd) for id, cwd in found]


async def turn_rows(r: Reader, prompt_id: str, *, limit: int) -> list[Message]:
    """A prompt and what came of it, in any attempt at it, up to the next prompts; oldest first."""
    found = await r.all(
        f"""
        WITH RECURSIVE below (id) AS (
            SELECT id FROM message WHERE uid = ?1
            UNION
            SELECT m.id FROM below b CROSS JOIN message m ON m.parent_id = b.id WHERE NOT {rows.IS_PROMPT}
            ORDER BY 1 LIMIT ?2
        )
        SELECT {rows.MESSAGE} FROM below CROSS JOIN message m ON m.id = below.id ORDER BY m.id
        """,
        (prompt_id, limit),
    )
    return [rows.message(row) for row in found]
