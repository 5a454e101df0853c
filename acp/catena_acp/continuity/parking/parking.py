"""Parked forks: a native fork of a turn's end, closed at once, from which a later edit can go on.

Only where the agent cannot fork at that message itself, and only while it costs next to nothing: OpenCode copies the
whole session for a fork, and cannot delete it.
"""

from __future__ import annotations

from collections.abc import Sequence

from catena_acp.continuity.cancellation import raise_if_cancelled, shielded
from catena_acp.continuity.conversation_events import Remarked
from catena_acp.continuity.parking.detached_forks import Later, fork_apart, take_away
from catena_acp.continuity.sending.context import HONOURED, SendContext, fork_at_of
from catena_acp.continuity.sessions.forking import fork_anchors
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.errors import AgentError
from catena_acp.port.session_events import SessionOpened
from catena_store.chains import agents, links
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.records import Cause, Link, LinkState, NewLink, Turn

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
        link = await links.add(
            tx,
            NewLink(
                id=context.services.new_id(),
                conversation_id=source.conversation_id,
                agent=source.agent,
                profile=source.profile,
                session_id=opened.session_id,
                cwd=source.cwd,
                cause=Cause.PARK,
                source_id=source.id,
                base=source.knows,
                knows=source.knows,
                reach=source.reach,
                unabridged_from=source.unabridged_from,
                state=LinkState.PARKED,
                cost_total=source.cost_total,
            ),
        )
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
