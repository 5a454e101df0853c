"""The state of conversations as another client of the same store sees it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.history.entries import EntryState, HistoryEntry
from catena.history.listing import HistoryListing
from catena.history.reading import HistoryReader, lives
from catena_acp.continuity.conversation_events import PermissionClosed, PermissionOpened, TurnStarted
from catena_acp.conversation.conversations import conversations
from catena_store.database.database import Database
from catena_store.finding import history
from catena_store.ids import utc_now
from support.conversations.rehearsed import Desk, World


class Onlooker:
    """Another client of the store, which looks at its history."""

    def __init__(self, db: Database) -> None:
        self.listing = HistoryListing(directory="/elsewhere")
        self.reader = HistoryReader(db, self.listing, lives=lives(socket.gethostname(), utc_now))

    async def sees(self, desk: Desk) -> HistoryEntry:
        """The entry of a conversation, as it is now."""
        if len(self.listing):
            await self.reader.refresh()
        else:
            async for _ in self.reader.pages():
                pass
        entry = self.listing.get(desk.conversation.id)
        assert entry is not None
        return entry

    async def sees_state(self, desk: Desk, state: EntryState) -> HistoryEntry:
        """Wait until a conversation is in a state."""
        async with asyncio.timeout(60):
            while (entry := await self.sees(desk)).state is not state:  # noqa: ASYNC110 - it is another client's
                await asyncio.sleep(0.01)
            return entry


@asynccontextmanager
async def onlooker(world: World) -> AsyncIterator[Onlooker]:
    async with Database.open(world.store) as db:
        yield Onlooker(db)


async def look(desk: Desk) -> None:
    """Note that the person saw all of it."""
    leaf = (await desk.branch())[-1].id
    async with desk.db.write() as tx:
        await history.mark_seen(tx, desk.conversation.id, leaf)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_h20_another_client_sees_who_works_who_asks_and_who_has_answered(world: World) -> None:
    async with world.client() as desk, onlooker(world) as other:
        await desk.say("say one")
        entry = await other.sees(desk)
        assert (entry.state, entry.waits, entry.messages) == (EntryState.NONE, False, 2)
        await look(desk)
        await desk.window.say("cue go; ask may I?; say done")
        await desk.until_told(TurnStarted)
        assert not (await other.sees_state(desk, EntryState.WORKING)).waits
        world.cue("go")
        asked = await desk.until_told(PermissionOpened)
        assert (await other.sees_state(desk, EntryState.ASKS)).waits
        await desk.conversation.answer(asked.ask_id, asked.options[0].id)
        await desk.until_told(PermissionClosed)
        await desk.window.wait_idle()
        assert (await other.sees_state(desk, EntryState.UNREAD)).waits
        before = await other.sees(desk)
        await look(desk)
        seen = await other.sees_state(desk, EntryState.NONE)
        assert seen.updated_at == before.updated_at
        assert seen._replace(opened_at=before.opened_at, state=before.state, waits=True) == before


async def test_h20_a_turn_that_failed_waits_until_somebody_saw_it(world: World) -> None:
    async with world.client() as desk, onlooker(world) as other:
        await desk.say("say one")
        await look(desk)
        assert (await desk.say("say half; crash")).problem is not None
        assert (await other.sees_state(desk, EntryState.FAILED)).waits
        await look(desk)
        await other.sees(desk)
        entry = await other.sees(desk)
        assert (entry.state, entry.waits) == (EntryState.FAILED, False)


async def test_h20_a_client_that_died_neither_works_nor_asks_whatever_it_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "HEARTBEAT_SECONDS", 3600)  # a beat would undo what is written here
    async with world.client() as desk:
        await desk.window.say("ask may I?; say done")
        await desk.until_told(PermissionOpened)
        async with onlooker(world) as other:
            await other.sees_state(desk, EntryState.ASKS)
            async with Database.open(world.store) as db, db.write() as tx:
                await tx.run("UPDATE lease SET started = 'another process of this number'")
            entry = await other.sees_state(desk, EntryState.FAILED)
            assert not entry.waits  # nobody has opened it on a screen
            async with Database.open(world.store) as db, db.write() as tx:
                await tx.run("UPDATE lease SET host = 'elsewhere', heartbeat_at = heartbeat_at - 100000")
            await other.sees_state(desk, EntryState.FAILED)
            async with Database.open(world.store) as db, db.write() as tx:
                await tx.run("UPDATE lease SET heartbeat_at = heartbeat_at + 100000")
            await other.sees_state(desk, EntryState.ASKS)
        await desk.window.stop()
