"""The context of one prompt on its way to a session, and the opening and forking of sessions for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from catena_acp.agents.process import agent_environment
from catena_acp.continuity.conversation_events import ConversationEvent, Doing, LinkChanged, Remarked
from catena_acp.continuity.routing import route
from catena_acp.continuity.services import Services, SessionPlace, Tenure
from catena_acp.continuity.sessions.agent_pool import Agents, kept_name, kept_powers
from catena_acp.continuity.sessions.environment import Environment
from catena_acp.continuity.sessions.opening import ask_for_fork, end_upstream, fork_anchors
from catena_acp.continuity.sessions.sessions import LiveSession, SessionListener, Sessions
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.errors import (
    AgentMissing,
    AgentRefused,
    NotCopied,
    SessionContradicts,
    SessionMoved,
)
from catena_acp.permissions.subject import RequestSubject
from catena_acp.port.abilities import Abilities
from catena_acp.port.port import AgentPort, AgentSpec, SessionSetup
from catena_acp.port.session_events import QuestionEvent, SessionOpened, ToolCallChanged
from catena_store import ancestry
from catena_store.chains import agents, links, turns
from catena_store.conversations.logouts import Account, last_logouts, said_before_logout
from catena_store.database.database import Reader, Writer
from catena_store.errors import SessionHeld, StoreError
from catena_store.records import (
    Cause,
    ContextSource,
    ConversationRecord,
    Link,
    LinkState,
    NewLink,
    Turn,
)

_FORK_POINTS = 16  # newest turns of a link above the prompt that a fork at is tried at
FORK_AT = "fork_at"  # what is learnt of an agent version
HONOURED, IGNORED = "honoured", "ignored"


class Host(SessionListener, Protocol):
    """The live conversation that a prompt is sent from, as far as sending needs it."""

    @property
    def services(self) -> Services: ...
    @property
    def agents(self) -> Agents: ...
    @property
    def sessions(self) -> Sessions: ...
    @property
    def environment(self) -> Environment: ...
    @property
    def windows(self) -> frozenset[str]:
        """The windows that are open in this client."""
        ...

    def spec_of(self, agent: str, profile: str) -> AgentSpec:
        """How the agent of a link is started. Raises AgentMissing."""
        ...

    def title_of(self, agent: str, profile: str) -> str:
        """What a person reads for the agent of a link."""
        ...

    def publish(self, event: ConversationEvent) -> None:
        """Hand an event to every listener."""
        ...

    def set_doing(self, window_id: str, doing: Doing) -> None:
        """Note and publish what the window's turn does now."""
        ...

    async def offer_to_leave(
        self, window_id: str, opening: asyncio.Future[Any], seconds: float | None
    ) -> None:
        """Wait until an opening is over, the person goes on without it, or so many seconds have passed."""
        ...

    def agent_started(self, agent: AgentPort) -> None:
        """Note an agent process that was started for this conversation."""
        ...

    def handle_question(
        self, live: LiveSession, event: QuestionEvent | ToolCallChanged, subject: RequestSubject | None = None
    ) -> None:
        """Publish a question of the session, that it changed, or that it is closed."""
        ...

    def hear_logouts(self, last: Mapping[Account, int]) -> None:
        """Hear which logouts were the last: nothing new goes to a process from before one."""
        ...

    def set_carrier(self, window_id: str, live: LiveSession) -> None:
        """Note that this session carries the window from now on."""
        ...

    def attach(self, running: RunningTurn) -> None:
        """Route the events of the turn's session to the turn."""
        ...

    def detach(self, running: RunningTurn) -> None:
        """Take what the turn's session says from now on as late updates."""
        ...


