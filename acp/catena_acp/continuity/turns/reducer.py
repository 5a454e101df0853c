"""Events to rows: the one reducer behind live turns, text between turns, replayed history and imports.

Pure but for the ids it makes: it says which rows to insert, grow and change, in order; it never touches the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, assert_never

from catena_acp.continuity.turns.tool_data import changed_tool, is_over
from catena_acp.session_events import (
    CommandsChanged,
    ContextCompacted,
    Event,
    ModesChanged,
    NoticeReported,
    OptionsChanged,
    OtherContent,
    PermissionRequested,
    PermissionWithdrawn,
    PlanChanged,
    TextChunk,
    TitleChanged,
    ToolCallChanged,
    UnknownUpdate,
    UsageReported,
)
from catena_store.records import Kind, MessageState, NewMessage

_OVER = frozenset({"completed", "failed", "cancelled"})
_NOT_DONE = frozenset({"in_progress", "pending", "failed", "cancelled"})

WORDS = "the agent shortened its own context (the transcript stays)"


@dataclass(slots=True)
class Compaction:
    """A compaction of the session's context: its row, its status, and the agent's summary."""

    row_id: str = ""
    status: str = "completed"  # as of agents that tell of it only once, when it is done
    over: bool = False
    _chunks: list[str] = field(default_factory=list)

    def take(self, text: str | None, status: str | None) -> None:
        """Take in an update; one without a status has the next part of the summary."""
        if status is None:
            self._chunks.append(text or "")
            return
        self.status, self.over = status, status in _OVER
        if text:
            self._chunks = [text]

    @property
    def done(self) -> bool:
        """True if the session may hold less than before."""
        return self.status not in _NOT_DONE or bool(self._chunks and self.status == "in_progress")

    @property
    def data(self) -> dict[str, Any]:
        """What the divider's row keeps."""
        return {"compacted": self.status, "detail": "".join(self._chunks).strip().splitlines()}


_KINDS = {"user": Kind.USER, "agent": Kind.AGENT, "thought": Kind.THOUGHT}
_UNKNOWN_KEPT = 20  # raw updates of one unknown kind kept in a turn; an agent can send thousands


@dataclass(frozen=True, slots=True)
class Insert:
    """Add this row below the last one."""

    row: NewMessage


@dataclass(frozen=True, slots=True)
class Append:
    """Add text to a row."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """Give a row other data or another state; None leaves it."""

    message_id: str
    data: Mapping[str, Any] | None = None
    state: MessageState | None = None


Op = Insert | Append | Change


@dataclass(slots=True)
class _Text:
    """The growing text row."""

    row_id: str
    role: str
    agent_message_id: str | None
    data: dict[str, Any]


@dataclass(slots=True)
class _Tool:
    """A tool call's row."""

    row_id: str
    data: dict[str, Any]
    over: bool


