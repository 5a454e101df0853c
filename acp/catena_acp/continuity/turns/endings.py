"""Endings of turns: the problem behind each, and what it leaves in the store. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any

from catena_acp.continuity.conversation_events import Problem
from catena_acp.continuity.wording.problems import (
    CutBy,
    cut_off,
    empty_turn,
    ending_words,
    kept,
    problem_about,
    problem_in_words,
    problem_of,
    problem_of_failure,
)
from catena_acp.errors import AgentError, AgentRefused, NotKept
from catena_acp.port.session_events import (
    ElicitationRequested,
    Event,
    OtherContent,
    PermissionRequested,
    PromptEnded,
    TextChunk,
    ToolCallChanged,
    TypedFailure,
)
from catena_acp.trouble.diagnosis import diagnose_words
from catena_acp.trouble.troubles import Trouble
from catena_store.records import Kind, Message, StopReason


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn came to its end."""

    stop: StopReason
    error: AgentError | None = None
    answer: PromptEnded | None = None
    cut_by: CutBy = CutBy.EXIT  # where it was interrupted


def problem_of_end(
    ending: Ending, title: str, *, answered: bool, only_words: str | None, now: datetime
) -> Problem | None:
    """The problem behind a turn's end; None if there is nothing that a person can do about.

    ``only_words`` is all that the agent said in it, if that is little enough to be an error; a failure that the agent
    names beside its answer wins over words.
    """
    match ending:
        case Ending(error=None, stop=StopReason.END_TURN | StopReason.REFUSAL) if failure := _failure_in(
            ending
        ):
            return problem_of_failure(title, failure, now=now, kept=answered and not only_words)
        case _ if ending.stop.clean and not answered:
            return empty_turn(title)
        case Ending(stop=StopReason.CANCELLED | StopReason.INTERRUPTED):
            return None
        case Ending(error=NotKept() as error):
            return problem_about(Trouble.STORE, f"{title} could not continue: {error}.")
        case Ending(error=AgentError() as error):
            return problem_of(title, error, now=now, kept=answered)
        case Ending(stop=StopReason.END_TURN | StopReason.REFUSAL) if only_words:
            return problem_in_words(title, only_words, now=now)
        case _:
            return None


def _failure_in(ending: Ending) -> TypedFailure | None:
    return ending.answer.failure if ending.answer else None


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
                case ToolCallChanged() | PermissionRequested() | ElicitationRequested() | OtherContent():
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


def is_said_error(message: Message) -> bool:
    """True for a row that holds nothing but the error that its turn ended with."""
    return bool(message.data.get(_SAID_ERROR))


@dataclass(frozen=True, slots=True)
class TurnContent:
    """The content of a turn, as far as its end depends on it."""

    answered: bool = False  # an agent or tool row
    compacted: bool = False  # the session may hold less than before
    interjected: bool = False  # the person spoke into it
    last_kind: Kind | None = None  # of its last row
    one_row: bool = False
    only_words: str | None = None  # all that the agent said, if that is little enough to be an error
    under_way: Sequence[Mapping[str, Any]] = ()  # stored data of tool calls without an end
    stopped: bool = False  # by the person
    rejected: bool = False  # a permission request was


class Bound(Enum):
    """The row to which a link may hold its branch after a turn."""

    PROMPT = auto()  # sent again, the same row fits
    LAST = auto()  # the turn's last row
    NOTICE = auto()  # of its end, below the last row: what the agent did unseen lies behind it


@dataclass(frozen=True, slots=True)
class EndNotice:
    """The notice row that reports a turn's end."""

    text: str
    data: Mapping[str, Any]
    in_turn: bool  # the turn's last row from then on


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a turn's end leaves: in its rows, in its link, and for the person to read."""

    stop: StopReason
    error: str | None
    clean: bool  # answered, or its context shortened, to the end: the link knows its last row
    whole: bool  # its rows came to their end, and are final
    tool_status: str  # of tool calls without an end
    reach: Bound
    compacted: bool  # the link is unabridged from the prompt on
    suspect: str | None = None  # why its session is not to be used any more
    link_event: tuple[str, str] | None = None  # what the link's record says of it
    mark: Mapping[str, Any] = field(default_factory=dict)  # what the data of the turn's last row gain
    notice: EndNotice | None = None


def outcome_of(ending: Ending, came: TurnContent, title: str, *, now: datetime) -> Outcome:
    """The outcome of a turn that ended like this, after all that came in it."""
    stop = ending.stop
    done = came.answered or came.compacted
    in_words = came.one_row and came.last_kind is Kind.AGENT and says_its_error(ending, came.only_words, now)
    brought = came.answered and not in_words
    if stop is StopReason.INTERRUPTED:
        problem: Problem | None = cut_off(title, came.under_way, ending.cut_by)
    else:
        answered = brought or (came.compacted and stop.clean)
        problem = problem_of_end(ending, title, answered=answered, only_words=came.only_words, now=now)
    # What only says its error is no answer, although the agent calls it an end, or a refusal.
    ended = stop is StopReason.REFUSAL or (stop.clean and (done or _failure_in(ending) is not None))
    failed = problem is not None and ended
    clean = stop.clean and done and not failed
    suspect = _WITHOUT_A_WORD if stop.clean and not done and not failed else None
    if stop is StopReason.INTERRUPTED:
        reach = Bound.NOTICE
    else:
        reach = Bound.LAST if clean or brought or came.interjected else Bound.PROMPT
    mark: Mapping[str, Any] = {_SAID_ERROR: True} if in_words else {}
    notice = None
    if problem and failed and came.only_words and came.last_kind is Kind.AGENT:
        mark = {**kept(problem), "means": problem.text}  # with the agent's own words, which say it
    elif problem:
        notice = EndNotice(problem.text, kept(problem), in_turn=failed or not stop.clean)
    elif words := ending_words(title, stop, stopped=came.stopped, rejected=came.rejected):
        notice = EndNotice(words, {"trouble": stop.value, "detail": []}, in_turn=not stop.clean)
    return Outcome(
        stop,
        _error_words(ending, came) if failed or ending.error else None,
        clean=clean,
        whole=clean or failed,
        tool_status=unfinished_status(stop),
        reach=reach,
        compacted=came.compacted,
        suspect=suspect,
        link_event=_link_event(ending, suspect),
        mark=mark,
        notice=notice,
    )


def _error_words(ending: Ending, came: TurnContent) -> str | None:
    if ending.error:
        return str(ending.error)
    failure = _failure_in(ending)
    return failure.title if failure else (came.only_words or "").strip()


_WITHOUT_A_WORD = "previous turn returned nothing"


def _link_event(ending: Ending, suspect: str | None) -> tuple[str, str] | None:
    if suspect:
        return "suspect", suspect
    return ("agent_gone", str(ending.error)) if ending.stop is StopReason.AGENT_GONE else None
