"""Rows that no session was ever told."""

from __future__ import annotations

from catena_store.conversations import messages
from catena_store.records import Kind, NewMessage
from catena_store.windows import windows
from support.conversations.rehearsed import Desk


async def spoken(desk: Desk, count: int) -> list[str]:
    """So many rows below the window's leaf, prompts and answers in turn, which no session knows."""
    leaf = (await desk.stored_window()).leaf_id
    ids = [f"row{number}" for number in range(count)]
    rows = [
        NewMessage(
            id=id,
            conversation_id=desk.conversation.id,
            parent_id=ids[at - 1] if at else leaf,
            kind=(Kind.USER, Kind.AGENT)[at % 2],
            text=f"row number {at} " + "and on " * 40,
        )
        for at, id in enumerate(ids)
    ]
    async with desk.db.write() as tx:
        await messages.insert_many(tx, rows)
        await windows.set_leaf(tx, desk.window_id, ids[-1])
    return ids
