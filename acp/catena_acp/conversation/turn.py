"""One turn under way: from the prompt that goes out to the last byte of its end.

Write, then tell: every event is committed before it is told, except text, which is told at once and committed
within 250 ms. A turn ends in exactly one way, and its end is one transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from catena_acp.conversation import words
from catena_acp.conversation.news import MessageAdded, MessageChanged, MessageGrew, News
from catena_acp.conversation.reducer import Append, Change, Insert, Op, Reducer
from catena_acp.conversation.services import Services, Tenure
from catena_acp.conversation.sessions import LiveSession
from catena_acp.errors import AgentError, AgentGone, AgentRefused
from catena_acp.events import Event, PermissionAsked, PermissionWithdrawn, PromptBlock, PromptEnded
from catena_store import chains, messages, turns, windows
from catena_store.database import Writer
from catena_store.records import Kind, LinkState, Message, MessageState, NewMessage, StopReason, Turn

COMMIT_SECONDS = 0.25


class RefusedAtOnce(Exception):
    """The agent refused the prompt before any update of the turn: it may go out once more."""

    def __init__(self, error: AgentRefused) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn came to its end."""

    stop: StopReason
    error: AgentError | None = None
    answer: PromptEnded | None = None


class Recorder:
    """Puts what a session tells into rows below one point of the tree."""

    def __init__(
        self,
        services: Services,
        tenure: Tenure,
        live: LiveSession,
        window_id: str,
        reducer: Reducer,
        tell: Callable[[News], None],
        *,
        floor_follows: bool = False,
    ) -> None:
        self._services = services
        self._tenure = tenure
        self._live = live
        self._window_id = window_id
        self._reducer = reducer
        self._tell = tell
        self._floor_follows = floor_follows  # the session surely holds what it tells now
        self._unwritten: dict[str, list[str]] = {}
        self._due: float | None = None  # when unwritten text must be in the store

    @property
    def due(self) -> float | None:
        """The monotonic time by which ``write`` must be called; None while nothing waits."""
        return self._due

    async def take(self, events: Sequence[Event]) -> None:
        """Reduce events; commit where a row is born or changes, or where text has waited long enough."""
        ops = [op for event in events for op in self._reducer.reduce(event)]
        if any(not isinstance(op, Append) for op in ops):
            await self.write(ops)
            return
        for op in ops:
            if isinstance(op, Append):
                self._hold(op)
        if self._due is not None and self._services.monotonic() >= self._due:
            await self.write([])

    async def write(self, ops: Sequence[Op]) -> None:
        """Commit the text that waits and these operations, then tell of them."""
        if not ops and not self._unwritten:
            return
        async with self._tenure.write() as tx:
            news = await self.apply(tx, ops)
        self.committed(news)

    async def apply(self, tx: Writer, ops: Sequence[Op]) -> list[News]:
        """Write within a transaction of the caller's; the news is told after it, by ``committed``."""
        inserts, changes, appends = _folded(ops)
        for append in appends:
            self._hold(append)
        for message_id, parts in self._unwritten.items():
            await messages.append(tx, message_id, "".join(parts))
        news: list[News] = []
        for change in changes:
            changed = await messages.update(tx, change.message_id, data=change.data, state=change.state)
            news.append(MessageChanged(self._window_id, changed))
        if inserts:
            added = await messages.insert_many(tx, inserts)
            news += [MessageAdded(self._window_id, message) for message in added]
            await self._follow(tx, inserts)
        return news

    def committed(self, news: Sequence[News]) -> None:
        """Tell what a transaction has made true."""
        self._unwritten.clear()
        self._due = None
        for item in news:
            self._tell(item)

    async def _follow(self, tx: Writer, inserts: Sequence[NewMessage]) -> None:
        """The session's reach, the turn's last row and the window's leaf move with every row, in its transaction."""
        first, last = inserts[0], inserts[-1]
        if self._floor_follows:
            link = await chains.move(tx, self._live.link_id, knows=last.id, reach=last.id)
        else:
            link = await chains.move(tx, self._live.link_id, reach=last.id)
        self._live.version = link.version
        if last.turn_id:
            await turns.set_last(tx, last.turn_id, last.id)
        window = await windows.get(tx, self._window_id)
        if window and window.leaf_id == first.parent_id:
            await windows.advance(tx, self._window_id, last.id)

    def _hold(self, op: Append) -> None:
        self._unwritten.setdefault(op.message_id, []).append(op.text)
        if self._due is None:
            self._due = self._services.monotonic() + COMMIT_SECONDS
        self._tell(MessageGrew(self._window_id, op.message_id, op.text))


