"""Attachments: storing files with messages, queued prompts and drafts.

Their bytes are stored, so that an agent gets what was attached, whatever becomes of the file. Attachments move with
their text, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound
from catena_store.records import Attachment

_COLUMNS = "sha256, mime, name, path, bytes"

# --- of messages


async def of_message(r: Reader, message_id: str) -> list[Attachment]:
    """The attachments of a message, in their order."""
    return _attachments(
        await r.all(
            f"SELECT {_COLUMNS} FROM attachment WHERE message_id = (SELECT id FROM message WHERE uid = ?)"
            " ORDER BY position",
            (message_id,),
        )
    )


async def mentioned_in(r: Reader, conversation_id: str, limit: int) -> list[str]:
    """The paths of the files that prompts of a conversation came with, the newest first."""
    found = await r.all(
        "SELECT path FROM attachment JOIN message ON message.id = attachment.message_id"
        " WHERE message.conversation_id = ? AND message.kind = 'user' AND path IS NOT NULL"
        " GROUP BY path ORDER BY max(attachment.id) DESC LIMIT ?",
        (conversation_id, limit),
    )
    return [path for (path,) in found]


async def add_to_message(tx: Writer, message_id: str, attachments: Sequence[Attachment]) -> None:
    """Store attachments with a message. Raises NotFound."""
    message = (await rows.rowids(tx, [message_id]))[message_id] if attachments else None
    await tx.run_many(
        "INSERT INTO attachment (message_id, position, sha256, mime, name, path, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(message, at, *_values(each)) for at, each in enumerate(attachments)],
    )


async def add_image(tx: Writer, message_id: str, image: Attachment) -> None:
    """Store an image that an agent sent with a message, behind others, unless it is there. Raises NotFound."""
    message = (await rows.rowids(tx, [message_id]))[message_id]
    await tx.run(
        "INSERT INTO attachment (message_id, position, sha256, mime, name, path, bytes)"
        " SELECT ?1, (SELECT coalesce(max(position) + 1, 0) FROM attachment WHERE message_id = ?1),"
        " ?2, ?3, ?4, ?5, ?6"
        " WHERE NOT EXISTS (SELECT 1 FROM attachment WHERE message_id = ?1 AND sha256 = ?2)",
        (message, *_values(image)),
    )


# --- of queued prompts


async def of_queue_item(r: Reader, item_id: str) -> list[Attachment]:
    """The attachments of a queued prompt, in their order."""
    return _attachments(
        await r.all(
            f"SELECT {_COLUMNS} FROM queue_attachment WHERE item_id = ? ORDER BY position", (item_id,)
        )
    )


async def add_to_queue_item(tx: Writer, item_id: str, attachments: Sequence[Attachment]) -> None:
    """Store attachments with a queued prompt; they are deleted with it."""
    await tx.run_many(
        "INSERT INTO queue_attachment (item_id, position, sha256, mime, name, path, bytes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(item_id, at, *_values(each)) for at, each in enumerate(attachments)],
    )


# --- of drafts


async def of_draft(r: Reader, window_id: str) -> list[Attachment]:
    """The attachments of the draft at the window's leaf, in their order."""
    return _attachments(
        await r.all(
            f"SELECT {_COLUMNS} FROM draft_attachment WHERE window_id = ?1"
            " AND leaf_id = (SELECT coalesce(leaf_id, 0) FROM window WHERE id = ?1) ORDER BY position",
            (window_id,),
        )
    )


async def set_draft(tx: Writer, window_id: str, attachments: Sequence[Attachment]) -> None:
    """Set the attachments of the draft at the window's leaf. Raises NotFound."""
    found = await tx.one("SELECT coalesce(leaf_id, 0) FROM window WHERE id = ?", (window_id,))
    if found is None:
        raise NotFound("window", window_id)
    await tx.run("DELETE FROM draft_attachment WHERE window_id = ? AND leaf_id = ?", (window_id, found[0]))
    await tx.run_many(
        "INSERT INTO draft_attachment (window_id, leaf_id, position, sha256, mime, name, path, bytes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(window_id, found[0], at, *_values(each)) for at, each in enumerate(attachments)],
    )


def _values(attachment: Attachment) -> tuple[object, ...]:
    return (attachment.sha256, attachment.mime, attachment.name, attachment.path, attachment.content)


def _attachments(found: Sequence[rows.Row]) -> list[Attachment]:
    return [Attachment(*row) for row in found]
