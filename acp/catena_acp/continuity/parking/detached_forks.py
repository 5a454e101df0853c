"""Forks made in the background: to probe an agent, or to be parked.

None of them may hold up a prompt or outlive its purpose. Where the work on one is broken off, what the agent still
answers is taken away when it comes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from catena_acp.continuity.cancellation import outlived
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.forking import ask_for_fork
from catena_acp.errors import AgentError, ForkWrong, ReadOnly
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import SessionOpened
from catena_store.chains import links
from catena_store.errors import StoreError
from catena_store.records import Cause, Link, LinkState, NewLink


class ForkSource(Protocol):
    """The session that is forked: a live one, or one that its agent forks without its being open."""

    @property
    def agent(self) -> AgentPort: ...
    @property
    def link_id(self) -> str: ...
    @property
    def session_id(self) -> str: ...
    @property
    def version(self) -> int:
        """The link's, as it was last seen here."""
        ...


@dataclass(frozen=True, slots=True)
class ColdSource:
    """A session that is not open."""

    agent: AgentPort
    link_id: str
    session_id: str
    version: int


Later = Callable[[Coroutine[Any, Any, None]], object]  # does something beside the next prompt


async def fork_apart(
    context: SendContext, source: ForkSource, cause: Cause, later: Later, at: str | None = None
) -> SessionOpened:
    """Fork a session, at its head or ``at`` a message, but not for a prompt.

    Raises ForkWrong if the answer is a session that we hold already, or any AgentError.
    """
    asked = ask_for_fork(context.services, source.agent, source.session_id, context.place, at)
    request = asyncio.ensure_future(context.services.opening_wait.bound(asked))
    try:
        opened = await outlived(request)
        if opened.session_id == source.session_id:
            raise ForkWrong(f"{context.title} answered the fork with the original session's id")
        if held := await _holder(context, opened):
            # An id that is handed out twice is trusted by nobody.
            await context.lose(held, "the agent reused its session id for a fork")
            raise ForkWrong(f"{context.title} reused an earlier session id")
    except (asyncio.CancelledError, ReadOnly, StoreError):
        # Also where the fork is there already, and only the look at whose it is was broken off.
        later(_take_away_when_it_comes(context, source, cause, request))
        raise
    return opened


async def take_away(context: SendContext, source: ForkSource, opened: SessionOpened, cause: Cause) -> None:
    """Close a fork that is not needed, and delete it where the agent offers that; else record it as a lost link."""
    if not source.agent.abilities.delete:
        with contextlib.suppress(StoreError, ReadOnly):
            await _keep_in_mind(context, source, opened, cause)
    with contextlib.suppress(AgentError):
        await source.agent.close_session(opened.session_id)
        if source.agent.abilities.delete:
            await source.agent.delete_session(opened.session_id)


async def _take_away_when_it_comes(
    context: SendContext, source: ForkSource, cause: Cause, request: asyncio.Future[SessionOpened]
) -> None:
    try:
        opened = await request
    except (AgentError, StoreError):
        return
    with contextlib.suppress(StoreError, ReadOnly):
        if opened.session_id == source.session_id:
            return
        if held := await _holder(context, opened):
            await context.lose(held, "the agent reused its session id for a fork")
            return
    await take_away(context, source, opened, cause)


async def _holder(context: SendContext, opened: SessionOpened) -> Link | None:
    async with context.services.db.read() as reader:
        return await links.by_session(reader, context.spec.name, context.spec.profile, opened.session_id)


async def _keep_in_mind(
    context: SendContext, source: ForkSource, opened: SessionOpened, cause: Cause
) -> None:
    """Record a fork that the agent's own list will go on showing, as a link that is never used."""
    async with context.tenure.write() as tx:
        link = await links.add(
            tx,
            NewLink(
                id=context.services.new_id(),
                conversation_id=context.record.id,
                agent=context.spec.name,
                profile=context.spec.profile,
                session_id=opened.session_id,
                cwd=context.record.cwd,
                cause=cause,
                source_id=source.link_id,
                state=LinkState.LOST,
            ),
        )
        await links.move(tx, link.id, ended="not needed")