def _folded(ops: Sequence[Op]) -> tuple[list[NewMessage], list[Change], list[Append]]:
    """The same operations with whatever befalls a row that is born among them folded into its birth."""
    births: dict[str, NewMessage] = {}
    texts: dict[str, list[str]] = {}
    changes: list[Change] = []
    appends: list[Append] = []
    for op in ops:
        match op:
            case Insert(row):
                births[row.id] = row
                texts[row.id] = [row.text]
            case Append(message_id, text) if message_id in births:
                texts[message_id].append(text)
            case Append():
                appends.append(op)
            case Change(message_id, data, state) if message_id in births:
                row = births[message_id]
                births[message_id] = replace(
                    row, data=row.data if data is None else data, state=state or row.state
                )
            case Change():
                changes.append(op)
    return [replace(row, text="".join(texts[row.id])) for row in births.values()], changes, appends


class RunningTurn:
    """A claimed turn, its prompt out, its events coming in."""

    def __init__(
        self,
        services: Services,
        tenure: Tenure,
        live: LiveSession,
        turn: Turn,
        window_id: str,
        last_id: str,
        tell: Callable[[News], None],
        asked: Callable[[LiveSession, PermissionAsked | PermissionWithdrawn], None],
    ) -> None:
        self._services = services
        self._tenure = tenure
        self._asked = asked
        self.live = live
        self.turn = turn
        self.window_id = window_id
        self.reducer = Reducer(
            conversation_id=turn.conversation_id,
            turn_id=turn.id,
            link_id=live.link_id,
            last_id=last_id,
            new_id=services.new_id,
            clock=services.clock,
        )
        self.recorder = Recorder(services, tenure, live, window_id, self.reducer, tell)
        self.stopping = False
        self._events: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._out = asyncio.Event()
        self._updated = False

    def receive(self, event: Event) -> None:
        """Take an event of the session; called in order, on the loop, and never waits."""
        self._events.append(event)
        self._wake.set()

    async def run(self, blocks: Sequence[PromptBlock]) -> Ending:
        """Prompt, record everything, and say how it ended; ``end`` is still to be called.

        Raises RefusedAtOnce where the agent answered with an error before any update.
        """
        prompt = asyncio.ensure_future(self.live.agent.prompt(self.live.session_id, blocks))
        prompt.add_done_callback(lambda _: self._wake.set())
        # One turn of the loop, in which the request is written: a stop must not reach the agent before its prompt.
        await asyncio.sleep(0)
        self._out.set()
        try:
            while not prompt.done() or self._events:
                await self._wait()
                await self._take_all()
        finally:
            if not prompt.done():
                prompt.cancel()
                with contextlib.suppress(asyncio.CancelledError, AgentError):
                    await prompt
        try:
            answer = prompt.result()
        except AgentGone as error:
            return Ending(StopReason.AGENT_GONE, error)
        except AgentRefused as error:
            if not self._updated and not self.stopping:
                raise RefusedAtOnce(error) from error
            return Ending(StopReason.CANCELLED if self.stopping else StopReason.ERROR, error)
        except AgentError as error:
            return Ending(StopReason.ERROR, error)
        return Ending(_stop_reason(answer.stop_reason), None, answer)

    async def end(self, ending: Ending) -> tuple[Turn, Message | None]:
        """Close the turn in one transaction; the turn as it is kept, and the notice that tells of a bad end."""
        answered = self.reducer.answered
        clean = ending.stop.clean and answered
        empty = ending.stop.clean and not answered
        ops = self.reducer.close(clean=clean, tool_status=_unfinished_status(ending.stop))
        async with self._tenure.write() as tx:
            news = await self.recorder.apply(tx, ops)
            last_id = self.reducer.last_id
            whole = self.turn.prompt_id if self.reducer.compacted else self.turn.whole_id
            await self._move_link(tx, last_id, clean=clean, empty=empty, whole=whole, ending=ending)
            notice = await self._add_notice(tx, ending, empty=empty)
            usage = self.live.state.usage
            turn = await turns.end(
                tx,
                self.turn.id,
                stop_reason=ending.stop,
                error=str(ending.error) if ending.error else None,
                usage=ending.answer.usage if ending.answer else None,
                cost=await self._cost(tx),
                currency=usage.currency if usage else None,
                model=self.live.state.model,
                mode=self.live.state.mode,
                whole_id=whole,
            )
        if notice:
            news.append(MessageAdded(self.window_id, notice))
        self.recorder.committed(news)
        return turn, notice

    async def stop(self) -> None:
        """Ask the agent to stop; the turn ends when it answers."""
        self.stopping = True
        await self._out.wait()
        with contextlib.suppress(AgentError):
            await self.live.agent.cancel(self.live.session_id)

    def leftover(self) -> list[Event]:
        """Events that came after the answer; agents do send some."""
        events = list(self._events)
        self._events.clear()
        return events

    async def mark_not_sent(self, error: AgentRefused) -> None:
        """Close a turn whose prompt was refused at once: nothing of it was heard; the leaf is the prompt again."""
        async with self._tenure.write() as tx:
            await turns.end(tx, self.turn.id, stop_reason=StopReason.NOT_SENT, error=str(error))
            window = await windows.get(tx, self.window_id)
            if window and window.leaf_id == self.reducer.last_id:
                await windows.advance(tx, self.window_id, self.turn.prompt_id)

    async def _wait(self) -> None:
        due = self.recorder.due
        timeout = None if due is None else max(0.0, due - self._services.monotonic())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        self._wake.clear()

    async def _take_all(self) -> None:
        events = list(self._events)
        self._events.clear()
        rows_before = self.reducer.last_id
        await self.recorder.take(events)
        self._updated = self._updated or self.reducer.last_id != rows_before
        for event in events:
            if isinstance(event, PermissionAsked | PermissionWithdrawn):
                self._asked(self.live, event)

    async def _move_link(
        self, tx: Writer, last_id: str | None, *, clean: bool, empty: bool, whole: str | None, ending: Ending
    ) -> None:
        link_id = self.live.link_id
        if clean:
            link = await chains.move(tx, link_id, knows=last_id, reach=last_id, whole=whole)
        elif empty:
            why = "its last turn ended without a word"
            link = await chains.move(
                tx,
                link_id,
                reach=self.turn.prompt_id,
                state=LinkState.SUSPECT,
                ended=why,
                event="suspect",
                detail=why,
            )
        elif not self.reducer.answered:
            # The same row can be sent again, and then fits: `reach` is the prompt itself.
            link = await chains.move(tx, link_id, reach=self.turn.prompt_id, whole=whole)
        else:
            link = await chains.move(tx, link_id, reach=last_id, whole=whole)
        if ending.stop is StopReason.AGENT_GONE:
            await chains.record(tx, link_id, "agent_gone", str(ending.error))
        self.live.version = link.version

    async def _add_notice(self, tx: Writer, ending: Ending, *, empty: bool) -> Message | None:
        title = self.live.state.agent_title
        text = (
            words.EMPTY_TURN.format(title=title)
            if empty
            else words.ending_words(title, ending.stop, ending.error)
        )
        if text is None:
            return None
        detail = list(ending.error.stderr_tail) if isinstance(ending.error, AgentGone) else []
        trouble = "empty_turn" if empty else ending.stop.value
        notice = await messages.insert(
            tx,
            NewMessage(
                id=self._services.new_id(),
                conversation_id=self.turn.conversation_id,
                parent_id=self.reducer.last_id,
                kind=Kind.NOTICE,
                text=text,
                state=MessageState.FINAL,
                turn_id=self.turn.id,
                link_id=self.live.link_id,
                data={"trouble": trouble, "detail": detail},
            ),
        )
        window = await windows.get(tx, self.window_id)
        if window and window.leaf_id == notice.parent_id:
            await windows.advance(tx, self.window_id, notice.id)
        if not ending.stop.clean:
            await turns.set_last(tx, self.turn.id, notice.id)
        if ending.stop is StopReason.INTERRUPTED:
            # The agent may have gone on unseen: the prompt sent again must not meet an answer that nobody saw.
            link = await chains.move(tx, self.live.link_id, reach=notice.id)
            self.live.version = link.version
        return notice

    async def _cost(self, tx: Writer) -> float | None:
        """The turn's share of the session's total, which is what agents report."""
        usage = self.live.state.usage
        if usage is None or usage.cost is None:
            return None
        link = await chains.get(tx, self.live.link_id)
        before = link.cost_total if link and link.cost_total is not None else 0.0
        moved = await chains.move(tx, self.live.link_id, cost_total=usage.cost)
        self.live.version = moved.version
        return max(0.0, usage.cost - before)


def _stop_reason(text: str) -> StopReason:
    """The protocol's stop reason; one that we do not know is an end all the same."""
    try:
        return StopReason(text)
    except ValueError:
        return StopReason.END_TURN


def _unfinished_status(stop: StopReason) -> str:
    match stop:
        case StopReason.CANCELLED:
            return "cancelled"
        case _:
            return "unknown"