@dataclass(frozen=True, slots=True)
class SendContext:
    """A live conversation with what is special for one prompt: the lease, the directory and the agent."""

    host: Host
    tenure: Tenure
    record: ConversationRecord  # with the directory that the prompt was typed in
    spec: AgentSpec

    @property
    def services(self) -> Services:
        return self.host.services

    @property
    def agents(self) -> Agents:
        return self.host.agents

    @property
    def sessions(self) -> Sessions:
        return self.host.sessions

    @property
    def title(self) -> str:
        """What a person reads for the agent that the prompt goes to."""
        return self.services.titles.of(self.spec)

    def title_of(self, link: Link) -> str:
        """What a person reads for the agent of a link, and its profile where nothing else is known of it."""
        title, profile = self.host.title_of(link.agent, link.profile), link.profile
        return f"{title} ({profile})" if profile and title == link.agent else title

    @property
    def place(self) -> SessionSetup:
        environment, agent = self.host.environment, self.agents.live(self.spec, self.record.family)
        abilities = agent.abilities if agent else None
        servers = environment.servers.sent(self.record.cwd, self.spec, abilities)
        return SessionSetup(self.record.cwd, environment.existing_directories, servers)

    def place_for(self, window_id: str) -> SessionSetup:
        """The place of a session that carries a window: with the tools that its agent is handed."""
        if (tools := self.services.checkpointing.tools) is None:
            return self.place
        return replace(self.place, tools=tools(self.record.id, window_id))

    @property
    def target(self) -> route.Target:
        return route.Target(self.spec.name, self.spec.profile, self.record.cwd)

    async def agent(self, window_id: str) -> AgentPort:
        """The agent's process, started where none runs, for sessions with the servers that there are now."""
        await self.host.environment.servers.look(self.record.cwd)
        if self.agents.live(self.spec, self.record.family) is None:
            self.host.set_doing(window_id, Doing.STARTING)
        return await self.agents.running(
            self.spec,
            self.record.family,
            self.record.cwd,
            self.host.agent_started,
            lambda words: self.host.publish(Remarked(window_id, words)),
        )

    async def is_before_logout(self, reader: Reader, above: str | None, known: int) -> bool:
        """True if no prompt may go out below a row, since that or what is above it is from before a logout.

        ``known`` is the number of the logout that was begun anew after. One that nobody here has seen yet is heard.
        """
        self.host.hear_logouts(await last_logouts(reader))
        name, profile, family = self.spec.name, self.spec.profile, self.record.family
        return known < self.tenure.logouts.number and await said_before_logout(
            reader, above, family, agent=name, profile=profile
        )

    async def situation(
        self, reader: Reader, agent: AgentPort, window_id: str, above: str | None, *, prompt_id: str = ""
    ) -> route.Situation:
        """The route's situation for a prompt below a row, read in the caller's transaction."""
        return await self.situation_with(reader, agent.abilities, window_id, above, prompt_id=prompt_id)

    async def situation_with(
        self,
        reader: Reader,
        abilities: Abilities | None,
        window_id: str,
        above: str | None,
        *,
        prompt_id: str = "",
        forks_at: bool | None = None,
    ) -> route.Situation:
        """The route's situation with an agent that may not run: ``abilities`` is None then.

        ``forks_at``: as if the agent did, or did not, honour a fork at a message.
        """
        powers = await self._powers(reader, abilities)
        if forks_at is not None:
            powers = replace(powers, forks_at=forks_at)
        copyable = await self._copyable(reader, abilities)
        situation = await read_situation(
            reader,
            self.record,
            self.target,
            window_id,
            above,
            self.host.windows,
            powers,
            prompt_id=prompt_id,
            others=copyable,
        )
        ending = {link_id for link_id in situation.busy if self.sessions.is_ending(link_id)}
        return replace(
            situation,
            clean_turns=[turn for turn in situation.clean_turns if turn.link_id not in ending],
            warm=self.sessions.warm(situation.links),
            copyable=frozenset(link.id for link in copyable),
        )

    async def _copyable(self, reader: Reader, abilities: Abilities | None) -> list[Link]:
        """Links of this agent in another directory or with another profile whose files can be copied for the target."""
        if abilities is not None and (not abilities.load or abilities.quirks.replay_faithful is False):
            return []  # what a copy holds could not be compared before it is prompted
        name = abilities.name if abilities else await kept_name(reader, self.spec.name)
        names, there = (self.spec.name, name), self._place_of(self.spec, self.record.cwd)
        if not self.services.session_files.knows(names):
            return []
        elsewhere = await links.open_elsewhere(
            reader, self.record.id, self.spec.name, self.spec.profile, self.record.cwd
        )
        found = []
        for link in elsewhere:
            with contextlib.suppress(AgentMissing):
                here = self._place_of(self.host.spec_of(link.agent, link.profile), link.cwd)
                can_copy = self.services.session_files.can_copy
                if await asyncio.to_thread(can_copy, names, link.session_id, here, there):
                    _, busy = await self._in_place_of(reader, link)
                    if not busy:
                        found.append(link)
        return found

    async def _in_place_of(self, reader: Reader, source: Link) -> tuple[Link | None, bool]:
        """The link whose session a copy of the source's would replace, and whether a turn runs in one of them."""
        replaced = await links.by_session(reader, self.spec.name, self.spec.profile, source.session_id)
        both = [link.id for link in (source, replaced) if link]
        return replaced, bool(await turns.busy_links(reader, both))

    @staticmethod
    def _place_of(spec: AgentSpec, cwd: str) -> SessionPlace:
        return SessionPlace(spec.profile, agent_environment(os.environ, spec.env), cwd)

    async def copy_session(self, agent: AgentPort, source: Link, window_id: str) -> Link | None:
        """Copy a session for the target's directory or profile, with a link of its own; None if it moved meanwhile.

        The copy has the same id, so it takes the place of the session that has it there by now, if the source has gone
        on from that one; with the same profile, of the source itself. Raises NotCopied, AgentMissing, StoreError.
        """
        async with self.services.db.read() as reader:
            replaced, busy = await self._in_place_of(reader, source)
        if busy:
            raise NotCopied("a turn runs in that session")
        if replaced and (replaced.conversation_id != self.record.id or replaced.state is not LinkState.OPEN):
            raise NotCopied("another conversation has that session there")
        for link in filter(None, (source, replaced)):
            if live := self.sessions.by_link(link.id):
                await self.sessions.settle(link.id)
                await self.sessions.close(live)  # an agent may keep back what it has not written
        async with self.services.db.read() as reader:
            source = await links.get(reader, source.id) or source
            replaced = await links.get(reader, replaced.id) if replaced else None
        here = self._place_of(self.host.spec_of(source.agent, source.profile), source.cwd)
        there = self._place_of(self.spec, self.record.cwd)
        names, files = (self.spec.name, agent.abilities.name), self.services.session_files
        await asyncio.to_thread(files.copy, names, source.session_id, here, there)
        held = {link.id: link for link in (source, replaced) if link}
        async with self.tenure.write() as tx:
            for link in held.values():
                now = await links.get(tx, link.id)
                if now is None or now.version != link.version:
                    return None
            if await turns.busy_links(tx, list(held)):
                return None
            if replaced:
                moved = replaced.id == source.id
                why = (
                    f"it moved to {self.record.cwd}"
                    if moved
                    else "a copy that went on from it took its place"
                )
                await self._lose(tx, replaced, why)
            link = await self._add(tx, source.session_id, Cause.COPY, window_id, source)
        self.host.publish(LinkChanged(window_id, link, None))
        return link

    async def _powers(self, reader: Reader, abilities: Abilities | None) -> route.SessionCapabilities:
        if abilities is None:
            return await kept_powers(reader, self.spec.name)
        return route.SessionCapabilities(
            reopens=abilities.reopens,
            forks=abilities.fork,
            forks_at=abilities.fork and await fork_at_of(reader, abilities) == HONOURED,
            reopens_once=abilities.reopens_once,
            forks_by_prompt=abilities.quirks.forks_by_prompt,
        )

    async def lose(self, link: Link, why: str, window_id: str | None = None) -> None:
        """Mark a link as lost, which takes proof; a turn that runs on it all the same is heard to its end.

        Told to the window that met it, else to the one that it carried.
        """
        async with self.tenure.write() as tx:
            lost = await self._lose(tx, link, why)
        if window_id := window_id or lost.owner:
            self.host.publish(LinkChanged(window_id, lost, why))

    async def distrust(self, held: SessionHeld, window_id: str) -> None:
        """Lose the link whose session id was given to a fork, too: an id that is handed out twice is not trusted."""
        async with self.services.db.read() as reader:
            twice = await links.get(reader, held.link_id) if held.link_id else None
        if twice:
            await self.lose(twice, "the agent reused its session id for a fork", window_id)

    async def _lose(self, tx: Writer, link: Link, why: str) -> Link:
        lost = await links.move(tx, link.id, state=LinkState.LOST, ended=why, event="lost", detail=why)
        if not await turns.busy_links(tx, [link.id]):
            self.sessions.forget(link.id)
        return lost

    async def open_new(self, agent: AgentPort, window_id: str) -> LiveSession:
        """Open a new session; its link is committed before anything else happens to it, also after a stop."""
        return await self.sessions.see_through(agent, self._open_new(agent, window_id))

    async def _open_new(self, agent: AgentPort, window_id: str) -> LiveSession:
        place = self.place_for(window_id)
        opened = await agent.new_session(place)
        async with self.ended_without_link(agent, opened), self.tenure.write() as tx:
            held = await links.by_session(tx, self.spec.name, self.spec.profile, opened.session_id)
            why = "the agent reused its session id for another session"
            lost = await self._lose(tx, held, why) if held else None
            link = await self._add(tx, opened.session_id, Cause.NEW, window_id)
        if lost:
            self.host.publish(LinkChanged(window_id, lost, why))
        self.host.publish(LinkChanged(window_id, link, None))
        return self.sessions.adopt(link, agent, opened, ContextSource.FRESH, self.host, place)

    async def open_session_of(self, link: Link) -> LiveSession | None:
        """The link's live session; None if it was opened with other directories or servers, and closes."""
        live = self.sessions.of(link)
        if live is None:
            return None
        # Another conversation of the family may have opened it, to fork it, and would close it with its own.
        live.listener = self.host
        if self.host.environment.outgrown(live, self.place):
            await self.sessions.close(live)
            return None
        return live

    async def fork(
        self, agent: AgentPort, source: Link, window_id: str, at: tuple[Turn, str] | None = None
    ) -> LiveSession | None:
        """Fork a session, at its head or at the end of a turn; None if its source moved meanwhile.

        Its link is committed also after a stop. Raises ForkWrong, SessionHeld or any AgentError.
        """
        try:
            return await self.sessions.see_through(agent, self._fork(agent, source, window_id, at))
        except SessionMoved:
            return None

    async def _fork(
        self, agent: AgentPort, source: Link, window_id: str, at: tuple[Turn, str] | None
    ) -> LiveSession | None:
        await self.sessions.drop_stale(source)
        if not agent.abilities.quirks.fork_cold:
            await self._open_to_fork(agent, source, window_id)
        async with self.services.db.read() as reader:
            source = await links.get(reader, source.id) or source
        place, anchor = self.place_for(window_id), at[1] if at else None
        try:
            opened = await ask_for_fork(self.services, agent, source.session_id, place, anchor)
        except AgentRefused:
            # Some fork only what they have open, and say of the rest that it is not there.
            if not agent.abilities.reopens or not await self._open_to_fork(agent, source, window_id):
                raise
            opened = await ask_for_fork(self.services, agent, source.session_id, place, anchor)
        if opened.session_id == source.session_id:
            raise SessionContradicts(f"{self.title} answered the fork with the original session's id")
        pointers = _pointers(source, at[0] if at else None)
        opened, history = await self.sessions.open_fork(agent, opened, place, pointers)
        cause = Cause.FORK_AT if at else Cause.FORK
        async with self.ended_without_link(agent, opened):
            # What came before the fork was answered may be in it: the source has moved then.
            await self.sessions.settle(source.id)
            async with self.tenure.write() as tx:
                now = await links.get(tx, source.id)
                moved = at is None and (now is None or now.version != source.version)
                if not moved:
                    link = await self._add(tx, opened.session_id, cause, window_id, pointers)
        if moved:
            await self.end_unless_held(agent, opened)
            return None
        self.host.publish(LinkChanged(window_id, link, None))
        how = ContextSource.FORKED_AT if at else ContextSource.FORKED
        return self.sessions.adopt(link, agent, opened, how, self.host, place, history=history)

    @asynccontextmanager
    async def ended_without_link(self, agent: AgentPort, opened: SessionOpened) -> AsyncIterator[None]:
        """End a session upstream whose link the store does not take."""
        try:
            yield
        except SessionHeld:
            raise
        except StoreError:
            with contextlib.suppress(StoreError):
                await self.end_unless_held(agent, opened)
            raise

    async def end_unless_held(self, agent: AgentPort, opened: SessionOpened) -> None:
        """End a session upstream that is not needed; one whose id a link has is left alone. Raises StoreError."""
        spec = agent.spec
        async with self.services.db.read() as reader:
            held = await links.by_session(reader, spec.name, spec.profile, opened.session_id)
        if held is None:
            await end_upstream(agent, opened.session_id)

    async def _open_to_fork(self, agent: AgentPort, source: Link, window_id: str) -> bool:
        """Open a session that is to be forked; False if it is open. Raises as ``Sessions.open_cold``."""
        if self.sessions.of(source) is not None:
            return False
        place = replace(self.place_for(source.owner or window_id), cwd=source.cwd)
        await self.sessions.open_cold(source, agent, place, self.host)
        return True

    async def _add(
        self,
        tx: Writer,
        session_id: str,
        cause: Cause,
        window_id: str,
        pointers: Link | None = None,
    ) -> Link:
        return await links.add(tx, replace(self.new_link(session_id, cause, pointers), owner=window_id))

    def new_link(self, session_id: str, cause: Cause, copied: Link | None = None) -> NewLink:
        """A link of the conversation and its agent; one for a copy of a link's session knows what that knows."""
        link = NewLink(
            id=self.services.new_id(),
            conversation_id=self.record.id,
            agent=self.spec.name,
            profile=self.spec.profile,
            session_id=session_id,
            cwd=self.record.cwd,
            cause=cause,
        )
        if copied is None:
            return link
        return replace(
            link,
            source_id=copied.id,
            base=copied.knows,
            knows=copied.knows,
            reach=copied.reach,
            unabridged_from=copied.unabridged_from,
            cost_total=copied.cost_total,
        )


