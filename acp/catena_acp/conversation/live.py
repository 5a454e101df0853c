"""The state that the parts of a live conversation share: record, hold, windows and its sessions' events."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, assert_never

from catena_acp.agents.process import agent_environment
from catena_acp.context_markers import readable_title, without_fork_marks
from catena_acp.continuity.conversation_events import (
    BackgroundChanged,
    ConversationEvent,
    Doing,
    DoingChanged,
    HoldChanged,
    LeafMoved,
    MessageAdded,
    MessageChanged,
    PermissionOpened,
    PlaceMoved,
    Renamed,
    SessionChanged,
    SessionState,
    Usage,
)
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.services import Services, SessionPlace, SpecOf, Tenure, title_of
from catena_acp.continuity.sessions.agent_pool import Agents
from catena_acp.continuity.sessions.environment import Environment
from catena_acp.continuity.sessions.sessions import LiveSession, Sessions
from catena_acp.continuity.turns.background import BackgroundTask, BackgroundWork
from catena_acp.continuity.turns.late_updates import LateUpdates
from catena_acp.continuity.turns.questions import PendingQuestions
from catena_acp.continuity.turns.turn import RunningTurn
from catena_acp.continuity.wording.problems import CutBy, hold_words
from catena_acp.conversation import journal
from catena_acp.errors import AgentError, AgentMissing, QuestionChanged, ReadOnly
from catena_acp.permissions.subject import RequestSubject, subject_of
from catena_acp.port.elicitation.requests import CANCEL, ElicitationAnswer
from catena_acp.port.elicitation.words import answered_text, asked_text
from catena_acp.port.port import AgentPort, AgentSpec
from catena_acp.port.session_events import (
    BackgroundWorkEnded,
    ElicitationAnswered,
    ElicitationCompleted,
    ElicitationRequested,
    Event,
    ModelRetried,
    NoticeReported,
    PermissionRequested,
    PermissionWithdrawn,
    QuestionEvent,
    TitleChanged,
    ToolCallChanged,
)
from catena_acp.tasks import TaskSet
from catena_store import places
from catena_store.chains import turns, usage
from catena_store.conversations import conversations, messages
from catena_store.conversations.logouts import Account
from catena_store.database.database import Writer
from catena_store.errors import StoreError, StoreReadOnly
from catena_store.records import ConversationRecord, Kind, Link, Owner, Turn
from catena_store.windows import windows

_MOST_EARLY = 20  # elicitations of a session that carries no window yet


@dataclass(frozen=True, slots=True)
class _WindowTurn:
    """What the turn of a window does, and since when: its clock stands still while it waits for the person."""

    doing: Doing = Doing.IDLE
    since: float = 0.0  # when it began, later by what it has waited
    changed: float = 0.0  # when it began to do that

    def then(self, doing: Doing, now: float) -> _WindowTurn:
        """The turn, which does something else now."""
        waited = now - self.changed if self.doing is Doing.ASKING else 0.0
        return _WindowTurn(doing, self.since + waited, now)


class LiveConversation:
    """A live conversation as its subjects know it; ``Conversation`` adds them, and the windows with their turns."""

    def __init__(
        self,
        services: Services,
        record: ConversationRecord,
        tenure: Tenure | None,
        agents: Agents,
        sessions: Sessions,
        spec_of: SpecOf,
        agent_started: Callable[[str, AgentPort], None],
        take_over: Callable[[LiveConversation], Awaitable[None]],
    ) -> None:
        self.services = services
        self.record = record
        self.tenure = tenure
        self.holder: Owner | None = None  # the other client that has it, or had it last; None if it is ours
        self.free = False  # that client is gone: it can be taken over
        self.lost: Callable[[], None] = lambda: None  # called where another client took what was ours
        self.on_logouts: Callable[[Mapping[Account, int]], None] = lambda last: None  # told the last ones
        self.closing = False
        self.cut_by = CutBy.EXIT  # what cuts its turns off when it is closed
        self.questions = PendingQuestions(self._publish_question)
        self.environment = Environment(services, record.id, self.publish)
        self.sessions = sessions
        self.background = BackgroundWork()
        self._late_updates = self._late(tenure) if tenure else None
        self.agents = agents
        self._spec_of = spec_of
        self._agent_started = agent_started
        self._take_over = take_over
        self._listeners: list[Callable[[ConversationEvent], None]] = []
        self._running: dict[str, RunningTurn] = {}  # by link
        self._carriers: dict[str, str] = {}  # the link that carries a window
        self._known: dict[str, SessionState] = {}  # of a window: the session that carried it last
        self._turns: dict[str, _WindowTurn] = {}  # by window
        # By link, before it carries a window.
        self._early_questions: dict[str, list[ElicitationRequested]] = {}
        # By window; set where the person goes on without it.
        self._long_openings: dict[str, asyncio.Event] = {}
        self.costs: dict[str, float] | None = None  # of all its turns, by currency; read once, then counted
        self._place_moves = 0
        self._lacks: dict[str, int] = {}  # by window: turns elsewhere, as it was told last
        self._tasks = TaskSet()

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def read_only(self) -> bool:
        """True if another client holds the conversation."""
        return self.tenure is None

    async def read_costs(self) -> None:
        """Read what all turns cost so far, unless it is known. Raises StoreError."""
        if self.costs is None:
            async with self.services.db.read() as reader:
                self.costs = await usage.costs_of_turns(reader, self.id)

    def count_cost(self, turn: Turn) -> None:
        """Add the cost of a turn that ended, in whatever window."""
        if turn.cost is not None and self.costs is not None:
            currency = turn.currency or ""
            self.costs[currency] = self.costs.get(currency, 0.0) + turn.cost

    # --- publishing

    def subscribe(self, listener: Callable[[ConversationEvent], None]) -> Callable[[], None]:
        """Subscribe ``listener`` to all events; return the unsubscription."""
        self._listeners.append(listener)

        def end() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def publish(self, event: ConversationEvent) -> None:
        """Send an event to every listener, and to whoever observes all conversations of ours."""
        if self.tenure is not None:
            self.services.observe(self.id, event)
        for listener in list(self._listeners):
            listener(event)
        match event:
            case MessageAdded(window_id, message) | MessageChanged(window_id, message):
                if self.background.take(window_id, message):
                    self.publish(BackgroundChanged(window_id))
                if isinstance(event, MessageAdded) and (message.kind is Kind.USER or message.barrier):
                    self._moved_here()
            case LeafMoved():
                self._moved_here()
            case _:
                pass

    def _moved_here(self) -> None:
        """A window of this client moved the place: the others lack something now, and that one nothing any more."""
        self._place_moves += 1
        if len(self.windows) > 1 or any(self._lacks.values()):
            self.place_moved()

    def place_moved(self) -> None:
        """Whoever moved the place of the conversation, tell all windows that are open here what they lack."""
        self._place_moves += 1
        for window_id in () if self.closing else self.windows:
            self.spawn(self._tell_place(window_id))

    async def _tell_place(self, window_id: str) -> None:
        moves, lacks = -1, 0
        with contextlib.suppress(StoreError):
            while moves != self._place_moves:
                moves = self._place_moves
                async with self.services.db.read() as reader:
                    window = await windows.get(reader, window_id)
                    if window is None or window.conversation_id != self.id:
                        return
                    lacks = (await places.later_than(reader, self.id, window.leaf_id)).turns
            if lacks != self._lacks.get(window_id, 0):
                self._lacks[window_id] = lacks
                self.publish(PlaceMoved(window_id, lacks))

    async def turns_elsewhere(self, window_id: str, leaf_id: str | None) -> int:
        """The turns where the conversation went on that a window lacks, which stands on a leaf. Raises StoreError."""
        async with self.services.db.read() as reader:
            later = await places.later_than(reader, self.id, leaf_id)
        self._lacks[window_id] = later.turns
        return later.turns

    def doing(self, window_id: str) -> Doing:
        """What a window's turn does now."""
        return self._turn_of(window_id).doing

    def _turn_of(self, window_id: str) -> _WindowTurn:
        return self._turns.get(window_id, _WindowTurn())

    def retried(self, window_id: str) -> ModelRetried | None:
        """The failed call of the model that the agent of a window's turn just tries again."""
        if self.doing(window_id) is not Doing.WORKING:
            return None
        running = (each for each in self._running.values() if each.window_id == window_id)
        return next((each.retried for each in running), None)

    async def opened(self, window_id: str) -> None:
        """Wait while an agent is started or a session opened for the window's prompt."""
        changed = asyncio.Event()
        end = self.subscribe(lambda _: changed.set())
        try:
            while self.doing(window_id) in (Doing.STARTING, Doing.OPENING, Doing.LONG_OPENING):
                changed.clear()
                await changed.wait()
        finally:
            end()

    def begin_turn(self, window_id: str) -> None:
        """The clock of the window's turn starts."""
        if window_id in self._turns:
            self._turns[window_id] = replace(self._turns[window_id], since=self.services.monotonic())

    def set_doing(self, window_id: str, doing: Doing) -> None:
        """The window's turn does something else."""
        # A window that was left in mid-turn stays left.
        if doing is Doing.WORKING and self._carriers.get(window_id) in self.questions.waiting_links:
            doing = Doing.ASKING  # before its first prompt was out
        before = self._turns.get(window_id)
        if before and before.doing is not doing:
            self._turns[window_id] = before.then(doing, self.services.monotonic())
            self._publish_doing(window_id)

    def _publish_doing(self, window_id: str) -> None:
        turn = self._turn_of(window_id)
        self.publish(DoingChanged(window_id, turn.doing, turn.since, self.retried(window_id)))

    async def offer_to_leave(
        self, window_id: str, opening: asyncio.Future[Any], seconds: float | None
    ) -> None:
        """Wait until an opening is over, the person goes on without it, or so many seconds have passed."""
        left = self._long_openings[window_id] = asyncio.Event()
        leaving = asyncio.ensure_future(left.wait())
        self.set_doing(window_id, Doing.LONG_OPENING)
        try:
            await asyncio.wait({opening, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            self._long_openings.pop(window_id, None)
        self.set_doing(window_id, Doing.OPENING)

    def leave_opening(self, window_id: str) -> bool:
        """Go on without the opening that takes long; False if there is none."""
        if (left := self._long_openings.get(window_id)) is None:
            return False
        left.set()
        return True

    # --- writing

    def writable(self) -> Tenure:
        """Our hold of the lease. Raises ReadOnly if another client has it, StoreReadOnly if nobody can."""
        if self.services.db.read_only:
            raise StoreReadOnly(self.services.db.path)
        if self.tenure is None:
            raise ReadOnly(hold_words(self.holder, self.services.owner.host, free=self.free))
        return self.tenure

    def write(self) -> AbstractAsyncContextManager[Writer]:
        """A transaction of the holder of the conversation. Raises ReadOnly, StoreReadOnly."""
        return self.writable().write()

    async def take_over(self) -> None:
        """Make ours what a client left that is gone. Raises ReadOnly, which names one that lives; StoreError."""
        if self.tenure is None:
            await self._take_over(self)

    def take(self, tenure: Tenure) -> None:
        """The conversation is ours now."""
        self.tenure, self._late_updates = tenure, self._late(tenure)
        self.holder, self.free = None, False
        self._publish_hold()

    def _late(self, tenure: Tenure) -> LateUpdates:
        return LateUpdates(self.services, tenure, self.publish, self.background)

    def lose(self) -> None:
        """Another client took what was ours: from now on we only read, and our agents do nothing more in it."""
        if self.tenure is not None:
            self.tenure = self._late_updates = None
            for running in self._running.values():
                self.questions.cancel(running.live.link_id)
                self.spawn(running.stop())
            self._publish_hold()
            if not self.closing:
                self.lost()

    def held_by(self, holder: Owner | None, *, free: bool) -> None:
        """Another client has it; ``free`` if that one is gone."""
        if self.tenure is None and (holder, free) != (self.holder, self.free):
            self.holder, self.free = holder, free
            self._publish_hold()

    def _publish_hold(self) -> None:
        for window_id in self.windows:
            self.publish(HoldChanged(window_id, read_only=self.tenure is None, free=self.free))

    def spec_of(self, agent: str, profile: str) -> AgentSpec:
        """How the agent of a link is started. Raises AgentMissing."""
        return self._spec_of(agent, profile)

    def title_of(self, agent: str, profile: str) -> str:
        """What a person reads for the agent of a link."""
        try:
            return self.services.titles.of(self._spec_of(agent, profile))
        except AgentMissing:
            return agent

    def send_context(self, cwd: str | None = None, spec: AgentSpec | None = None) -> SendContext:
        """The context of one prompt; in ``cwd`` if it was typed there. Raises ReadOnly, AgentMissing."""
        tenure = self.writable()
        return SendContext(
            self,
            tenure,
            replace(self.record, cwd=cwd) if cwd else self.record,
            spec or self._spec_of(self.record.agent, self.record.profile),
        )

    def agent_started(self, agent: AgentPort) -> None:
        """Note an agent process that was started for this conversation."""
        self._agent_started(self.record.family, agent)

    async def rename(self, title: str | None, *, by: str | None = None) -> None:
        """Give the conversation a title; what was done ``by`` a person in a window can be undone there."""
        async with self.write() as tx:
            if by is None:
                await conversations.set_title(tx, self.id, title)
            else:
                await journal.rename(tx, window_id=by, conversation_id=self.id, title=title)
        self._renamed(title)

    async def reload(self) -> None:
        """Read title, agent and directory, which were changed in the store, and publish what is new."""
        async with self.services.db.read() as reader:
            record = await conversations.get(reader, self.id)
        if record is None:
            return
        before, self.record = self.record, record
        for window_id in self.windows:
            if before.title != record.title:
                self.publish(Renamed(window_id, record.title))
            if (before.agent, before.profile) != (record.agent, record.profile):
                self.clear_carrier(window_id)
        if before.cwd != record.cwd:
            await self._leave_directory()

    # --- further directories

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories that it was given beside the one it works in."""
        return self.environment.directories

    @property
    def takes_directories(self) -> bool | None:
        """Whether the agent is told of further directories; None while it does not run."""
        agent = self._agent
        return agent.abilities.additional_directories if agent else None

    async def add_directory(self, path: str) -> bool:
        """Give it a directory, which the caller has seen to exist, by its absolute path; False if it has it.

        Files below it can be asked for at once; an agent that takes further directories gets it with the next prompt.
        """
        return await self._change_directories(conversations.add_further_directory, path)

    async def remove_directory(self, path: str) -> bool:
        """Take a further directory away again; False if it has none of that path."""
        return await self._change_directories(conversations.remove_further_directory, path)

    async def _change_directories(
        self, change: Callable[[Writer, str, str], Awaitable[bool]], path: str
    ) -> bool:
        """Change them in the store and for the sessions that are open; False if nothing changed."""
        async with self.write() as tx:
            changed = await change(tx, self.id, path)
            self.environment.directories = await conversations.further_directories(tx, self.id)
        for live in self.own_sessions:
            if live.agent.alive:
                live.agent.allow_directories(live.session_id, self.environment.existing_directories)
        return changed

    def _renamed(self, title: str | None) -> None:
        self.record = replace(self.record, title=title)
        for window_id in self._turns:
            self.publish(Renamed(window_id, title))

    async def transcript_of(self, link: Link) -> str | None:
        """The path of the agent's own transcript of a session, if it is known."""
        try:
            spec = self._spec_of(link.agent, link.profile)
        except AgentMissing:
            return None
        home = SessionPlace(link.profile, agent_environment(os.environ, spec.env), link.cwd)
        path = await asyncio.to_thread(
            self.services.session_files.path_of, (link.agent,), link.session_id, home
        )
        return str(path) if path else None

    # --- windows and the sessions that carry them

    @property
    def windows(self) -> frozenset[str]:
        """Those that are open in this client."""
        return frozenset(self._turns)

    def enter(self, window_id: str) -> None:
        """The window is open in this client: what it owns is its own."""
        self._turns.setdefault(window_id, _WindowTurn())

    def leave(self, window_id: str) -> None:
        """The window was closed for good: what it owned is anybody's."""
        self._turns.pop(window_id, None)
        self._lacks.pop(window_id, None)
        self._carriers.pop(window_id, None)
        self._known.pop(window_id, None)

    def moved(self, window_id: str, leaf_id: str | None) -> None:
        """Publish the leaf of a window that was moved in the store."""
        self.publish(LeafMoved(window_id, leaf_id))
        if window_id in self.windows:
            self.clear_carrier(window_id)

    def hear_logouts(self, last: Mapping[Account, int]) -> None:
        """Hear which logouts were the last: nothing new goes to a process from before one."""
        self.on_logouts(last)

    def set_carrier(self, window_id: str, live: LiveSession) -> None:
        """Set the session that carries the window."""
        before = self._known.get(window_id)
        self._carriers[window_id] = live.link_id
        state = live.state
        if state.usage is None and before and before.agent_title == state.agent_title:
            state = replace(state, usage=_cost_alone(before))  # until the session tells its own
        self._known[window_id] = state
        self.publish(SessionChanged(window_id, state))
        for early in self._early_questions.pop(live.link_id, ()):
            self._ask(live, early)

    def clear_carrier(self, window_id: str) -> None:
        """Clear the session that carries the window; the next prompt sets it."""
        self._carriers.pop(window_id, None)
        self.publish(SessionChanged(window_id, self.session(window_id)))

    def session(self, window_id: str) -> SessionState:
        """The known state of the session that carries a window."""
        link_id = self._carriers.get(window_id)
        known, title = self._known.get(window_id), self.agent_title
        if link_id and (live := self.sessions.by_link(link_id)):
            return known if known and known.link_id == link_id else live.state
        if known is None or known.agent_title != title:
            return SessionState(agent_title=title)
        # The next session gets the model and mode of this one, and what was spent stays spent.
        return SessionState(
            title, mode=known.mode, modes=known.modes, model=known.model, usage=_cost_alone(known)
        )

    @property
    def agent_title(self) -> str:
        """The title, for the person, of the agent that the next prompt goes to."""
        return self.agent_title_of(None)

    def agent_title_of(self, spec: AgentSpec | None) -> str:
        """The title of an agent for the person; with None, of the one that the next prompt goes to."""
        try:
            spec = spec or self._spec_of(self.record.agent, self.record.profile)
        except AgentMissing:
            return self.record.agent
        agent = self.agents.live(spec, self.record.family)
        return title_of(spec, agent.abilities) if agent else self.services.titles.of(spec)

    @property
    def _agent(self) -> AgentPort | None:
        """The agent that the next prompt goes to, while it runs."""
        try:
            return self.agents.live(self._spec_of(self.record.agent, self.record.profile), self.record.family)
        except AgentMissing:
            return None

    def last_lines(self) -> tuple[str, ...]:
        """The last lines of standard error of the agent that the next prompt goes to, as far as it runs."""
        agent = self._agent
        return agent.stderr_tail if agent else ()

    def live(self, window_id: str) -> LiveSession:
        """The open session that carries a window. Raises AgentError."""
        link_id = self._carriers.get(window_id)
        live = self.sessions.by_link(link_id) if link_id else None
        if live is None or not live.agent.alive:
            raise AgentError("no session yet; send a message first")
        return live

    async def _leave_directory(self) -> None:
        """Close the sessions of the directory before; idle agents of the family start anew in the new one.

        A turn that goes on, in another tab or in one that was closed, is left to its end there.
        """
        for window_id in self.windows:
            self.clear_carrier(window_id)
        await self.settle()
        async with self.services.db.read() as reader:
            busy = await turns.busy_links(reader, [live.link_id for live in self.own_sessions])
        left = [live for live in self.own_sessions if live.link_id not in busy]
        self.background.end_all({live.link_id for live in left})
        await asyncio.gather(*(self.sessions.close(live) for live in left))
        self.agents.drop_family(self.record.family)

    @property
    def own_sessions(self) -> list[LiveSession]:
        """The live sessions whose events come to this conversation, and to no other of the family."""
        return [live for live in self.sessions if live.listener is self]

    def agent_died(self, agent: AgentPort) -> None:
        """A process of ours ends; what it carries is cold from now on."""
        dead = {live.link_id for live in self.sessions if live.agent is agent}
        for window_id in [window_id for window_id, link_id in self._carriers.items() if link_id in dead]:
            self.clear_carrier(window_id)
        for window_id in self.background.end_all(dead):
            self.publish(BackgroundChanged(window_id))

    def detach(self, running: RunningTurn) -> None:
        """Take what the closed turn's session still sends as late updates."""
        self._running.pop(running.live.link_id, None)
        self.questions.cancel(running.live.link_id)
        for event in running.leftover():
            self.handle(running.live, event)

    async def settle(self, link_id: str | None = None) -> None:
        """Store what sessions sent between turns, as far as the store takes it.

        For the one of ``link_id`` raises StoreError.
        """
        if self._late_updates is None:
            return
        if link_id is None:
            await self._late_updates.settle_all()
        else:
            await self._late_updates.settle(link_id)

    async def close(self) -> None:
        """Store what sessions sent between turns, and close them."""
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        await self.sessions.settle_unattended()
        if self._late_updates:
            await self._late_updates.close()
        await asyncio.gather(*(self.sessions.close(live) for live in self.sessions if live.listener is self))

    # --- events of sessions

    def attach(self, running: RunningTurn) -> None:
        """Route the events of the turn's session to the turn."""
        self._running[running.live.link_id] = running
        for task in self.background.calls_of(running.live.link_id):
            running.reducer.carry(task.call_id, task.message_id, task.data)

    def handle(self, live: LiveSession, event: Event) -> None:
        """Route an event of a session to its turn, its questions or the late updates."""
        if isinstance(event, TitleChanged) and self.record.title is None and self.tenure:
            self._take_title(event.title or "")
        self._note_background(live, event)
        running = self._running.get(live.link_id)
        if running and running.live is live:
            if running.follow_retries(event):
                self._tell_retry(running.window_id)
            running.receive(event)
        elif isinstance(event, QuestionEvent):
            self.handle_question(live, event)
            self._note_late_answer(live, event)
        else:
            if isinstance(event, ToolCallChanged):
                self.handle_question(live, event)
            # What agents say while they are ended has no place any more.
            if self._late_updates and not self.closing:
                self._late_updates.receive(live, event)

    def _tell_retry(self, window_id: str) -> None:
        if self.doing(window_id) is Doing.WORKING:
            self._publish_doing(window_id)

    def background_of(self, window_id: str) -> tuple[BackgroundTask, ...]:
        """Work begun in the window that goes on in a session that is still open, oldest first."""
        tasks = self.background.of_window(window_id)
        return tuple(task for task in tasks if self.sessions.by_link(task.link_id) is not None)

    def _note_background(self, live: LiveSession, event: Event) -> None:
        """Note the end of work that outlives its turn."""
        windows = {task.window_id for task in self.background.of_link(live.link_id)}
        match event:
            case BackgroundWorkEnded():
                changed = self.background.end_one(live.link_id)
            case ToolCallChanged():
                changed = self.background.take_late(live.link_id, event)
            case _:
                changed = False
        for window_id in windows if changed else ():
            self.publish(BackgroundChanged(window_id))

    def handle_question(
        self, live: LiveSession, event: QuestionEvent | ToolCallChanged, subject: RequestSubject | None = None
    ) -> None:
        """A question is asked, changed or closed; within a turn, after the row that it is about was committed.

        ``subject`` is what a permission request is about, if that was looked at.
        """
        match event:
            case ToolCallChanged():
                for asked in self.questions.follow(live.link_id, event, self.record.cwd):
                    self._apply_rules_to(live, asked)
            case PermissionRequested() | ElicitationRequested():
                self._ask(live, event, subject)
            case PermissionWithdrawn(ask_id=ask_id) | ElicitationCompleted(ask_id=ask_id):
                self._withdraw(live, ask_id)
            case ElicitationAnswered(ask_id=ask_id, answer=answer) if answer.action == "cancel":
                self._withdraw(live, ask_id)
            case ElicitationAnswered():
                pass
            case _:
                assert_never(event)

    def _apply_rules_to(self, live: LiveSession, asked: PermissionOpened) -> None:
        """Let the rules of the person see what a question has become."""

        async def apply() -> None:
            running = self._running.get(live.link_id)
            if running and await running.answer_by_rule(asked, lambda: self.questions.take(asked)):
                self._go_on(asked.window_id)

        self.spawn(apply())

    def _withdraw(self, live: LiveSession, ask_id: str) -> None:
        early = self._early_questions.get(live.link_id, [])
        early[:] = [each for each in early if each.ask_id != ask_id]
        self._go_on(self.questions.withdrawn(ask_id))

    def _ask(
        self,
        live: LiveSession,
        event: PermissionRequested | ElicitationRequested,
        subject: RequestSubject | None = None,
    ) -> None:
        running = self._running.get(live.link_id)
        carried = (window_id for window_id, link_id in self._carriers.items() if link_id == live.link_id)
        window_id = running.window_id if running else next(carried, None)
        match event:
            case PermissionRequested(ask_id=ask_id) if window_id is None:
                live.agent.answer_permission(ask_id, None)
            case ElicitationRequested(ask_id=ask_id) if window_id is None:
                early = self._early_questions.setdefault(live.link_id, [])
                if len(early) < _MOST_EARLY:
                    early.append(event)
                else:
                    live.agent.answer_elicitation(ask_id, CANCEL)
            case PermissionRequested() if window_id is not None:
                subject = subject or subject_of(event.tool_call, self.record.cwd)
                subagent = running.reducer.subagent_of(event.tool_call) if running else ""
                self.questions.add(window_id, live.link_id, live.agent, event, subject, subagent)
            case ElicitationRequested() if window_id is not None:
                title = live.state.agent_title
                self.questions.add_elicitation(window_id, live.link_id, live.agent, event, title)
        if window_id is None or running is None:
            return
        if running.stopping:
            self.questions.cancel(live.link_id)
        else:
            self.set_doing(window_id, Doing.ASKING)

    def _go_on(self, window_id: str | None) -> None:
        """The agent works again, if nothing else waits for the person in the window."""
        asking = window_id and self.doing(window_id) is Doing.ASKING
        if window_id and asking and not self.questions.waits(window_id):
            self.set_doing(window_id, Doing.WORKING)

    def _note_late_answer(self, live: LiveSession, event: QuestionEvent) -> None:
        """Keep in the transcript what was asked and answered while no turn ran."""
        if isinstance(event, ElicitationAnswered) and live.prompted and self._late_updates:
            text = asked_text(event.request) + answered_text(event.request, event.answer)
            self._late_updates.receive(live, NoticeReported(text, "info"))

    async def answer(self, ask_id: str, option_id: str | None, call: ToolCallChanged | None = None) -> None:
        """Answer a permission request with one of the agent's options; None is `cancelled`.

        ``call`` is what the person saw. Raises QuestionChanged if the agent has changed it since.
        """
        asked = self.questions.permission(ask_id)
        if asked is not None and call is not None and asked[1].tool_call != call:
            raise QuestionChanged
        self._note_answer(ask_id, option_id)
        self._go_on(self.questions.answer(ask_id, option_id))

    async def apply_rules(self, spared: Callable[[], Collection[str]]) -> int:
        """Answer the open permission requests that a rule of the person is about now; returns how many.

        ``spared`` are the ids of requests that the person is just answering.
        """
        answered = 0
        for link_id, waiting, asked in self.questions.permissions():
            running = self._running.get(link_id)
            if running is None or waiting is not running.live.agent:
                continue

            def take(asked: PermissionOpened = asked) -> bool:
                return asked.ask_id not in spared() and self.questions.take(asked)

            if await running.answer_by_rule(asked, take):
                answered += 1
                self._go_on(asked.window_id)
        return answered

    async def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None:
        """Answer a form or a web page that the agent asks for; anything but `accept` dismisses one that is open."""
        self._go_on(self.questions.answer_elicitation(ask_id, answer))

    def _take_title(self, told: str) -> None:
        if title := readable_title(told):
            self.spawn(self._retitle(without_fork_marks(title)))

    def _publish_question(self, event: ConversationEvent) -> None:
        self.publish(event)
        if self._running:
            self.spawn(self._store_asking())

    async def _store_asking(self) -> None:
        """Store which of the running turns wait for the person, for lists of all conversations."""
        with contextlib.suppress(StoreError, ReadOnly):
            async with self.write() as tx:
                asking = self.questions.waiting_links
                for link_id, running in list(self._running.items()):
                    await turns.set_asking(tx, running.turn.id, link_id in asking)

    def _note_answer(self, ask_id: str, option_id: str | None) -> None:
        """Note in its turn how a permission request is answered: some agents end the turn for a rejection."""
        if (asked := self.questions.permission(ask_id)) is None:
            return
        link_id, event = asked
        if (running := self._running.get(link_id)) is None:
            return
        if option_id is None:
            running.rejected = True
        elif chosen := next((option for option in event.options if option.id == option_id), None):
            running.note_answer(event.subject, allowed=not chosen.kind.startswith("reject"))
            self.spawn(running.write_answer(event.tool_call.tool_call_id))

    async def _retitle(self, title: str) -> None:
        with contextlib.suppress(StoreError, ReadOnly):
            async with self.write() as tx:
                record = await conversations.get(tx, self.id)
                if record is None or record.title is not None:  # the person was faster
                    return
                if await messages.was_cleared(tx, self.id):  # it keeps the name that it has
                    return
                if record.fork_point_id is not None:
                    taken = await conversations.titles_of_family(tx, record.family)
                    # It is its source's; its own prompt tells more.
                    if title in map(without_fork_marks, taken):
                        return
                await conversations.set_title(tx, self.id, title)
            self._renamed(title)

    def handle_state(self, live: LiveSession) -> None:
        """Publish the changed state of a session to the windows that it carries."""
        for window_id, link_id in self._carriers.items():
            if link_id == live.link_id:
                self._known[window_id] = live.state
                self.publish(SessionChanged(window_id, live.state))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in the background, to its end before the conversation is closed."""
        self._tasks.begin(work)


def _cost_alone(state: SessionState) -> Usage | None:
    """The cost of a session whose context window says nothing of the next one's."""
    usage = state.usage
    return Usage(0, 0, usage.cost, usage.currency) if usage and usage.cost is not None else None
