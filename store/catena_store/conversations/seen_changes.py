"""What a person has seen of the changes in files: hunks by their digests, and how far the last look went."""

from __future__ import annotations

from collections.abc import Iterable

from catena_store.database.database import Reader, Writer


async def seen_hunks(r: Reader, conversation_id: str) -> frozenset[str]:
    """The digests of the hunks that are marked as seen."""
    found = await r.all("SELECT digest FROM seen_hunk WHERE conversation_id = ?", (conversation_id,))
    return frozenset(digest for (digest,) in found)


async def mark_seen(tx: Writer, conversation_id: str, digests: Iterable[str], *, seen: bool) -> None:
    """Mark hunks as seen, or as not seen."""
    if seen:
        await tx.run_many(
            "INSERT INTO seen_hunk (conversation_id, digest, seen_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(conversation_id, digest, tx.now()) for digest in digests],
        )
    else:
        await tx.run_many(
            "DELETE FROM seen_hunk WHERE conversation_id = ? AND digest = ?",
            [(conversation_id, digest) for digest in digests],
        )


async def last_look(r: Reader, conversation_id: str) -> str | None:
    """The last message of the branch that was looked at last, None where none ever was."""
    row = await r.one("SELECT message_uid FROM last_look WHERE conversation_id = ?", (conversation_id,))
    return None if row is None else str(row[0])


async def note_look(tx: Writer, conversation_id: str, message_id: str) -> None:
    """Store that the changes of a branch were looked at, as far as a message."""
    await tx.run(
        "INSERT INTO last_look (conversation_id, message_uid, looked_at) VALUES (?, ?, ?)"
        " ON CONFLICT (conversation_id) DO UPDATE"
        " SET message_uid = excluded.message_uid, looked_at = excluded.looked_at",
        (conversation_id, message_id, tx.now()),
    )
