"""The messages of an aside: made by the same reducer as a turn's, and kept in memory only."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, assert_never

from catena_acp.continuity.conversation_events import MessageAdded, MessageChanged, MessageGrew
from catena_acp.continuity.routing.prior_context import Budget, PriorContext, build_prior_context
from catena_acp.continuity.sending.context import SendContext
from catena_acp.continuity.sessions.session_state import SessionTotal
from catena_acp.continuity.turns.reducer import Append, Attach, Change, Insert, Op, Reducer
from catena_acp.conversation.asides.session import AsideSession
from catena_acp.conversation.live import LiveConversation
from catena_acp.growing_text import GrowingText
from catena_acp.port.session_events import Event, NoticeReported, PromptEnded, UsageReported
from catena_store.chains import usage
from catena_store.errors import StoreError
from catena_store.records import SPOKEN_KINDS, Attachment, Kind, Message, NewMessage

RowEvent = MessageAdded | MessageGrew | MessageChanged


class AsideRows:
    """Questions and what came of them, oldest first."""

    def __init__(
        self,
        conversation_id: str,
        link_id: str,
        window_id: str,
        *,
        new_id: Callable[[], str],
        clock: Callable[[], datetime],
    ) -> None:
        self._conversation_id = conversation_id
        self._link_id = link_id
        self._window_id = window_id
        self._new_id = new_id
        self._clock = clock
        self._rows: dict[str, Message] = {}
        self._grown: dict[str, GrowingText] = {}  # text of rows that still grow
        self._reducer: Reducer | None = None

    @property
    def all(self) -> tuple[Message, ...]:
        """Every row."""
        self._take_growth()
        return tuple(self._rows.values())

    @property
    def answer(self) -> str:
        """The agent's answer to the newest question."""
        said: list[str] = []
        for row in self.all:
            if row.kind is Kind.USER:
                said.clear()
            elif row.kind is Kind.AGENT:
                said.append(row.text.strip())
        return "\n\n".join(said)

    @property
    def answered(self) -> bool:
        """True if anything came to the newest question."""
        return self._reducer is not None and self._reducer.answered

    def question(self, text: str, files: Sequence[Attachment] = ()) -> MessageAdded:
        """Add a question, with the names of the files that go along."""
        question = NewMessage(
            id=self._new_id(),
            conversation_id=self._conversation_id,
            parent_id=next(reversed(self._rows), None),
            kind=Kind.USER,
            text=text,
            data={"attachments": [each.described() for each in files]} if files else {},
        )
        self._reducer = Reducer(
            conversation_id=self._conversation_id,
            turn_id=None,
            link_id=self._link_id,
            last_id=question.id,
            new_id=self._new_id,
            clock=self._clock,
        )
        return self._added(question)

    def prior_context(self, question_id: str, budget: Budget) -> PriorContext | None:
        """What a session that has heard none of the questions above this one is told of them."""
        above = list(itertools.takewhile(lambda row: row.id != question_id, self.all))
        spoken = [row for row in above if row.kind in SPOKEN_KINDS]
        tools = [row for row in above if row.kind is Kind.TOOL and not row.subagent_of]
        return build_prior_context(spoken, len(spoken), tools, budget)

    def rewind(self, message_id: str | None) -> None:
        """Remove every row below this one, all for None."""
        kept = self.all if message_id else ()
        last = next((at for at, row in enumerate(kept) if row.id == message_id), -1)
        self._rows = {row.id: row for row in kept[: last + 1]}
        self._reducer = None

    def add_event(self, event: Event) -> list[RowEvent]:
        """Add an event of the agent to the rows."""
        return self._told(self._reducer.reduce(event)) if self._reducer else []

    def add_notice(self, text: str) -> list[RowEvent]:
        """Add a notice of our own."""
        return self.add_event(NoticeReported(text, "info"))

    def tool(self, tool_call_id: str) -> Mapping[str, Any]:
        """The stored data of a tool call; empty if the call is not known."""
        return (self._reducer.tool(tool_call_id) if self._reducer else None) or {}

    def close(self, *, clean: bool, tool_status: str) -> list[RowEvent]:
        """Close the rows of the newest question."""
        return self._told(self._reducer.close(clean=clean, tool_status=tool_status)) if self._reducer else []

    def _told(self, ops: Sequence[Op]) -> list[RowEvent]:
        return [self._apply(op) for op in ops if not isinstance(op, Attach)]  # nothing of it is stored

    def _apply(self, op: Insert | Append | Change) -> RowEvent:
        match op:
            case Insert(row):
                return self._added(row)
            case Append(message_id, text):
                if message_id not in self._grown:
                    self._grown[message_id] = GrowingText(self._rows[message_id].text)
                self._grown[message_id].add(text)
                return MessageGrew(self._window_id, message_id, text)
            case Change(message_id, data, state):
                self._take_growth()
                before = self._rows[message_id]
                changed = replace(
                    before, data=before.data if data is None else data, state=state or before.state
                )
                self._rows[message_id] = changed
                return MessageChanged(self._window_id, changed)
            case _:
                assert_never(op)

    def _take_growth(self) -> None:
        for message_id, text in self._grown.items():
            self._rows[message_id] = replace(self._rows[message_id], text=str(text))
        self._grown.clear()

    def _added(self, row: NewMessage) -> MessageAdded:
        message = row.as_stored(depth=len(self._rows), at=self._clock())
        self._rows[message.id] = message
        return MessageAdded(self._window_id, message)


