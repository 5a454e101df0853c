"""Live sessions in our agents' processes, and the opening of a link's session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.routing.late_history import LateHistory
from catena_acp.continuity.routing.replay_check import Verdict
from catena_acp.continuity.services import Services, agent_title
from catena_acp.continuity.sessions.opening import Loaded, greeting_text, is_prompt, load, tells
from catena_acp.continuity.sessions.replays import (
    ReplayHabits,
    ReplayRecord,
    keep_faith,
    keep_late,
    learn,
    read_habits,
    take_back,
)
from catena_acp.continuity.sessions.session_state import SessionTotal, opened_state, with_event
from catena_acp.errors import (
    AgentError,
    AgentRefused,
    ForkEmpty,
    ForkWrong,
    NotOffered,
    SessionContradicts,
    SessionMoved,
)
from catena_acp.permissions.subject import RequestSubject
from catena_acp.port.port import AgentPort, SessionSetup
from catena_acp.port.session_events import Event, SessionOpened, TextChunk, TranscriptEvent, UsageReported
from catena_acp.tasks import TaskSet, outlived
from catena_store.chains import links, turns
from catena_store.records import ContextSource, Link

T = TypeVar("T")

_CLOSING_SECONDS = 1.0  # that an agent may take to close a session, or to answer an opening that was given up
_PATIENCE_SECONDS = 10.0  # with an opening that was given up, before the same session is asked for again


class SessionListener(Protocol):
    """The conversation that the events of a live session go to."""

    def handle(self, live: LiveSession, event: Event) -> None:
        """Take an event of the session; called in order, on the loop, and must not wait."""
        ...

    def handle_state(self, live: LiveSession) -> None:
        """Take note that the session's state changed."""
        ...

    async def settle(self, link_id: str) -> None:
        """Store what the link's session sent between turns."""
        ...


@dataclass(slots=True)
class LiveSession:
    """A session that is open in one of our agent's processes.

    ``version`` is the link's when we last saw or wrote it; a link that moved on without us makes this copy stale.
    """

    link_id: str
    session_id: str
    agent: AgentPort
    version: int
    opened: ContextSource  # how its context got there; CONTINUED once it has taken a prompt
    began: ContextSource  # … the same, for good
    state: SessionState
    listener: SessionListener
    prompted: bool = False  # a text went out to it since it was opened, and may be in it
    early: list[TranscriptEvent] = field(default_factory=list)  # what it said before its first prompt
    # What it may still tell of its history: it was opened and told nothing of it.
    history: LateHistory | None = None
    history_until: float = 0.0  # by the clock of its own, if its first turn is over by then
    directories: tuple[str, ...] = ()  # the further ones that it was opened with
    servers: tuple[dict[str, object], ...] = ()  # likewise, beside our own
    total: SessionTotal = field(default_factory=SessionTotal)  # its cost
    setting: asyncio.Lock = field(default_factory=asyncio.Lock)  # its mode and options, by one at a time
    allowed: dict[str, list[RequestSubject]] = field(default_factory=dict)  # in its last turn, by calls
    unlisten: Callable[[], None] = field(default=lambda: None)

    def listen(self) -> None:
        """Subscribe to the agent's events of the session; early ones come first."""
        self.unlisten = self.agent.listen(self.session_id, self.receive)

    def take(self, event: Event) -> None:
        """Update the session's state from an event."""
        if isinstance(event, UsageReported) and event.cost is not None:
            self.total.take(event.cost, prompted=self.prompted)
        state = with_event(self.state, event)
        if state is not self.state:
            self.state = state
            self.listener.handle_state(self)

    def take_greeting(self) -> str | None:
        """Remove what the session said before its first prompt, and return it as the text of a notice.

        None for a history that the agent told late: what it told before is kept, and this is no news.
        """
        early, self.early = self.early, []
        if self.opened is not ContextSource.FRESH and any(is_prompt(event) for event in early):
            if self.history:
                for event in early:
                    self.history.take(event)
            return None
        return greeting_text(early) or None

    def begin_turn(self, now: float) -> LateHistory | None:
        """A prompt goes out; returns the history that may still come in its turn."""
        history = self.history
        if history and self.prompted and now > self.history_until and not history.under_way:
            self.history = None
        self.prompted = True
        return self.history

    def receive(self, event: Event) -> None:
        """Take an event, for the session's state and for whoever listens to it."""
        self.take(event)
        self.listener.handle(self, event)


