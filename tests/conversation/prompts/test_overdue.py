"""What the store did not take when it came is written as soon as it does: ends of turns, prompts taken back. S05."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from catena_acp import tasks as waits
from catena_acp.continuity.conversation_events import LeafMoved, MessageAdded, PromptReturned, TurnEnded
from catena_acp.continuity.sending.claim import Claim
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.conversation.prompts import overdue
from catena_acp.port.port import AgentPort
from catena_acp.trouble.troubles import Trouble
from catena_store.errors import StoreFull
from catena_store.records import Kind, StopReason
from catena_store.windows import attachments
from catena_store.windows.attached_files import from_bytes
from support.conversations.rehearsed import Desk, World
from support.storage.full_disk import full_disk

NEVER = 3600.0
FILE = from_bytes(b"hello", "a.txt")


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


async def test_s05_a_prompt_is_sent_again_that_was_to_be_while_the_end_of_its_turn_was_being_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing, go, write = asyncio.Event(), asyncio.Event(), overdue.Overdue.write

    async def held(of: overdue.Overdue) -> None:
        if of.unsaved:
            storing.set()
            await go.wait()
        await write(of)

    monkeypatch.setattr(overdue, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(overdue.Overdue, "write", held)
    async with world.client() as desk:
        await say_until_the_disk_is_full(world, desk)
        failed = next(news for news in desk.told if isinstance(news, TurnEnded))
        await asyncio.wait_for(storing.wait(), 60)
        await desk.window.retry()
        go.set()
        ended = await desk.until_told(TurnEnded, lambda news: news is not failed)
        assert ended.problem is None
        assert [turn.stop_reason for turn in await desk.turns()] == [StopReason.ERROR, StopReason.END_TURN]
    assert len(world.prompts()) == 2


async def say_to_a_disk_that_fills_meanwhile(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt with a file whose row is stored, and which can neither be sent nor be taken back then."""
    with ExitStack() as full, monkeypatch.context() as patched:
        take = Claim.take

        async def meanwhile(claim: Claim, live: LiveSession, agent: AgentPort) -> RunningTurn | None:
            full.enter_context(full_disk(desk.db))
            return await take(claim, live, agent)

        patched.setattr(Claim, "take", meanwhile)
        await desk.window.say("say with a file", [FILE])
        over = await desk.until_told(TurnEnded)
        await desk.window.wait_idle()
    assert over.problem is not None and over.problem.returned
    returned = [news for news in desk.told if isinstance(news, PromptReturned)]
    assert returned == [PromptReturned(desk.window_id, "say with a file", (FILE,))]
    assert [news.leaf_id for news in desk.told if isinstance(news, LeafMoved)] == [None]


async def is_the_draft_again(desk: Desk) -> bool:
    window = await desk.stored_window()
    async with desk.db.read() as reader:
        files = await attachments.of_draft(reader, desk.window_id)
    return (window.leaf_id, window.draft, files) == (None, "say with a file", [FILE])


async def test_r12_a_prompt_that_a_full_disk_kept_from_being_taken_back_is_taken_back_once_there_is_space(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "AGAIN_SECONDS", 0.05)
    async with world.client() as desk:
        await say_to_a_disk_that_fills_meanwhile(desk, monkeypatch)
        async with asyncio.timeout(60):
            while not await is_the_draft_again(desk):  # noqa: ASYNC110 - nobody is told of it
                await asyncio.sleep(0.01)
    assert world.prompts() == []


async def test_r12_a_prompt_that_a_full_disk_kept_from_being_taken_back_is_taken_back_by_who_quits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "AGAIN_SECONDS", NEVER)
    async with world.client() as desk:
        await say_to_a_disk_that_fills_meanwhile(desk, monkeypatch)
    async with world.client(resume=desk) as again:
        assert await is_the_draft_again(again)


@pytest.mark.parametrize("first", ["nothing", "a clear"])
async def test_r12_a_prompt_that_a_full_disk_kept_from_being_taken_back_is_told_once_when_it_is_said_again(
    world: World, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(overdue, "AGAIN_SECONDS", NEVER)
    async with world.client() as desk:
        await say_to_a_disk_that_fills_meanwhile(desk, monkeypatch)
        if first == "a clear":
            await desk.window.clear()
        assert (await desk.over(desk.window.say("say with a file", [FILE]))).problem is None
        rows = [row for row in await desk.branch() if row.kind is not Kind.SEAM]
        assert [(row.kind, row.text) for row in rows] == [
            (Kind.USER, "say with a file"),
            (Kind.AGENT, "with a file"),
        ]
        assert rows[0].data["attachments"]
    (heard,) = world.prompts()
    assert len(heard) == 1
    (request,) = world.requests("session/prompt")
    assert request["kinds"] == ["text", "resource"]
