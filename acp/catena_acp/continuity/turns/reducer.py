"""Events to rows: the one reducer behind live turns, text between turns, replayed history and imports.

Pure but for the ids it makes: it says which rows to insert, grow and change, in order; it never touches the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, assert_never

from catena_acp.continuity.turns.tool_data import (
    answered_tool,
    call_of,
    changed_tool,
    has_written,
    terminals_of,
    with_done,
    with_outputs,
    with_written,
    without_told_again,
)
from catena_acp.permissions.deeds import became, tells_of, words_of
from catena_acp.permissions.subject import RequestSubject, unresolved_subject
from catena_acp.port.elicitation.requests import CANCEL, Elicitation, WebPage
from catena_acp.port.elicitation.words import DONE, answered_text, asked_text, kept_data
from catena_acp.port.images import MOST_IMAGES, note_of_image
from catena_acp.port.session_events import (
    BackgroundWorkEnded,
    CommandsChanged,
    ContextCompacted,
    ElicitationAnswered,
    ElicitationCompleted,
    ElicitationRequested,
    Event,
    ModelRetried,
    ModesChanged,
    NoticeReported,
    OptionsChanged,
    OtherContent,
    PermissionRequested,
    PermissionWithdrawn,
    PlanChanged,
    TerminalChanged,
    TextChunk,
    TitleChanged,
    ToolCallChanged,
    ToolOther,
    ToolTerminal,
    UnknownUpdate,
    UsageReported,
)
from catena_acp.spoken.call import Call
from catena_store.records import Attachment, Kind, MessageState, NewMessage, PromptOrigin

_OVER = frozenset({"completed", "failed", "cancelled"})
_NOT_DONE = frozenset({"in_progress", "pending", "failed", "cancelled"})

WORDS = "the agent shortened its own context (the transcript stays)"


@dataclass(slots=True)
class Compaction:
    """A compaction of the session's context: its row, its status, and the agent's summary."""

    id: str | None = None
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

    def has(self, id: str | None) -> bool:
        """True if an update with this id is one of its own; without ids, if it is under way."""
        return id == self.id if id and self.id else not self.over

    @property
    def done(self) -> bool:
        """True if the session may hold less than before."""
        return self.status not in _NOT_DONE or bool(self._chunks and self.status == "in_progress")

    @property
    def data(self) -> dict[str, Any]:
        """The data of the divider's row."""
        return {"compacted": self.status, "detail": "".join(self._chunks).strip().splitlines()}


# What a subagent says is no answer: the agent hears it, and the session holds what that makes of it.
_KINDS = {"user": Kind.USER, "agent": Kind.AGENT, "thought": Kind.THOUGHT, "subagent": Kind.THOUGHT}
_TERMINALS_KEPT = 64  # outputs, of up to 64 KiB
_MOST_IMAGE_BYTES = 50 * 1024 * 1024  # of a turn
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


@dataclass(frozen=True, slots=True)
class Attach:
    """Store an image with a row; it is there once, however often the agent tells of it."""

    message_id: str
    image: Attachment


Op = Insert | Append | Change | Attach


@dataclass(slots=True)
class _Text:
    """A growing text row."""

    row_id: str
    role: str
    agent_message_id: str | None
    data: dict[str, Any]


@dataclass(slots=True)
class _Voice:
    """What the agent, or one of its subagents, is saying; they speak at the same time."""

    text: _Text | None = None
    held_space: str = ""  # white space before a row's first word


@dataclass(slots=True)
class _Tool:
    """A tool call's row."""

    row_id: str
    data: dict[str, Any]
    over: bool
    terminals: frozenset[str] = frozenset()  # whose output belongs to it
    by_client: bool = False  # Catena itself does it


