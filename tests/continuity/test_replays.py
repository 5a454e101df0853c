"""Sessions that are opened again after a restart: what an agent's replay proves of them, and what not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.continuity.routing.replay_check import Verdict
from catena_acp.continuity.sessions.replays import REPLAY, ReplayRecord
from catena_acp.port.session_events import TextChunk
from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.records import ContextSource, Kind, Link, LinkState
from support.conversations.modelled import another_window, how
from support.conversations.quirks import Quirky
from support.conversations.rehearsed import World
from support.counted_work import turns_counted
from support.storage.rows import new_conversation, new_link, say_much, store


@pytest.mark.parametrize(
    "prompt", ["<div> is not closed; say x", "[Image of the error]; say x", "Caveat: I am new to this; say x"]
)
async def test_r07_a_session_is_found_again_however_its_prompts_begin_and_can_be_forked(
    tmp_path: Path, prompt: str
) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        await desk.say(prompt)
    async with world.client(resume=desk) as later:
        named = await later.conversation.chain.price(later.window)
        assert how(await later.say("say y")) is ContextSource.RESUMED
        assert named.how is ContextSource.RESUMED
        beside = await another_window(later, (await later.stored_window()).leaf_id)
        assert how(await beside.say("say z")) is ContextSource.FORKED
        assert LinkState.LOST not in {link.state for link in await later.links() if link.cause != "probe"}


async def test_r07_after_a_command_that_the_agent_ran_itself_and_does_not_replay_its_session_goes_on(
    tmp_path: Path,
) -> None:
    quirky = Quirky(tmp_path, "local-commands")
    async with quirky.client() as desk:
        await desk.say("one")
        await desk.say("/context")
        assert [row.text for row in await desk.branch()][-1] == "/context was run here"
    async with quirky.client(resume=desk) as later:
        over = await later.say("two")
        answer = (await later.branch())[-1].text
    assert how(over) is ContextSource.RESUMED
    assert answer == "[heard] one|two"
    assert quirky.opened() == ["new", "load"]


async def test_r07_a_session_that_its_own_client_prompts_while_another_loads_it_to_fork_it_is_not_lost(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    async with world.client("--no-cold-fork") as owner, world.client("--no-cold-fork") as other:
        await owner.say("say one")
        world.fail({"load": {"cue": "go-on", "times": 1}})
        forking = asyncio.ensure_future(other.conversations.fork(owner.conversation.record, window_id=None))
        await world.heard("session/load")
        await owner.say("say two")
        world.cue("go-on")
        await forking
        (link, *_) = await owner.links()
        assert (link.state, link.ended) == (LinkState.OPEN, None)
        async with other.db.read() as reader:
            learnt = await reader.all("SELECT value FROM ability WHERE name = ?", (REPLAY,))
        assert learnt == [], "what moved says nothing of the agent"
        assert how(await owner.say("echo")) is ContextSource.CONTINUED


async def a_session_of(tx: Writer, length: int, **pointers: str) -> Link:
    """A session that carried so many rows, prompts and answers in turn."""
    await new_conversation(tx)
    leaf = await say_much(tx, length)
    return await new_link(tx, "A", **{"knows": leaf, "reach": leaf, **pointers})


async def told_again(r: Reader, leaf: str, count: int) -> list[TextChunk]:
    """The newest rows as their agent tells them again."""
    rows = await messages.page(r, leaf, count)
    return [TextChunk("user" if row.kind is Kind.USER else "agent", row.text, row.id) for row in rows]


@pytest.mark.parametrize(
    ("said_besides", "expected"),
    [("row number 2", Verdict.AGREES), ("said by nobody here", Verdict.CONTRADICTS)],
)
async def test_r07_what_a_session_tells_besides_what_it_was_told_in_full_must_be_a_prompt_of_the_branch(
    tmp_path: Path, said_besides: str, expected: Verdict
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            link = await a_session_of(tx, 40, unabridged_from="m20")
            replay = await told_again(tx, "m39", 20)
        record = ReplayRecord(db, link)
        assert await record.verdict(replay) is Verdict.AGREES
        assert await record.verdict([*replay, TextChunk("user", said_besides, "x")]) is expected
        assert await record.verdict(replay[4:]) is Verdict.CONTRADICTS
        assert await record.verdict(()) is Verdict.EMPTY


async def test_m03_the_replay_of_a_long_session_is_compared_in_as_small_pieces_as_that_of_a_short_one(
    tmp_path: Path,
) -> None:
    busiest: dict[int, int] = {}
    for length in (1_000, 10_000):
        (folder := tmp_path / str(length)).mkdir()
        async with store(folder) as db:
            async with db.write() as tx:
                link = await a_session_of(tx, length)
                replay = await told_again(tx, f"m{length - 1}", length)
            with turns_counted() as counted:
                assert await ReplayRecord(db, link).verdict(replay) is Verdict.AGREES
            busiest[length] = counted.busiest
    assert busiest[10_000] < 2 * busiest[1_000]