class Sessions:
    """The live sessions of one family of conversations, by link: they share their agents' processes."""

    def __init__(self, services: Services, serves: Callable[[AgentPort], bool]) -> None:
        """``serves`` tells whether a prompt may go to an agent; the sessions of another only end their turns."""
        self._services = services
        self._serves = serves
        self._live: dict[str, LiveSession] = {}
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # while it is wanted
        # Openings that the agent may still answer.
        self._given_up: dict[str, asyncio.Future[LiveSession]] = {}
        self._closing = TaskSet()
        self._unattended: dict[asyncio.Future[Any], AgentPort] = {}  # new sessions and forks, likewise

    def __iter__(self) -> Iterator[LiveSession]:
        return iter(list(self._live.values()))

    def warm(self, candidates: Iterable[Link]) -> frozenset[str]:
        """The links whose session is open here in its newest version."""
        return frozenset(link.id for link in candidates if self.of(link) is not None)

    def of(self, link: Link) -> LiveSession | None:
        """The live session of this link; None if there is none, it is stale, or its agent takes no prompts."""
        live = self._live.get(link.id)
        return live if live and self._serves(live.agent) and live.version == link.version else None

    def is_ending(self, link_id: str) -> bool:
        """True for a session of an agent that takes no prompts any more: a turn of it is left alone."""
        live = self._live.get(link_id)
        return live is not None and not self._serves(live.agent)

    def by_link(self, link_id: str) -> LiveSession | None:
        """The live session of a link, stale or not."""
        return self._live.get(link_id)

    async def settle(self, link_id: str) -> None:
        """Store what a session sent between turns, in whichever conversation of the family receives it."""
        if live := self._live.get(link_id):
            await live.listener.settle(link_id)

    def adopt(
        self,
        link: Link,
        agent: AgentPort,
        opened: SessionOpened,
        how: ContextSource,
        listener: SessionListener,
        place: SessionSetup,
        *,
        history: LateHistory | None = None,
        behind: Sequence[Event] = (),
    ) -> LiveSession:
        """Register a session that was just opened, created or forked; its events are received from here on.

        ``behind`` are those that came behind the answer, and were taken by whoever opened it.
        """
        live = LiveSession(
            link_id=link.id,
            session_id=link.session_id,
            agent=agent,
            version=link.version,
            opened=how,
            began=how,
            state=opened_state(agent, link.id, opened),
            listener=listener,
            history=history,
            history_until=self._services.monotonic() + self._services.replay_wait.most,
            directories=place.additional_directories,
            servers=place.mcp_servers,
        )
        self.forget(link.id)
        self._live[link.id] = live
        for event in behind:
            live.receive(event)
        live.listen()
        return live

    def forget(self, link_id: str) -> None:
        """Drop a session without closing it; its events are no longer received."""
        if live := self._live.pop(link_id, None):
            live.unlisten()

    def forget_agent(self, agent: AgentPort) -> None:
        """Drop every session of a process that is gone."""
        for link_id in [link_id for link_id, live in self._live.items() if live.agent is agent]:
            self.forget(link_id)

    async def close(self, live: LiveSession) -> None:
        """Drop and close a session: an agent that lives on must keep no old copy of it."""
        self.forget(live.link_id)
        if live.agent.alive:
            with contextlib.suppress(AgentError, TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await live.agent.close_session(live.session_id)

    def close_soon(self, live: LiveSession | None) -> None:
        """Close a session that was opened too late, in the background; None is none."""
        if live is not None:
            self._closing.begin(self.close(live))

    async def see_through(self, agent: AgentPort, making: Coroutine[Any, Any, T]) -> T:
        """Await the making of a session; it goes on where the caller is cancelled, so that its link is stored."""
        task = asyncio.ensure_future(making)
        try:
            return await outlived(task)
        except asyncio.CancelledError:
            if not task.done():
                self._unattended[task] = agent
                task.add_done_callback(lambda _: self._unattended.pop(task, None))
            raise

    async def settle_unattended(self, agent: AgentPort | None = None) -> None:
        """Wait for the sessions that an agent, or any, still makes though their callers were cancelled.

        Each is waited for once, and for a second at most: an agent that does not answer holds up nobody.
        """
        made = {task for task, by in self._unattended.items() if agent in (by, None)}
        if made:
            await asyncio.wait(made, timeout=_CLOSING_SECONDS)
        for task in made:
            self._unattended.pop(task, None)

    async def drop_stale(self, link: Link) -> bool:
        """Close our copy of a session that another process has written to since; False while a turn of it runs."""
        if link.id not in self._live:
            return True
        async with self._services.db.read() as reader:
            link = await links.get(reader, link.id) or link  # as our own turns have moved it by now
            busy = bool(await turns.busy_links(reader, [link.id]))
        live = self._live.get(link.id)
        if live and not busy and self.of(link) is None:
            self.forget(link.id)
            if live.agent.alive:
                await live.agent.close_session(live.session_id)
        return not busy

    async def open_cold(
        self,
        link: Link,
        agent: AgentPort,
        place: SessionSetup,
        listener: SessionListener,
        *,
        made_here: bool = False,
    ) -> LiveSession:
        """Resume a link's session; by its replay, compared with the record, if the agent has a faithful one.

        ``made_here``: this agent process made it, and may have it open. Raises SessionContradicts if it is proved to be
        another session than the link says, SessionMoved if that is no proof, or any AgentError.
        """
        # Two windows may want the same session at once; the second finds it open.
        async with self._opening.setdefault(link.id, asyncio.Lock()):
            await self._await_given_up(link)
            async with self._services.db.read() as reader:
                link = await links.get(reader, link.id) or link
            if live := self.of(link):
                return live
            opening = asyncio.ensure_future(self._opened(link, agent, place, listener, made_here=made_here))
            try:
                return await outlived(opening)
            except asyncio.CancelledError:
                if not opening.done():
                    self._given_up[link.id] = opening
                raise

    async def _await_given_up(self, link: Link) -> None:
        """Wait for an earlier opening that was cancelled, so that its replay is not taken for news."""
        if late := self._given_up.get(link.id):
            await asyncio.wait({late}, timeout=_PATIENCE_SECONDS)
            late.cancel()  # does nothing to one that is over
            del self._given_up[link.id]

    async def look(
        self, link: Link, agent: AgentPort, place: SessionSetup, listener: SessionListener
    ) -> None:
        """Open a cold session as for a prompt, and close it again, so that no prompt meets it meanwhile.

        It stays open where the agent cannot close it. Raises as ``open_cold``.
        """
        async with self._opening.setdefault(link.id, asyncio.Lock()):
            async with self._services.db.read() as reader:
                link = await links.get(reader, link.id) or link
            if self.of(link) is None:
                opening = self._opened(link, agent, place, listener)
                live = await self._services.opening_wait.bound(opening)
                if agent.abilities.close:
                    await self.close(live)

    async def _opened(
        self,
        link: Link,
        agent: AgentPort,
        place: SessionSetup,
        listener: SessionListener,
        *,
        made_here: bool = False,
    ) -> LiveSession:
        if not await self.drop_stale(link):
            raise SessionMoved
        abilities, quirks = agent.abilities, agent.abilities.quirks
        record = ReplayRecord(self._services.db, link, quirks.replay_notes)
        habits = await self._habits(agent)
        loadable = abilities.load and not (made_here and quirks.load_twice_breaks)
        look = loadable and habits.faithful is not False and not quirks.load_destroys
        if loadable and not (abilities.resume and (habits.late or not look)):
            loaded = await self._load(agent, link.session_id, place, habits, record if look else None)
            if abilities.reopens_once:
                async with self._services.db.write() as tx:
                    await links.record(tx, link.id, links.LOADED)
        elif abilities.resume:
            look, loaded = False, Loaded(await agent.resume_session(link.session_id, place))
        else:
            raise NotOffered(-32601, f"{agent_title(agent)} cannot reopen a session")
        opened = loaded.opened
        if opened.session_id != link.session_id:
            await agent.close_session(opened.session_id)
            raise SessionContradicts(
                f"{agent_title(agent)} opened a different session than the one requested"
            )
        if look:
            link = await self._compared(link, record, agent, opened)
        history = await self._history(opened, link)
        how = ContextSource.RESUMED
        return self.adopt(link, agent, opened, how, listener, place, history=history, behind=loaded.behind)

    async def _load(
        self,
        agent: AgentPort,
        session_id: str,
        place: SessionSetup,
        habits: ReplayHabits,
        record: ReplayRecord | None,
    ) -> Loaded:
        """Load a session with its history; ``record`` is what that is to be compared with, if it is."""
        expected = record is not None and await record.holds()
        wait = self._services.replay_wait
        loaded = await load(agent, session_id, place, wait, expected=expected, late=habits.late)
        if loaded.late and not habits.late:
            async with self._services.db.write() as tx:
                await keep_late(tx, agent.abilities)
        return loaded

    async def _history(self, opened: SessionOpened, link: Link) -> LateHistory | None:
        """The history that a session may still tell, which was opened and told nothing of it."""
        if tells(opened.replay):
            return None
        return await ReplayRecord(self._services.db, link).late_history()

    async def open_fork(
        self, agent: AgentPort, forked: SessionOpened, place: SessionSetup, vouched: Link
    ) -> tuple[SessionOpened, LateHistory | None]:
        """Open a fresh fork, and compare it with what it should hold, by the pointers of ``vouched``, if it is shown.

        Returns it with the history that it may still tell.

        What an agent answers to a fork may name a session that is not live before it is opened, and say nothing of its
        modes and options. Closes the fork and raises ForkWrong where it is something else, ForkEmpty if it is nothing.
        """
        quirks = agent.abilities.quirks
        record = ReplayRecord(self._services.db, vouched, quirks.replay_notes)
        told = any(isinstance(event, TextChunk) for event in forked.replay)
        agrees = told and await record.verdict(forked.replay) is Verdict.AGREES
        can_load = agent.abilities.load and not quirks.load_twice_breaks and not quirks.load_destroys
        habits = await self._habits(agent)
        late = habits.late and agent.abilities.resume  # it is opened without a look then
        if not agrees and can_load and not late and (habits.faithful or (told and habits.faithful is None)):
            # OpenCode tells only the last twenty messages of a fork; what it loads is all of it.
            opened = (await self._load(agent, forked.session_id, place, habits, record)).opened
            found = await record.verdict(opened.replay)
            if found is Verdict.AGREES and opened.session_id == forked.session_id:
                return opened, None
        elif agrees or not told:
            opened = await self._woken(agent, forked, place, can_load=can_load)
            return opened, None if opened is forked else await self._history(opened, vouched)
        else:
            found = Verdict.CONTRADICTS
        await agent.close_session(forked.session_id)
        if found is Verdict.EMPTY:
            raise ForkEmpty(f"{agent_title(agent)}'s fork is empty")
        raise ForkWrong(f"{agent_title(agent)}'s fork is not what was requested")

    async def _woken(
        self, agent: AgentPort, forked: SessionOpened, place: SessionSetup, *, can_load: bool
    ) -> SessionOpened:
        """A fork that is live now, whether or not it was before; as it was answered where it cannot be opened."""
        if agent.abilities.quirks.load_twice_breaks or not (agent.abilities.resume or can_load):
            return forked
        reopen = agent.resume_session if agent.abilities.resume else agent.load_session
        try:
            opened = await reopen(forked.session_id, place)
        except AgentRefused:
            return forked  # it may be live all the same; its first prompt will tell
        if opened.session_id != forked.session_id:
            await agent.close_session(opened.session_id)
            return forked
        return opened

    async def _compared(
        self, link: Link, record: ReplayRecord, agent: AgentPort, opened: SessionOpened
    ) -> Link:
        """Compare a replay; the link, with what it proves of that.

        Raises SessionContradicts if it does not agree; SessionMoved if it may hold what the link was given meanwhile.
        """
        found = await record.verdict(opened.replay)
        habits = await self._habits(agent)
        if not habits.proves(found):
            return link
        if found is Verdict.AGREES:
            return await self._learnt(link, record, agent, opened, learn_faith=habits.faithful is None)
        await agent.close_session(opened.session_id)
        async with self._services.db.write() as tx:
            now = await links.get(tx, link.id)
            if now is None or now.version != link.version:
                raise SessionMoved
            if record.assumes:
                await take_back(tx, agent.abilities)
            elif habits.faithful is None and record.proves:
                await keep_faith(tx, agent.abilities, found)
        what = "nothing" if found is Verdict.EMPTY else "something else"
        raise SessionContradicts(
            f"{agent_title(agent)} opened the session, but it holds {what} where the conversation was"
        )

    async def _learnt(
        self, link: Link, record: ReplayRecord, agent: AgentPort, opened: SessionOpened, *, learn_faith: bool
    ) -> Link:
        """Keep what a replay that agrees tells of the agent, and of the turns of its session that did not end well."""
        shown = await record.shown(opened.replay)
        learn_faith = learn_faith and record.proves
        if not (shown or learn_faith):
            return link
        proved = await record.proved(shown)
        async with self._services.db.write() as tx:
            if learn_faith:
                await keep_faith(tx, agent.abilities, Verdict.AGREES)
            await learn(tx, agent.abilities, link.session_id, shown)
            now = await links.get(tx, link.id)
            if proved and now and now.version == link.version:
                return await links.move(tx, link.id, knows=proved)
        return link

    async def _habits(self, agent: AgentPort) -> ReplayHabits:
        async with self._services.db.read() as reader:
            return await read_habits(reader, agent.abilities)
