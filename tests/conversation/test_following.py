"""Two clients on one conversation: one has it, the other follows live and goes on when the first is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    Doing,
    DoingChanged,
    ElicitationOpened,
    HoldChanged,
    LeafMoved,
    MessageAdded,
    MessageChanged,
    MessageGrew,
    PlaceMoved,
    PromptReturned,
    QueueChanged,
    Renamed,
    TurnEnded,
)
from catena_acp.conversation.conversations import conversations
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.recovery import foreign_conversations
from catena_acp.errors import ReadOnly
from catena_acp.port.elicitation.requests import DECLINE
from catena_acp.process_group import parse_start_time, process_start_time
from catena_acp.trouble.troubles import Trouble
from catena_store import places
from catena_store.chains import turns
from catena_store.clients import leases, progress
from catena_store.conversations import conversations as kept_conversations
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.errors import StoreBusy
from catena_store.ids import new_id, utc_now
from catena_store.records import (
    AgentGroup,
    ContextSource,
    Kind,
    Message,
    MessageState,
    NewMessage,
    Owner,
    StopReason,
)
from catena_store.windows import windows
from support.clients.command_line import Catena, run, shown, until
from support.conversations.rehearsed import Desk, World, open_window
from support.places import OWNER_CLIENT
from support.storage.leases import seize_lease


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@asynccontextmanager
async def follower(world: World, conversation_id: str, home: str = "rehearsal") -> AsyncIterator[Desk]:
    """Another client with a window of its own on the conversation."""
    async with (
        Database.open(world.store) as db,
        Conversations.serve(db, specs={"rehearsal": world.spec(name=home)}) as served,
    ):
        conversation = await served.open(conversation_id)
        async with db.read() as reader:
            leaf = await places.of(reader, conversation_id)
        window_id = await open_window(db, conversation_id, leaf)
        conversation.window(window_id)
        desk = Desk(db, served, conversation, window_id)
        conversation.subscribe(desk.hear)
        yield desk


def as_heard(told: list[ConversationEvent], begun_with: list[Message]) -> dict[str, Message]:
    """The rows that a listener has who began with some and took in what was told; fails where a piece does not fit."""
    rows = {row.id: row for row in begun_with}
    for item in told:
        match item:
            case MessageAdded(message=row):
                assert row.id not in rows, "told twice"
                assert row.parent_id in rows or row.parent_id is None, "told out of order"
                rows[row.id] = row
            case MessageChanged(message=row):
                assert row.id in rows, "a row changed that was never told"
                rows[row.id] = row
            case MessageGrew(message_id=id, text=text):
                row = rows[id]
                rows[id] = Message(**{**_fields(row), "text": row.text + text})
            case _:
                pass
    return rows


def _fields(row: Message) -> dict[str, Any]:
    return {name: getattr(row, name) for name in Message.__dataclass_fields__}


async def test_r16_the_second_client_is_told_everything_that_the_first_does_in_order_and_each_once(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say before")
        async with follower(world, desk.conversation.id) as second:
            assert second.conversation.read_only
            begun_with = await desk.branch()
            script = (
                "think; tool read a.txt; edit! notes.txt; stream 40; cue one; stream 40; cue two; stream 40;"
            )
            saying = asyncio.ensure_future(desk.say(f"{script} cue three; say CURTAIN"))
            await second.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
            for times, cue in enumerate(("one", "two"), 1):
                world.cue(cue)  # live, not at the end: that waits for the last one
                await second.until(lambda times=times: _grew(second) >= times or None)  # type: ignore[misc]
            world.cue("three")
            await saying
            await desk.conversation.rename("The play")
            await second.until_told(Renamed, lambda news: news.title == "The play")
            await second.until_told(DoingChanged, lambda news: news.doing is Doing.IDLE)
            expected = await desk.branch()
            heard = as_heard(second.told, begun_with)
            assert [heard[row.id] for row in expected] == expected
            assert [row.id for row in expected] == list(heard)
            assert not [item for item in second.told if isinstance(item, LeafMoved)]
            doing = [item.doing for item in second.told if isinstance(item, DoingChanged)]
            assert doing == [Doing.WORKING, Doing.IDLE]
            assert second.conversation.record.title == "The play"
            assert (await second.stored_window()).leaf_id == expected[-1].id
            with pytest.raises(ReadOnly, match=rf"pid {os.getpid()}, since [\d-]* ?\d\d:\d\d"):
                await second.window.take_over()


def _grew(desk: Desk) -> int:
    return sum(isinstance(item, MessageGrew) for item in desk.told)


async def test_r16_text_that_grew_before_the_second_client_came_is_told_whole_and_then_goes_on(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.window.say("stream 400 rate 100; cue go-on; stream 40 end=CURTAIN")
        await desk.until_told(MessageGrew)
        async with follower(world, desk.conversation.id) as second:
            page = await second.branch()
            await second.until_told(DoingChanged, lambda news: news.doing is Doing.WORKING)
            world.cue("go-on")
            await second.until_told(DoingChanged, lambda news: news.doing is Doing.IDLE)
            expected = await desk.branch()
            assert list(as_heard(second.told, page).values()) == expected
            about_answer = [
                item
                for item in second.told
                if isinstance(item, MessageAdded | MessageChanged) and item.message.kind is Kind.AGENT
            ]
            assert about_answer, "a listener that read the page later would hear its end twice"


async def test_r16_what_waits_in_the_first_client_is_seen_in_the_second_but_not_touched(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("say here; hang")
        await desk.window.say("say later")
        async with follower(world, desk.conversation.id) as second:
            queued = await second.until_told(QueueChanged)
            assert [item.text for item in queued.items] == ["say later"]
            with pytest.raises(ReadOnly):
                await second.window.queue.remove(queued.items[0].id)
        await desk.window.kill_agent()


async def test_w12_the_second_client_sees_what_is_asked_and_cannot_answer_it(world: World) -> None:
    async with world.client() as first, follower(world, first.conversation.id) as second:
        await first.window.say("form")
        asked = await first.until_told(ElicitationOpened)
        seen = await second.until_told(MessageAdded, lambda news: "elicitation" in news.message.data)
        assert (seen.message.text, seen.message.state) == ("Asked: Who are you to be?", MessageState.OPEN)
        await second.conversation.answer_elicitation(asked.ask_id, DECLINE)
        assert first.window.asked == [asked] and not second.window.asked
        await first.conversation.answer_elicitation(asked.ask_id, DECLINE)
        await second.until_told(MessageChanged, lambda news: news.message.text.endswith("· declined"))


async def test_r16_the_second_client_goes_where_the_first_goes_and_stays_where_its_person_went(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        first = await desk.branch()
        async with follower(world, desk.conversation.id) as second:
            await desk.say("say two")
            answer = (await desk.branch())[-1].id
            await second.until_told(MessageAdded, lambda news: news.message.id == answer)
            async with desk.db.write() as tx:
                await windows.set_leaf(tx, desk.window_id, first[-1].id)
            moved = await second.until_told(LeafMoved)
            assert moved.leaf_id == first[-1].id
            assert (await second.stored_window()).leaf_id == first[-1].id
            async with second.db.write() as tx:
                await windows.set_leaf(tx, second.window_id, first[0].id)
            at = len(second.told)
            await desk.say("say three")
            await desk.conversation.rename("end")
            await second.until_told(Renamed, lambda news: news.title == "end")
            assert not [item for item in second.told[at:] if isinstance(item, MessageAdded | LeafMoved)]
            assert (await second.stored_window()).leaf_id == first[0].id


async def test_r16_a_client_that_leaves_is_told_and_typing_goes_on_with_all_of_the_context(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        opened = follower(world, desk.conversation.id)
        second = await opened.__aenter__()
        await desk.say("say two")
    try:
        gone = await second.until_told(HoldChanged, lambda news: news.free)
        assert gone.read_only
        with pytest.raises(ReadOnly, match=r"has exited\. Send a message or use /history takeover"):
            await second.window.clear()
        assert second.conversation.free
        over = await second.say("echo")
        assert over.turn is not None
        assert (over.turn.how, over.turn.stop_reason) == (ContextSource.RESUMED, StopReason.END_TURN)
        assert "all=say one|say two|echo" in (await second.branch())[-1].text
        assert not second.conversation.read_only
        assert second.told.count(HoldChanged(second.window_id, read_only=False, free=False)) == 1
    finally:
        await opened.__aexit__(None, None, None)


async def test_r16_a_client_killed_in_mid_turn_is_told_and_one_of_two_followers_takes_over_the_other_follows_it(
    world: World, tmp_path: Path
) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        str(OWNER_CLIENT),
        str(world.store),
        str(tmp_path / "rehearsal"),
        "think first; stream 60; tool run make; say done",
        "think again; stream 60; hang",
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert owner.stdout is not None
        conversation_id = (await owner.stdout.readline()).decode().strip()
        async with (
            follower(world, conversation_id) as one,
            follower(world, conversation_id) as two,
        ):
            # In the second turn, so that there is something to be remembered.
            again = await one.until_told(
                MessageAdded, lambda news: news.message.text.startswith("think again")
            )
            await one.until_told(
                MessageAdded,
                lambda news: news.message.kind is Kind.AGENT and news.message.depth > again.message.depth,
            )
            owner.send_signal(signal.SIGKILL)
            await owner.wait()
            for desk in (one, two):
                await desk.until_told(HoldChanged, lambda news: news.free)
            took = await asyncio.gather(
                *(desk.window.take_over() for desk in (one, two)), return_exceptions=True
            )
            assert [type(each) for each in took if each] == [ReadOnly]
            winner, other = (one, two) if took[0] is None else (two, one)
            assert other.conversation.read_only
            assert not other.conversation.free
            async with winner.db.read() as reader:
                assert await messages.open_rows(reader, conversation_id) == []
            over = await winner.say("echo")
            assert over.turn is not None
            assert over.turn.stop_reason is StopReason.END_TURN
            branch = await winner.branch()
            assert "Catena exited during this turn" in "".join(row.text for row in branch)
            answer = branch[-1].text
            assert answer.startswith("[heard]")
            assert "think first" in answer
            await other.until(lambda: _told_whole(other, answer))
            assert await other.branch() == branch
    finally:
        if owner.returncode is None:
            owner.kill()
        await owner.wait()


def _told_whole(desk: Desk, text: str) -> Message | None:
    rows = (item.message for item in desk.told if isinstance(item, MessageAdded | MessageChanged))
    return next((row for row in rows if row.text == text), None)


async def test_r16_a_client_whose_conversation_was_taken_reads_on_keeps_the_text_and_can_take_it_back(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        thief = Owner(new_id(), "elsewhere", 1, "then")
        async with Database.open(world.store) as db:
            async with db.write() as tx:
                await seize_lease(tx, desk.conversation.id, thief)
            with pytest.raises(ReadOnly):
                await desk.window.say("say mine")
            assert desk.conversation.read_only
            lost = await desk.until_told(HoldChanged)
            assert (lost.read_only, lost.free) == (True, False)
            with pytest.raises(ReadOnly, match=r"open in Catena on elsewhere \(pid 1\)"):
                await desk.window.take_over()
            # Its heart has not beaten for a minute: another machine's process counts as gone.
            async with db.write() as tx:
                await tx.run("UPDATE lease SET heartbeat_at = heartbeat_at - 61000")
            await desk.until_told(HoldChanged, lambda news: news.free)
        over = await desk.say("echo")
        assert over.turn is not None
        # The agent was ours, but the lease has it as one that the other client left running.
        assert over.turn.how is ContextSource.RESUMED
        assert "all=say one|echo" in (await desk.branch())[-1].text
        assert not desk.conversation.read_only


async def test_r16_a_client_that_does_nothing_learns_from_its_heartbeat_that_another_took_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "HEARTBEAT_SECONDS", 0.02)
    async with world.client() as desk:
        desk.conversation.window(desk.window_id)
        async with Database.open(world.store) as db, db.write() as tx:
            await seize_lease(tx, desk.conversation.id, Owner(new_id(), "elsewhere", 1, "then"))
        lost = await desk.until_told(HoldChanged)
        assert (lost.read_only, lost.free) == (True, False)
        await desk.until_told(LeafMoved)  # what was on the screen may never have been written


async def test_r16_a_prompt_that_meets_the_loss_on_its_way_returns_to_the_composer(world: World) -> None:
    world.fail({"new": {"cue": "go-on"}})
    async with world.client() as desk:
        await desk.window.say("say mine")
        async with Database.open(world.store) as db, db.write() as tx:
            await seize_lease(tx, desk.conversation.id, Owner(new_id(), "elsewhere", 1, "then"))
        world.cue("go-on")
        returned = await desk.until_told(PromptReturned)
        assert returned.text == "say mine"
        await desk.window.wait_idle()
        assert desk.conversation.read_only
    assert world.prompts() == []


@pytest.mark.parametrize("quiet", [True, False])
async def test_r16_the_turn_of_a_client_that_lost_the_conversation_is_stopped_in_its_agent(
    world: World, monkeypatch: pytest.MonkeyPatch, quiet: bool
) -> None:
    if quiet:
        monkeypatch.setattr(conversations, "HEARTBEAT_SECONDS", 0.02)
    async with world.client() as desk:
        await desk.window.say(f"say begun; cue go-on; {'hang' if quiet else 'say b; hang'}")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "begun")
        async with Database.open(world.store) as db, db.write() as tx:
            await seize_lease(tx, desk.conversation.id, Owner(new_id(), "elsewhere", 1, "then"))
        world.cue("go-on")
        over = await desk.until_told(TurnEnded)
        assert over.problem is not None and over.problem.trouble is Trouble.READ_ONLY
        await desk.window.wait_idle()
        await world.heard("session/cancel")
        assert sum(isinstance(news, TurnEnded) for news in desk.told) == 1


async def test_r16_a_take_up_that_failed_in_the_middle_ends_the_dead_clients_agents_when_it_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
    left, ended = AgentGroup(4_000_000, "then"), []
    dead = Owner(new_id(), socket.gethostname(), 4_000_000, "then")

    async def end_group(group: AgentGroup) -> bool:
        ended.append(group)
        return True

    async def busy(*_: object) -> int:
        raise StoreBusy(world.store)

    async with (
        Database.open(world.store) as db,
        Conversations.serve(db, specs={"rehearsal": world.spec()}, end_group=end_group) as served,
    ):
        async with db.write() as tx:
            await seize_lease(tx, desk.conversation.id, dead)
            await leases.set_agents(tx, desk.conversation.id, dead.id, [left])
        with monkeypatch.context() as once:
            once.setattr(conversations, "recover", busy)
            with pytest.raises(StoreBusy):
                await served.open(desk.conversation.id)
        assert not (await served.open(desk.conversation.id)).read_only
    assert ended == [left]


async def test_r16_a_lost_conversation_of_the_family_keeps_no_agent_out_of_the_leases_of_the_others(
    world: World,
) -> None:
    async with world.client() as desk:
        family = desk.conversation.record.family
        async with desk.db.write() as tx:
            await kept_conversations.create(
                tx, id="fork", agent="rehearsal", cwd=str(world.project), family=family
            )
        conversation = await desk.conversations.open("fork")
        forked = Desk(desk.db, desk.conversations, conversation, await open_window(desk.db, "fork"))
        conversation.subscribe(forked.hear)
        async with desk.db.write() as tx:
            await seize_lease(tx, desk.conversation.id, Owner(new_id(), "elsewhere", 1, "then"))
        await forked.say("say one")
        async with desk.db.read() as reader:
            lease = await leases.get(reader, "fork")
        assert lease is not None and len(lease.agents) == 1


async def test_r16_a_conversation_that_was_closed_is_not_taken_over_by_nobody(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        async with follower(world, desk.conversation.id) as second:
            await desk.conversations.close(desk.conversation.id)
            await second.conversations.close(desk.conversation.id)
            with pytest.raises(ReadOnly):
                await second.window.take_over()
            async with second.db.read() as reader:
                assert await leases.get(reader, desk.conversation.id) is None


async def test_r16_a_take_over_that_failed_leaves_the_dead_clients_agents_to_the_next_client(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, ended = AgentGroup(4_000_000, "then"), []
    dead = Owner(new_id(), socket.gethostname(), 4_000_000, "then")

    async def end_group(group: AgentGroup) -> bool:
        ended.append(group)
        return True

    async def busy(*_: object) -> int:
        raise StoreBusy(world.store)

    async with world.client() as desk:
        await desk.say("say one")
        async with follower(world, desk.conversation.id) as second:
            await desk.conversations.close(desk.conversation.id)
            async with second.db.write() as tx:
                await seize_lease(tx, desk.conversation.id, dead)
                await leases.set_agents(tx, desk.conversation.id, dead.id, [left])
            with monkeypatch.context() as once:
                once.setattr(conversations, "recover", busy)
                with pytest.raises(StoreBusy):
                    await second.window.take_over()
    async with (
        Database.open(world.store) as db,
        Conversations.serve(
            db, specs={"rehearsal": world.spec()}, end_group=end_group, start_time_of=lambda _: None
        ) as served,
    ):
        assert not (await served.open(desk.conversation.id)).read_only
    assert ended == [left]


async def test_r16_nothing_is_set_in_a_session_whose_conversation_another_client_has_now(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        async with Database.open(world.store) as db, db.write() as tx:
            await seize_lease(tx, desk.conversation.id, Owner(new_id(), "elsewhere", 1, "then"))
        desk.conversation.lose()
        with pytest.raises(ReadOnly):
            await desk.window.set_mode("plan")
        with pytest.raises(ReadOnly):
            await desk.window.set_option("model", "understudy")
    assert not world.requests("session/set_mode") and not world.requests("session/set_config_option")


async def test_r16_a_conversation_that_is_lost_while_it_is_closed_is_not_followed_for_ever(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.window.say("say begun; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "begun")
        async with Database.open(world.store) as db, db.write() as tx:
            await seize_lease(tx, desk.conversation.id, Owner(new_id(), "elsewhere", 1, "then"))
        await desk.conversations.close(desk.conversation.id)
        assert not desk.conversations._following._followed
        assert sum(isinstance(news, TurnEnded) for news in desk.told) == 1


async def test_r16_while_nothing_is_open_nothing_is_asked_and_nothing_new_is_one_look_at_the_version(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_conversations, "LOOK_SECONDS", 0.01)
    asked: list[str] = []
    looked = asyncio.Event()
    data_version, read = Database.data_version, Database.read

    async def counted(db: Database) -> int:
        asked.append("version")
        if asked.count("version") > 5:
            looked.set()
        return await data_version(db)

    def noted(db: Database) -> Any:
        asked.append("rows")
        return read(db)

    async with world.client() as desk:
        await desk.say("say one")
        monkeypatch.setattr(Database, "data_version", counted)
        async with follower(world, desk.conversation.id) as second:
            await second.until(lambda: (second.conversation.holder is not None) or None)
            async with asyncio.timeout(60):
                await looked.wait()
            monkeypatch.setattr(Database, "read", noted)
            # The first one's heart beats, and what it starts is noted: that is looked at, once.
            asked.append("rows")
            async with asyncio.timeout(60):
                while "rows" in asked:
                    asked.clear()
                    looked.clear()
                    await looked.wait()
        await desk.conversations.close(desk.conversation.id)
        async with desk.conversations._following._looking:
            asked.clear()
        await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.1)
        assert asked == []


async def test_m16_a_window_is_told_once_of_what_it_lacks_when_another_client_moves_the_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_conversations, "PLACE_SECONDS", 0.01)
    async with world.client() as desk:
        await desk.say("say one")
        leaf = (await desk.stored_window()).leaf_id
        async with Database.open(world.store) as db:
            async with db.write() as tx:
                prompt = NewMessage(new_id(), desk.conversation.id, None, Kind.USER, "say beside")
                await places.move(tx, desk.conversation.id, (await messages.insert(tx, prompt)).id)
            await desk.until_told(PlaceMoved, lambda news: news.turns == 1)
            async with db.write() as tx:
                below = await places.of(tx, desk.conversation.id)
                answer = NewMessage(new_id(), desk.conversation.id, below, Kind.AGENT, "an answer")
                await places.grow(tx, desk.conversation.id, below, (await messages.insert(tx, answer)).id)
            async with db.write() as tx:
                await places.move(tx, desk.conversation.id, leaf)
        await desk.until_told(PlaceMoved, lambda news: not news.turns)
        assert [news.turns for news in desk.told if isinstance(news, PlaceMoved)] == [1, 0]


async def test_r16_a_look_at_a_conversation_of_ten_thousand_messages_reads_only_what_is_new(
    world: World,
) -> None:
    async with world.client() as desk:
        conversation_id, leaf = desk.conversation.id, None
        rows = []
        for number in range(10_000):
            rows.append(NewMessage(f"m{number}", conversation_id, leaf, Kind.AGENT, f"text {number}"))
            leaf = rows[-1].id
        async with desk.db.write() as tx:
            await messages.insert_many(tx, rows)
            await windows.advance(tx, desk.window_id, "m9989")
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        await desk.db._connection.set_progress_handler(count, 100)
        async with desk.db.read() as reader:
            standing = await progress.of_conversation(reader, conversation_id, ["ours"])
            assert standing is not None
            grown = await progress.rows_between(reader, "m9989", "m9999", 500)
            assert [row.id for row in grown or ()] == [f"m{number}" for number in range(9_990, 10_000)]
            unsettled = await progress.unsettled_rows(reader, conversation_id, "m9999")
            assert [row.id for row in unsettled] == ["m9999"]
            assert await progress.rows_between(reader, "m9999", "m9989", 500) is None
        await desk.db._connection.set_progress_handler(lambda: 0, 0)
        assert steps < 30, "hundreds of the machine's steps for each look"


async def test_r16_the_second_client_stays_with_one_of_two_windows_that_are_talked_in_by_turns(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        async with follower(world, desk.conversation.id) as second:
            await desk.conversation.rename("begun")
            await second.until_told(Renamed)
            fork = (await desk.branch())[-1].id
            other = await open_window(desk.db, desk.conversation.id, fork)
            for number in range(2):
                await desk.conversation.window(other).say(f"say other {number}")
                await desk.conversation.window(other).wait_idle()
                await desk.say(f"say this {number}")
            await second.until(lambda: _told_whole(second, "this 1"))
            assert not [item for item in second.told if isinstance(item, LeafMoved)]
            assert "other" not in "".join(row.text for row in await second.branch())


async def test_r16_the_window_of_a_client_that_is_gone_is_left_when_the_one_after_it_talks_in_another(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        id, (turn,) = desk.conversation.id, await desk.turns()
        theirs = await open_window(desk.db, id)
        first, second = (Owner(new_id(), "elsewhere", pid, "then") for pid in (1, 2))
        standing = None
        for owner in (first, second):
            async with desk.db.write() as tx:
                await seize_lease(tx, id, owner)
                standing = await progress.of_conversation(tx, id, [], standing)
            assert standing is not None and standing.window_id == desk.window_id
        async with desk.db.write() as tx:
            await turns.insert(tx, replace(turn, id=new_id(), window_id=theirs, started_at=utc_now()))
            standing = await progress.of_conversation(tx, id, [], standing)
        assert standing is not None and standing.window_id == theirs


async def test_r12_who_takes_over_is_told_that_a_prompt_that_was_never_sent_is_the_draft_again(
    world: World,
) -> None:
    async with world.client() as desk:
        conversation, window_id = desk.conversation, desk.window_id
        prompt = NewMessage("unsent", conversation.id, None, Kind.USER, "say it", state=MessageState.FINAL)
        async with desk.db.write() as tx:
            await seize_lease(tx, conversation.id, Owner(new_id(), socket.gethostname(), 2**30, "then"))
            await messages.insert(tx, prompt)
            await windows.advance(tx, window_id, "unsent")
        conversation.lose()
        await desk.window.take_over()
        assert (await desk.stored_window()).leaf_id is None
        assert [news for news in desk.told if isinstance(news, LeafMoved)][-1].leaf_id is None
        assert [news.text for news in desk.told if isinstance(news, PromptReturned)] == ["say it"]


async def test_a_branch_goes_on_from_every_row_above_its_leaf_and_from_no_other(world: World) -> None:
    async with world.client() as desk:

        def row(id: str, parent: str | None) -> NewMessage:
            return NewMessage(id, desk.conversation.id, parent, Kind.USER, id, state=MessageState.FINAL)

        async with desk.db.write() as tx:
            await messages.insert_many(tx, [row("a", None), row("b", "a"), row("c", "b"), row("x", "a")])
        async with desk.db.read() as reader:
            for above, leaf, expected in (
                (None, "c", True),
                ("a", "c", True),
                ("c", "c", True),
                ("c", "b", False),
                ("x", "c", False),
                ("b", "x", False),
                ("a", None, False),
            ):
                assert await progress.passes_through(reader, above, leaf) is expected, (above, leaf)


def test_the_beginning_of_a_process_is_told_from_its_start_time() -> None:
    started = process_start_time(os.getpid())
    assert started is not None
    began = parse_start_time(started)
    assert began is not None
    assert 0 <= (utc_now() - began).total_seconds() < 24 * 3600
    assert parse_start_time("Fri Nov 20 12:00:00 2026") is None


def test_r16_run_goes_on_with_a_conversation_whose_catena_was_killed_in_mid_turn(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    id = run(catena, "--json", "say one").event("conversation")["id"]
    holder = catena.start("run", "--agent", "rehearsal", "--resume", id, "say held\nhang")
    with holder:
        until(holder, "held")
        holder.kill()
    over = run(catena, "--resume", id, "echo")
    assert over.status == 0
    assert "say held" in over.out
    texts = [message["text"] for message in shown(catena, id)["messages"]]
    assert any(text.startswith("Catena exited during this turn") for text in texts)
