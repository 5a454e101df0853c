"""The checkpoint tools that an agent is handed: the real MCP server process, and the question that it leads to."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import TextContent

from catena.app.mcp_server import tool_server
from catena.cli.main import main
from catena_acp.continuity.conversation_events import (
    MessageAdded,
    PermissionClosed,
    PermissionOpened,
    Remarked,
    Troubled,
    TurnEnded,
)
from catena_acp.continuity.services import Checkpointing
from catena_acp.conversation.checkpoints.agent_rewinds import RewindRequests
from catena_store.conversations import checkpoints
from catena_store.conversations.checkpoints import Frequency, RewindAnswer, RewindRequest
from catena_store.records import Kind
from catena_store.windows import queue
from support.conversations.rehearsed import Desk, World, open_window

TOOLS = Checkpointing(Frequency.MANUAL, tools=tool_server)
SAVE, LIST, REWIND = "save_checkpoint", "list_checkpoints", "rewind_to"


class Agent:
    """What an agent does with the tools that it was handed."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self._session.list_tools()).tools}

    async def call(self, tool: str, **arguments: str) -> tuple[bool, str]:
        """Whether it worked, and what it says."""
        result = await self._session.call_tool(tool, arguments)
        words = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        return not result.is_error, words


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    return World(tmp_path)


@asynccontextmanager
async def handed_out(world: World) -> AsyncIterator[Agent]:
    """The server that the newest session was given, started as the agent would start it."""
    (server,) = world.requests("session/new")[-1]["params"]["mcpServers"]
    started = StdioServerParameters(
        command=server["command"],
        args=server["args"],
        env={each["name"]: each["value"] for each in server["env"]},
        cwd=str(world.project),
    )
    async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield Agent(session)