class AsideCost:
    """Costs of an aside: the share of each question, from the totals that the agent reports for its session.

    Tokens are stored as reported, with those that the session had reported before: whose they are may not be known yet.
    """

    def __init__(self, conversation: LiveConversation, context: SendContext) -> None:
        self._conversation = conversation
        self._context = context
        self._session: AsideSession | None = None
        self._total = SessionTotal()
        self._told: UsageReported | None = None
        self._used: Mapping[str, Any] | None = None  # what the session reported last

    def begin(self, session: AsideSession) -> None:
        """Begin the cost of a question to this session, before what it says is reported."""
        if session is not self._session:
            self._session, self._total, self._used = session, SessionTotal(), None
        self._told = None

    def report(self, report: UsageReported, *, asked: bool = True) -> None:
        """Note the total cost of the session that the agent reported; ``asked``: the question is out."""
        if report.cost is not None:
            self._total.take(report.cost, prompted=asked)
            self._told = report if asked else None

    def end(self, answer: PromptEnded | None) -> Coroutine[Any, Any, None]:
        """End the cost of a question, answered or given up; await the result to store it."""
        told = self._told
        used = answer.usage if answer else None
        before, self._used = self._used, used or self._used
        return self._keep(self._session, self._total, used, before, told)

    async def _keep(
        self,
        session: AsideSession | None,
        total: SessionTotal,
        used: Mapping[str, Any] | None,
        before: Mapping[str, Any] | None,
        told: UsageReported | None,
    ) -> None:
        # A store that takes nothing now loses only this.
        with contextlib.suppress(StoreError):
            async with self._conversation.services.db.write() as tx:
                if before is None and session and session.link.source_id and session.begins_after:
                    before = await usage.of_source(tx, session.link.source_id, session.begins_after)
                cost = None
                if session and told and told.cost is not None:
                    cost = await total.share(
                        tx, session.agent.abilities, session.began, session.link, told.cost
                    )
                    total.last = told.cost
                await usage.add_aside(
                    tx,
                    self._conversation.id,
                    agent=self._context.spec.name,
                    profile=self._context.spec.profile,
                    model=session.model if session else None,
                    usage=used,
                    usage_before=before if used else None,
                    cost=cost,
                    currency=told.currency if told else None,
                )
