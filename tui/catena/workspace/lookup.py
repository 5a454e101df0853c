"""Which conversation `--continue` and `--resume` mean."""

from __future__ import annotations

from catena.errors import CommandRefused
from catena_store.conversations import conversations
from catena_store.database.database import Database, Reader, default_path
from catena_store.records import ConversationRecord


async def find_conversation(reader: Reader, *, directory: str, named: str | None) -> ConversationRecord:
    """The conversation of that id, unique beginning of an id, or title; the newest of the directory if none is named.

    Raises CommandRefused, NotFound or Ambiguous.
    """
    if named is not None:
        return await conversations.find(reader, named)
    newest = await conversations.latest(reader, cwd=directory)
    if newest is None:
        raise CommandRefused(f"no conversations in {directory}; `catena list` shows all")
    return newest


def conversation_id_of(*, directory: str, named: str | None) -> str:
    """The same, from the store at its usual place, for a caller without a loop."""
    import asyncio

    async def look() -> str:
        async with Database.open(default_path()) as db, db.read() as reader:
            return (await find_conversation(reader, directory=directory, named=named)).id

    return asyncio.run(look())
