"""What an agent says between turns, while the store does not take it. Section S05."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from catena_acp import tasks as waits
from catena_acp.continuity.conversation_events import MessageAdded, TurnEnded
from catena_acp.continuity.services import WhileIdle
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns import late_updates
from catena_acp.continuity.turns.late_updates import LateUpdates
from catena_acp.continuity.turns.recorder import Recorder
from catena_acp.continuity.turns.reducer import Reducer
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.conversation.prompts import overdue
from catena_acp.port.session_events import Event, SessionOpened
from catena_acp.protocol.connection import Connection
from catena_store.chains import agents
from catena_store.errors import StoreBusy, StoreFull
from catena_store.records import Kind, Message
from support.clients.protocol import until
from support.conversations.rehearsed import Desk, World, open_window
from support.storage.full_disk import full_disk

LATE = "Something occurred to me between turns."
NEVER = 3600.0


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(waits, "_PAUSES", ())
    monkeypatch.setattr(late_updates, "SILENCE_SECONDS", 0.05)
    return World(tmp_path)


async def speaks_while_the_disk_is_full(world: World, desk: Desk) -> None:
    """A turn, after which the agent says something that the store does not take, when it comes nor at its end."""
    await desk.say("say one; between cue later")
    with full_disk(desk.db) as refused:
        world.cue("later")
        await until(lambda: len(refused) > 1)


async def late_row(desk: Desk) -> Message:
    """The row of what was said, once it is told."""
    added = await desk.until_told(MessageAdded, lambda news: LATE in news.message.text)
    return added.message


async def spoken(desk: Desk) -> list[str]:
    return [row.text for row in await desk.branch() if row.kind in (Kind.USER, Kind.AGENT)]


async def test_s05_what_is_said_between_turns_while_the_disk_is_full_is_stored_once_there_is_space(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", 0.05)
    async with world.client() as desk:
        await speaks_while_the_disk_is_full(world, desk)
        late = await late_row(desk)
        assert (await desk.branch())[-1].id == late.id


async def test_s05_what_is_said_between_turns_while_the_store_cannot_be_read_is_stored_once_it_can(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", 0.05)
    begin, refusals = LateUpdates._begin, [StoreBusy(world.store), StoreBusy(world.store)]

    async def locked(self: LateUpdates, live: LiveSession) -> tuple[Recorder | None, Reducer | None] | None:
        if refusals:
            raise refusals.pop()
        return await begin(self, live)

    monkeypatch.setattr(LateUpdates, "_begin", locked)
    async with world.client() as desk:
        await desk.say("say one; between cue later")
        world.cue("later")
        late = await late_row(desk)
        assert (await desk.branch())[-1].id == late.id


async def test_s05_what_is_said_between_turns_while_the_disk_is_full_stands_above_the_next_prompt(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", NEVER)
    async with world.client() as desk:
        await speaks_while_the_disk_is_full(world, desk)
        assert (await desk.say("say two")).problem is None
        *_, late, prompt, answer = await spoken(desk)
        assert LATE in late and (prompt, answer) == ("say two", "two")


async def test_s05_no_prompt_goes_to_a_session_whose_words_between_turns_the_store_does_not_take(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", NEVER)
    async with world.client() as desk:
        await speaks_while_the_disk_is_full(world, desk)
        settle = LateUpdates.settle

        async def settled(self: LateUpdates, link_id: str) -> None:
            with full_disk(desk.db):
                await settle(self, link_id)

        with monkeypatch.context() as patched:
            patched.setattr(LateUpdates, "settle", settled)
            with pytest.raises(StoreFull):
                await desk.window.say("say two")
        assert len(world.prompts()) == 1
        assert (await desk.say("say two")).problem is None
        *_, late, prompt, answer = await spoken(desk)
        assert LATE in late and (prompt, answer) == ("say two", "two")


async def test_s05_what_is_said_between_turns_while_the_disk_is_full_is_stored_by_who_quits_once_there_is_space(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", NEVER)
    async with world.client() as desk:
        await speaks_while_the_disk_is_full(world, desk)
    async with world.client(resume=desk) as again:
        assert LATE in (await spoken(again))[-1]


async def test_s05_a_conversation_is_closed_though_the_disk_is_still_full(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", NEVER)
    async with world.client() as desk:
        await speaks_while_the_disk_is_full(world, desk)
        with full_disk(desk.db):
            await desk.conversation.close()


async def test_s05_what_is_said_behind_a_turn_whose_end_the_disk_refused_stands_below_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(overdue, "AGAIN_SECONDS", 0.5)
    async with world.client() as desk:
        await desk.window.say("say one; cue go-on; between cue later; say two; tool; say three")
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        with full_disk(desk.db):
            world.cue("go-on")
            await desk.until_told(TurnEnded)
            await desk.window.wait_idle()
        world.cue("later")
        late = await late_row(desk)
        rows = await desk.branch()
        assert rows[-1].id == late.id
        assert any("two" in row.text for row in rows if row.kind is Kind.AGENT)


@pytest.mark.parametrize("asked_by", ["prompt", "aside"])
async def test_s05_a_fork_whose_source_said_what_a_full_disk_refuses_is_not_left_open(
    world: World, monkeypatch: pytest.MonkeyPatch, asked_by: str
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", NEVER)
    fork_session, made = Connection.fork_session, list[str]()
    async with world.client("--no-titles") as desk:
        with contextlib.ExitStack() as until_then:

            async def forked(self: Connection, *arguments: Any) -> SessionOpened:
                opened = await fork_session(self, *arguments)
                made.append(opened.session_id)
                refused = until_then.enter_context(full_disk(desk.db))
                world.cue("later")
                await until(lambda: bool(refused))
                return opened

            await desk.say("say one; between cue later")
            version = desk.window.session.agent_version
            async with desk.db.write() as tx:
                await agents.set_ability(tx, "catena-rehearsal", version, "fork_at", "ignored")
            leaf = (await desk.stored_window()).leaf_id
            monkeypatch.setattr(Connection, "fork_session", forked)
            if asked_by == "aside":
                aside = await desk.conversation.asides.begin(desk.window)
                async for _ in aside.ask("why?"):
                    pass
            else:
                window_id = await open_window(desk.db, desk.conversation.id, leaf)
                branch = Desk(desk.db, desk.conversations, desk.conversation, window_id)
                desk.conversation.subscribe(branch.hear)
                await branch.window.say("say two")
                await until(lambda: bool(made))
                await branch.window.wait_idle()
        (fork,) = made
        closed = [request["session"] for request in world.requests("session/close")]
        assert fork in closed


async def test_s05_what_is_said_between_a_prompts_claim_and_its_text_holds_up_no_fork_of_what_is_above(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_updates, "AGAIN_SECONDS", 0.05)
    claimed, goes_out = asyncio.Event(), asyncio.Event()

    async def keep(self: RunningTurn) -> None:
        claimed.set()
        await goes_out.wait()

    async with world.client("--fork-at", while_idle=WhileIdle(probe=True)) as desk:
        await desk.say("say one; between cue later")
        await desk.window.settled()
        end = (await desk.branch())[-1]
        monkeypatch.setattr(RunningTurn, "keep_files_before", keep)
        await desk.window.say("say two")
        await claimed.wait()
        world.cue("later")
        (link,) = await desk.links()
        live = desk.conversation.sessions.by_link(link.id)
        assert live is not None
        heard: list[Event] = []
        unlisten = live.agent.listen(live.session_id, heard.append)
        await until(lambda: bool(heard))
        unlisten()

        fork = await desk.conversations.fork(desk.conversation, window_id=desk.window_id, at=end.id)

        assert fork.link is not None
        goes_out.set()
        late = await late_row(desk)
        assert (await desk.branch())[-1].id == late.id, "behind the turn"
