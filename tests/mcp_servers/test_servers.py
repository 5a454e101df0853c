"""MCP servers in sessions: given to new, loaded and forked ones, told where one cannot be, allowed for a project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import Remarked
from catena_acp.mcp.servers import McpServer, ServerOrigin, Transport
from catena_store.records import ContextSource
from support.conversations.rehearsed import Desk, World

CLOCK = McpServer(
    "clock", Transport.STDIO, ServerOrigin.SETTINGS, command=("/bin/true",), env=(("T", "${ZONE}"),)
)
FAR = McpServer("far", Transport.HTTP, ServerOrigin.SETTINGS, url="https://h/mcp")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("ZONE", "UTC")
    return World(tmp_path)


def given(world: World, method: str) -> list[list[str]]:
    """The names of the servers that sessions were opened with."""
    return [[each["name"] for each in entry["params"]["mcpServers"]] for entry in world.requests(method)]


def remarks(desk: Desk) -> list[str]:
    return [news.text for news in desk.told if isinstance(news, Remarked)]


def bring(world: World, servers: dict[str, Any]) -> None:
    (world.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


async def test_w14_servers_of_the_settings_are_given_to_new_loaded_and_forked_sessions(world: World) -> None:
    async with world.client(mcp_servers=[CLOCK, FAR]) as desk:
        await desk.say("say one")
        (call,) = world.requests("session/new")
        assert call["params"]["mcpServers"] == [
            {"name": "clock", "command": "/bin/true", "args": [], "env": [{"name": "T", "value": "UTC"}]},
            {"type": "http", "name": "far", "url": "https://h/mcp", "headers": []},
        ]
        await desk.conversations.fork(desk.conversation, window_id=desk.window_id)
        assert given(world, "session/fork")[-1] == ["clock", "far"]
    async with world.client(resume=desk, mcp_servers=[FAR]) as again:
        await again.say("say two")
        assert given(world, "session/load") == [["far"]], "what is in the settings now, and nothing of before"


async def test_w14_a_server_that_the_agent_cannot_take_is_told_once_and_not_sent(world: World) -> None:
    async with world.client("--no-mcp-http", mcp_servers=[CLOCK, FAR]) as desk:
        await desk.say("say one")
        await desk.say("crash")
        await desk.say("say two")
        assert given(world, "session/new") + given(world, "session/load") == [["clock"]] * 2
        assert remarks(desk) == ["MCP server far is left out: Rehearsal does not support MCP over HTTP."]


async def test_w14_what_a_project_brings_waits_until_its_content_is_allowed_and_is_asked_for_once(
    world: World,
) -> None:
    bring(world, {"bell": {"command": "/bin/true"}})
    async with world.client() as desk:
        await desk.say("say one")
        assert given(world, "session/new") == [[]]
        assert remarks(desk) == ["This project brings an MCP server (.mcp.json): /mcp shows and allows it."]
        listed = await desk.conversation.servers.listed(desk.window_id)
        assert listed.project is not None and listed.allowed is None and listed.in_session == frozenset()
        await desk.conversation.servers.answer(listed.project, allowed=True)
        over = await desk.say("echo")
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0)
        assert given(world, "session/load") == [["bell"]], "opened again with it, and nothing is told again"
        assert (await desk.conversation.servers.listed(desk.window_id)).in_session == {"bell"}
    async with world.client(resume=desk) as again:
        await again.say("say two")
        assert given(world, "session/load")[-1] == ["bell"] and remarks(again) == []
        bring(world, {"bell": {"command": "/bin/false"}})
        await again.say("say three")
        assert given(world, "session/load")[-1] == [], "another content is another question"
        assert len(remarks(again)) == 1
        listed = await again.conversation.servers.listed(again.window_id)
        assert listed.project is not None
        await again.conversation.servers.answer(listed.project, allowed=False)
    async with world.client(resume=desk) as last:
        await last.say("say four")
        assert given(world, "session/load")[-1] == [] and remarks(last) == []
