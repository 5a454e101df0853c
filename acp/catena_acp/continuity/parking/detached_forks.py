"""Forks made in the background: to probe an agent, or to be parked.

None of them may hold up a prompt or outlive its purpose. If the work on one is broken off, the fork that the agent
still makes is taken away when its answer comes.

The probe tells whether an agent honours a fork at a message: no agent advertises it, and others fork everything. It is
tried once for each agent version, on a session at rest with a clean turn: a fork at a message that cannot be there must
be refused for that, and the same fork without it must succeed, the session unchanged between. Anything else says
nothing: the session may be gone, or the agent. Agents that were looked at and have no key for it are not asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from catena_acp.continuity.cancellation import outlived, raise_if_cancelled, shielded
from catena_acp.continuity.sending.context import FORK_AT, HONOURED, IGNORED, SendContext, fork_at_of
from catena_acp.continuity.sessions.agent_pool import keep_fork_at
from catena_acp.continuity.sessions.forking import ask_for_fork
from catena_acp.errors import AgentError, AgentRefused, ForkWrong, ReadOnly
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import SessionOpened
from catena_store.chains import agents, links
from catena_store.errors import StoreError
from catena_store.records import Cause, Link, LinkState, NewLink

_NO_SUCH_MESSAGE = -32602


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


async def probe(context: SendContext, source: ForkSource, later: Later) -> None:
    """Probe an agent version of which nothing is known; an inconclusive probe is repeated later. Raises StoreError."""
    abilities = source.agent.abilities
    tries, what = context.services.tries, ("probe", abilities.name, abilities.version)
    async with context.services.db.read() as reader:
        known = await fork_at_of(reader, abilities)
    if not abilities.fork or known is not None or not tries.may(what):
        return
    with tries.trying(what):
        try:
            conclusive = await _learns(context, source, later)
        except AgentError:
            conclusive = False
        raise_if_cancelled()
        if not conclusive:
            tries.failed(what)


async def _learns(context: SendContext, source: ForkSource, later: Later) -> bool:
    """False where the agent's answers say nothing; True also where the session moved, which is not its fault."""
    before = source.version
    try:
        everything = await fork_apart(context, source, Cause.PROBE, later, at=context.services.new_id())
    except AgentRefused as refused:
        if refused.code != _NO_SUCH_MESSAGE:
            return False
    else:
        await shielded(_conclude(context, source, everything, IGNORED))
        return True
    plain = await fork_apart(context, source, Cause.PROBE, later)
    await context.host.settle(source.link_id)
    async with context.services.db.read() as reader:
        link = await links.get(reader, source.link_id)
    unchanged = link is not None and link.version == before == source.version
    conclusive = source.agent.alive
    await shielded(_conclude(context, source, plain, HONOURED if unchanged and conclusive else None))
    return conclusive


async def _conclude(
    context: SendContext, source: ForkSource, fork: SessionOpened, answer: str | None
) -> None:
    """Keep what was learnt, and only then clear the fork away, which may take long."""
    abilities = source.agent.abilities
    try:
        if answer:
            async with context.services.db.write() as tx:
                await agents.set_ability(tx, abilities.name, abilities.version, FORK_AT, answer)
                await keep_fork_at(tx, source.agent, honoured=answer == HONOURED)
    finally:
        await take_away(context, source, fork, Cause.PROBE)
