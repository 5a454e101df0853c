"""Further directories of a conversation, beside its working directory."""

from __future__ import annotations

from catena_store.database.database import Reader, Writer


async def add(tx: Writer, conversation_id: str, path: str) -> bool:
    """Add a directory by its absolute path; False where the conversation has it already."""
    return bool(
        await tx.run(
            "INSERT INTO conversation_directory (conversation_id, path, position)"
            " SELECT ?1, ?2, coalesce(max(position), 0) + 1 FROM conversation_directory WHERE conversation_id = ?1"
            " ON CONFLICT DO NOTHING",
            (conversation_id, path),
        )
    )


async def remove(tx: Writer, conversation_id: str, path: str) -> bool:
    """Remove a directory; False where the conversation has none of that path."""
    return bool(
        await tx.run(
            "DELETE FROM conversation_directory WHERE conversation_id = ? AND path = ?",
            (conversation_id, path),
        )
    )


async def of_conversation(r: Reader, id: str) -> tuple[str, ...]:
    """The conversation's further directories, in the order in which they were added."""
    found = await r.all(
        "SELECT path FROM conversation_directory WHERE conversation_id = ? ORDER BY position", (id,)
    )
    return tuple(path for (path,) in found)
