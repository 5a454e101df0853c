"""The claim: taking a session for a prompt, with its prior context, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from catena_acp.continuity.conversation_events import MessageAdded, MessageChanged, TurnStarted
from catena_acp.continuity.routing import route
from catena_acp.continuity.routing.explanation import RouteRecord
from catena_acp.continuity.routing.prior_context import PriorContext, read_prior_context
from catena_acp.continuity.routing.slash_commands import command_name
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.agent_pool import keep_offers
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.continuity.wording import context_summary
from catena_acp.continuity.wording.problems import cause_words
from catena_acp.errors import NotSent
from catena_acp.port.port import AgentPort
from catena_acp.spoken.spoken import ended_in
from catena_store import ancestry, places
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.records import ContextSource, Kind, Link, Message, NewMessage, Path, StopReason, Turn
from catena_store.windows import windows


class Claim:
    """One attempt to take a session for a prompt row; ``way`` says why it comes another way than before, if known."""

    def __init__(
        self,
        context: SendContext,
        window_id: str,
        row: Message,
        way: str | None,
        route_record: RouteRecord,
    ) -> None:
        self._context = context
        self._window_id = window_id
        self._row = row
        self._way = way
        self._route = route_record

    async def take(self, live: LiveSession, agent: AgentPort) -> RunningTurn | None:
        """Take the session: turn open and reach raised, in one transaction, before the text goes out.

        None if the session can carry the prompt no more. Raises NotSent if it, or any, may not carry this one.
        """
        context, row = self._context, self._row
        git = await context.host.environment.git(context.record.cwd)
        async with context.tenure.write() as tx:
            await self._refuse_after_logout(tx)
            if agent.alive and not context.agents.serves(agent):
                return None
            situation = await context.situation(tx, agent, self._window_id, row.parent_id, prompt_id=row.id)
            link = next((known for known in situation.links if known.id == live.link_id), None)
            if link is None or live.version != link.version or not route.may_claim(link, situation):
                return None
            prior = await self._prior_context(tx, situation.path, link)
            if (
                prior
                and _is_command(row.text, live)
                and not agent.abilities.quirks.command_keeps_with_prior_context
            ):
                raise NotSent(None, _COMMAND_FIRST.format(title=context.title))
            how = _how(live, link, prior)
            before = await turn_before(tx, row)
            cause = await self._cause(tx, how, before, link)
            turn = _turn(context, live, link, row, self._window_id, how, cause, prior)
            await turns.insert(tx, turn)
            await context.host.environment.note_beginning(tx, turn.id, live.state, git)
            if live.opened is not ContextSource.CONTINUED:  # what a session offers hardly changes later
                await keep_offers(tx, agent, live.state)
            stamped = await messages.set_turn(tx, row.id, turn.id, link.id)
            abridged = link.unabridged_from is not None and not (prior and prior.cut)
            again = link.knows is None and link.reach is not None
            before_claim = link
            link = await links.move(
                tx,
                link.id,
                reach=row.id,
                owner=self._window_id,
                unabridged_from=turn.unabridged_from,
                event="carried",
            )
            seam = await self._add_seam(
                tx, turn, link, before, opened=_opened(live), abridged=abridged, again=again
            )
            greeting = await self._add_greeting(tx, turn, live, below=seam.id if seam else row.id)
        live.version = link.version
        live.listener = context.host  # another conversation of the family may have opened it, to fork it
        added = [message for message in (seam, greeting) if message]
        last_id = added[-1].id if added else row.id
        running = RunningTurn(
            context.services,
            context.tenure,
            live,
            turn,
            self._window_id,
            last_id,
            before_claim,
            context.host.publish,
            context.host.handle_question,
        )
        context.host.set_carrier(self._window_id, live)
        context.host.publish(TurnStarted(self._window_id, turn))
        context.host.publish(MessageChanged(self._window_id, stamped))
        for message in added:
            context.host.publish(MessageAdded(self._window_id, message))
        return running

    async def _refuse_after_logout(self, reader: Reader) -> None:
        """Raise NotSent if what is above, and was not gone back to, is from before a logout."""
        context, known = self._context, self._context.tenure.logouts.known_in(self._window_id)
        if await context.is_before_logout(reader, self._row.parent_id, known):
            raise NotSent(None, _LOGGED_OUT.format(title=context.title))

    async def _prior_context(self, reader: Reader, path: Path, link: Link) -> PriorContext | None:
        """The prior context for the part of the path that the session does not know."""
        budget = self._context.services.budget
        unsure = link.reach != link.knows  # a turn was cut in it: nobody knows what of that it kept
        return await read_prior_context(reader, path, link.knows, self._row.parent_id, budget, unsure=unsure)

    async def _cause(self, reader: Reader, how: ContextSource, before: Turn | None, link: Link) -> str | None:
        """The reason, in words, why the context gets to the agent another way than before."""
        if before is None or how is ContextSource.CONTINUED:
            return None
        if self._way:
            return self._way
        carrier = await links.get(reader, before.link_id)
        if switched := self._switch(carrier, link):
            limit = cause_words(await messages.get(reader, before.last_id))
            return f"{limit}, {switched}" if limit else switched
        match before.stop_reason:
            case StopReason.AGENT_GONE:
                return f"{self._context.title} {before.error or 'stopped'}"
            case StopReason.INTERRUPTED:
                return "the previous turn was interrupted"
            case StopReason.ERROR | StopReason.END_TURN if before.error:
                return cause_words(await messages.get(reader, before.last_id)) or before.error
            case _:
                return carrier.ended if carrier and carrier.id != link.id else None

    def _switch(self, before: Link | None, link: Link) -> str | None:
        """The switch to another agent, in words, if there was one."""
        if before is None or (before.agent, before.profile) == (link.agent, link.profile):
            return None
        return f"switched from {self._context.title_of(before)} to {self._context.title}"

    async def _is_told_above(self, reader: Reader, before: Turn | None) -> bool:
        """True if the row above the prompt tells of the trouble that the turn before ended with."""
        if before is None or before.last_id != self._row.parent_id:
            return False
        last = await messages.get(reader, before.last_id)
        ended = ended_in(last)
        return ended is not None and ended.failed

    async def _add_seam(
        self,
        tx: Writer,
        turn: Turn,
        link: Link,
        before: Turn | None,
        *,
        opened: ContextSource,
        abridged: bool,
        again: bool,
    ) -> Message | None:
        """Insert a seam where the way the context gets to the agent changed; the first turn has none.

        ``opened``: how the session came to what it holds. ``abridged``: what that has of the branch was cut when it was
        told, before this turn. ``again``: it was prompted before, but no turn ended cleanly, so it counts as empty.
        """
        if turn.how is ContextSource.CONTINUED or (before is None and turn.how is ContextSource.FRESH):
            return None
        summary = context_summary.ContextSummary.of_turn(turn)
        carrier_before = await links.get(tx, before.link_id) if before else None
        data = {
            "how": turn.how.value,
            "opened": opened.value,
            "after_stop": _is_after_stop(before, carrier_before, link),
            "cause": turn.cause,
            "abridged": abridged,
            "again": again,
            "told": turn.told,
            "told_total": turn.told_total,
            "tools_listed": turn.tools_listed,
            "tools_left_out": turn.tools_left_out,
            "left_out": turn.left_out,
            "shortened": turn.shortened,
            "masked": turn.masked,
            "route": self._route.words(link, carrier_before),
        }
        words = partial(context_summary.seam_text, summary, opened=opened, abridged=abridged, again=again)
        text = words(turn.cause)
        if turn.cause and await self._is_told_above(tx, before):
            data["line"] = words(self._switch(carrier_before, link))
        return await self._add(tx, turn, Kind.SEAM, text, data, below=self._row.id)

    async def _add_greeting(self, tx: Writer, turn: Turn, live: LiveSession, *, below: str) -> Message | None:
        """Insert what the session said before its first prompt as a notice, which is told to nobody."""
        greeting = live.take_greeting()
        return (
            await self._add(tx, turn, Kind.NOTICE, greeting, {"greeting": True}, below=below)
            if greeting
            else None
        )

    async def _add(
        self, tx: Writer, turn: Turn, kind: Kind, text: str, data: Mapping[str, Any], *, below: str
    ) -> Message:
        """Insert a row of the turn, before anything that the agent says in it."""
        added = await messages.insert(
            tx,
            NewMessage(
                id=self._context.services.new_id(),
                conversation_id=turn.conversation_id,
                parent_id=below,
                kind=kind,
                text=text,
                turn_id=turn.id,
                link_id=turn.link_id,
                data=data,
            ),
        )
        await turns.set_last(tx, turn.id, added.id)
        await places.grow(tx, turn.conversation_id, below, added.id)
        window = await windows.get(tx, self._window_id)
        if window and window.leaf_id == below:
            await windows.advance(tx, self._window_id, added.id)
        return added


_LOGGED_OUT = (
    "You logged out of {title} before this was sent, so it was not sent with what is above. "
    "Send it again to begin anew."
)
_COMMAND_FIRST = (
    "{title} has not seen this conversation yet, and a command cannot be sent with a replay. "
    "Send a message first, then the command."
)


def _is_command(text: str, live: LiveSession) -> bool:
    """True for one of the agent's own slash commands; a path is none. A new session may not have reported them yet."""
    name = command_name(text)
    offered = {command.name for command in live.state.commands or ()}
    return name is not None and (not offered or name in offered)


