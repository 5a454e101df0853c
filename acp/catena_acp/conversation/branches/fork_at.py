"""Finding out whether an agent forks at a message, for a branch whose way depends on it."""

from __future__ import annotations

import contextlib

from catena_acp.continuity.parking.detached_forks import ColdSource, ForkSource
from catena_acp.continuity.parking.fork_probe import probe
from catena_acp.continuity.routing import route
from catena_acp.continuity.sending.context import SendContext, fork_at_of
from catena_acp.conversation.live import LiveConversation
from catena_acp.errors import AgentError
from catena_acp.port.port import AgentPort, AgentSpec
from catena_store.records import Link


async def learn_fork_at(
    conversation: LiveConversation, window_id: str, leaf_id: str | None, spec: AgentSpec | None = None
) -> None:
    """Probe the agent, by default the conversation's, if a prompt below a row would go out another way then.

    The agent is started for it, and its answer is waited for. An agent in trouble teaches nothing: the prompt says it.
    Raises StoreError.
    """
    context = conversation.send_context(spec=spec)
    with contextlib.suppress(AgentError):
        agent = await context.agent(window_id)
        release = context.agents.hold(agent)
        try:
            link = await _forked_if_honoured(context, agent, window_id, leaf_id)
            if link:
                await probe(context, await _source(context, agent, link, window_id), conversation.spawn)
        finally:
            release()


async def _forked_if_honoured(
    context: SendContext, agent: AgentPort, window_id: str, leaf_id: str | None
) -> Link | None:
    """The link that would be forked at a message, if nothing is known of that yet; None if that makes no difference."""
    async with context.services.db.read() as reader:
        if not agent.abilities.fork or await fork_at_of(reader, agent.abilities) is not None:
            return None
        situation = await context.situation_with(reader, agent.abilities, window_id, leaf_id, forks_at=True)
    match route.candidates(situation)[0]:
        case route.ForkAt(link) if link.id not in situation.busy:
            return link
        case _:
            return None


async def _source(context: SendContext, agent: AgentPort, link: Link, window_id: str) -> ForkSource:
    if live := context.sessions.of(link):
        return live
    if agent.abilities.quirks.fork_cold:
        return ColdSource(agent, link.id, link.session_id, link.version)
    return await context.sessions.open_cold(link, agent, context.place_for(window_id), context.host)
