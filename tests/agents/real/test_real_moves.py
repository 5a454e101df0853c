"""Claude as it is, offline: its session goes along to another directory, and to another account.

``tests/rig/rig install claude`` installs it. What it heard is proved by the model behind it.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.port.port import AgentSpec
from catena_acp.transcripts import claude
from catena_store.database.database import Database
from catena_store.records import Cause, ContextSource, Kind
from support.agents.real import RealAgent, with_its_model
from support.conversations.rehearsed import Desk, open_window

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[RealAgent]:
    with with_its_model("claude", tmp_path) as real:
        yield real


def account(agent: RealAgent, name: str = "", home: Path | None = None) -> AgentSpec:
    """Claude with a home of its own, which its settings name as those of a profile do."""
    place = home or agent.home
    place.mkdir(exist_ok=True)
    command = tuple(shlex.split(agent.command.replace(str(agent.home), str(place))))
    return AgentSpec("claude", "Claude Code", command, (("CLAUDE_CONFIG_DIR", str(place / ".claude")),), name)


@asynccontextmanager
async def client(agent: RealAgent, *more: AgentSpec, resume: Desk | None = None) -> AsyncIterator[Desk]:
    specs = {spec.profile: spec for spec in (account(agent), *more)}
    async with (
        Database.open(agent.data / "catena.db") as db,
        Conversations.serve(db, specs=specs, client_version="test") as served,
    ):
        if resume:
            conversation = await served.open(resume.conversation.id)
            desk = Desk(db, served, conversation, resume.window_id)
        else:
            conversation = await served.create(agent=specs[""], cwd=str(agent.project))
            desk = Desk(db, served, conversation, await open_window(db, conversation.id))
        conversation.subscribe(desk.hear)
        yield desk


async def test_h13_claude_goes_on_by_the_same_id_in_another_directory_also_when_the_first_is_gone(
    agent: RealAgent, tmp_path: Path
) -> None:
    there = tmp_path / "acp-cwd-it is elsewhere.now ü"
    there.mkdir()
    async with client(agent) as desk:
        await desk.say("the canary is called Frida")
        await desk.conversation.change_directory(str(there))
        over = await desk.say("what is its name?")
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0)
        before, copy = await desk.links()
        assert (before.session_id, copy.cause) == (copy.session_id, Cause.COPY)
        heard = agent.heard("what is its name?")
        assert (
            heard.users[-2:] == ["the canary is called Frida", "what is its name?"]
            or "Frida" in heard.users[-2]
        )
        file = claude.transcript_path(agent.home / ".claude", str(there), copy.session_id)
        assert "what is its name?" in file.read_text()
    further = tmp_path / "acp-cwd-further"
    there.rename(further)  # while nobody looks: the conversation is asked for in its new place
    async with client(agent, resume=desk) as again:
        await again.conversation.change_directory(str(further))
        over = await again.say("and its colour?")
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0)
        assert "Frida" in agent.heard("and its colour?").everything
        assert {link.session_id for link in await again.links()} == {copy.session_id}


async def test_m15_another_account_of_claude_goes_on_with_the_same_context(
    agent: RealAgent, tmp_path: Path
) -> None:
    work = account(agent, "work", tmp_path / "work")
    async with client(agent, work) as desk:
        await desk.say("the canary is called Frida")
        (price,) = await desk.conversation.chain.prices(desk.window, [work])
        assert price.words == "probably same context, copied to account work"
        await desk.window.set_agent(work)
        over = await desk.say("what is its name?")
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0)
        heard = agent.heard("what is its name?")
        assert "the canary is called Frida" in heard.everything and len(heard.users) == 2
        own, copy = await desk.links()
        assert (own.session_id, own.profile, copy.profile) == (copy.session_id, "", "work")
        file = claude.transcript_path(tmp_path / "work" / ".claude", str(agent.project), copy.session_id)
        assert "what is its name?" in file.read_text()
        seams = [row.text for row in await desk.branch() if row.kind is Kind.SEAM]
        assert seams == ["same context, copied to account work · session resumed"]

        # And back, while both of their processes run: the first one keeps its transcript, which ended before.
        first = account(agent)
        (price,) = await desk.conversation.chain.prices(desk.window, [first])
        assert price.words == "same context, copied to this account"
        await desk.window.set_agent(first)
        over = await desk.say("and its colour?")
        seams = [row.text for row in await desk.branch() if row.kind is Kind.SEAM]
        assert over.turn and (over.turn.how, over.turn.told) == (ContextSource.RESUMED, 0), seams
        assert "what is its name?" in agent.heard("and its colour?").everything