async def read_situation(
    reader: Reader,
    record: ConversationRecord,
    target: route.Target,
    window_id: str,
    above: str | None,
    open_windows: frozenset[str],
    powers: route.SessionCapabilities,
    *,
    prompt_id: str = "",
    others: Sequence[Link] = (),
) -> route.Situation:
    """The part of the route's situation for a prompt below a row that the store knows; no session is warm in it.

    ``prompt_id`` is empty for a prompt that is in no row yet. ``others`` are links to be looked at besides.
    """
    family_links = await links.of_family(reader, record.family, target.agent, target.profile)
    ids = [link.id for link in family_links]
    clean = await _fork_points(reader, ids, above, powers) if powers.forks_at else []
    looked_at = [*family_links, *(link for link in others if link.id not in ids)]
    # One that surely kept this very prompt, when it was sent before, holds all above it.
    looked_at = [replace(link, knows=above) if link.knows == prompt_id else link for link in looked_at]
    pointers = {row for link in looked_at for row in (link.knows, link.reach) if row}
    path = await ancestry.path(
        reader, above, pointers | {turn.last_id for turn in clean}, prompt_id=prompt_id
    )
    reached = {link.reach for link in looked_at if link.reach}
    ceilings = [row for row in reached if path.holds_before_prompt(row)]
    answered = await ancestry.answered(reader, above, ceilings) if ceilings else set()
    carriers = await turns.carriers(reader, answered) if answered else {}
    return route.Situation(
        target=target,
        conversation_id=record.id,
        window_id=window_id,
        path=path,
        links=looked_at,
        busy=frozenset(await turns.busy_links(reader, ids)),
        clean_turns=clean,
        open_windows=open_windows,
        warm=frozenset(),
        powers=powers,
        spent=frozenset(await links.loaded(reader, ids) if powers.reopens_once else ()),
        overtaken=frozenset(
            link.id for link in looked_at if carriers.get(link.reach or "", set()) - {link.id}
        ),
    )


async def fork_at_of(reader: Reader, abilities: Abilities) -> str | None:
    """Whether an agent version honours a fork at a message; None while nobody knows."""
    learnt = (await agents.abilities(reader, abilities.name, abilities.version)).get(FORK_AT)
    return learnt or (IGNORED if abilities.forks_only_at_the_head else None)


async def _fork_points(
    reader: Reader, link_ids: Sequence[str], above: str | None, powers: route.SessionCapabilities
) -> list[Turn]:
    """The newest clean turns of each link above the prompt whose end the agent can be told."""
    clean = await turns.clean_above(reader, link_ids, above, limit=_FORK_POINTS)
    anchors = await fork_anchors(reader, clean, by_prompt=powers.forks_by_prompt)
    return [turn for turn in clean if turn.id in anchors]


def _pointers(source: Link, turn: Turn | None) -> Link:
    """The pointers of a fork: those of its source, or the end of a turn."""
    if turn is None:
        return source
    return replace(source, knows=turn.last_id, reach=turn.last_id, unabridged_from=turn.unabridged_from)
