"""Gemini CLI as it is, offline: what it sends behind the answer to a load is no news, and what it loses is told.

``tests/rig/rig install gemini`` installs it. What it heard is proved by the model behind it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.continuity.routing.prior_context import BEGIN
from catena_acp.conversation.conversations.conversations import Conversations
from catena_store.conversations import messages
from catena_store.database.database import Database
from catena_store.records import ContextSource, Kind, LinkState
from support.agents.real import RealAgent, fake_model
from support.conversations.modelled import how
from support.conversations.rehearsed import Desk, open_window

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]


@asynccontextmanager
async def client(agent: RealAgent, *, minutes: int, resume: Desk | None = None) -> AsyncIterator[Desk]:
    """One life of a client, so many minutes after the first: Gemini names what it keeps by the minute."""
    (agent.home / ".minutes-ahead").write_text(str(minutes))
    spec = command_spec(agent.command)
    async with (
        Database.open(agent.data / "catena.db") as db,
        Conversations.serve(db, specs={spec.name: spec}, client_version="test") as served,
    ):
        if resume:
            conversation, window_id = await served.open(resume.conversation.id), resume.window_id
        else:
            conversation = await served.create(agent=spec, cwd=str(agent.project))
            window_id = await open_window(db, conversation.id)
        desk = Desk(db, served, conversation, window_id)
        conversation.subscribe(desk.hear)
        yield desk


async def spoken(desk: Desk) -> list[tuple[Kind, str]]:
    """Everything that was said in the conversation, on whatever branch; of answers their first word."""
    async with desk.db.read() as reader:
        rows = await messages.of_conversation(reader, desk.conversation.id)
    return [
        (row.kind, row.text if row.kind is Kind.USER else row.text.split()[0])
        for row in rows
        if row.kind is not Kind.SEAM
    ]


async def test_r07_gemini_goes_on_in_its_session_after_a_restart_and_is_told_when_it_cannot_again(
    tmp_path: Path,
) -> None:
    log = tmp_path / "requests.jsonl"
    answer = (Kind.AGENT, "[echo]")
    with fake_model(log) as port:
        agent = RealAgent("gemini", tmp_path, port, log)
        try:
            async with client(agent, minutes=0) as desk:
                assert how(await desk.say("first prompt")) is ContextSource.FRESH
                after_the_first = (await desk.stored_window()).leaf_id
                assert how(await desk.say("second prompt")) is ContextSource.CONTINUED

            async with client(agent, minutes=5, resume=desk) as restarted:
                named = await restarted.conversation.chain.price(restarted.window)
                over = await restarted.say("third prompt")
                assert (named.how, how(over)) == (ContextSource.RESUMED, ContextSource.RESUMED)
                (link,) = await restarted.links()
                leaf = (await restarted.stored_window()).leaf_id
                assert (link.state, link.knows, link.reach) == (LinkState.OPEN, leaf, leaf)
                assert how(await restarted.say("fourth prompt")) is ContextSource.CONTINUED
                prompts = ["first prompt", "second prompt", "third prompt", "fourth prompt"]
                expected = [row for text in prompts for row in ((Kind.USER, text), answer)]
                assert await spoken(restarted) == expected, "no row is there twice"
            heard = agent.heard("fourth prompt")
            assert [text for text in heard.users if text in prompts] == prompts
            assert BEGIN not in heard.everything

            async with client(agent, minutes=10, resume=desk) as again:
                named = await again.conversation.chain.price(again.window)
                over = await again.say("fifth prompt")
                assert over.turn is not None
                assert (named.how, named.told) == (over.turn.how, over.turn.told) == (ContextSource.TOLD, 8)
                await again.window.go_to(after_the_first)
                named = await again.conversation.chain.price(again.window)
                over = await again.say("instead of the second")
                assert over.turn is not None
                assert (named.how, named.told) == (over.turn.how, over.turn.told) == (ContextSource.TOLD, 2)
            heard = agent.heard("instead of the second")
            assert "first prompt" in heard.everything
            assert "second prompt" not in heard.everything.replace("instead of the second", "")
        finally:
            agent.kill()
