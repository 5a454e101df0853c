"""One running turn: from its prompt to the commit of its end.

A turn ends in exactly one way, and its end is one transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    LinkChanged,
    MessageAdded,
    MessageChanged,
    PermissionOpened,
    Remarked,
)
from catena_acp.continuity.routing.late_history import LateHistory
from catena_acp.continuity.routing.replay_check import KeptPart, bad_end, is_unproven
from catena_acp.continuity.services import Services, Tenure
from catena_acp.continuity.sessions.environment import note_end
from catena_acp.continuity.sessions.opening import id_said_back
from catena_acp.continuity.sessions.replays import believed, keep_late
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.turns.endings import (
    Bound,
    Ending,
    LastAnswer,
    Outcome,
    TurnContent,
    outcome_of,
    stop_reason_of,
)
from catena_acp.continuity.turns.questions import completed_call
from catena_acp.continuity.turns.recorder import Recorder
from catena_acp.continuity.turns.reducer import Op, Reducer
from catena_acp.continuity.turns.tool_data import call_of
from catena_acp.errors import AgentError, AgentGone, AgentRefused, NotKept, RefusedAtOnce
from catena_acp.permissions.options import option_of
from catena_acp.permissions.rule import decide, rules_in_force
from catena_acp.permissions.subject import RequestSubject, subject_of
from catena_acp.port.session_events import (
    ElicitationAnswered,
    ElicitationCompleted,
    ElicitationRequested,
    Event,
    ModelRetried,
    OtherContent,
    PermissionOption,
    PermissionRequested,
    PermissionWithdrawn,
    PlanChanged,
    PromptBlock,
    QuestionEvent,
    TextBlock,
    TextChunk,
    ToolCallChanged,
)
from catena_acp.spoken.call import Call
from catena_acp.tasks import raise_if_cancelled
from catena_store import places
from catena_store.chains import links, turns
from catena_store.chains import usage as expenses
from catena_store.chains.links import Unset
from catena_store.conversations import conversations, messages
from catena_store.database.database import Writer
from catena_store.errors import StoreBusy, StoreError
from catena_store.records import (
    Kind,
    Link,
    LinkState,
    Message,
    MessageState,
    NewMessage,
    StopReason,
    Turn,
)
from catena_store.windows import windows


@dataclass(frozen=True, slots=True)
class _RuleAnswer:
    """The option by which a rule of the person answers a request, and why in words; None is `cancelled`."""

    option: PermissionOption | None
    why: str
    allowed: bool

    @property
    def option_id(self) -> str | None:
        return self.option.id if self.option else None


class RunningTurn:
    """A claimed turn: sends its prompt and records its events."""

    def __init__(
        self,
        services: Services,
        tenure: Tenure,
        live: LiveSession,
        turn: Turn,
        window_id: str,
        last_id: str,
        before: Link,
        publish: Callable[[ConversationEvent], None],
        asked: Callable[[LiveSession, QuestionEvent | ToolCallChanged, RequestSubject | None], None],
    ) -> None:
        """``before`` is the link as it was before it was claimed."""
        self._services = services
        self._tenure = tenure
        self._before = before
        self._publish = publish
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
            directory=before.cwd,
        )
        live.allowed = self.reducer.allowed
        self.recorder = Recorder(
            services, tenure, live, window_id, self.reducer, publish, prompt_id=turn.prompt_id
        )
        self.stopping = False
        self._events: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._out = asyncio.Event()
        self._unkept: StoreError | None = None  # why the agent was asked to stop
        self._closing: tuple[Outcome, list[Op]] | None = None  # decided once, written until that succeeds
        self._writing = asyncio.Lock()  # what comes, and what is said into it, one after the other
        self._behind: list[Event] | None = None  # what comes after something that is about to be a row
        self._updated = False
        self._interjected = False
        self.spoken_into = False  # or is just being: whether the agent heard it may never be known
        self.rejected = False  # a permission request was answered with a rejection
        self.over = False  # the agent has answered: nothing can be said into it any more
        self.retried: ModelRetried | None = None  # the agent's call of its model, and nothing came since
        self._said = LastAnswer()
        self._history: LateHistory | None = None
        self._prompt_id: str | None = None  # the agent's own id of the prompt, where it says it back

    def receive(self, event: Event) -> None:
        """Take an event of the session; called in order, on the loop, and never waits."""
        if isinstance(event, ToolCallChanged) and (snapshots := self._services.snapshots):
            snapshots.acts(self.turn.id)
        if self._behind is not None:
            self._behind.append(event)
            return
        self._events.append(event)
        self._wake.set()

    def follow_retries(self, event: Event) -> bool:
        """Note that the agent tries again to call its model, until its next word; True if that changed."""
        before = self.retried
        match event:
            case ModelRetried():
                self.retried = event
            case TextChunk(role="user") | OtherContent(role="user"):
                pass  # the prompt, said back
            case (
                TextChunk()
                | OtherContent()
                | ToolCallChanged()
                | PlanChanged()
                | PermissionRequested()
                | ElicitationRequested()
            ):
                self.retried = None
        return self.retried != before

    async def keep_files_before(self) -> None:
        """Keep the files as they are before the agent hears of the prompt; waits a moment for it at most."""
        if snapshots := self._services.snapshots:
            await snapshots.begin(self.turn.id, self._before.cwd, self._remark)

    async def run(self, blocks: Sequence[PromptBlock]) -> Ending:
        """Prompt, record the events, and return the ending; ``end`` is still to be called.

        Raises RefusedAtOnce if the agent answered with an error before any update, and nothing was said into it.
        """
        # What the session said before this is in it.
        self._history = self.live.begin_turn(self._services.monotonic())
        if self._history:
            self._history.begin("\n".join(block.text for block in blocks if isinstance(block, TextBlock)))
        unguard = self.live.agent.guard_files(self.live.session_id, self._before_files)
        prompt = asyncio.ensure_future(self.live.agent.prompt(self.live.session_id, blocks))
        prompt.add_done_callback(lambda _: unguard())
        prompt.add_done_callback(lambda _: self._wake.set())
        try:
            # One turn of the loop, in which the request is written: a stop must not reach the agent before its prompt.
            await asyncio.sleep(0)
            self._out.set()
            while not prompt.done() or self._events:
                await self._wait()
                await self._take_all()
                raise_if_cancelled()
                failed = self.recorder.failed
                # Another process that holds the store lets it go; until then the rows are kept.
                if failed and not isinstance(failed, StoreBusy) and not self._unkept:
                    self._unkept = failed
                    with contextlib.suppress(AgentError):  # it is gone: its answer says so
                        await self.live.agent.cancel(self.live.session_id)
            await self._take_held_back()
        finally:
            self.over = True
            self._out.set()  # where it was cut off before that, a stop would wait for ever
            if not prompt.done():
                prompt.cancel()
                with contextlib.suppress(asyncio.CancelledError, AgentError):
                    await prompt
            elif not prompt.cancelled():
                prompt.exception()  # taken here where the record broke off: nobody will ask for it below
        try:
            answer = prompt.result()
        except AgentGone as error:
            return Ending(StopReason.AGENT_GONE, error)
        except AgentRefused as error:
            error.retried_for = self.retried.reason if self.retried else ""
            if not (self._updated or self.stopping or self.spoken_into):
                raise RefusedAtOnce(error) from error
            return Ending(StopReason.CANCELLED if self.stopping else StopReason.ERROR, error)
        except AgentError as error:
            return Ending(StopReason.ERROR, error)
        if self._unkept:
            return Ending(StopReason.ERROR, NotKept(f"its answer cannot be saved: {self._unkept}"), answer)
        stop = stop_reason_of(answer.stop_reason)
        if self.stopping and stop is StopReason.END_TURN:
            # OpenCode, stopped while it waits to ask its model again, says that it came to its end, also in the middle
            # of an answer. Where it really did, just before it heard of the stop, the next prompt tells it once more.
            stop = StopReason.CANCELLED
        return Ending(stop, None, answer)

    async def end(self, ending: Ending) -> tuple[Turn, Message | None]:
        """Close the turn in one transaction; returns it as stored, and the row that reports a bad end.

        May be called again where the transaction failed.
        """
        if self._closing is None:
            self._keep_files_after()
        outcome, ops = self._closing = self._closing or self._closed(ending)
        compacted = outcome.compacted or self.reducer.may_be_compacted
        unabridged_from = self.turn.prompt_id if compacted else self.turn.unabridged_from
        async with self._tenure.write() as tx:
            events = await self.recorder.apply(tx, ops)
            marked = await self._mark_last(tx, outcome)
            notice = await self._add_notice(tx, outcome)
            kept = await self._surely_kept(tx, ending, compacted=compacted)
            link = await self._move_link(tx, outcome, notice, unabridged_from, kept)
            usage = self.live.state.usage
            turn = await turns.end(
                tx,
                self.turn.id,
                stop_reason=outcome.stop,
                error=outcome.error,
                usage=ending.answer.usage if ending.answer else None,
                cost=await self._cost(tx),
                currency=usage.currency if usage else None,
                model=self.live.state.model,
                mode=self.live.state.mode,
                unabridged_from=unabridged_from,
                kept=kept.name.lower() if kept else None,
            )
            if self._history and self._history.found:
                await keep_late(tx, self.live.agent.abilities)
            if turn.usage:
                await expenses.learn(tx, turn.id)
            await note_end(tx, turn.id, self.live.state)
            last = await messages.get(tx, turn.last_id)  # which says from now on how long the turn took
            if outcome.clean and self._prompt_id:
                await messages.set_agent_id(tx, turn.prompt_id, self._prompt_id)
        if usage and usage.cost is not None:
            self.live.total.last = usage.cost
        if marked:
            events.append(MessageChanged(self.window_id, marked))
        if notice:
            events.append(MessageAdded(self.window_id, notice))
        if last:
            events = [_as_it_is(each, last) for each in events]
        if outcome.suspect and link.state is LinkState.SUSPECT:
            events.append(LinkChanged(self.window_id, link, link.ended))
        self.recorder.committed(events)
        return turn, notice or marked

    async def _before_files(self, call: ToolCallChanged | None) -> bool:
        """Let what the agent asks of files wait until they are kept; True if a question covered it."""
        if snapshots := self._services.snapshots:
            if call is not None:
                await snapshots.before_change(self.turn.id)
            else:
                snapshots.acts(self.turn.id)
        if call is None:
            return True
        if not self.over:
            await self._take_all()  # what the agent told of it before
        return self.reducer.covers(call)

    def _keep_files_after(self) -> None:
        """Begin to keep the files as the turn leaves them; before it ends in the store, so that readers can wait."""
        if snapshots := self._services.snapshots:
            snapshots.end(self.turn.id, self._before.cwd, self._remark)

    def _remark(self, words: str) -> None:
        self._publish(Remarked(self.window_id, words))

    def _closed(self, ending: Ending) -> tuple[Outcome, list[Op]]:
        """The turn's outcome, and the last operations on its rows."""
        reducer = self.reducer
        # Cut in the middle, the turn still has what had come by then.
        came = self._rest() if ending.stop is StopReason.INTERRUPTED else []
        ops = [op for event in came for op in reducer.reduce(event)]
        content = TurnContent(
            answered=reducer.answered,
            compacted=reducer.compacted,
            interjected=self._interjected,
            last_kind=reducer.last_kind,
            one_row=reducer.rows == 1,
            only_words=self._said.text,
            under_way=reducer.under_way(),
            stopped=self.stopping,
            rejected=self.rejected,
        )
        outcome = outcome_of(ending, content, self.live.state.agent_title, now=self._services.clock())
        return outcome, [*ops, *reducer.close(clean=outcome.whole, tool_status=outcome.tool_status)]

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

    async def mark_not_sent(self, error: AgentRefused, *, unheard: bool = False) -> None:
        """Close a turn whose prompt was refused at once: nothing of it was received; the leaf is the prompt again.

        ``unheard``: nor can any of it be in the session, whose link is as it was before the claim.
        """
        self._keep_files_after()
        async with self._tenure.write() as tx:
            await turns.end(tx, self.turn.id, stop_reason=StopReason.NOT_SENT, error=str(error))
            if unheard:
                link = await links.move(
                    tx,
                    self.live.link_id,
                    reach=self._before.reach,
                    unabridged_from=self._before.unabridged_from,
                )
                self.live.version = link.version
            await places.grow(tx, self.turn.conversation_id, self.reducer.last_id, self.turn.prompt_id)
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

    def hold_place(self) -> None:
        """Hold back events until ``go_on``: they belong below the prompt that is being inserted."""
        if self._behind is None:
            self._behind = []

    def go_on(self) -> None:
        """Take the events that were held back."""
        behind, self._behind = self._behind, None
        for event in behind or ():
            self.receive(event)

    async def interject(self, row_id: str, text: str, data: Mapping[str, Any]) -> None:
        """Insert what the person said into the turn, below everything received so far.

        Raises Fenced; what the store does not take for another reason is tried again with what comes next.
        """
        async with self._writing:
            await self._take_events()
            self._updated = self._interjected = True
            await self.recorder.write(self.reducer.interject(row_id, text, data))
            self.go_on()
            await self._take_events()

    async def _take_all(self) -> None:
        async with self._writing:
            await self._take_events()

    async def _take_events(self) -> None:
        await self._take(self._new(self.leftover()))

    async def _take_held_back(self) -> None:
        async with self._writing:
            await self._take(self._rest())

    def _new(self, events: list[Event]) -> list[Event]:
        """Those of the events that are not known to be the session's history."""
        history = self._history
        return [kept for event in events for kept in history.take(event)] if history else events

    def _rest(self) -> list[Event]:
        """What is not recorded yet, as nothing more comes that could tell what it is."""
        return [*self._new(self.leftover()), *(self._history.end() if self._history else ())]

    async def _take(self, events: list[Event]) -> None:
        self._said.take(events)
        self._prompt_id = self._prompt_id or id_said_back(events)
        rows_before = self.reducer.last_id
        await self.recorder.take(events)
        self._updated = self._updated or self.reducer.last_id != rows_before
        for event in events:
            match event:
                case PermissionRequested():
                    subject = await self._subject_of(event)
                    if not await self._is_answered_by_rule(event, subject):
                        self._asked(self.live, event, subject)
                case (
                    ToolCallChanged()
                    | PermissionWithdrawn()
                    | ElicitationRequested()
                    | ElicitationAnswered()
                    | ElicitationCompleted()
                ):
                    self._asked(self.live, event, None)

    async def _subject_of(self, event: PermissionRequested) -> RequestSubject:
        """What a request is about, with what was reported of its call before; made here, once."""
        call_id = event.tool_call.tool_call_id
        data = self.reducer.tool(call_id)
        known = call_of(call_id, Call(data)) if data else None
        return await asyncio.to_thread(subject_of, completed_call(event.tool_call, known), self._before.cwd)

    async def _is_answered_by_rule(self, event: PermissionRequested, subject: RequestSubject) -> bool:
        """Answer a permission request by a rule of the person, if one is about it; True if that was done."""
        answer = await self._ruled(subject, event.options)
        if answer is None:
            return False
        # Written, then told: the agent acts on the answer at once.
        await self._note_rule(subject, answer)
        self.live.agent.answer_permission(event.ask_id, answer.option_id)
        return True

    async def answer_by_rule(self, asked: PermissionOpened, take: Callable[[], bool]) -> bool:
        """Answer an open permission request by a rule of the person, if one is about it; True if that was done.

        ``take`` closes the request for the person, and is False where that is not possible any more.
        """
        async with self._writing:
            answer = await self._ruled(asked.subject, asked.options)
            if answer is None or self.over or not take():
                return False
            try:
                await self._note_rule(asked.subject, answer)
            finally:  # nobody else answers it any more
                self.live.agent.answer_permission(asked.ask_id, answer.option_id)
        return True

    def note_answer(self, subject: RequestSubject, *, allowed: bool) -> None:
        """Note that the person answered the permission request for a call, before the agent hears it."""
        self.rejected = self.rejected or not allowed
        self.reducer.note_answer(subject, allowed=allowed)

    async def write_answer(self, call_id: str) -> None:
        """Write the tool call whose permission request was answered, unless the end of the turn has."""
        async with self._writing:
            if not self.over:
                await self.recorder.write(self.reducer.written_anew(call_id))

    async def _ruled(
        self, subject: RequestSubject, options: Sequence[PermissionOption]
    ) -> _RuleAnswer | None:
        """The answer of the rules in force to a request; None where the person is asked."""
        everywhere, directory = self._services.rules, self._before.cwd
        if everywhere is None or self.stopping:
            return None
        try:
            async with self._services.db.read() as reader:
                whose = self.turn.conversation_id
                further = (*self.live.directories, *await conversations.further_directories(reader, whose))
                rules = await rules_in_force(reader, directory, whose, everywhere, further)
        except StoreError:
            return None  # what cannot be read allows nothing
        if not rules:
            return None
        verdict = decide(rules, subject)
        if verdict.rule is None or self.stopping:
            return None
        option = option_of(options, allow=verdict.rule.allow)
        if option is None and verdict.rule.allow:
            return None
        return _RuleAnswer(option, verdict.why, verdict.rule.allow)

    async def _note_rule(self, subject: RequestSubject, answer: _RuleAnswer) -> None:
        self.rejected = self.rejected or not answer.allowed
        await self.recorder.write(self.reducer.note_rule(subject, answer.why, allowed=answer.allowed))

    async def _surely_kept(self, tx: Writer, ending: Ending, *, compacted: bool) -> KeptPart:
        """How much of the turn its session surely kept though it did not end well, by what its agent has shown."""
        end = bad_end(ending.stop)
        prompt = await messages.get(tx, self.turn.prompt_id)
        if end is None or compacted or isinstance(ending.error, NotKept) or prompt is None:
            return KeptPart.NOTHING
        if is_unproven(prompt.text):
            return KeptPart.NOTHING
        kept = await believed(tx, self.live.agent.abilities, end)
        whole = self.reducer.only_words and not self._interjected
        return kept if whole else min(kept, KeptPart.PROMPT)

    async def _move_link(
        self,
        tx: Writer,
        outcome: Outcome,
        notice: Message | None,
        unabridged_from: str | None,
        kept: KeptPart,
    ) -> Link:
        last_id = self.reducer.last_id
        match outcome.reach:
            case Bound.PROMPT:
                reach: str | None = self.turn.prompt_id
            case Bound.LAST:
                reach = last_id
            case Bound.NOTICE:
                reach = notice.id if notice else last_id
        knows: str | Unset | None = links.UNSET
        if outcome.clean or (kept is KeptPart.ALL and outcome.reach is Bound.LAST):
            knows = last_id
        elif kept is not KeptPart.NOTHING:
            knows = self.turn.prompt_id
        event, detail = outcome.link_event or (None, None)
        link = await links.move(
            tx,
            self.live.link_id,
            knows=knows,
            reach=reach,
            unabridged_from=unabridged_from,
            event=event,
            detail=detail,
        )
        if outcome.suspect and link.state is LinkState.OPEN:
            link = await links.move(tx, link.id, state=LinkState.SUSPECT, ended=outcome.suspect)
        self.live.version = link.version
        return link

    async def _mark_last(self, tx: Writer, outcome: Outcome) -> Message | None:
        last = await messages.get(tx, self.reducer.last_id) if outcome.mark and self.reducer.last_id else None
        return await messages.update(tx, last.id, data={**last.data, **outcome.mark}) if last else None

    async def _add_notice(self, tx: Writer, outcome: Outcome) -> Message | None:
        if outcome.notice is None:
            return None
        notice = await messages.insert(
            tx,
            NewMessage(
                id=self._services.new_id(),
                conversation_id=self.turn.conversation_id,
                parent_id=self.reducer.last_id,
                kind=Kind.NOTICE,
                text=outcome.notice.text,
                state=MessageState.FINAL,
                turn_id=self.turn.id,
                link_id=self.live.link_id,
                data=outcome.notice.data,
            ),
        )
        await places.grow(tx, self.turn.conversation_id, notice.parent_id, notice.id)
        window = await windows.get(tx, self.window_id)
        if window and window.leaf_id == notice.parent_id:
            await windows.advance(tx, self.window_id, notice.id)
        if outcome.notice.in_turn:
            await turns.set_last(tx, self.turn.id, notice.id)
        return notice

    async def _cost(self, tx: Writer) -> float | None:
        """The turn's share of the session's total, which is what agents report."""
        usage = self.live.state.usage
        link = await links.get(tx, self.live.link_id)
        if usage is None or usage.cost is None or link is None:
            return None
        share = await self.live.total.share(tx, self.live.agent.abilities, self.live.began, link, usage.cost)
        moved = await links.move(tx, self.live.link_id, cost_total=usage.cost)
        self.live.version = moved.version
        return share


def _as_it_is(event: ConversationEvent, latest: Message) -> ConversationEvent:
    """The event with a message as it is now, if it tells of that message."""
    match event:
        case MessageAdded(message=each) | MessageChanged(message=each) if each.id == latest.id:
            return replace(event, message=latest)
    return event
