"""Probe whether an agent honours a fork at a message: it is not advertised, and others fork everything.

So it is tried, once for each agent version, on a session at rest with a clean turn: a fork at a message that cannot be
there must be refused for that, and the same fork without it must succeed, the session unchanged between. Anything else
says nothing: the session may be gone, or the agent.
"""

from __future__ import annotations

from catena_acp.continuity.cancellation import raise_if_cancelled, shielded
from catena_acp.continuity.parking.detached_forks import Later, fork_apart, take_away
from catena_acp.continuity.sending.context import FORK_AT, SendContext
from catena_acp.continuity.sessions.agent_pool import keep_fork_at
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.errors import AgentError, AgentRefused
from catena_store.chains import agents, links
from catena_store.records import Cause

_NO_SUCH_MESSAGE = -32602
HONOURED, IGNORED = "honoured", "ignored"


async def probe(context: SendContext, live: LiveSession, later: Later) -> None:
    """Probe an agent version of which nothing is known; an inconclusive probe is repeated later. Raises StoreError."""
    abilities = live.agent.abilities
    version = (abilities.name, abilities.version)
    tries, what = context.services.tries, ("probe", *version)
    async with context.services.db.read() as reader:
        known = (await agents.abilities(reader, *version)).get(FORK_AT)
    if not abilities.fork or known is not None or not tries.may(what):
        return
    with tries.trying(what):
        try:
            answer = await _answer(context, live, later)
        except AgentError:
            answer = None
        raise_if_cancelled()
        if answer is None:
            tries.failed(what)
            return
        async with context.services.db.write() as tx:
            await agents.set_ability(tx, *version, FORK_AT, answer)
            await keep_fork_at(tx, live.agent, honoured=answer == HONOURED)


async def _answer(context: SendContext, live: LiveSession, later: Later) -> str | None:
    before = live.version
    try:
        everything = await fork_apart(context, live, Cause.PROBE, later, at=context.services.new_id())
    except AgentRefused as refused:
        if refused.code != _NO_SUCH_MESSAGE:
            return None
    else:
        await shielded(take_away(context, live, everything, Cause.PROBE))
        return IGNORED
    plain = await fork_apart(context, live, Cause.PROBE, later)
    await shielded(take_away(context, live, plain, Cause.PROBE))
    await context.host.settle(live.link_id)
    async with context.services.db.read() as reader:
        link = await links.get(reader, live.link_id)
    unchanged = link is not None and link.version == before == live.version
    return HONOURED if unchanged and live.agent.alive else None
