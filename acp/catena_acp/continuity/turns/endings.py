"""Endings of turns, and the problems behind them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from catena_acp.continuity.conversation_events import Problem
from catena_acp.continuity.problems import empty_turn, problem_about, problem_in_words, problem_of
from catena_acp.errors import AgentError, AgentRefused, NotKept
from catena_acp.session_events import (
    Event,
    OtherContent,
    PermissionRequested,
    PromptEnded,
    TextChunk,
    ToolCallChanged,
)
from catena_acp.trouble.diagnosis import diagnose_words
from catena_acp.trouble.troubles import Trouble
from catena_store.conversations import messages
from catena_store.database.database import Reader, Writer
from catena_store.records import CONTENT_KINDS, Kind, Message, PathRow, StopReason, Turn


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn came to its end."""

    stop: StopReason
    error: AgentError | None = None
    answer: PromptEnded | None = None


def problem_of_end(
    ending: Ending, title: str, *, answered: bool, only_words: str | None, now: datetime
) -> Problem | None:
    """The problem behind a turn's end; None if there is nothing that a person can do about.

    ``only_words`` is all that the agent said in it, if that is little enough to be an error.
    """
    if ending.stop.clean and not answered:
        return empty_turn(title)
    match ending:
        case Ending(stop=StopReason.CANCELLED | StopReason.INTERRUPTED):
            return None
        case Ending(error=NotKept() as error):
            return problem_about(Trouble.STORE, f"{title} could not go on: {error}.")
        case Ending(error=AgentError() as error):
            return problem_of(title, error, now=now, kept=answered)
        case Ending(stop=StopReason.END_TURN | StopReason.REFUSAL) if only_words:
            return problem_in_words(title, only_words, now=now)
        case _:
            return None


def stop_reason_of(text: str) -> StopReason:
    """The protocol's stop reason; one that we do not know is an end all the same."""
    try:
        return StopReason(text)
    except ValueError:
        return StopReason.END_TURN


def unfinished_status(stop: StopReason) -> str:
    """The status of a tool call that its turn's end leaves unfinished."""
    return "cancelled" if stop is StopReason.CANCELLED else "unknown"


_LONGEST = 600  # characters; nobody writes an essay for an error


class LastAnswer:
    """Collects a turn's last message; ``text`` is None once there is more in the turn than an error would be."""

    def __init__(self) -> None:
        self._message_id: str | None = None
        self._text = ""
        self._length = 0
        self._more = False

    def take(self, events: Iterable[Event]) -> None:
        """Add the turn's next events, in order."""
        for event in events:
            match event:
                case _ if self._more:
                    return
                case TextChunk(role="agent", text=text, message_id=message_id):
                    # Warnings come as messages of their own, before the error.
                    self._text = (self._text if message_id == self._message_id else "") + text
                    self._message_id = message_id
                    self._length += len(text)
                    self._more = self._length > _LONGEST
                case ToolCallChanged() | PermissionRequested() | OtherContent():
                    self._more = True
                case _:
                    pass

    @property
    def text(self) -> str | None:
        """The words; None if something else was said or done, or nothing at all."""
        return None if self._more or not self._text.strip() else self._text


_SAID_ERROR = "said_error"
_SHORTEST = 10  # characters: a word or two may end an error by chance


def says_its_error(ending: Ending, only_words: str | None, now: datetime) -> bool:
    """True if all that was said in a turn is the error that it ended with."""
    if not isinstance(ending.error, AgentRefused) or not only_words:
        return False
    words = only_words.strip()
    said_again = len(words) >= _SHORTEST and str(ending.error).strip().endswith(words)
    return said_again or diagnose_words(words, now=now) is not None


async def mark_said_error(tx: Writer, turn: Turn, last_id: str | None) -> Message | None:
    """Mark the turn's last row as such words; None if the turn brought anything beside them."""
    said = await messages.get(tx, last_id) if last_id else None
    if said is None or said.kind is not Kind.AGENT:
        return None
    above = await messages.get(tx, said.parent_id) if said.parent_id else None
    if above is not None and above.kind is Kind.SEAM and above.parent_id:
        above = await messages.get(tx, above.parent_id)
    if above is None or above.id != turn.prompt_id:
        return None
    return await messages.update(tx, said.id, data={**said.data, _SAID_ERROR: True})


async def brought_something(reader: Reader, below: Sequence[PathRow]) -> bool:
    """True if the rows below a prompt hold more of its turn than an error in words."""
    for row in below:
        if row.kind in CONTENT_KINDS:
            message = await messages.get(reader, row.id)
            if message is None or not message.data.get(_SAID_ERROR):
                return True
    return False
