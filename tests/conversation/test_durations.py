"""How long a turn took, as the row that ends it says."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from catena_acp.continuity.conversation_events import ConversationEvent, MessageAdded, MessageChanged
from catena_store.chains import turns
from catena_store.ids import utc_now
from catena_store.records import Kind, Message, StopReason
from support.conversations.rehearsed import World

LONG = timedelta(minutes=2, seconds=14)


class Wall:
    """The time of day, which goes on by more than has passed."""

    def __init__(self) -> None:
        self.by = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.by


def newest(told: list[ConversationEvent], id: str) -> Message:
    rows = [each.message for each in told if isinstance(each, MessageAdded | MessageChanged)]
    return next(row for row in reversed(rows) if row.id == id)


@pytest.mark.parametrize("stopped", [False, True])
async def test_the_last_row_of_a_turn_says_how_long_the_turn_took_at_once_and_when_it_is_read_again(
    tmp_path: Path, stopped: bool
) -> None:
    world, wall = World(tmp_path), Wall()
    async with world.client(clock=wall) as desk:
        await desk.window.say("say before; cue woken; say after")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "before")
        wall.by = LONG
        if stopped:
            await desk.window.stop()
        else:
            world.cue("woken")
        await desk.window.wait_idle()
        *others, last = await desk.branch()
        assert last.kind is (Kind.NOTICE if stopped else Kind.AGENT)
        assert last.took == pytest.approx(LONG.total_seconds(), abs=60)
        assert [row.took for row in others] == [None] * len(others)
        assert newest(list(desk.told), last.id).took == last.took


async def test_a_turn_whose_end_nobody_saw_says_no_duration(tmp_path: Path) -> None:
    world, wall = World(tmp_path), Wall()
    async with world.client(clock=wall) as desk:
        await desk.window.say("say before; cue never")
        await desk.until_told(MessageAdded, lambda news: news.message.text == "before")
        wall.by = LONG
    async with world.client(clock=wall, resume=desk) as again:
        async with again.db.read() as reader:
            (turn,) = await turns.of_conversation(reader, again.conversation.id)
        assert turn.stop_reason is StopReason.INTERRUPTED
        assert {row.took for row in await again.branch()} == {None}
