"""Forks made in the background: to probe an agent, or to be parked, so that a later edit can go on from one.

None of them may hold up a prompt or outlive its purpose. If the work on one is broken off, the fork that the agent
still makes is taken away when its answer comes.

The probe tells whether an agent honours a fork at a message: no agent advertises it, and others fork everything. It is
tried once for each agent version, on a session at rest with a clean turn: a fork at a message that cannot be there must
be refused for that, and the same fork without it must succeed, the session unchanged between. Anything else says
nothing: the session may be gone, or the agent. Agents that were looked at and have no key for it are not asked.

A fork of a turn's end is parked only where the agent cannot fork at that message itself, and only while it costs next
to nothing: OpenCode copies the whole session for a fork, and cannot delete it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catena_acp.continuity.conversation_events import Remarked
from catena_acp.continuity.sending.context import FORK_AT, HONOURED, IGNORED, SendContext, fork_at_of
from catena_acp.continuity.sessions.agent_pool import keep_fork_at
from catena_acp.continuity.sessions.opening import ask_for_fork, fork_anchors
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.errors import AgentError, AgentRefused, ForkWrong, ReadOnly
from catena_acp.port.port import AgentPort
from catena_acp.port.session_events import SessionOpened
from catena_acp.tasks import outlived, raise_if_cancelled, shielded
from catena_store.chains import agents, links
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.records import Cause, Link, LinkState, Turn

_NO_SUCH_MESSAGE = -32602


@dataclass(frozen=True, slots=True)
class ColdSource:
    """A session that its agent forks without its being open."""

    agent: AgentPort
    link_id: str
    session_id: str
    version: int  # the link's, as it was last seen here


ForkSource = LiveSession | ColdSource  # the session that is forked

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
    with contextlib.suppress(StoreError):
        await context.end_unless_held(source.agent, opened)


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
        new = context.new_link(opened.session_id, cause)
        link = await links.add(tx, replace(new, source_id=source.link_id, state=LinkState.LOST))
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


_TOLD_OF_PARKING = "told_of_parking"  # what is kept of an agent, of whichever version
_ANY_VERSION = ""


async def park(context: SendContext, live: LiveSession, turn: Turn, window_id: str, later: Later) -> None:
    """Park a fork of an idle session after a clean turn, where a fork is useful and cheap enough.

    Broken off, it leaves nothing behind; a fork whose source moved meanwhile is thrown away. Raises StoreError.
    """
    tries, what = context.services.tries, ("park", live.agent.abilities.name, live.agent.abilities.version)
    async with context.services.db.read() as reader:
        source = await links.get(reader, live.link_id)
        wanted = source is not None and await _is_wanted(reader, context, live, source, turn)
    if source is None or not wanted or not tries.may(what):
        return
    with tries.trying(what):
        began = context.services.monotonic()
        try:
            opened = await fork_apart(context, live, Cause.PARK, later)
            took = context.services.monotonic() - began
            link = await shielded(_keep(context, live, source, opened, took))
        except AgentError:
            raise_if_cancelled()
            tries.failed(what)
            return
    raise_if_cancelled()
    if link is not None:
        await prune(context)


async def prune(context: SendContext) -> None:
    """Drop the oldest parked links beyond the limit; labelled checkpoints keep theirs. Raises StoreError."""
    async with context.services.db.read() as reader:
        parked = await links.prunable_parked(reader, context.record.id)
    await drop_parked(context, parked[: max(0, len(parked) - context.services.while_idle.kept)])


async def drop_parked(context: SendContext, parked: Sequence[Link], why: str = "pruned") -> None:
    """Mark parked links as lost and close their sessions; delete them where the agent runs and offers that.

    Raises StoreError.
    """
    for link in parked:
        await shielded(_drop(context, link, why))
        raise_if_cancelled()


async def _drop(context: SendContext, link: Link, why: str) -> None:
    live = context.sessions.by_link(link.id)
    await context.lose(link, why)
    if live:
        await context.sessions.close(live)
    if (link.agent, link.profile) != (context.spec.name, context.spec.profile):
        return
    agent = context.agents.live(context.spec, context.record.family)
    if agent and agent.abilities.delete:
        try:
            await agent.delete_session(link.session_id)
        except AgentError:
            return  # it stays in the agent's own list, and is used for nothing


async def _is_wanted(
    reader: Reader, context: SendContext, live: LiveSession, source: Link, turn: Turn
) -> bool:
    abilities, limits = live.agent.abilities, context.services.while_idle
    can = abilities.fork and abilities.close and (abilities.quirks.fork_cold or abilities.reopens)
    if not can or source.version != live.version:
        return False
    known, by_prompt = await fork_at_of(reader, abilities), abilities.quirks.forks_by_prompt
    if known is None:
        return False  # it may fork at any message, for nothing
    if known == HONOURED and await fork_anchors(reader, [turn], by_prompt=by_prompt):
        return False
    cost = await links.last_parking_time(reader, source)
    if cost is not None and cost > min(limits.longest, limits.share * turn.seconds):
        return False
    return not await links.has_parked_copy(reader, source)


async def _keep(
    context: SendContext, live: LiveSession, source: Link, opened: SessionOpened, took: float
) -> Link | None:
    """Close the fork and add its link; None if its source moved while it was made."""
    try:
        # What came before the fork was answered may be in it: the source has moved then.
        await context.host.settle(source.id)
        link = await _add(context, source, opened, took)
    except (StoreError, AgentError):
        await take_away(context, live, opened, Cause.PARK)
        raise
    if link is None:
        await take_away(context, live, opened, Cause.PARK)
    else:
        await live.agent.close_session(opened.session_id)
    return link


async def _add(context: SendContext, source: Link, opened: SessionOpened, took: float) -> Link | None:
    async with context.tenure.write() as tx:
        now = await links.get(tx, source.id)
        if now is None or now.version != source.version:
            return None
        new = context.new_link(opened.session_id, Cause.PARK, source)
        new = replace(new, agent=source.agent, profile=source.profile, cwd=source.cwd, state=LinkState.PARKED)
        link = await links.add(tx, new)
        await links.record_parking_time(tx, link.id, took)
        return link


async def announce(context: SendContext, window_id: str, title: str) -> None:
    """Remark at an edit, once for each agent, that parked forks make it cheap and appear in the agent's own list.

    Raises StoreError.
    """
    spec = context.spec
    if not context.services.while_idle.tells(spec):
        return
    async with context.services.db.read() as reader:
        parked = await links.prunable_parked(reader, context.record.id)
    if not any((link.agent, link.profile) == (spec.name, spec.profile) for link in parked):
        return
    async with context.tenure.write() as tx:
        known = await agents.abilities(tx, spec.name, _ANY_VERSION)
        if _TOLD_OF_PARKING in known:
            return
        await agents.set_ability(tx, spec.name, _ANY_VERSION, _TOLD_OF_PARKING, "yes")
    context.host.publish(Remarked(window_id, TELLS.format(title=title)))


TELLS = (
    "Catena saves a fork after each turn, so that editing a prompt needs no replay. "
    'They appear in {title}\'s session list; park = "off" in the settings disables this.'
)
