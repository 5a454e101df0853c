"""What the store did not take when it came is written as soon as it does: ends of turns. S05."""

from __future__ import annotations

from pathlib import Path

import pytest

from catena_acp.continuity import cancellation as waits
from catena_acp.continuity.conversation_events import MessageAdded, TurnEnded
from catena_acp.conversation.prompts import overdue
from catena_acp.trouble.troubles import Trouble
from catena_store.errors import StoreFull
from catena_store.records import Kind, StopReason
from support.conversations.rehearsed import Desk, World
from support.storage.full_disk import full_disk

NEVER = 3600.0


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(waits, "_PAUSES", ())
    return World(tmp_path)


async def say_until_the_disk_is_full(world: World, desk: Desk) -> None:
    """A turn whose end, and all but the beginning of its answer, the store does not take."""
    await desk.window.say("say one; cue go-on; say two; tool; say three")
    await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
    with full_disk(desk.db):
        world.cue("go-on")
        over = await desk.until_told(TurnEnded)
        await desk.window.wait_idle()
    assert over.problem is not None and over.problem.trouble is Trouble.STORE
    ((unsaved, why),) = desk.conversations.unsaved_answers
    assert "two" in unsaved and isinstance(why, StoreFull)


async def shown(desk: Desk) -> list[tuple[Kind, str]]:
    return [(row.kind, row.text) for row in await desk.branch() if row.kind in (Kind.USER, Kind.AGENT)]


async def test_s05_an_answer_that_a_full_disk_refused_is_stored_once_there_is_space(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "AGAIN_SECONDS", 0.05)
    async with world.client() as desk:
        await say_until_the_disk_is_full(world, desk)
        await desk.until_told(MessageAdded, lambda news: news.message.kind is Kind.NOTICE)
        assert "two" in " ".join(text for kind, text in await shown(desk) if kind is Kind.AGENT)
        assert [turn.stop_reason for turn in await desk.turns()] == [StopReason.ERROR]
        assert not desk.conversations.unsaved_answers


async def test_s05_an_answer_that_a_full_disk_refused_is_stored_by_who_quits_once_there_is_space(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "AGAIN_SECONDS", NEVER)
    async with world.client() as desk:
        await say_until_the_disk_is_full(world, desk)
    assert not desk.conversations.unsaved_answers
    async with world.client(resume=desk) as again:
        assert "two" in " ".join(text for kind, text in await shown(again) if kind is Kind.AGENT)
        assert [turn.stop_reason for turn in await again.turns()] == [StopReason.ERROR]
