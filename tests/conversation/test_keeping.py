"""Keeping house: acts on any number of conversations, open or not, each taken back by one undo."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.workspace.keeping import act_words, undone, upstream_words
from catena_acp.errors import ReadOnly, StillAtWork
from catena_store.chains import hidden_sessions, links
from catena_store.conversations import conversations
from catena_store.conversations.conversations import Marks
from catena_store.keeping.removal import prune
from catena_store.records import LinkState
from support.conversations.rehearsed import World
from support.conversations.room import Room, room
from support.places import OWNER_CLIENT


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def marks(here: Room, conversation_id: str) -> Marks:
    async with here.db.read() as reader:
        return await conversations.marks(reader, conversation_id)


@asynccontextmanager
async def held_elsewhere(world: World) -> AsyncIterator[str]:
    """A conversation that another client has, which lives."""
    command = (
        sys.executable,
        str(OWNER_CLIENT),
        str(world.store),
        str(world.place / "rehearsal"),
        "say mine",
    )
    owner = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert owner.stdout
        yield (await owner.stdout.readline()).decode().strip()
    finally:
        owner.kill()
        await owner.wait()


async def test_h08_several_conversations_are_deleted_and_come_back_by_one_undo(world: World) -> None:
    async with room(world) as here:
        first, second, stays = [await here.tab(f"say {name}") for name in ("first", "second", "stays")]
        first.draft = "half a thought"
        await here.tabs.keep(first)
        await here.tabs.close(second)
        ids = [first.conversation.id, second.conversation.id]
        before = await here.view()

        kept = await here.tabs.keeping.delete(ids)

        assert set(kept.conversations) == set(ids) and kept.closed == (first.window_id,)
        assert here.tabs.tabs == [stays]
        assert await here.lists() == {stays.conversation.id}
        (done, *_) = await here.tabs.undoing.acts(stays)
        assert act_words(done) == "deleting 2 conversations"
        taken = await here.tabs.undoing.undo(stays)
        assert taken and undone(taken).startswith(
            "Undone: deleting 2 conversations. /undo again for: closing"
        )
        assert {*ids} < await here.lists()
        assert here.tabs.tabs[0].draft == "half a thought"
        assert await here.view() == before
        assert await here.tabs.undoing.redo(stays)
        assert await here.lists() == {stays.conversation.id}


async def test_h08_only_what_was_not_so_before_is_changed_and_undone(world: World) -> None:
    async with room(world) as here:
        one, two = await here.tab("say one"), await here.tab("say two")
        ids = [one.conversation.id, two.conversation.id]
        await here.tabs.keeping.pin(ids[:1])
        kept = await here.tabs.keeping.pin(ids)
        assert kept.conversations == (ids[1],)
        taken = await here.tabs.undoing.undo(None)
        assert taken and act_words(taken.acts[0]) == "pinning “say two”"
        assert (await marks(here, ids[0])).pinned and not (await marks(here, ids[1])).pinned
        written = await here.written()
        assert (await here.tabs.keeping.pin(ids[:1])).conversations == ()
        assert await here.written() == written, "nothing was done, so nothing can be undone"


async def test_h08_a_conversation_is_renamed_from_a_list_and_its_tab_shows_it(world: World) -> None:
    async with room(world) as here:
        tab = await here.tab("say one")
        await here.tabs.keeping.rename(tab.conversation.id, "The play")
        assert tab.conversation.record.title == "The play"
        await here.tabs.undoing.undo(None)
        assert tab.conversation.record.title == "say one"


async def test_h08_what_another_client_holds_is_left_alone_in_words_and_so_is_all_the_rest(
    world: World,
) -> None:
    async with room(world) as here, held_elsewhere(world) as foreign:
        tab = await here.tab("say one")
        keeping, ids = here.tabs.keeping, [tab.conversation.id, foreign]
        for act in (
            keeping.delete(ids),
            keeping.archive(ids),
            keeping.rename(foreign, "Mine"),
        ):
            with pytest.raises(ReadOnly, match=r"open in Catena on .* \(pid \d+"):
                await act
        assert await marks(here, tab.conversation.id) == Marks(archived=False, deleted=False, pinned=False)
        assert here.tabs.tabs == [tab]
        await keeping.pin(ids)
        assert (await marks(here, foreign)).pinned
        await here.tabs.undoing.undo(tab)
        assert not (await marks(here, foreign)).pinned
    async with room(world) as here:  # that client is dead now
        await here.tabs.keeping.delete([foreign])
        assert (await marks(here, foreign)).deleted


async def test_h08_while_a_turn_runs_in_one_of_them_none_is_put_away(world: World) -> None:
    async with room(world) as here:
        tab, other = await here.tab("say one"), await here.tab("say two")
        await tab.window.say("wait 60")
        with pytest.raises(StillAtWork):
            await here.tabs.keeping.archive([other.conversation.id, tab.conversation.id])
        assert not (await marks(here, other.conversation.id)).archived
        await here.tabs.keeping.pin([tab.conversation.id])
        await tab.window.stop()
        await tab.window.wait_idle()


async def test_h09_what_was_deleted_with_a_pruned_conversation_still_comes_back(world: World) -> None:
    async with room(world) as here:
        tab, pruned, _ = [await here.tab(f"say {name}") for name in ("one", "two", "three")]
        ids = [pruned.conversation.id, tab.conversation.id]
        await here.tabs.keeping.delete(ids)
        assert (await prune(here.db, ids[:1], lambda _: False)).conversations == 1
        assert await here.tabs.undoing.undo(None)
        assert ids[1] in await here.lists() and ids[0] not in await here.lists()
        assert here.tabs.tabs[0].conversation.id == ids[1]


async def test_h08_sessions_are_deleted_at_the_agent_only_where_that_is_asked_for_and_offered(
    world: World,
) -> None:
    async with room(world) as here:
        tab, other, kept_upstream = [await here.tab(f"say {name}") for name in ("one", "two", "three")]
        async with here.db.read() as reader:
            (link,) = await links.of_conversation(reader, tab.conversation.id)
        await here.tabs.keeping.delete([kept_upstream.conversation.id])
        assert not world.requests("session/delete")

        kept = await here.tabs.keeping.delete([tab.conversation.id], upstream=True)

        assert kept.upstream and dict(kept.upstream.deleted) == {"rehearsal": 1} and not kept.upstream.refused
        assert [each["params"]["sessionId"] for each in world.requests("session/delete")] == [link.session_id]
        said = "1 session deleted at Rehearsal, which cannot be undone."
        assert upstream_words(kept.upstream, str.capitalize) == said
        async with here.db.read() as reader:
            assert ("rehearsal", "", link.session_id) in await hidden_sessions.deleted(reader)
        taken = await here.tabs.undoing.undo(other)
        assert taken and taken.look_at
        await here.say(taken.look_at, "say again")  # what the agent no longer has is told to a new session
        async with here.db.read() as reader:
            lost, new = await links.of_conversation(reader, tab.conversation.id)
        assert (lost.state, lost.ended) == (LinkState.LOST, "deleted at the agent")
        assert new.state is LinkState.OPEN and await here.texts(taken.look_at) == ["say one", "say again"]


async def test_h08_an_agent_that_deletes_no_sessions_is_named_and_the_conversation_is_deleted_all_the_same(
    world: World,
) -> None:
    async with room(world, "--no-delete") as here:
        tab, _ = await here.tab("say one"), await here.tab("say two")
        kept = await here.tabs.keeping.delete([tab.conversation.id], upstream=True)
        assert kept.upstream and not kept.upstream.deleted
        assert kept.upstream.refused["rehearsal"].endswith("cannot delete sessions")
        assert (await marks(here, tab.conversation.id)).deleted