@dataclass(slots=True)
class _Elicited:
    """An elicitation's row."""

    row_id: str
    request: Elicitation
    answered: bool = False


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
    directory: str = ""  # in which the session works
    # What permission requests that were allowed were about, by their calls; a session's last turn lends it to what
    # comes late.
    allowed: dict[str, list[RequestSubject]] = field(default_factory=dict)
    answered: bool = False  # an agent or tool row came
    only_words: bool = True  # … and none but answers in words
    compacted: bool = False
    rows: int = 0  # inserted so far
    last_kind: Kind | None = None  # of the last of them
    _voices: dict[str | None, _Voice] = field(default_factory=dict)  # by the call that started a subagent
    _compaction: Compaction | None = None  # the last one
    _tools: dict[str, _Tool] = field(default_factory=dict)
    _terminals: dict[str, TerminalChanged] = field(default_factory=dict)  # what each shows, by its id
    _commands: dict[str, ToolCallChanged] = field(default_factory=dict)  # what runs in each, by its id
    _elicitations: dict[str, _Elicited] = field(default_factory=dict)  # that are not over
    _plans: dict[str | None, str] = field(default_factory=dict)
    _unknown: dict[str, tuple[str, list[Mapping[str, Any]]]] = field(default_factory=dict)
    _images: set[tuple[str, str]] = field(default_factory=set)  # row and hash of those that are stored
    _image_bytes: int = 0

    @property
    def may_be_compacted(self) -> bool:
        """True once the session was compacted, and while it is: it may hold less than before."""
        return self.compacted or (self._compaction is not None and not self._compaction.over)

    def reduce(self, event: Event) -> list[Op]:
        """The operations that this event asks for, in order."""
        match event:
            case TextChunk():
                return self._add_text(event)
            case OtherContent():
                return self._add_other(event)
            case ToolCallChanged():
                return self._change_tool(event)
            case TerminalChanged():
                return self._show_terminal(event)
            case PermissionRequested(tool_call=tool_call):
                # Some agents ask before they tell of the call at all.
                return self._change_tool(replace(tool_call, by_client=False))
            case ElicitationRequested():
                return self._add_elicitation(event)
            case ElicitationAnswered():
                return self._answer_elicitation(event)
            case ElicitationCompleted(ask_id=ask_id):
                return self._complete_elicitation(ask_id)
            case PlanChanged():
                return self._change_plan(event)
            case NoticeReported(text=text):
                return [*self._end_text(), self._insert(Kind.NOTICE, text, event.data)]
            case ContextCompacted():
                return self._compact(event)
            case UnknownUpdate():
                return self._keep_unknown(event)
            case (
                CommandsChanged()
                | ModesChanged()
                | OptionsChanged()
                | TitleChanged()
                | UsageReported()
                | BackgroundWorkEnded()
                | ModelRetried()
                | PermissionWithdrawn()
            ):
                return []
            case _:
                assert_never(event)

    def tool(self, tool_call_id: str) -> Mapping[str, Any] | None:
        """The data of a tool call so far; None if it is not known."""
        tool = self._tools.get(tool_call_id)
        return tool.data if tool else None

    def subagent_of(self, call: ToolCallChanged) -> str:
        """The task of the subagent that makes a call; "" for the agent's own."""
        known = self.tool(call.tool_call_id) or {}
        started_by = call.subagent_of or known.get("subagent_of")
        if not started_by:
            return ""
        return Call(self.tool(started_by) or {}).head

    def carry(self, tool_call_id: str, row_id: str, data: Mapping[str, Any]) -> None:
        """Take over the row of an earlier call, which later updates of that change."""
        self._tools.setdefault(tool_call_id, _Tool(row_id, dict(data), over=True))

    def note_rule(self, subject: RequestSubject, text: str, *, allowed: bool) -> list[Op]:
        """Note at a tool call that a permission rule of the person answered its request, and which."""
        call_id = subject.call.tool_call_id
        if (tool := self._tools.get(call_id)) is None:
            return []
        tool.data = {**tool.data, "rule": {"text": text, "allowed": allowed}}
        self.note_answer(subject, allowed=allowed)
        return self.written_anew(call_id)

    def note_answer(self, subject: RequestSubject, *, allowed: bool) -> None:
        """Note at a tool call how its permission request was answered, before the agent hears it."""
        call_id = subject.call.tool_call_id
        if (tool := self._tools.get(call_id)) is not None:
            tool.data = answered_tool(tool.data, self._now(), allowed=allowed)
            if allowed:
                self.allowed.setdefault(call_id, []).append(subject)
                self._compare(call_id, tool)

    def _compare(self, tool_call_id: str, tool: _Tool) -> None:
        """Mark a call that has become something else than what was allowed."""
        if not (allowed := self.allowed.get(tool_call_id)):
            return
        if found := became(allowed, _subject(tool_call_id, tool), self.directory):
            tool.data = {**tool.data, "became": {"asked": found.asked, "did": found.did}}

    def written_anew(self, tool_call_id: str) -> list[Op]:
        """The operation that writes a tool call as it is now."""
        if (tool := self._tools.get(tool_call_id)) is None:
            return []
        tool.over = Call(tool.data).over
        return [Change(tool.row_id, tool.data, MessageState.FINAL if tool.over else None)]

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
        state = MessageState.FINAL if clean else MessageState.INTERRUPTED
        ops = [op for voice in list(self._voices) for op in self._end_text(state, voice)]
        for tool in self._tools.values():
            if not tool.over:
                tool.over = True
                if not Call(tool.data).over:
                    tool.data = {**tool.data, "status": tool_status, "ended_at": self._now()}
                ops.append(Change(tool.row_id, tool.data, state))
        for elicited in self._elicitations.values():
            if not elicited.answered:
                ops.append(Append(elicited.row_id, answered_text(elicited.request, CANCEL)))
            ops.append(Change(elicited.row_id, state=MessageState.FINAL))
        self._elicitations.clear()
        return ops

    def _add_text(self, chunk: TextChunk) -> list[Op]:
        if chunk.role == "user" and not self.keeps_user_text:
            return []
        voice = self._voices.setdefault(chunk.subagent_of, _Voice())
        text = voice.text
        if text and (text.role, text.agent_message_id) == (chunk.role, chunk.message_id):
            return [Append(text.row_id, chunk.text)]
        if not chunk.text.strip():
            voice.held_space += chunk.text
            return []
        words = voice.held_space + chunk.text
        ops = self._end_text(voice=chunk.subagent_of)
        data: dict[str, Any] = {"started_at": self._now(), **_said_by(chunk)}
        kind = _KINDS[chunk.role]
        if kind is Kind.USER:
            data["origin"] = PromptOrigin.AGENT
        insert = self._insert(kind, words, data, chunk.message_id, state=MessageState.OPEN)
        self._voices[chunk.subagent_of] = _Voice(_Text(insert.row.id, chunk.role, chunk.message_id, data))
        self.answered = self.answered or kind is Kind.AGENT
        return [*ops, insert]

    def _add_other(self, content: OtherContent) -> list[Op]:
        if content.role == "user" and not self.keeps_user_text:
            return []
        ops = self._end_text(voice=content.subagent_of)
        kind = _KINDS[content.role]
        self.answered, self.only_words = self.answered or kind is Kind.AGENT, False
        other: dict[str, Any] = {"kind": content.kind, "description": content.description}
        if content.address:
            other["address"] = content.address
        if content.image is not None:
            other["image"] = note_of_image(content.image).to_data()
        data = {"other": [other], **_said_by(content)}
        if kind is Kind.USER:
            data["origin"] = PromptOrigin.AGENT
        insert = self._insert(kind, f"[{content.description}]", data, content.message_id)
        return [*ops, insert, *self._attach(insert.row.id, (content.image,))]

    def covers(self, done: ToolCallChanged) -> bool:
        """True if a question that was allowed is about all of what Catena is to do."""
        subject = unresolved_subject(done)
        return any(self._covers(call_id, subject) for call_id, tool in self._tools.items() if not tool.over)

    def _covers(self, tool_call_id: str, done: RequestSubject) -> bool:
        allowed = self.allowed.get(tool_call_id)
        return allowed is not None and became(allowed, done, self.directory) is None

    def _take_done(self, done: ToolCallChanged) -> list[Op]:
        """Note what Catena does for the agent: at the call that tells of it, else in a row of its own."""
        asked, subject = self.covers(done), unresolved_subject(done)
        for part in done.content or ():
            if isinstance(part, ToolTerminal):
                while len(self._commands) >= _TERMINALS_KEPT:
                    del self._commands[next(iter(self._commands))]
                self._commands[part.terminal_id] = done
        for tool in self._calls_that_tell_of(done, subject):
            if (data := with_written(tool.data, done)) is not None:
                tool.data = with_done(without_told_again(data, self.directory), done, asked=asked)
                return [Change(tool.row_id, tool.data)]
        self.answered, self.only_words = True, False
        ops = self._insert_tool(done)
        tool = self._tools[done.tool_call_id]
        tool.by_client = True
        tool.data = with_done(tool.data, done, asked=asked, own=True)
        return [*ops, Change(tool.row_id, tool.data)]

    def _calls_that_tell_of(self, done: ToolCallChanged, subject: RequestSubject) -> list[_Tool]:
        """The open calls that tell of what Catena does for the agent, the likeliest first.

        Of several edits of a file, the agent does the oldest first: that is the one whose change is not written yet.
        """
        calls = [
            tool
            for call_id, tool in reversed(self._tools.items())
            if not tool.over and tells_of(_subject(call_id, tool), subject, self.directory)
        ]
        if done.kind != "edit":
            return calls
        acting = [
            tool for tool in reversed(calls) if Call(tool.data).acts
        ]  # nobody looks for a change at others
        return sorted(acting, key=lambda tool: has_written(tool.data, done))

    def _adopted(self, call: ToolCallChanged) -> _Tool | None:
        """The row of a command that ran before its call was told, for the call that tells of just that and shows it."""
        for part in call.content or ():
            done = self._commands.get(part.terminal_id) if isinstance(part, ToolTerminal) else None
            tool = self._tools.get(done.tool_call_id) if done else None
            if not (done and tool and tool.by_client):
                continue
            if tells_of(unresolved_subject(call), unresolved_subject(done), self.directory):
                del self._tools[done.tool_call_id]
                self._tools[call.tool_call_id] = tool
                tool.by_client = False
                return tool
        return None

    def _note_commands(self, call_id: str, tool: _Tool, before: frozenset[str]) -> None:
        """Note at a call what runs in the terminals that it shows now, if that is not what it tells."""
        for terminal_id in tool.terminals - before:
            if (done := self._commands.get(terminal_id)) is None:
                continue
            ran = unresolved_subject(done)
            if not tells_of(_subject(call_id, tool), ran, self.directory):
                asked = self._covers(call_id, ran)
                tool.data = with_done(tool.data, done, asked=asked, other=words_of(ran))

    def _change_tool(self, call: ToolCallChanged) -> list[Op]:
        known = self._tools.get(call.tool_call_id)
        if call.by_client and known is None:
            return self._take_done(call)
        known = known or self._adopted(call)
        images = [each.image for each in call.content or () if isinstance(each, ToolOther)]
        self.answered, self.only_words = True, False
        if known:
            known.by_client = known.by_client or call.by_client
            known.data = with_outputs(changed_tool(known.data, call, self._now()), self._terminals)
            if call.by_client and not known.data.get("done_by_client"):  # the person was asked for just this
                known.data = with_done(known.data, call, asked=True, own=True)
            self._compare(call.tool_call_id, known)
            known.data = without_told_again(known.data, self.directory)
            known.over = Call(known.data).over
            if call.content is not None:
                before, known.terminals = known.terminals, terminals_of(known.data)
                if not known.by_client:
                    self._note_commands(call.tool_call_id, known, before)
            state = MessageState.FINAL if known.over else None
            ended = self._end_text(voice=call.tool_call_id) if known.over else []
            return [*ended, Change(known.row_id, known.data, state), *self._attach(known.row_id, images)]
        ops = self._insert_tool(call)
        tool, data = self._tools[call.tool_call_id], self._tools[call.tool_call_id].data
        self._compare(call.tool_call_id, tool)
        if tool.terminals & self._commands.keys():
            self._note_commands(call.tool_call_id, tool, frozenset())
        return ops if tool.data is data else [*ops, Change(tool.row_id, tool.data)]

    def _insert_tool(self, call: ToolCallChanged) -> list[Op]:
        images = [each.image for each in call.content or () if isinstance(each, ToolOther)]
        data = with_outputs(changed_tool({}, call, self._now()), self._terminals)
        over = Call(data).over
        ops = self._end_text(voice=call.subagent_of)
        insert = self._insert(
            Kind.TOOL,
            str(data.get("title") or ""),
            data,
            call.tool_call_id,
            state=MessageState.FINAL if over else MessageState.OPEN,
        )
        self._tools[call.tool_call_id] = _Tool(insert.row.id, data, over, terminals_of(data))
        return [*ops, insert, *self._attach(insert.row.id, images)]

    def _attach(self, row_id: str, images: Iterable[Attachment | None]) -> list[Op]:
        """Store the images that the row does not have yet, as far as there is room in the turn."""
        ops: list[Op] = []
        for image in images:
            key = (row_id, image.sha256 if image is not None else "")
            if image is None or key in self._images:
                continue
            of_row = sum(row == row_id for row, _ in self._images)
            if of_row >= MOST_IMAGES or self._image_bytes + len(image.content) > _MOST_IMAGE_BYTES:
                continue
            self._images.add(key)
            self._image_bytes += len(image.content)
            ops.append(Attach(row_id, image))
        return ops

    def _show_terminal(self, terminal: TerminalChanged) -> list[Op]:
        """Keep with its tool calls what a terminal shows; one that no call names yet waits for that."""
        shown = self._terminals
        shown.pop(terminal.terminal_id, None)
        if len(shown) >= _TERMINALS_KEPT:
            del shown[next(iter(shown))]
        shown[terminal.terminal_id] = terminal
        ops: list[Op] = []
        for tool in self._tools.values():
            if terminal.terminal_id in tool.terminals:
                tool.data = with_outputs(tool.data, shown)
                if terminal.over and tool.by_client:
                    tool.data = {**tool.data, "status": "completed", "ended_at": self._now()}
                    tool.over = True
                ops.append(Change(tool.row_id, tool.data, MessageState.FINAL if tool.over else None))
        return ops

    def _add_elicitation(self, asked: ElicitationRequested) -> list[Op]:
        self.answered, self.only_words = True, False
        request = asked.request
        ops = self._end_text()
        insert = self._insert(Kind.NOTICE, asked_text(request), kept_data(request), state=MessageState.OPEN)
        self._elicitations[asked.ask_id] = _Elicited(insert.row.id, request)
        return [*ops, insert]

    def _answer_elicitation(self, answered: ElicitationAnswered) -> list[Op]:
        request, answer = answered.request, answered.answer
        elicited = self._elicitations.get(answered.ask_id)
        if elicited is None:  # asked before the turn
            text = asked_text(request) + answered_text(request, answer)
            return self._end_text_before(self._insert(Kind.NOTICE, text, kept_data(request, answer)))
        elicited.answered = True
        goes_on = isinstance(elicited.request, WebPage) and answer.action == "accept"
        if not goes_on:
            del self._elicitations[answered.ask_id]
        data = kept_data(elicited.request, answer)
        return [
            Append(elicited.row_id, answered_text(elicited.request, answer)),
            Change(elicited.row_id, data, None if goes_on else MessageState.FINAL),
        ]

    def _complete_elicitation(self, ask_id: str) -> list[Op]:
        elicited = self._elicitations.pop(ask_id, None)
        if elicited is None:
            return []
        return [Append(elicited.row_id, DONE), Change(elicited.row_id, state=MessageState.FINAL)]

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

    def _compact(self, event: ContextCompacted) -> list[Op]:
        compaction = self._compaction
        if compaction is None or not compaction.has(event.compaction_id):
            compaction = self._compaction = Compaction(event.compaction_id)
        compaction.take(event.text, event.status)
        self.compacted = self.compacted or compaction.done
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

    def _end_text(self, state: MessageState = MessageState.FINAL, voice: str | None = None) -> list[Op]:
        text = self._voices.pop(voice, _Voice()).text
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


def _said_by(said: TextChunk | OtherContent) -> dict[str, Any]:
    """What the data of a text row keep of a subagent; `words` tells what it said from what it thought."""
    if said.subagent_of is None:
        return {}
    return {"subagent_of": said.subagent_of, "words": said.role == "subagent"}


def _subject(tool_call_id: str, tool: _Tool) -> RequestSubject:
    """What a tool call is about, as it was told so far."""
    return unresolved_subject(call_of(tool_call_id, Call(tool.data)))