@asynccontextmanager
async def in_a_turn(world: World) -> AsyncIterator[tuple[Desk, Agent]]:
    """A conversation of two turns with a checkpoint "good" between them; the second one runs."""
    async with world.client(checkpointing=TOOLS) as desk:
        await desk.say("say one")
        await desk.conversation.checkpoints.make(desk.window, "good")
        await desk.window.say("say half; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text.startswith("half"))
        async with handed_out(world) as agent:
            yield desk, agent


async def texts(desk: Desk) -> list[str]:
    return [row.text for row in await desk.branch() if row.kind in (Kind.USER, Kind.AGENT)]


async def end_turn(desk: Desk) -> None:
    await desk.window.stop()
    await desk.window.wait_idle()


async def test_k09_an_agent_saves_and_lists_checkpoints_through_the_tools_that_it_was_handed(
    world: World,
) -> None:
    async with in_a_turn(world) as (desk, agent):
        assert await agent.tools() == {SAVE, LIST, REWIND}

        saved, words = await agent.call(SAVE, label="before the change", note="as agreed")
        again, why = await agent.call(SAVE, label="good")
        listed, lines = await agent.call(LIST)

        newest, good = await desk.conversation.checkpoints.all()
        assert saved and "“before the change”" in words and newest.id in words
        assert (newest.label, newest.data["note"], newest.data["by"]) == (
            "before the change",
            "as agreed",
            "agent",
        )
        assert newest.data["turn"] == (await desk.turns())[-1].id
        assert not again and "already named" in why
        assert listed and lines.splitlines()[0].startswith(f"{newest.id} “before the change”")
        assert "as agreed" in lines and good.id in lines
        await end_turn(desk)


async def test_k09_a_rewind_is_a_question_and_what_is_granted_is_done_after_the_turn(world: World) -> None:
    async with in_a_turn(world) as (desk, agent):
        worked, words = await agent.call(REWIND, checkpoint="good")
        asked = await desk.until_told(PermissionOpened)

        assert worked and "The person was asked" in words and "Nothing has happened yet" in words
        assert asked.tool_call.title and "“good”" in asked.tool_call.title
        before = await texts(desk)
        await desk.window.say("say queued")
        await desk.conversation.answer(asked.ask_id, asked.options[0].id)
        assert await texts(desk) == before and desk.conversation.busy
        assert not [news for news in desk.told if isinstance(news, Remarked)]

        await desk.window.stop()
        done = await desk.until_told(Remarked)

        assert "“good”" in done.text and "Files are unchanged" in done.text
        assert await texts(desk) == ["say one", "one"]
        assert [turn.prompt_id for turn in await desk.turns()][2:] == []
        assert len(world.prompts()) == 2
        assert await answer_of(desk) is RewindAnswer.GRANTED


async def test_k09_what_waits_does_not_go_out_while_the_leave_to_rewind_is_still_being_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, go_on = RewindRequests._note, asyncio.Event()

    async def slowly(self: RewindRequests, request: RewindRequest, answer: RewindAnswer) -> None:
        await go_on.wait()
        await note(self, request, answer)

    async with in_a_turn(world) as (desk, agent):
        await agent.call(REWIND, checkpoint="good")
        asked = await desk.until_told(PermissionOpened)
        await desk.window.say("say queued")
        monkeypatch.setattr(RewindRequests, "_note", slowly)

        await desk.conversation.answer(asked.ask_id, asked.options[0].id)
        await end_turn(desk)
        go_on.set()
        await desk.until_told(Remarked)

        assert await texts(desk) == ["say one", "one"]
        assert len(world.prompts()) == 2
        async with desk.db.read() as reader:
            assert [item.held for item in await queue.items(reader, desk.window_id)] == [True]


async def test_k09_what_the_person_refuses_does_not_happen(world: World) -> None:
    async with in_a_turn(world) as (desk, agent):
        await agent.call(REWIND, checkpoint="good")
        asked = await desk.until_told(PermissionOpened)
        await desk.conversation.answer(asked.ask_id, asked.options[1].id)
        await desk.until_told(PermissionClosed)

        await end_turn(desk)

        assert (await texts(desk))[:3] == ["say one", "one", "say half; hang"]
        assert not desk.window.asked
        # Whatever was still to be written is, by now.
        await desk.window.say("say on")
        await desk.window.wait_idle()
        assert (await texts(desk))[-1] == "on"
        assert await answer_of(desk) is RewindAnswer.REFUSED


@pytest.mark.parametrize("closed_after", ["the question", "the answer", "it began to wait"])
async def test_k09_a_rewind_of_a_tab_that_was_closed_meanwhile_is_refused_with_words(
    world: World, closed_after: str
) -> None:
    async with in_a_turn(world) as (desk, agent):
        beside = await open_window(desk.db, desk.conversation.id)
        desk.conversation.window(beside)
        await agent.call(REWIND, checkpoint="good")
        asked = await desk.until_told(PermissionOpened)
        window, before = desk.window, (await desk.stored_window()).leaf_id
        if closed_after == "the question":
            desk.conversation.leave(desk.window_id)
            await desk.conversation.answer(asked.ask_id, asked.options[0].id)
        else:
            await desk.conversation.answer(asked.ask_id, asked.options[0].id)
            async with asyncio.timeout(60):
                schedule = window._schedule
                while closed_after == "it began to wait" and not schedule.waiting:  # noqa: ASYNC110 - nothing tells it
                    await asyncio.sleep(0)
            desk.conversation.leave(desk.window_id)
        await window.stop()
        await window.wait_idle()

        told = await desk.until_told(Troubled)

        assert told.window_id == beside
        assert "failed: the tab was closed" in told.problem.text
        assert await answer_of(desk) is RewindAnswer.FAILED
        assert desk.conversation.windows == {beside}, "a tab that was closed is not opened again"
        assert before in [row.id for row in await desk.branch()], "nor moved"


async def test_k09_tools_of_a_session_that_came_to_another_window_work_for_that_one(world: World) -> None:
    async with world.client(checkpointing=TOOLS) as desk:
        await desk.say("say one")
        leaf = (await desk.stored_window()).leaf_id
        desk.conversation.leave(desk.window_id)
        desk.window_id = await open_window(desk.db, desk.conversation.id, leaf)
        await desk.window.say("say half; hang")
        await desk.until_told(MessageAdded, lambda news: news.message.text.startswith("half"))
        async with handed_out(world) as agent:
            worked, _ = await agent.call(SAVE, label="here")
        saved = await desk.conversation.checkpoints.find("here")

        assert len(world.requests("session/new")) == 1
        assert worked and saved.data["turn"] == (await desk.turns())[-1].id
        assert saved.data["messages"] == 4
        await end_turn(desk)


async def test_k09_the_tools_say_what_does_not_work(world: World) -> None:
    async with in_a_turn(world) as (desk, agent):
        unknown = await agent.call(REWIND, checkpoint="better")
        await desk.conversation.checkpoints.set_frequency(Frequency.OFF)
        off = await agent.call(SAVE)
        assert unknown == (False, unknown[1]) and "“better”" in unknown[1]
        assert off == (False, off[1]) and "turned checkpoints off" in off[1]
        assert not [news for news in desk.told if isinstance(news, PermissionOpened)]
        await end_turn(desk)
        await desk.until_told(TurnEnded)


async def test_k09_without_the_setting_an_agent_is_handed_nothing(world: World) -> None:
    async with world.client(checkpointing=Checkpointing(Frequency.TURN)) as desk:
        await desk.say("say one")

        assert world.requests("session/new")[-1]["params"]["mcpServers"] == []


def test_k09_where_the_extra_is_missing_the_command_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)

    status = main(["mcp", "--conversation", "c", "--window", "w"])

    said = capsys.readouterr()
    assert (status, said.out) == (2, "")
    assert said.err.startswith("catena: the tools need the package `mcp`") and said.err.count("\n") == 1


async def answer_of(desk: Desk) -> RewindAnswer | None:
    """What became of the only request."""
    async with desk.db.read() as reader:
        rows = await reader.all("SELECT id FROM rewind_request")
        request = await checkpoints.rewind_request(reader, rows[0][0])
    assert request is not None and len(rows) == 1
    return request.answer
