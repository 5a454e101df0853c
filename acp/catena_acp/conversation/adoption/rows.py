"""A transcript as rows, turns and the pointers of the link to its session, and what the next prompt there needs.

Pure but for the ids it makes.

A link must never claim more than its session holds. The floor is the last row of the newest turn that ended well, the
ceiling the last row; what stands before a compaction may be abridged. Where a part of the main line could not be read,
or the session would not survive being looked at, the link is lost from the start: its conversation is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count

from catena_acp.continuity.routing.prior_context import Budget, build_prior_context
from catena_acp.conversation.inspection.price import Price
from catena_acp.transcripts.session import ForeignMessage, ForeignTranscript, ForeignTurn, Tool
from catena_store.records import SPOKEN_KINDS, ContextSource, Kind, LinkState, Message, NewMessage, Turn

_NOT_REOPENED = frozenset({Tool.GEMINI})  # a session that is opened twice is gone
UNREAD = "a part of its transcript could not be read"
NOT_REOPENED = "opening it would destroy it"


@dataclass(frozen=True, slots=True)
class AdoptedRows:
    """The rows and turns that a transcript adds to the store, and the pointers and state of its link."""

    rows: Sequence[NewMessage]
    turns: Sequence[Turn]
    knows: str | None
    reach: str | None
    unabridged_from: str | None
    state: LinkState
    ended: str | None  # in words, why the link is lost

    @property
    def leaf(self) -> str | None:
        """The last row."""
        return self.rows[-1].id if self.rows else None


def adopted_rows(
    transcript: ForeignTranscript,
    conversation_id: str,
    link_id: str,
    new_id: Callable[[], str],
    *,
    imported: str | None = None,
    below: str | None = None,
) -> AdoptedRows:
    """The rows of a transcript as one branch, below a notice that says where they come from, or below another row."""
    reading = _Rows(conversation_id, link_id, new_id, below)
    began = transcript.session.created_at or transcript.session.updated_at
    if imported:
        reading.add(ForeignMessage(Kind.NOTICE, imported, began, data=_left_out(transcript)), None)
    at = began
    for turn in transcript.turns:
        at = reading.add_turn(turn, at)
    ended = None
    if not transcript.complete:
        ended = UNREAD
    elif transcript.session.source in _NOT_REOPENED:
        ended = NOT_REOPENED
    return AdoptedRows(
        rows=reading.rows,
        turns=reading.turns,
        knows=reading.knows,
        reach=reading.last,
        unabridged_from=reading.unabridged_from,
        state=LinkState.LOST if ended else LinkState.OPEN,
        ended=ended,
    )


def preview(transcript: ForeignTranscript, *, new_id: Callable[[], str]) -> list[Message]:
    """The messages of a transcript that is in no store, as a transcript on the screen draws them."""
    return messages_of(adopted_rows(transcript, "", "", new_id), transcript)


def messages_of(adopted: AdoptedRows, transcript: ForeignTranscript) -> list[Message]:
    """The messages that rows would become."""
    at = transcript.session.updated_at
    return [row.as_stored(depth=depth, at=at) for depth, row in enumerate(adopted.rows)]


def _left_out(transcript: ForeignTranscript) -> dict[str, object]:
    lines = [f"{each.count} × {each.reason}, left out" for each in transcript.left_out]
    return {"detail": lines} if lines else {}


class _Rows:
    """Rows of one branch, each below the one before."""

    def __init__(
        self, conversation_id: str, link_id: str, new_id: Callable[[], str], below: str | None
    ) -> None:
        self._conversation_id = conversation_id
        self._link_id = link_id
        self._new_id = new_id
        self.rows: list[NewMessage] = []
        self.turns: list[Turn] = []
        self._goes_on = below is not None  # the session carried turns before
        self.last = below
        self.knows: str | None = None
        self.unabridged_from: str | None = None
        self._compacted = False  # and no prompt since

    def add_turn(self, turn: ForeignTurn, before: datetime) -> datetime:
        """Add a turn; return when it ended."""
        began = turn.started_at or before
        ended = max(turn.ended_at or began, began)
        if turn.prompt is None:
            for message in turn.rows:
                self.add(message, None, began)
            return ended
        turn_id = self._new_id()
        prompt = self.add(turn.prompt, turn_id, began)
        if self._compacted:
            self.unabridged_from, self._compacted = prompt, False
        for message in turn.rows:
            row = self.add(message, turn_id, began)
            if message.data.get("compacted"):
                # Nobody tells what the session still holds; the next prompt is surely whole in it.
                self.unabridged_from, self._compacted = row, True
        assert self.last is not None
        self.turns.append(
            Turn(
                id=turn_id,
                conversation_id=self._conversation_id,
                prompt_id=prompt,
                link_id=self._link_id,
                base_link_id=self._link_id if self._goes_on else None,
                window_id=None,
                last_id=self.last,
                how=ContextSource.CONTINUED if self._goes_on else ContextSource.FRESH,
                cause=None,
                told_from=None,
                told_to=None,
                told=0,
                told_total=0,
                tools_listed=0,
                tools_left_out=0,
                left_out=0,
                shortened=0,
                masked=0,
                unabridged_from=self.unabridged_from,
                prior_context=turn.prior_context,
                stop_reason=turn.stop_reason,
                error=turn.error,
                usage=turn.usage,
                cost=None,
                currency=None,
                model=turn.model,
                mode=None,
                started_at=began,
                ended_at=ended,
            )
        )
        self._goes_on = True
        if self.turns[-1].clean:
            self.knows = self.last
        return ended

    def add(self, message: ForeignMessage, turn_id: str | None, at: datetime | None = None) -> str:
        """Add a row below the last one."""
        row = NewMessage(
            id=self._new_id(),
            conversation_id=self._conversation_id,
            parent_id=self.last,
            kind=message.kind,
            text=message.text,
            state=message.state,
            turn_id=turn_id,
            link_id=self._link_id,
            agent_message_id=message.agent_message_id,
            data=message.data,
            created_at=message.at or at,
        )
        self.rows.append(row)
        self.last = row.id
        return row.id


def adoption_price(transcript: ForeignTranscript, budget: Budget | None = None) -> Price:
    """Nothing where the session can be continued and ended well; else what would be told, as of any other link."""
    budget = budget or Budget()
    ids = count()
    adopted = adopted_rows(transcript, "", "", lambda: str(next(ids)))
    rows = messages_of(adopted, transcript)
    knows = adopted.knows if adopted.state is LinkState.OPEN else None
    unknown = rows[[row.id for row in rows].index(knows) + 1 :] if knows else rows
    spoken = [row for row in unknown if row.kind in SPOKEN_KINDS]
    tools = [row for row in unknown if row.kind is Kind.TOOL]
    prior = build_prior_context(spoken, len(spoken), tools, budget)
    how = ContextSource.RESUMED
    if prior:
        how = ContextSource.CAUGHT_UP if knows else ContextSource.TOLD
    return replace(Price.of_prior(how, prior), exact=False)
