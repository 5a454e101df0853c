"""What happens while a step waits for the store: it is done on what is so then, not on what was so before."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.sessions.environment import Environment
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.conversations.keeping import Keeping
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.errors import NotToBeUndone, ReadOnly, StillAtWork
from catena_store.clients import leases
from catena_store.conversations import conversations
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.records import AgentGroup, Kind
from catena_store.windows import queue, windows
from catena_store.windows.journal import Act
from support.conversations.rehearsed import Desk, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@asynccontextmanager
async def held(db: Database) -> AsyncIterator[asyncio.Event]:
    """The store is in use until the event is set; what asks for it meanwhile gets it in the order of asking."""
    taken, let_go = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with db.read():
            taken.set()
            await let_go.wait()

    holding = asyncio.ensure_future(hold())
    await taken.wait()
    try:
        yield let_go
    finally:
        let_go.set()
        await holding


async def waits(task: asyncio.Future[Any], db: Database) -> None:
    """Until the task has asked for the store that is held."""

    def asked() -> int:
        return len(db._lock._waiters or ()) + len(db._writers._waiters or ())

    before = asked()
    await until(lambda: asked() > before or task.done())
    assert not task.done()


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0)


async def test_h08_a_conversation_in_which_a_prompt_was_said_while_it_waits_for_the_store_is_not_put_away(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        conversation, window_id = desk.conversation, desk.window_id
        async with held(desk.db) as let_go:
            put_away = Keeping(desk.db, desk.conversations).delete(
                [conversation.id], scope=Scope(None, None), closing={conversation.id: [window_id]}
            )
            deleting = asyncio.ensure_future(put_away)
            await waits(deleting, desk.db)
            saying = asyncio.ensure_future(desk.window.say("say two"))
            await until(lambda: conversation.in_turn(window_id))
            let_go.set()
            with pytest.raises(StillAtWork):
                await deleting
        await saying
        await desk.window.wait_idle()
        assert [row.text for row in await desk.branch()][-2:] == ["say two", "two"]
        async with desk.db.read() as reader:
            assert not (await conversations.marks(reader, conversation.id)).deleted


async def test_k11_an_act_on_a_tab_in_which_a_prompt_was_said_while_it_waits_for_the_store_is_not_undone(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        fork = await desk.conversations.fork(desk.conversation, window_id=desk.window_id)
        other = Desk(desk.db, desk.conversations, fork.conversation, fork.window.id)
        undo = ConversationUndo(desk.db, desk.conversations)
        scope = Scope(fork.window.id, None)
        (entry,) = await undo.entries(scope)
        assert entry.act is Act.FORK
        async with held(desk.db) as let_go:
            undoing = asyncio.ensure_future(undo.undo(scope))
            await waits(undoing, desk.db)
            # Its first look at the journal is let through, and then it waits for the transaction behind this one.
            behind = asyncio.ensure_future(hold_until_said(desk.db, other))
            await waits(behind, desk.db)
            let_go.set()
            saying = await behind
            with pytest.raises(NotToBeUndone, match="A turn is running here"):
                await undoing
        await saying
        await fork.window.wait_idle()
        assert (await other.branch())[-1].text == "two"


async def hold_until_said(db: Database, desk: Desk) -> asyncio.Future[None]:
    async with db.read():
        saying = asyncio.ensure_future(desk.window.say("say two"))
        await until(lambda: desk.conversation.in_turn(desk.window_id))
    return saying


async def test_r16_a_conversation_is_opened_as_its_last_holder_left_it(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        record = desk.conversation.record
    async with (
        Database.open(world.store) as ours,
        Database.open(world.store) as theirs,
        Conversations.serve(ours, specs={"rehearsal": world.spec()}) as here,
        Conversations.serve(theirs, specs={"rehearsal": world.spec()}) as there,
    ):

        async def renamed_by_another() -> None:
            """Another client opens it, names it and leaves it, if it can, between two transactions of ours."""
            async with ours.read():
                with contextlib.suppress(ReadOnly, StoreError):
                    other = await there.open(record.id)
                    await other.rename("their title")
                await there.close(record.id)

        async with held(ours) as let_go:
            opening = asyncio.ensure_future(here.open(record.id))
            await waits(opening, ours)
            between = asyncio.ensure_future(renamed_by_another())
            await waits(between, ours)
            let_go.set()
            await between
            opened = await opening
        async with ours.read() as reader:
            kept = await conversations.get(reader, record.id)
        assert kept is not None and not opened.read_only
        assert opened.record.title == kept.title


async def test_11_an_agent_that_is_started_while_another_conversation_of_its_family_opens_is_in_both_leases(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        fork = await desk.conversations.fork(desk.conversation, window_id=desk.window_id)
        await desk.conversations.close(fork.conversation.id)
        reached, go_on, load = asyncio.Event(), asyncio.Event(), Environment.load

        async def slowly(around: Environment) -> None:
            reached.set()
            await go_on.wait()
            await load(around)

        monkeypatch.setattr(Environment, "load", slowly)
        opening = asyncio.ensure_future(desk.conversations.open(fork.conversation.id))
        await reached.wait()
        await desk.say("say one")
        go_on.set()
        await opening

        async def agents(conversation_id: str) -> tuple[AgentGroup, ...]:
            async with desk.db.read() as reader:
                lease = await leases.get(reader, conversation_id)
            return tuple(lease.agents) if lease else ()

        running = await agents(desk.conversation.id)
        assert len(running) == 1
        async with asyncio.timeout(60):
            while await agents(fork.conversation.id) != running:
                pass


@pytest.mark.parametrize("when", ["before it is stored", "while it is stored"])
async def test_x06_a_prompt_whose_sender_is_cut_off_by_a_slow_store_is_in_the_draft_once(
    world: World, when: str
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        async with held(desk.db) as let_go:
            saying = asyncio.ensure_future(desk.window.say("say two"))
            await waits(saying, desk.db)
            saying.cancel()  # whoever leaves waits no longer, and keeps the text as a draft
            await asyncio.wait({saying})
            keeping = asyncio.ensure_future(keep_draft(desk, "say two"))
            if when == "before it is stored":
                await waits(keeping, desk.db)
            let_go.set()
        await keeping
        assert saying.cancelled()
    async with world.client(resume=desk) as again:
        assert (await again.stored_window()).draft == "say two"
        assert [row.text for row in await again.branch() if row.kind is Kind.USER] == ["say one"]
    assert world.prompts() == [["say one"]]


async def keep_draft(desk: Desk, text: str) -> None:
    async with desk.db.write() as tx:
        await windows.set_draft(tx, desk.window_id, text)


async def test_w16_a_prompt_whose_sender_is_cut_off_while_it_is_committed_to_the_queue_waits_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.window.say("say busy; hang")
        await world.heard("session/prompt")
        committing, go_on = asyncio.Event(), asyncio.Event()
        commit = desk.db._connection.commit

        async def slow() -> None:
            if desk.db._holder is saying:  # the turn that runs commits what it hears meanwhile
                committing.set()
                await go_on.wait()
            await commit()

        saying = asyncio.ensure_future(desk.window.say("say two"))
        monkeypatch.setattr(desk.db._connection, "commit", slow)
        await committing.wait()
        saying.cancel()
        go_on.set()
        await saying
        async with desk.db.read() as reader:
            assert [item.text for item in await queue.items(reader, desk.window_id)] == ["say two"]
        await desk.window.stop()
        await desk.window.send_queued()
        await desk.window.wait_idle()
    assert [prompt[-1] for prompt in world.prompts()] == ["say busy; hang", "say two"]


async def test_w16_a_stop_holds_what_waited_then_and_what_is_said_after_it_goes_out_at_once(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.window.say("say busy; hang")
        await world.heard("session/prompt")
        await desk.window.say("say one")
        await desk.window.say("say two")
        async with held(desk.db):
            stopping = asyncio.ensure_future(desk.window.stop())
            await waits(stopping, desk.db)
            saying = asyncio.ensure_future(desk.window.say("say three"))
            await waits(saying, desk.db)
        await stopping
        await saying
        await desk.window.wait_idle()
        assert [prompt[-1] for prompt in world.prompts()] == ["say busy; hang", "say three"]
        async with desk.db.read() as reader:
            waiting = [(item.text, item.held) for item in await queue.items(reader, desk.window_id)]
        assert waiting == [("say one", True), ("say two", True)]
        await desk.window.send_queued()
        await desk.window.wait_idle()
    assert [prompt[-1] for prompt in world.prompts()][2:] == ["say one", "say two"]
