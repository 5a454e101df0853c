"""Identity, chain and rows, with real agent processes: section M."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catena_acp.agents.agent import start_agent
from catena_acp.continuity.conversation_events import MessageAdded, TurnEnded
from catena_acp.errors import ReadOnly
from catena_acp.port.port import SessionSetup
from catena_acp.port.session_events import TextChunk
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import links
from catena_store.records import ContextSource, Kind, LinkState, StopReason
from catena_store.windows import inputs
from support.conversations.rehearsed import Desk, World, open_window
from support.storage.rows import link_events


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def ended(over: TurnEnded) -> tuple[ContextSource, StopReason | None]:
    assert over.turn is not None, over.problem
    return over.turn.how, over.turn.stop_reason


async def test_m01_three_forced_rollovers_leave_the_conversation_its_id(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        conversation_id = desk.conversation.id
        for number in range(3):
            world.fail({"load": {"error": [-32002, "Resource not found"]}})
            await desk.say("crash")
            over = await desk.say(f"say {number}")
            assert ended(over) == (ContextSource.TOLD, StopReason.END_TURN)
            world.fail({})
        assert desk.conversation.id == conversation_id
        assert len({link.session_id for link in await desk.links()}) == 4
    async with world.client(resume=desk) as again:
        assert again.conversation.id == conversation_id
        async with again.db.read() as reader:
            (count,) = await reader.one("SELECT count(*) FROM conversation") or (None,)
        assert count == 1


async def test_m04_a_session_whose_first_prompt_killed_the_agent_is_resumed_by_the_next_client(
    world: World,
) -> None:
    async with world.client() as desk:
        over = await desk.say("crash")
        assert ended(over) == (ContextSource.FRESH, StopReason.AGENT_GONE)
        (link,) = await desk.links()
    async with world.client(resume=desk) as again:
        await again.say("echo")
        assert [kept.session_id for kept in await again.links()] == [link.session_id]
    (opened,) = world.requests("session/load")
    assert opened["session"] == link.session_id


async def test_m05_every_row_of_a_finished_turn_is_stamped_with_the_link_it_travelled_on(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("think hard; tool read a.txt; plan; say one")
        world.fail({"load": {"error": [-32002, "Resource not found"]}})
        await desk.say("crash")
        await desk.say("say two")
        chain = await desk.links()
        rows = await desk.branch()
        turns = {turn.id: turn for turn in await desk.turns()}
        assert {row.kind for row in rows} >= {
            Kind.USER,
            Kind.AGENT,
            Kind.THOUGHT,
            Kind.TOOL,
            Kind.PLAN,
            Kind.SEAM,
        }
        assert all(row.link_id == turns[row.turn_id or ""].link_id for row in rows)
        assert [turn.link_id for turn in turns.values()] == [chain[0].id, chain[0].id, chain[1].id]


@pytest.mark.parametrize(
    "trouble",
    [
        "ratelimit early 60",
        "ratelimit 60",
        "credit",
        "overload",
        "login",
        "crash",
        "exit 0",
        "error -32603 no",
    ],
)
async def test_m07_no_trouble_starts_a_new_chain(world: World, trouble: str) -> None:
    async with world.client() as desk:
        await desk.say("say canary-one")
        before = await desk.links()
        await desk.say(trouble)
        after = await desk.links()
        kept = after[: len(before)]
        assert [(link.id, link.state) for link in kept] == [(link.id, link.state) for link in before]
        if trouble == "login":
            return  # until somebody logs in there is nobody to ask
        over = await desk.say("echo")
        assert ended(over)[1] is StopReason.END_TURN
        assert "canary-one" in (await desk.branch())[-1].text


async def test_m07_only_a_new_conversation_starts_anew(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say canary-one")
        fresh = await desk.conversations.create(agent=world.spec(), cwd=str(world.project))
        assert fresh.id != desk.conversation.id
    async with world.client() as other:
        over = await other.say("echo")
        assert ended(over)[0] is ContextSource.FRESH
    assert not any("canary-one" in block for block in world.prompts()[-1])


async def test_m02_the_chain_keeps_every_session_and_an_append_only_record(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say a")
        for _ in range(2):
            world.fail({"load": {"error": [-32002, "Resource not found"]}})
            await desk.say("crash")
            await desk.say("say b")
        chain = await desk.links()
        assert [link.state for link in chain] == [LinkState.LOST, LinkState.LOST, LinkState.OPEN]
        async with desk.db.read() as reader:
            events = await link_events(reader, desk.conversation.id)
            view = await links.view(reader, desk.conversation.id)
        carried = [event.link_id for event in events if event.event == "carried"]
        assert list(dict.fromkeys(carried)) == [link.id for link in chain]
        assert [link.id for link in view] == [link.id for link in chain]


async def test_r12_a_prompt_that_no_agent_takes_is_back_in_the_draft_and_in_the_input_history(
    world: World,
) -> None:
    missing = world.spec(name="gone")
    spec = type(missing)("gone", "Gone", (str(world.place / "no-such-agent"),))
    async with world.client(specs={"gone": spec}, agent="gone") as desk:
        over = await desk.say("a long thought that must not be lost")
        assert over.turn is None
        assert over.problem is not None and over.problem.trouble is Trouble.AGENT_MISSING
        assert (await desk.stored_window()).draft == "a long thought that must not be lost"
        assert (await desk.stored_window()).leaf_id is None
        async with desk.db.read() as reader:
            typed = [text for _, text in await inputs.recent(reader)]
        assert typed == ["a long thought that must not be lost"]


async def test_m06_an_empty_chat_leaves_no_trace(world: World) -> None:
    async with world.client() as desk:
        await desk.window.prepare()
        assert len(await desk.links()) == 1
    async with world.client() as other:
        async with other.db.read() as reader:
            rows = await reader.all("SELECT id FROM conversation")
        assert [row[0] for row in rows] == [other.conversation.id]


async def test_a_title_of_the_agents_names_the_conversation_until_a_person_does(world: World) -> None:
    async with world.client() as desk:
        await desk.say("title Shopping list; say one")
        await desk.until(lambda: desk.conversation.record.title)
        await desk.conversation.rename("Mine")
        await desk.say("title Another; say two")
        assert desk.conversation.record.title == "Mine"


async def test_text_between_turns_becomes_a_row_that_the_session_is_known_to_hold(world: World) -> None:
    async with world.client() as desk:
        await desk.say("between cue later")
        world.cue("later")
        late = await desk.until_told(
            MessageAdded, lambda news: news.message.kind is Kind.AGENT and news.message.turn_id is None
        )
        assert (await desk.stored_window()).leaf_id == late.message.id
        over = await desk.say("echo")
        assert ended(over) == (ContextSource.CONTINUED, StopReason.END_TURN)
        assert len(world.prompts()[-1]) == 1


async def test_two_windows_of_one_conversation_never_share_a_session(world: World) -> None:
    async with world.client("--fork-at") as desk:
        await desk.say("say shared")
        other = Desk(
            desk.db,
            desk.conversations,
            desk.conversation,
            await open_window(desk.db, desk.conversation.id, (await desk.stored_window()).leaf_id),
        )
        desk.conversation.subscribe(other.hear)
        left, right = await asyncio.gather(desk.say("say left; echo"), other.say("say right; echo"))
        assert left.turn is not None and right.turn is not None
        assert left.turn.link_id != right.turn.link_id
        heard = [(await window.branch())[-1].text.partition("all=")[2] for window in (desk, other)]
    assert ["shared" in text for text in heard] == [True, True]
    assert ["right" in text for text in heard] == [False, True]
    assert ["left" in text for text in heard] == [True, False]


async def test_m12_without_our_store_the_agents_own_sessions_are_whole(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        (link,) = await desk.links()
    for file in world.store.parent.iterdir():
        if file.is_file():
            file.unlink()
    agent = await start_agent(world.spec(), cwd=str(world.project), client_version="test")
    try:
        opened = await agent.load_session(link.session_id, SessionSetup(str(world.project)))
        told = [event.text for event in opened.replay if isinstance(event, TextChunk)]
        assert told == ["say one", "one"]
    finally:
        await agent.stop()


async def test_r16_a_second_client_reads_and_takes_over_when_the_first_is_gone(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        async with world.client(resume=desk) as second:
            assert second.conversation.read_only
            with pytest.raises(ReadOnly):
                await second.window.say("say two")
            assert [row.text for row in await second.branch()] == ["say one", "one"]
    async with world.client(resume=desk) as third:
        assert not third.conversation.read_only
        over = await third.say("echo")
        assert ended(over) == (ContextSource.RESUMED, StopReason.END_TURN)
