"""Claude and OpenCode as they are, offline: each looks up an earlier conversation through the tools it was handed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from catena.app.mcp_server import tool_server
from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import ConversationEvent, PermissionOpened
from catena_acp.continuity.services import Checkpointing
from catena_acp.conversation.conversations.conversations import Conversations
from catena_store.conversations.checkpoints import Frequency
from catena_store.database.database import Database
from catena_store.records import Kind, Message
from support.agents.real import PATIENCE, RealAgent, with_its_model
from support.conversations.rehearsed import Desk, open_window

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]


@pytest.fixture(params=["opencode", "claude"])
def agent(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RealAgent]:
    with with_its_model(request.param, tmp_path) as real:
        for name in ("CATENA_DATA_DIR", "CATENA_CONFIG_DIR"):
            monkeypatch.setenv(name, real.environment[name])
        config = Path(os.environ["CATENA_CONFIG_DIR"])
        config.mkdir(exist_ok=True)
        (config / "config.toml").write_text("[memory]\ntools = true\n")
        yield real


async def said(desk: Desk, text: str) -> None:
    """A whole turn; each of the two conversations has a process of its own, which takes its time to start."""
    async with asyncio.timeout(PATIENCE):
        await desk.window.say(text)
        await desk.window.wait_idle()


async def asked(desk: Desk, text: str) -> Message:
    """Say it, allow what is asked for, and give the tool call that it led to."""
    answers: set[asyncio.Task[None]] = set()

    def allow(event: ConversationEvent) -> None:
        if isinstance(event, PermissionOpened):
            option = next(each for each in event.options if each.kind == "allow_once")
            answers.add(asyncio.ensure_future(desk.conversation.answer(event.ask_id, option.id)))

    end = desk.conversation.subscribe(allow)
    await said(desk, text)
    end()
    return [row for row in await desk.branch() if row.kind is Kind.TOOL][-1]


async def test_h23_a_real_agent_recalls_and_reads_an_earlier_conversation_and_each_read_is_a_tool_call(
    agent: RealAgent,
) -> None:
    spec = command_spec(agent.command)
    handed = Checkpointing(Frequency.MANUAL, tools=partial(tool_server, name="catena-memory"))
    async with (
        Database.open(agent.data / "catena.db") as db,
        Conversations.serve(
            db, specs={spec.name: spec}, client_version="test", checkpointing=handed
        ) as served,
    ):
        desks = []
        for _ in range(2):
            conversation = await served.create(agent=spec, cwd=str(agent.project))
            desks.append(Desk(db, served, conversation, await open_window(db, conversation.id)))
            conversation.subscribe(desks[-1].hear)
        earlier, now = desks
        await said(earlier, "the canary is called Frida")
        (prompt, *_) = await earlier.branch()

        call = await asked(now, 'TOOLNAMED recall {"words": "canary called"}')
        assert "recall" in str(call.data.get("title")) and call.data["status"] == "completed"
        assert f"turn {prompt.id}" in str(call.data) and "> the canary is called Frida" in str(call.data)
        assert agent.heard('TOOLNAMED recall {"words": "canary called"}').tool_results == 1

        call = await asked(now, f'TOOLNAMED read_turn {{"turn": "{prompt.id}"}}')
        assert "read_turn" in str(call.data.get("title")) and call.data["status"] == "completed"
        assert "> The person: the canary is called Frida" in str(call.data)
