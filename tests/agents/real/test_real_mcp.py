"""Claude and OpenCode as they are, offline: each calls servers of the settings, over standard input and over HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.conversation_events import ConversationEvent, PermissionOpened
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.mcp.servers import McpServer, ServerOrigin, Transport
from catena_store.chains import links
from catena_store.database.database import Database
from catena_store.records import Kind, LinkState
from support.agents.real import PATIENCE, RealAgent, with_its_model
from support.conversations.rehearsed import Desk, open_window

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

CLIENTS = Path(__file__).parents[2] / "support" / "clients"
SERVER, MAIL_SERVER = CLIENTS / "mcp_server.py", CLIENTS / "mail_server.py"


@pytest.fixture(params=["opencode", "claude"])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealAgent]:
    with with_its_model(request.param, tmp_path) as real:
        yield real


@contextmanager
def http_server() -> Iterator[int]:
    """The port of a server over HTTP."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), "http"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def called(desk: Desk, text: str) -> str:
    """Say it, allow what is asked for, and give what the tool call brought."""
    answers: set[asyncio.Task[None]] = set()

    def allow(event: ConversationEvent) -> None:
        if isinstance(event, PermissionOpened):
            option = next(each for each in event.options if each.kind == "allow_once")
            answers.add(asyncio.ensure_future(desk.conversation.answer(event.ask_id, option.id)))

    end = desk.conversation.subscribe(allow)
    async with asyncio.timeout(PATIENCE):
        await desk.window.say(text)
        await desk.window.wait_idle()
    end()
    call = [row for row in await desk.branch() if row.kind is Kind.TOOL][-1]
    assert call.data["status"] == "completed", call.data
    return str(call.data)


async def test_w14_a_real_agent_calls_servers_over_standard_input_and_http(
    agent: RealAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHIMES", "of the environment")
    spec = command_spec(agent.command)
    with http_server() as port:
        servers = [
            McpServer(
                "near",
                Transport.STDIO,
                ServerOrigin.SETTINGS,
                command=(sys.executable, str(SERVER), "stdio"),
                env=(("CHIME_KEY", "${CHIMES}"),),
            ),
            McpServer(
                "far",
                Transport.HTTP,
                ServerOrigin.SETTINGS,
                url=f"http://127.0.0.1:{port}/mcp",
                headers=(("X-Chime-Key", "${CHIMES}"),),
            ),
        ]
        async with (
            Database.open(agent.data / "catena.db") as db,
            Conversations.serve(
                db, specs={spec.name: spec}, client_version="test", mcp_servers=servers
            ) as served,
        ):
            conversation = await served.create(agent=spec, cwd=str(agent.project))
            desk = Desk(db, served, conversation, await open_window(db, conversation.id))
            conversation.subscribe(desk.hear)
            for name in ("chime_stdio", "chime_http"):
                text = await called(desk, f'TOOLNAMED {name} {{"word": "twelve"}}')
                assert "chimed twelve with key of the environment" in text


@asynccontextmanager
async def mailing(agent: RealAgent) -> AsyncIterator[Desk]:
    """A client whose agent can send mails."""
    spec = command_spec(agent.command)
    command = (sys.executable, str(MAIL_SERVER), str(agent.project / "outbox"))
    mail = McpServer("mail", Transport.STDIO, ServerOrigin.SETTINGS, command=command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        Conversations.serve(db, specs={spec.name: spec}, client_version="test", mcp_servers=[mail]) as served,
    ):
        conversation = await served.create(agent=spec, cwd=str(agent.project))
        desk = Desk(db, served, conversation, await open_window(db, conversation.id))
        desk.conversation.subscribe(desk.hear)
        yield desk


async def test_p04_a_real_agent_whose_session_is_gone_hears_whom_a_mail_went_to_and_what_came_back(
    agent: RealAgent,
) -> None:
    async with mailing(agent) as desk:
        await called(desk, 'TOOLNAMED mail_send {"to": "anna@example.org", "subject": "Invitation"}')
        (link,) = await desk.links()
        async with desk.db.write() as tx:
            await links.move(tx, link.id, state=LinkState.LOST, ended="it is gone", event="lost")
        async with asyncio.timeout(PATIENCE):
            ended = await desk.say("whom did you write to?")
        assert ended.turn is not None and ended.problem is None
    heard, told = agent.heard("whom did you write to?"), ended.turn.prior_context
    assert told is not None and told in heard.everything
    assert '"to": "anna@example.org"' in heard.everything
    assert "> Sent to anna@example.org as message 1." in heard.everything