@dataclass(slots=True)
class Reducer:
    """Reducer of the events of one turn, or of the time after it, to row operations.

    ``keeps_user_text`` is False within a turn, where an agent that says the prompt back would double it.
    """

    conversation_id: str
    turn_id: str | None
    link_id: str
    last_id: str | None
    new_id: Callable[[], str]
    clock: Callable[[], datetime]
    keeps_user_text: bool = False
    answered: bool = False  # an agent or tool row came
    compacted: bool = False
    rows: int = 0  # inserted so far
    last_kind: Kind | None = None  # of the last of them
    _text: _Text | None = None
    _compaction: Compaction | None = None  # that is under way
    _held_space: str = ""  # white space before a row's first word
    _tools: dict[str, _Tool] = field(default_factory=dict)
    _plans: dict[str | None, str] = field(default_factory=dict)
    _unknown: dict[str, tuple[str, list[Mapping[str, Any]]]] = field(default_factory=dict)

    @property
    def may_be_compacted(self) -> bool:
        """True once the session was compacted, and while it is: it may hold less than before."""
        return self.compacted or self._compaction is not None

    def reduce(self, event: Event) -> list[Op]:
        """The operations that this event asks for, in order."""
        match event:
            case TextChunk():
                return self._add_text(event)
            case OtherContent():
                return self._add_other(event)
            case ToolCallChanged():
                return self._change_tool(event)
            case PermissionRequested(tool_call=tool_call):
                # Some agents ask before they tell of the call at all.
                return self._change_tool(tool_call)
            case PlanChanged():
                return self._change_plan(event)
            case NoticeReported(text=text, level=level):
                return [*self._end_text(), self._insert(Kind.NOTICE, text, {"level": level})]
            case ContextCompacted(text=text, status=status):
                return self._compact(text, status)
            case UnknownUpdate():
                return self._keep_unknown(event)
            case (
                CommandsChanged()
                | ModesChanged()
                | OptionsChanged()
                | TitleChanged()
                | UsageReported()
                | PermissionWithdrawn()
            ):
                return []
            case _:
                assert_never(event)

    def tool(self, tool_call_id: str) -> Mapping[str, Any] | None:
        """The data of a tool call so far; None if it is not known."""
        tool = self._tools.get(tool_call_id)
        return tool.data if tool else None

    def under_way(self) -> list[Mapping[str, Any]]:
        """The tool calls that have not come to their end."""
        return [tool.data for tool in self._tools.values() if not tool.over]

    def interject(self, row_id: str, text: str, data: Mapping[str, Any]) -> list[Op]:
        """Insert a prompt that the person steered the turn with; later events come below it."""
        ops = self._end_text()
        row = replace(self._insert(Kind.USER, text, data).row, id=row_id)
        self.last_id = row_id
        return [*ops, Insert(row)]

    def close(self, *, clean: bool, tool_status: str) -> list[Op]:
        """End what is open: text whole or interrupted, tool calls that did not finish as ``tool_status``."""
        ops = self._end_text(MessageState.FINAL if clean else MessageState.INTERRUPTED)
        state = MessageState.FINAL if clean else MessageState.INTERRUPTED
        for tool in self._tools.values():
            if not tool.over:
                tool.over = True
                tool.data = {**tool.data, "status": tool_status, "ended_at": self._now()}
                ops.append(Change(tool.row_id, tool.data, state))
        return ops

    def _add_text(self, chunk: TextChunk) -> list[Op]:
        if chunk.role == "user" and not self.keeps_user_text:
            return []
        text = self._text
        if text and (text.role, text.agent_message_id) == (chunk.role, chunk.message_id):
            return [Append(text.row_id, chunk.text)]
        if not chunk.text.strip():
            self._held_space += chunk.text
            return []
        words = self._held_space + chunk.text
        ops = self._end_text()
        data: dict[str, Any] = {"started_at": self._now()}
        kind = _KINDS[chunk.role]
        insert = self._insert(kind, words, data, chunk.message_id, state=MessageState.OPEN)
        self._text = _Text(insert.row.id, chunk.role, chunk.message_id, data)
        self.answered = self.answered or kind is Kind.AGENT
        return [*ops, insert]

    def _add_other(self, content: OtherContent) -> list[Op]:
        if content.role == "user" and not self.keeps_user_text:
            return []
        ops = self._end_text()
        kind = _KINDS[content.role]
        self.answered = self.answered or kind is Kind.AGENT
        data = {"other": [{"kind": content.kind, "description": content.description}]}
        return [*ops, self._insert(kind, f"[{content.description}]", data, content.message_id)]

    def _change_tool(self, call: ToolCallChanged) -> list[Op]:
        known = self._tools.get(call.tool_call_id)
        self.answered = True
        if known:
            known.data = changed_tool(known.data, call, self._now())
            known.over = is_over(known.data)
            state = MessageState.FINAL if known.over else None
            return [Change(known.row_id, known.data, state)]
        data = changed_tool({}, call, self._now())
        over = is_over(data)
        ops = self._end_text()
        insert = self._insert(
            Kind.TOOL,
            str(data.get("title") or ""),
            data,
            call.tool_call_id,
            state=MessageState.FINAL if over else MessageState.OPEN,
        )
        self._tools[call.tool_call_id] = _Tool(insert.row.id, data, over)
        return [*ops, insert]

    def _change_plan(self, plan: PlanChanged) -> list[Op]:
        entries = [
            {"text": entry.text, "status": entry.status, "priority": entry.priority} for entry in plan.entries
        ]
        data = {"entries": entries, "plan_id": plan.plan_id}
        if row_id := self._plans.get(plan.plan_id):
            return [Change(row_id, data)]
        insert = self._insert(Kind.PLAN, "", data)
        self._plans[plan.plan_id] = insert.row.id
        return self._end_text_before(insert)

    def _compact(self, text: str | None, status: str | None) -> list[Op]:
        compaction = self._compaction or Compaction()
        compaction.take(text, status)
        self.compacted = self.compacted or compaction.done
        self._compaction = None if compaction.over else compaction
        if compaction.row_id:
            return [Change(compaction.row_id, compaction.data)]
        insert = self._insert(Kind.NOTICE, WORDS, compaction.data)
        compaction.row_id = insert.row.id
        return self._end_text_before(insert)

    def _keep_unknown(self, update: UnknownUpdate) -> list[Op]:
        if update.kind in self._unknown:
            row_id, raws = self._unknown[update.kind]
            if len(raws) >= _UNKNOWN_KEPT:
                return []
            raws.append(update.raw)
            return [Change(row_id, {"unknown": update.kind, "raw": list(raws)})]
        data = {"unknown": update.kind, "raw": [update.raw]}
        insert = self._insert(Kind.NOTICE, f"The agent sent an unknown update: “{update.kind}”.", data)
        self._unknown[update.kind] = (insert.row.id, [update.raw])
        return self._end_text_before(insert)

    def _end_text_before(self, insert: Insert) -> list[Op]:
        return [*self._end_text(), insert]

    def _end_text(self, state: MessageState = MessageState.FINAL) -> list[Op]:
        text, self._text, self._held_space = self._text, None, ""
        if text is None:
            return []
        return [Change(text.row_id, {**text.data, "ended_at": self._now()}, state)]

    def _insert(
        self,
        kind: Kind,
        text: str,
        data: Mapping[str, Any],
        agent_message_id: str | None = None,
        *,
        state: MessageState = MessageState.FINAL,
    ) -> Insert:
        row = NewMessage(
            id=self.new_id(),
            conversation_id=self.conversation_id,
            parent_id=self.last_id,
            kind=kind,
            text=text,
            state=state,
            turn_id=self.turn_id,
            link_id=self.link_id,
            agent_message_id=agent_message_id,
            data=data,
        )
        self.last_id, self.last_kind, self.rows = row.id, kind, self.rows + 1
        return Insert(row)

    def _now(self) -> str:
        return self.clock().isoformat(timespec="milliseconds")
