"""Turns out of what a transcript tells in its order: prompts, answers, thoughts, tool calls, plans and ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from catena_acp.context_markers import BEGIN, without_prior_context
from catena_acp.transcripts import tool_calls
from catena_acp.transcripts.lines import Record, records
from catena_acp.transcripts.session import (
    ForeignMessage,
    ForeignSession,
    ForeignTranscript,
    ForeignTurn,
    LeftOut,
)
from catena_store.records import Kind, MessageState, PromptOrigin, StopReason

COMPACTED = "the agent shortened its own context (the transcript stays)"
_TOLD = "an earlier conversation was replayed here"


@dataclass(slots=True)
class _TranscriptRow:
    kind: Kind
    text: str
    at: datetime | None
    agent_message_id: str | None
    data: dict[str, Any]


@dataclass(slots=True)
class _Turn:
    prompt: ForeignMessage | None
    rows: list[_TranscriptRow] = field(default_factory=list)
    stop_reason: StopReason | None = None
    error: str | None = None
    model: str | None = None
    usage: Counter[str] = field(default_factory=Counter)
    counted: set[str] = field(default_factory=set)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    prior_context: str | None = None


class TranscriptBuilder:
    """Builder of a transcript; each call adds behind what was added before."""

    def __init__(self, *, joins: bool = False) -> None:
        """``joins``: texts without an id that follow one another are parts of one message."""
        self.joins = joins
        self.tells_ends = False  # the transcript says of each turn that ended well that it did
        self._turns: list[_Turn] = []
        self._calls: dict[str, _TranscriptRow] = {}
        self._left_out: Counter[str] = Counter()
        self._complete = True

    @property
    def begun(self) -> bool:
        """True once there is a prompt."""
        return any(turn.prompt for turn in self._turns)

    def prompt(
        self,
        text: str,
        at: datetime | None,
        message_id: str | None = None,
        attachments: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Begin a turn; a prior context of ours is folded out of its prompt."""
        own = without_prior_context(text) if BEGIN in text else text
        data: dict[str, Any] = {"origin": PromptOrigin.IMPORT}
        if attachments:
            data["attachments"] = [dict(each) for each in attachments]
        turn = _Turn(ForeignMessage(Kind.USER, own, at, message_id, data), started_at=at, ended_at=at)
        self._turns.append(turn)
        if own != text:
            turn.prior_context = text[: text.rfind(own)].strip() if own else text
            told = {"detail": turn.prior_context.splitlines(), "told": True}
            turn.rows.append(_TranscriptRow(Kind.NOTICE, _TOLD, at, None, told))

    def steer(self, text: str, at: datetime | None) -> None:
        """Add a text that the person said into the running turn."""
        self._row(Kind.USER, text, at, None, {"steered": True, "origin": PromptOrigin.IMPORT})

    def say(self, text: str, at: datetime | None, message_id: str | None = None) -> None:
        """Add a part of an answer; parts of one message that follow one another are one row."""
        self._add_text(Kind.AGENT, text, at, message_id)

    def think(self, text: str, at: datetime | None) -> None:
        """Add a thought."""
        self._add_text(Kind.THOUGHT, text, at, None)

    def call(self, call_id: str, name: str, arguments: object, at: datetime | None) -> None:
        """Add a tool call; one that sets a plan becomes the plan."""
        if call_id in self._calls:
            return
        if name.lower() in tool_calls.PLANS and (entries := tool_calls.plan_entries(arguments)):
            self.plan(entries, at)
            return
        self._calls[call_id] = self._row(Kind.TOOL, "", at, call_id, tool_calls.begun(name, arguments, at))
        self._calls[call_id].text = str(self._calls[call_id].data["title"])

    def show_call(self, call_id: str, data: dict[str, Any], at: datetime | None) -> None:
        """Add a tool call with the data of its row, or give it other data."""
        if call_id not in self._calls:
            self._calls[call_id] = self._row(Kind.TOOL, "", at, call_id, data)
        self._calls[call_id].data = data
        self._calls[call_id].text = str(data.get("title") or "")

    def result(
        self,
        call_id: str,
        output: str,
        at: datetime | None,
        *,
        failed: bool = False,
        changes: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Add the outcome of a tool call; that of an unknown one is left out."""
        if row := self._calls.get(call_id):
            tool_calls.ended(row.data, output, failed=failed, at=at, changes=changes)
            self._seen(at)

    def plan(self, entries: Sequence[dict[str, Any]], at: datetime | None) -> None:
        """Set the plan: of several in a turn the last one stays."""
        turn = self._turn()
        known = next((row for row in turn.rows if row.kind is Kind.PLAN), None)
        if known:
            known.data = {**known.data, "entries": list(entries)}
        else:
            self._row(Kind.PLAN, "", at, None, {"entries": list(entries), "plan_id": None})

    def note(self, text: str, at: datetime | None, detail: str = "") -> None:
        """Add a notice."""
        self._row(Kind.NOTICE, text, at, None, {"detail": detail.splitlines()} if detail else {})

    def compact(self, summary: str, at: datetime | None) -> None:
        """Add the place where the session's context was shortened; a summary may come in a second call."""
        rows = self._turn().rows
        if summary and rows and rows[-1].data.get("compacted") and not rows[-1].data.get("detail"):
            rows[-1].data["detail"] = summary.strip().splitlines()
            return
        data = {"compacted": "completed", "detail": summary.strip().splitlines()}
        self._row(Kind.NOTICE, COMPACTED, at, None, data)

    def spent(self, usage: Mapping[str, object], *, of: str = "", model: str | None = None) -> None:
        """Count tokens to the turn, by the protocol's names; those ``of`` one request count once."""
        turn = self._turn()
        turn.model = model or turn.model
        if of in turn.counted:
            return
        if of:
            turn.counted.add(of)
        for name, value in usage.items():
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 50:
                turn.usage[name] += value

    def end(self, stop_reason: StopReason, at: datetime | None = None, error: str | None = None) -> None:
        """End the turn."""
        if self._turns:
            turn = self._turns[-1]
            turn.stop_reason, turn.error = stop_reason, error or turn.error
            self._seen(at)

    def undo(self, turns: int) -> None:
        """Take the last turns away again, as the person did."""
        kept = max(0, len(self._turns) - max(0, turns))
        if kept < len(self._turns):
            self.leave_out("turn that was undone", len(self._turns) - kept)
            del self._turns[kept:]

    def leave_out(self, reason: str, count: int = 1, *, breaks: bool = False) -> None:
        """Count what is not among the messages; ``breaks`` if it may have been said on the main line."""
        if count:
            self._left_out[reason] += count
        self._complete = self._complete and not (breaks and count)

    def records(self, path: Path) -> Iterator[tuple[int, Record]]:
        """The records of a file, by the numbers of their lines; those that cannot be read are left out."""
        torn = 0
        for at, record in enumerate(records(path)):
            if record is None:
                torn += 1
                continue
            self.leave_out("line that cannot be read", torn, breaks=True)
            torn = 0
            yield at, record
        # The last line: its writer is at it, or died over it.
        self.leave_out("line that is cut off at the end", torn)

    def transcript(self, session: ForeignSession) -> ForeignTranscript:
        """All that was added, under the session's head."""
        return ForeignTranscript(
            session,
            tuple(_finished(turn, tells_ends=self.tells_ends) for turn in self._turns),
            tuple(LeftOut(reason, count) for reason, count in self._left_out.items()),
            self._complete,
        )

    def _turn(self) -> _Turn:
        if not self._turns:
            self._turns.append(_Turn(None))
        return self._turns[-1]

    def _add_text(self, kind: Kind, text: str, at: datetime | None, message_id: str | None) -> None:
        if not text.strip() and not self.joins:
            return
        rows = self._turn().rows
        joins = rows and rows[-1].kind is kind and rows[-1].agent_message_id == message_id
        if joins and (message_id or self.joins):
            rows[-1].text += text
            self._seen(at)
        else:
            self._row(kind, text, at, message_id, {})

    def _row(
        self, kind: Kind, text: str, at: datetime | None, message_id: str | None, data: dict[str, Any]
    ) -> _TranscriptRow:
        row = _TranscriptRow(kind, text, at, message_id, data)
        self._turn().rows.append(row)
        self._seen(at)
        return row

    def _seen(self, at: datetime | None) -> None:
        turn = self._turn()
        turn.started_at = turn.started_at or at
        turn.ended_at = max((each for each in (turn.ended_at, at) if each), default=None)


def _finished(turn: _Turn, *, tells_ends: bool) -> ForeignTurn:
    """A turn with its end: where transcripts tell none, one with an answer ended well."""
    answered = [row.kind for row in turn.rows if row.kind in (Kind.AGENT, Kind.TOOL)]
    stop_reason = turn.stop_reason
    if stop_reason is None:
        ended = answered[-1:] == [Kind.AGENT] and not tells_ends
        stop_reason = StopReason.END_TURN if ended else StopReason.INTERRUPTED
    elif stop_reason.clean and not answered and not any(row.data.get("compacted") for row in turn.rows):
        stop_reason = StopReason.INTERRUPTED
    rows = [
        ForeignMessage(row.kind, row.text, row.at, row.agent_message_id, row.data, _state(row))
        for row in turn.rows
    ]
    if not stop_reason.clean and rows and rows[-1].kind is Kind.AGENT:
        cut = rows[-1]
        rows[-1] = ForeignMessage(
            cut.kind, cut.text, cut.at, cut.agent_message_id, cut.data, MessageState.INTERRUPTED
        )
    return ForeignTurn(
        prompt=turn.prompt,
        rows=tuple(rows),
        stop_reason=stop_reason,
        error=turn.error,
        model=turn.model,
        usage=dict(turn.usage) or None,
        started_at=turn.started_at,
        ended_at=turn.ended_at,
        prior_context=turn.prior_context,
    )


def _state(row: _TranscriptRow) -> MessageState:
    unknown = row.kind is Kind.TOOL and row.data.get("status") == "unknown"
    return MessageState.INTERRUPTED if unknown else MessageState.FINAL
