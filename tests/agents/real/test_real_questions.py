"""Claude, OpenCode and Gemini as they are, offline: what stands on a question is what the agent then does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catena.text.call_text import object_of
from catena.workspace.questions.permission_words import subject_lines
from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import ConversationEvent, PermissionOpened
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.mcp.servers import McpServer, ServerOrigin, Transport
from catena_acp.spoken.call import Call
from catena_store.database.database import Database
from catena_store.records import Kind
from support.agents.real import PATIENCE, RealAgent, with_its_model
from support.conversations.rehearsed import Desk, open_window

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

MAIL_SERVER = Path(__file__).parents[2] / "support" / "clients" / "mail_server.py"
SHELL = {"claude": "Bash", "opencode": "bash", "gemini": "run_shell_command"}
EDIT = {"claude": "Write", "opencode": "write", "gemini": "write_file"}
FETCH = {
    "claude": ("WebFetch", {"url": "https://example.org/a", "prompt": "what"}),
    "opencode": ("webfetch", {"url": "https://example.org/a", "format": "text"}),
    "gemini": ("web_fetch", {"prompt": "Tell me of https://example.org/a"}),
}
READ = {
    "claude": ("Read", "file_path"),
    "opencode": ("read", "filePath"),
    "gemini": ("read_file", "file_path"),
}


@pytest.fixture(params=["claude", "opencode", "gemini"])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealAgent]:
    with with_its_model(request.param, tmp_path) as real:
        yield real


class Person:
    """Somebody who allows each thing once, and remembers what stood there."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.read: list[str] = []
        self._answers: set[asyncio.Task[None]] = set()
        desk.conversation.subscribe(self._hear)

    def _hear(self, event: ConversationEvent) -> None:
        if isinstance(event, PermissionOpened):
            diffs = [f"{diff.path}\n{diff.new}" for diff in event.subject.diffs]
            self.read.append("\n".join((*subject_lines(event.subject, ""), *diffs)))
            option = next(each for each in event.options if each.kind == "allow_once")
            answer = self.desk.conversation.answer(event.ask_id, option.id, event.tool_call)
            self._answers.add(asyncio.ensure_future(answer))

    async def lets(self, tool: str, arguments: dict[str, Any]) -> tuple[str, str]:
        """What stood on the questions, and on the row, when the agent used a tool."""
        self.read.clear()
        async with asyncio.timeout(PATIENCE):
            await self.desk.window.say(f"TOOLNAMED {tool} {json.dumps(arguments)}")
            await self.desk.window.wait_idle()
        row = [row for row in await self.desk.branch() if row.kind is Kind.TOOL][-1]
        assert not Call(row.data).unlike, row.data
        return "\n".join(self.read), object_of(Call.of(row))


async def test_v02_what_stands_on_a_question_and_a_row_is_what_a_real_agent_does(agent: RealAgent) -> None:
    spec = command_spec(agent.command)
    outbox, made = agent.project / "outbox", agent.project / "made.txt"
    command = (sys.executable, str(MAIL_SERVER), str(outbox))
    mail = McpServer("mail", Transport.STDIO, ServerOrigin.SETTINGS, command=command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        Conversations.serve(db, specs={spec.name: spec}, client_version="test", mcp_servers=[mail]) as served,
    ):
        conversation = await served.create(agent=spec, cwd=str(agent.project))
        person = Person(Desk(db, served, conversation, await open_window(db, conversation.id)))

        shell = {"command": "echo hi # look\ntouch evil", "description": "Say hi"}
        asked, row = await person.lets(SHELL[agent.name], shell)
        assert "echo hi # look ⏎" in asked and "touch evil" in asked
        assert row == "echo hi # look ⏎ touch evil" and (agent.project / "evil").exists()

        path = "filePath" if agent.name == "opencode" else "file_path"
        asked, row = await person.lets(EDIT[agent.name], {path: str(made), "content": "one line\n"})
        assert str(made) in asked and asked.count("one line") == 1
        assert row.endswith("made.txt") and made.read_text() == "one line\n"

        secret = agent.project.parent / "outside" / "secret.txt"
        secret.parent.mkdir()
        secret.write_text("hidden\n")
        tool, named = READ[agent.name]
        read = {named: str(secret)}
        asked, row = await person.lets(tool, read)
        if agent.name == "gemini":  # which refuses it by itself
            assert not asked and "hidden" not in agent.heard(f"TOOLNAMED {tool} {json.dumps(read)}").results
        else:
            assert str(secret) in asked and "outside/secret.txt" in row

        asked, row = await person.lets(*FETCH[agent.name])
        assert "https://example.org/a" in asked and "https://example.org/a" in row

        asked, row = await person.lets("mail_send", {"to": "eve@evil.example", "subject": "Keys"})
        assert agent.name == "opencode" or "eve@evil.example" in asked  # which asks for no tool of a server
        # Which tells of no arguments but when it asks.
        assert agent.name == "gemini" or "eve@evil.example" in row
        assert outbox.read_text() == "eve@evil.example\n"
