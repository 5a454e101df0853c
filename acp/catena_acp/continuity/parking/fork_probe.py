"""Probe whether an agent honours a fork at a message: it is not advertised, and others fork everything.

So it is tried, once for each agent version, on a session at rest with a clean turn: a fork at a message that cannot be
there must be refused for that, and the same fork without it must succeed, the session unchanged between. Anything else
says nothing: the session may be gone, or the agent. Agents that were looked at and have no key for it are not asked.
"""

from __future__ import annotations

from catena_acp.continuity.cancellation import raise_if_cancelled, shielded
from catena_acp.continuity.parking.detached_forks import ForkSource, Later, fork_apart, take_away
from catena_acp.continuity.sending.context import FORK_AT, HONOURED, IGNORED, SendContext, fork_at_of
from catena_acp.continuity.sessions.agent_pool import keep_fork_at
from catena_acp.errors import AgentError, AgentRefused
from catena_acp.port.session_events import SessionOpened
from catena_store.chains import agents, links
from catena_store.records import Cause

_NO_SUCH_MESSAGE = -32602


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
