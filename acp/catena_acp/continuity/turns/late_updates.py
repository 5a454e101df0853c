"""Updates that arrive when no turn of their session runs: late text, greetings, and histories told too late."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from catena_acp.continuity.conversation_events import ConversationEvent
from catena_acp.continuity.services import Services, Tenure
from catena_acp.continuity.sessions.opening import is_prompt
from catena_acp.continuity.sessions.replays import keep_late
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.background import BackgroundWork
from catena_acp.continuity.turns.recorder import AGAIN_SECONDS, Recorder
from catena_acp.continuity.turns.reducer import Reducer
from catena_acp.port.session_events import Event, QuestionEvent, StateEvent, TerminalChanged, TranscriptEvent
from catena_acp.tasks import TaskSet, raise_if_cancelled
from catena_store.chains import links, turns
from catena_store.conversations import messages
from catena_store.errors import UNWRITABLE, Fenced, StoreError
from catena_store.records import ContextSource, Kind, Link, Message
from catena_store.windows import windows

SILENCE_SECONDS = 0.5  # after the last update, and the late text is taken to be complete
_MOST_EARLY = 2_000  # events kept of what a session says before its first prompt


@dataclass(slots=True)
class _Flow:
    """The late events of one session, on their way to rows."""

    live: LiveSession
    events: list[TranscriptEvent | TerminalChanged] = field(default_factory=list)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    ending: bool = False
    task: asyncio.Task[None] | None = None
    failed: StoreError | None = None  # why the store did not take them the last time
    tried: asyncio.Event = field(default_factory=asyncio.Event)  # set by that, and by the end


class LateUpdates:
    """Recorder of late updates, as rows below the session's reach; what the store does not take is tried again."""

    def __init__(
        self,
        services: Services,
        tenure: Tenure,
        publish: Callable[[ConversationEvent], None],
        background: BackgroundWork,
    ) -> None:
        """``background`` has the calls whose work went on: what is told of them later changes their rows."""
        self._background = background
        self._services = services
        self._tenure = tenure
        self._publish = publish
        self._flows: dict[str, _Flow] = {}
        self._learning = TaskSet()

    def receive(self, live: LiveSession, event: Event) -> None:
        """Take an event of a session, which becomes a row if it is a TranscriptEvent; never waits.

        What a session says before its first prompt is none: it waits for that with the session.
        """
        if isinstance(event, StateEvent | QuestionEvent):
            return
        if isinstance(event, TerminalChanged):
            # Of interest only to a tool call that came late, too; that of an ended turn stays as it was then.
            if flow := self._flows.get(live.link_id):
                flow.events.append(event)
                flow.wake.set()
            return
        if not live.prompted:
            reopened = live.opened is not ContextSource.FRESH
            if is_prompt(event) and reopened and not any(map(is_prompt, live.early)):
                self._learning.begin(self._learn_replayed_late(live))
            if len(live.early) < _MOST_EARLY:
                live.early.append(event)
            return
        flow = self._flows.get(live.link_id)
        if flow is None:
            flow = self._flows[live.link_id] = _Flow(live)
            flow.task = asyncio.ensure_future(self._record(flow))
        flow.events.append(event)
        flow.wake.set()

    async def _learn_replayed_late(self, live: LiveSession) -> None:
        with contextlib.suppress(StoreError):
            async with self._services.db.write() as tx:
                await keep_late(tx, live.agent.abilities)

    async def settle(self, link_id: str) -> None:
        """Store the late events of a link's session; to be called before a turn begins on it. Raises StoreError.

        Those that came while a turn is open on it wait for its end, and nobody waits for them.
        """
        if self._learning:
            await asyncio.wait(set(self._learning))
        if flow := self._flows.get(link_id):
            flow.ending = True
            flow.tried.clear()
            flow.wake.set()
            await flow.tried.wait()
            if flow.failed:
                raise flow.failed

    async def settle_all(self) -> None:
        """Store the late events of every session, as far as the store takes them."""
        if self._learning:
            await asyncio.wait(set(self._learning))
        for link_id in list(self._flows):
            with contextlib.suppress(StoreError):
                await self.settle(link_id)

    async def close(self) -> None:
        """Store them a last time; what the store does not take then, only the sessions' own records have."""
        await self.settle_all()
        while not all(flow.tried.is_set() for flow in self._flows.values()):  # what came meanwhile
            await self.settle_all()
        if given_up := [flow.task for flow in self._flows.values() if flow.task]:
            for task in given_up:
                task.cancel()
            await asyncio.wait(given_up)

    async def _record(self, flow: _Flow) -> None:
        rest: list[TranscriptEvent | TerminalChanged] = []
        history = flow.live.history
        found = history is not None and history.found
        try:
            recorder, reducer = await self._begin_once_readable(flow)
            if recorder is None or reducer is None:
                return
            while True:
                flow.wake.clear()
                events, flow.events = flow.events, []
                await recorder.take(
                    [kept for event in events for kept in history.take(event)] if history else events
                )
                await self._until_taken(flow, recorder)
                if not (flow.events or flow.ending):
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(SILENCE_SECONDS):
                            await flow.wake.wait()
                if not flow.events:
                    break
            if history:
                await recorder.take(history.end())
                if history.found and not found:
                    self._learning.begin(self._learn_replayed_late(flow.live))
            await recorder.write(reducer.close(clean=True, tool_status="unknown"))
            await self._until_taken(flow, recorder)
            rest = flow.events
        except Fenced:
            return  # the lease is another's now: the session's own record still has it
        finally:
            del self._flows[flow.live.link_id]
            flow.failed = None
            flow.tried.set()
            for event in rest:
                self.receive(flow.live, event)

    async def _begin_once_readable(self, flow: _Flow) -> tuple[Recorder | None, Reducer | None]:
        while True:
            failed: StoreError | None = None
            try:
                if begun := await self._begin(flow.live):
                    return begun
            except StoreError as error:
                failed = error
            await self._pause(flow, failed)

    async def _until_taken(self, flow: _Flow, recorder: Recorder) -> None:
        while isinstance(recorder.failed, UNWRITABLE):
            await self._pause(flow, recorder.failed)
            await recorder.write([])

    async def _pause(self, flow: _Flow, failed: StoreError | None) -> None:
        """Wait until it is tried again: at once where the session is to be settled."""
        raise_if_cancelled()
        flow.failed = failed
        flow.tried.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(AGAIN_SECONDS):
                while flow.tried.is_set():
                    flow.wake.clear()
                    await flow.wake.wait()

    async def _begin(self, live: LiveSession) -> tuple[Recorder | None, Reducer | None] | None:
        """What the events go through, nothing for those that are not kept; None while a turn is open on the session."""
        async with self._services.db.read() as reader:
            link = await links.get(reader, live.link_id)
            window = await windows.get(reader, link.owner) if link and link.owner else None
            leaf = await messages.get(reader, window.leaf_id) if window and window.leaf_id else None
            busy = await turns.busy_links(reader, [live.link_id])
        if link is None or window is None or link.version != live.version:
            return None, None
        if link.conversation_id != self._tenure.conversation_id:
            return None, None  # opened here to be forked; only its own conversation may add to it
        if busy:
            return None
        reducer = Reducer(
            conversation_id=link.conversation_id,
            turn_id=None,
            link_id=link.id,
            last_id=leaf.id if leaf and _closes(leaf, link) else link.reach,
            new_id=self._services.new_id,
            clock=self._services.clock,
            keeps_user_text=True,
            directory=link.cwd,
            allowed=live.allowed,
        )
        for task in self._background.calls_of(link.id):
            reducer.carry(task.call_id, task.message_id, task.data)
        follows = link.knows == link.reach
        recorder = Recorder(
            self._services, self._tenure, live, window.id, reducer, self._publish, floor_follows=follows
        )
        return recorder, reducer


def _closes(leaf: Message, link: Link) -> bool:
    """True for the notice that tells how the session's last turn ended; what comes late goes on below it."""
    return leaf.kind is Kind.NOTICE and leaf.parent_id == link.reach
