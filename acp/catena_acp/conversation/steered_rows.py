"""Prompts that were said into a running turn, as rows, and what becomes of them when a client was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from catena_store.chains import turns
from catena_store.conversations import messages
from catena_store.database.database import Writer
from catena_store.records import Kind, NewMessage, QueueItem, Turn
from catena_store.windows import attachments, queue, windows


def row_data(item: QueueItem, *, doubtful: bool) -> dict[str, Any]:
    """The data of the row; ``doubtful`` where it is not known whether the agent heard it."""
    data: dict[str, Any] = {"steered": True}
    if doubtful:
        data["doubtful"] = True
    if entries := item.data.get("attachments"):
        data["attachments"] = entries
    return data


async def settle(tx: Writer, item: QueueItem, row_id: str) -> None:
    """The row is there: the prompt leaves the queue, and its files go along. Raises NotFound."""
    if not await attachments.of_message(tx, row_id):
        await attachments.add_to_message(tx, row_id, await attachments.of_item(tx, item.id))
    await queue.remove(tx, item.id)


async def take_up(tx: Writer, conversation_id: str, left_open: Sequence[Turn]) -> list[Turn]:
    """Settle what a client that is gone was saying into its turns; those turns, with their last rows.

    What may have been heard is a row of its turn, and is not said again.
    """
    turns_left = {turn.id: turn for turn in left_open}
    for item in await queue.on_the_way(tx, conversation_id):
        mark = item.steering or {}
        row_id, turn = mark["row"], turns_left.get(mark["turn"])
        if await messages.get(tx, row_id) is not None:
            await settle(tx, item, row_id)
        elif turn is not None:
            turns_left[turn.id] = await _add_row(tx, item, turn, row_id)
        else:
            data = {name: value for name, value in item.data.items() if name != "steering"}
            await queue.set_data(tx, item.id, data)
    return [turns_left[turn.id] for turn in left_open]


async def _add_row(tx: Writer, item: QueueItem, turn: Turn, row_id: str) -> Turn:
    await messages.insert(
        tx,
        NewMessage(
            id=row_id,
            conversation_id=turn.conversation_id,
            parent_id=turn.last_id,
            kind=Kind.USER,
            text=item.text,
            turn_id=turn.id,
            link_id=turn.link_id,
            data=row_data(item, doubtful=True),
        ),
    )
    await settle(tx, item, row_id)
    await turns.set_last(tx, turn.id, row_id)
    for window in await windows.open_on(tx, turn.conversation_id):
        if window.leaf_id == turn.last_id:
            await windows.advance(tx, window.id, row_id)
    return replace(turn, last_id=row_id)
