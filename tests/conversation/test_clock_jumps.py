"""A machine that sleeps for a day, and a clock that is set back: nothing that was open is lost, and order is order."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import HoldChanged, MessageAdded
from catena_acp.conversation.conversations import conversations as serving
from catena_store.chains import turns
from catena_store.clients import leases
from catena_store.conversations import conversations
from catena_store.ids import utc_now
from catena_store.records import Kind, StopReason
from catena_store.snapshots import files_place
from support.conversations.rehearsed import World
from support.storage.rows import Clock, a_turn, new_conversation, new_link, say, store

DAY, HOUR_BACK = timedelta(days=1), timedelta(hours=-1)


class SetClock:
    """The time of day, and by how much it was set."""

    def __init__(self) -> None:
        self.by = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.by


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("jump", [DAY, HOUR_BACK])
async def test_s06_a_turn_and_the_lease_outlive_a_jump_of_the_clock(
    world: World, monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    monkeypatch.setattr(serving, "HEARTBEAT_SECONDS", 0.02)
    clock = SetClock()
    async with world.client(clock=clock) as desk:
        await desk.window.say("say before; cue woken; say after")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "before")
        clock.by = jump
        world.cue("woken")
        await desk.window.wait_idle()
        ended = await desk.say("say the next")
        assert ended.turn is not None and ended.turn.stop_reason is StopReason.END_TURN
        assert [row.text for row in await desk.branch() if row.kind is Kind.AGENT] == [
            "before\n\nafter",
            "the next",
        ]
        assert not any(isinstance(news, HoldChanged) for news in desk.told)
        async with desk.db.read() as reader:
            lease = await leases.get(reader, desk.conversation.id)
        assert lease is not None and lease.owner.id == desk.conversations.owner.id


@pytest.mark.parametrize("jump", [DAY, HOUR_BACK])
async def test_s06_an_agent_that_did_not_outlive_the_sleep_is_started_anew_for_the_next_prompt(
    world: World, jump: timedelta
) -> None:
    clock = SetClock()
    async with world.client(clock=clock) as desk:
        await desk.say("say before")
        await desk.say("say in between; crash")
        clock.by = jump
        ended = await desk.say("say awake")
        assert ended.problem is None and (await desk.branch())[-1].text == "awake"


async def test_s06_what_was_used_last_is_the_newest_though_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db, db.write() as tx:
        for id in ("c1", "c2"):
            await new_conversation(tx, id)
            await say(tx, f"p-{id}", None, conversation=id)
    clock.forward(HOUR_BACK.total_seconds())
    async with store(tmp_path, clock) as db:
        for id in ("c1", "c2", "c1"):
            async with db.write() as tx:
                await conversations.touch(tx, id)
                newest = await conversations.latest(tx)
                assert newest is not None and newest.id == id
        async with db.write() as tx:
            await tx.run("UPDATE conversation SET updated_at = updated_at + 400 * 86400000 WHERE id = 'c2'")
            await conversations.touch(tx, "c1")
            kept = await conversations.get(tx, "c1")
            # A year ahead is not an order to keep.
            assert kept is not None and kept.updated_at - clock() < DAY


async def test_s06_files_stand_where_the_last_turn_ended_though_the_clock_was_set_back(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with store(tmp_path, clock) as db:
        async with db.write() as tx:
            await new_conversation(tx)
            await new_link(tx, "l1")
            for number, at in ((1, clock()), (2, clock() + HOUR_BACK)):
                prompt = f"p{number}"
                await say(tx, prompt, "p1" if number > 1 else None)
                await turns.insert(tx, a_turn(f"t{number}", prompt, "l1", window_id="w1", started_at=at))
                await turns.end(tx, f"t{number}", stop_reason=StopReason.END_TURN)
        async with db.read() as reader:
            assert await files_place.of_conversation(reader, "c1", None) == ("p2",)
