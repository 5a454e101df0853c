"""The queue of a window: waiting prompts, which are not in the tree yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catena_store.database import rows
from catena_store.database.database import Reader, Writer
from catena_store.errors import NotFound
from catena_store.ids import from_milliseconds
from catena_store.records import QueueItem


async def add(
    tx: Writer, *, id: str, window_id: str, text: str, data: Mapping[str, Any] | None = None
) -> QueueItem:
    """Add a prompt at the end of the window's queue."""
    last = await tx.one(
        "SELECT coalesce(max(position), -1) FROM queue_item WHERE window_id = ?", (window_id,)
    )
    assert last is not None
    item = QueueItem(id, window_id, last[0] + 1, text, False, data or {}, from_milliseconds(tx.now()))
    await rows.QUEUE_ITEMS.insert(tx, item)
    return item


async def items(r: Reader, window_id: str) -> list[QueueItem]:
    """The queued prompts of a window, the next one first."""
    found = await r.all(
        f"SELECT {rows.QUEUE_ITEM} FROM queue_item WHERE window_id = ? ORDER BY position", (window_id,)
    )
    return [rows.queue_item(row) for row in found]


async def get(r: Reader, id: str) -> QueueItem | None:
    """The queued prompt of an id."""
    row = await r.one(f"SELECT {rows.QUEUE_ITEM} FROM queue_item WHERE id = ?", (id,))
    return None if row is None else rows.queue_item(row)


async def first(r: Reader, window_id: str) -> QueueItem | None:
    """The prompt to be sent next, of those that wait for their turn; None where each is held."""
    found = await r.all(
        f"SELECT {rows.QUEUE_ITEM} FROM queue_item WHERE window_id = ? ORDER BY position", (window_id,)
    )
    return next((each for each in map(rows.queue_item, found) if each.waits and not each.held), None)


async def hold(tx: Writer, window_id: str) -> None:
    """Hold every prompt in the window's queue until the person releases it."""
    await tx.run("UPDATE queue_item SET held = 1 WHERE window_id = ?", (window_id,))


async def release(tx: Writer, window_id: str) -> None:
    """Release the held prompts in the window's queue."""
    await tx.run("UPDATE queue_item SET held = 0 WHERE window_id = ?", (window_id,))


async def hold_conversation(tx: Writer, conversation_id: str) -> None:
    """Hold every prompt in the queues of the conversation's windows."""
    await tx.run(
        "UPDATE queue_item SET held = 1 WHERE window_id IN (SELECT id FROM window WHERE conversation_id = ?)",
        (conversation_id,),
    )


async def steering_items(r: Reader, conversation_id: str) -> list[QueueItem]:
    """The conversation's queued prompts whose steering into a running turn did not finish."""
    found = await r.all(
        f"SELECT {rows.QUEUE_ITEM} FROM queue_item WHERE json_extract(data, '$.steering') IS NOT NULL"
        " AND window_id IN (SELECT id FROM window WHERE conversation_id = ?) ORDER BY position",
        (conversation_id,),
    )
    return [rows.queue_item(row) for row in found]


async def edits(r: Reader, conversation_id: str) -> list[QueueItem]:
    """The edited prompts whose edit did not come to be."""
    found = await r.all(
        f"SELECT {rows.QUEUE_ITEM} FROM queue_item WHERE json_extract(data, '$.edits') IS NOT NULL"
        " AND window_id IN (SELECT id FROM window WHERE conversation_id = ?) ORDER BY position",
        (conversation_id,),
    )
    return [rows.queue_item(row) for row in found]


async def move_directory(tx: Writer, conversation_id: str, before: str, after: str) -> None:
    """Let the prompts that wait in a conversation, and were typed in a directory, go out in another one."""
    await tx.run(
        "UPDATE queue_item SET data = json_set(data, '$.cwd', ?) WHERE json_extract(data, '$.cwd') = ?"
        " AND window_id IN (SELECT id FROM window WHERE conversation_id = ?)",
        (after, before, conversation_id),
    )


async def set_data(tx: Writer, id: str, data: Mapping[str, Any]) -> None:
    """Set the data of a queued prompt. Raises NotFound."""
    if not await tx.run("UPDATE queue_item SET data = ? WHERE id = ?", (rows.as_json(data), id)):
        raise NotFound("queued prompt", id)


async def move_to_front(tx: Writer, id: str) -> None:
    """Move a prompt to the front of its queue and release it. Raises NotFound."""
    await reorder(tx, id, 0)
    await tx.run("UPDATE queue_item SET held = 0 WHERE id = ?", (id,))


async def remove(tx: Writer, id: str) -> None:
    """Remove a prompt from its queue. Raises NotFound."""
    if not await tx.run("DELETE FROM queue_item WHERE id = ?", (id,)):
        raise NotFound("queued prompt", id)


async def reorder(tx: Writer, id: str, position: int) -> None:
    """Move a prompt to a position in its queue, counted from 0. Raises NotFound."""
    row = await tx.one("SELECT window_id FROM queue_item WHERE id = ?", (id,))
    if row is None:
        raise NotFound("queued prompt", id)
    order = [item.id for item in await items(tx, row[0]) if item.id != id]
    order.insert(max(position, 0), id)
    await tx.run_many("UPDATE queue_item SET position = ? WHERE id = ?", list(enumerate(order)))
