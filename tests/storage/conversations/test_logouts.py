"""What stands in a conversation since the last logout from an account."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_store.conversations import logouts
from catena_store.database.database import Database, Reader
from catena_store.records import Kind, MessageState
from support.counted_work import queries_counted
from support.storage.rows import Clock, new_conversation, say, say_much


async def untouched(reader: Reader) -> bool:
    return await logouts.untouched_since_logout(reader, "c1", agent="rehearsal", profile="")


@pytest.mark.parametrize(
    ("kind", "barrier", "state", "touches"),
    [
        (Kind.USER, False, MessageState.FINAL, True),
        (Kind.USER, False, MessageState.REFUSED, False),
        (Kind.SEAM, True, MessageState.FINAL, True),
        (Kind.SEAM, False, MessageState.FINAL, False),
        (Kind.AGENT, False, MessageState.FINAL, False),
    ],
)
async def test_a_conversation_is_untouched_since_a_logout_until_something_is_said_or_cleared_in_it(
    tmp_path: Path, kind: Kind, barrier: bool, state: MessageState, touches: bool
) -> None:
    clock = Clock()
    async with Database.open(tmp_path / "catena.db", clock=clock) as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1")
            leaf = await say_much(tx, 4)
            assert not await untouched(tx)
        clock.forward()
        async with db.write() as tx:
            await logouts.note_logout(tx, agent="rehearsal", profile="")
            assert await untouched(tx)
        clock.forward()
        async with db.write() as tx:
            await say(tx, "later", leaf, "later", kind=kind, barrier=barrier, state=state)
            assert await untouched(tx) is not touches


async def test_whether_a_conversation_was_touched_since_a_logout_is_found_without_reading_its_rows(
    tmp_path: Path,
) -> None:
    async with Database.open(tmp_path / "catena.db") as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1")
            await say_much(tx, 2000)
            await logouts.note_logout(tx, agent="rehearsal", profile="")
        async with db.read() as reader, queries_counted(db) as counted:
            await untouched(reader)
    assert counted.steps < 1000