def _how(live: LiveSession, link: Link, prior: PriorContext | None) -> ContextSource:
    if link.knows is None:
        return ContextSource.TOLD if prior else ContextSource.FRESH
    if prior:
        return ContextSource.CAUGHT_UP
    return _opened(live)


def _opened(live: LiveSession) -> ContextSource:
    """How a session that holds something came to it; a new one was told it here, and goes on."""
    return live.opened if live.opened is not ContextSource.FRESH else ContextSource.CONTINUED


async def turn_before(reader: Reader, row: Message) -> Turn | None:
    """The turn before on this branch: an earlier attempt at the same row, or that of the nearest row above it."""
    turn_id = await turns.newest_on(reader, row.id)
    turn = await turns.get(reader, turn_id) if turn_id else None
    path = await ancestry.path(reader, row.parent_id, [turn.prompt_id] if turn else [], prompt_id=row.id)
    return turn if turn and path.holds(turn.prompt_id) else None


def _turn(
    context: SendContext,
    live: LiveSession,
    link: Link,
    row: Message,
    window_id: str,
    how: ContextSource,
    cause: str | None,
    prior: PriorContext | None,
) -> Turn:
    cut_at = (prior.unabridged_from or row.id) if prior and prior.cut else None
    return Turn(
        id=context.services.new_id(),
        conversation_id=context.record.id,
        prompt_id=row.id,
        link_id=link.id,
        base_link_id=_base(how, link),
        window_id=window_id,
        last_id=row.id,
        how=how,
        cause=cause,
        told_from=prior.told_from if prior else None,
        told_to=prior.told_to if prior else None,
        told=prior.told if prior else 0,
        told_total=prior.told_total if prior else 0,
        tools_listed=prior.tools_listed if prior else 0,
        tools_left_out=prior.tools_left_out if prior else 0,
        left_out=prior.left_out if prior else 0,
        shortened=prior.shortened if prior else 0,
        masked=prior.masked if prior else 0,
        unabridged_from=cut_at or link.unabridged_from,
        prior_context=prior.text if prior else None,
        stop_reason=None,
        error=None,
        usage=None,
        cost=None,
        currency=None,
        model=live.state.model,
        mode=live.state.mode,
        started_at=context.services.clock(),
        ended_at=None,
    )


def _base(how: ContextSource, link: Link) -> str | None:
    match how:
        case ContextSource.FRESH | ContextSource.TOLD:
            return None
        case ContextSource.FORKED | ContextSource.FORKED_AT:
            return link.source_id
        case _:
            return link.id if link.knows else None


def _is_after_stop(before: Turn | None, carrier: Link | None, link: Link) -> bool:
    """True where the way changed since the person stopped the turn before, and the agent is the same."""
    stopped = before is not None and before.stop_reason is StopReason.CANCELLED
    return stopped and carrier is not None and _agent_and_profile(carrier) == _agent_and_profile(link)


def _agent_and_profile(link: Link) -> str:
    """A link's agent, with its profile if it has one."""
    return f"{link.agent} ({link.profile})" if link.profile else link.agent
