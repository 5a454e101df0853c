"""Forks that are made while nobody waits: for a look at what an agent does, or to be parked.

None of them may hold up a prompt or outlive its purpose. Where the work on one is broken off, what the agent still
answers is taken away when it comes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from catena_acp.continuity.errors import ReadOnly
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.sessions import ForkWrong, LiveSession
from catena_acp.errors import AgentError
from catena_acp.events import SessionOpened
from catena_store.chains import links
from catena_store.errors import StoreError
from catena_store.records import Cause, Link, LinkState

Later = Callable[[Coroutine[Any, Any, None]], None]  # does something beside the next prompt


async def fork_apart(
    ground: SendContext, live: LiveSession, cause: Cause, later: Later, at: str | None = None
) -> SessionOpened:
    """Fork a session, at its head or ``at`` a message, for something else than a prompt.

    Raises ForkWrong where the answer is a session that we hold already, or any AgentError.
    """
    request = asyncio.ensure_future(live.agent.fork_session(live.session_id, ground.place, at))
    try:
        opened = await asyncio.shield(request)
        if opened.session_id == live.session_id:
            raise ForkWrong(f"{ground.spec.title} answered the fork with its source's own id")
        if held := await _holder(ground, opened):
            # An id that is handed out twice is trusted by nobody.
            await ground.lose(held, "the agent gave its session id to a fork")
            raise ForkWrong(f"{ground.spec.title} gave a session id that it had given before")
    except (asyncio.CancelledError, ReadOnly, StoreError):
        # Also where the fork is there already, and only the look at whose it is was broken off.
        later(_take_away_when_it_comes(ground, live, cause, request))
        raise
    return opened


async def take_away(ground: SendContext, live: LiveSession, opened: SessionOpened, cause: Cause) -> None:
    """Close a fork that nobody needs, and delete it where the agent offers that; else it is kept in mind as ours."""
    if not live.agent.abilities.delete:
        with contextlib.suppress(StoreError, ReadOnly):
            await _keep_in_mind(ground, live, opened, cause)
    with contextlib.suppress(AgentError):
        await live.agent.close_session(opened.session_id)
        if live.agent.abilities.delete:
            await live.agent.delete_session(opened.session_id)


async def _take_away_when_it_comes(
    ground: SendContext, live: LiveSession, cause: Cause, request: asyncio.Future[SessionOpened]
) -> None:
    try:
        opened = await request
    except AgentError:
        return
    with contextlib.suppress(StoreError, ReadOnly):
        if opened.session_id == live.session_id:
            return
        if held := await _holder(ground, opened):
            await ground.lose(held, "the agent gave its session id to a fork")
            return
    await take_away(ground, live, opened, cause)


async def _holder(ground: SendContext, opened: SessionOpened) -> Link | None:
    async with ground.services.db.read() as reader:
        return await links.by_session(reader, ground.spec.name, ground.spec.profile, opened.session_id)


async def _keep_in_mind(ground: SendContext, live: LiveSession, opened: SessionOpened, cause: Cause) -> None:
    """The agent's own list will go on showing it: it is known as one of ours, and used for nothing."""
    async with ground.tenure.write() as tx:
        link = await links.add(
            tx,
            id=ground.services.new_id(),
            conversation_id=ground.record.id,
            agent=ground.spec.name,
            profile=ground.spec.profile,
            session_id=opened.session_id,
            cwd=ground.record.cwd,
            cause=cause,
            source_id=live.link_id,
            state=LinkState.LOST,
        )
        await links.move(tx, link.id, ended="it was not needed")
