"""Trouble, the ends of turns and who holds a conversation, in words: what happened, what it means, what to do. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, assert_never

from catena_acp.continuity.conversation_events import Problem
from catena_acp.errors import AgentError, AgentGone, AgentRefused
from catena_acp.port.session_events import ModelRetried, RetryReason, TypedFailure
from catena_acp.process_group import parse_start_time
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import ended_in
from catena_acp.trouble.diagnosis import diagnose, diagnose_failure, diagnose_words
from catena_acp.trouble.reset_times import format_time
from catena_acp.trouble.troubles import Diagnosis, Offer, Trouble
from catena_store.records import Message, Owner, StopReason

HELD_ELSEWHERE = "Read-only: this conversation is open in another Catena."
FREE = "The Catena that had this conversation has exited. Send a message or use /history takeover to continue here."


def hold_words(holder: Owner | None, host: str, *, free: bool = False) -> str:
    """The text that names the holder of the conversation, for a person on ``host``; ``free`` if that client is gone."""
    if free:
        return FREE
    return _held_words(holder, host) if holder else HELD_ELSEWHERE


def _held_words(holder: Owner, host: str) -> str:
    # Ticks of another machine's clock say nothing here.
    began = parse_start_time(holder.started) if holder.host == host else None
    since = f", since {_clock_time(began)}" if began else ""
    return f"Read-only: this conversation is open in Catena on {holder.host} (pid {holder.pid}{since})."


def _clock_time(moment: datetime) -> str:
    there = moment.astimezone()
    today = there.date() == datetime.now().astimezone().date()
    return there.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")


_REASONS: Mapping[RetryReason, str] = {
    "rate_limited": "rate limited",
    "server_error": "the model's server failed",
    "timed_out": "the model did not answer in time",
    "connection": "no connection to the model",
    "unknown": "the model's answer failed",
}


class CutBy(Enum):
    """What cut a turn off before its end; the value is the beginning of the sentence that says so."""

    EXIT = "Catena exited"  # a signal, a closed terminal, or a death that the next client finds
    QUIT = "You quit"
    CLOSED = "You closed the tab"


def cut_words(by: CutBy, consequence: str) -> str:
    """The text of a turn that was cut off, and what that leaves open."""
    return f"{by.value} during this turn. {consequence}"


def ending_words(title: str, stop: StopReason, *, stopped: bool = True, rejected: bool = False) -> str | None:
    """The text of a turn's notice; None if the end needs no words, or is worded as a problem.

    ``stopped`` if the person stopped it; ``rejected`` if a permission request was answered with a rejection in it.
    """
    match stop:
        case StopReason.REFUSAL:
            return f"{title} refused to answer. This turn may be omitted from its context."
        case StopReason.INTERRUPTED:
            return cut_words(CutBy.EXIT, f"{title}'s answer may be incomplete.")
        case StopReason.MAX_TOKENS:
            return "The answer was cut off: the model's token limit was reached."
        case StopReason.MAX_TURN_REQUESTS:
            return "The turn was cut off: the limit of model requests was reached."
        case StopReason.CANCELLED if stopped:
            return "Stopped by you."
        case StopReason.CANCELLED if rejected:
            return f"{title} ended the turn because a permission was rejected."
        case StopReason.CANCELLED:
            return f"{title} cancelled the turn."
        case StopReason.END_TURN | StopReason.NOT_SENT | StopReason.AGENT_GONE | StopReason.ERROR:
            return None


BACK_IN_COMPOSER = " Your text is back in the composer."


QUIET = 60.0  # seconds without a word after which that is said


def quiet_words(seconds: float) -> str:
    """`no word for 2 min: it may be retrying`, of an agent that has sent nothing for so long while no tool runs."""
    return f"no word for {int(seconds // 60)} min: it may be retrying"


def retry_words(retried: ModelRetried) -> str:
    """`rate limited: the agent tries again (HTTP 429)`; nothing of it is the agent's own text."""
    status = f" (HTTP {retried.status})" if retried.status is not None else ""
    return f"{_REASONS[retried.reason]}: the agent tries again{status}"


_ABOUT_A_PROMPT = frozenset({Offer.RETRY, Offer.WAIT})


def offers_for(
    trouble: Trouble, resets_at: datetime | None = None, *, now: datetime | None = None, prompt: bool = True
) -> tuple[Offer, ...]:
    """The offers for a trouble, best first.

    To wait is offered where the limit has an end that is known and, at ``now``, to come. Without a ``prompt`` that
    could go out again, only what needs none is offered.
    """
    waits = resets_at is not None and (now is None or now < resets_at)
    return tuple(offer for offer in _fitting(trouble, waits) if prompt or offer not in _ABOUT_A_PROMPT)


def _fitting(trouble: Trouble, waits: bool) -> tuple[Offer, ...]:
    match trouble:
        case Trouble.RATE_LIMIT:
            wait = (Offer.WAIT,) if waits else ()
            return (*wait, Offer.RETRY, Offer.OTHER_AGENT)
        case Trouble.CREDIT:
            return (Offer.OTHER_AGENT, Offer.RETRY, Offer.LOGIN)
        case Trouble.LOGIN_NEEDED:
            return (Offer.LOGIN, Offer.OTHER_AGENT)
        case Trouble.AGENT_GONE | Trouble.AGENT_SILENT:
            return (Offer.RETRY, Offer.LAST_LINES, Offer.OTHER_AGENT)
        case Trouble.AGENT_MISSING:
            return (Offer.OTHER_AGENT,)
        case (
            Trouble.OVERLOAD
            | Trouble.CONTEXT_FULL
            | Trouble.SESSION_LOST
            | Trouble.REFUSED
            | Trouble.EMPTY_TURN
            | Trouble.NO_CARRIER
            | Trouble.INTERRUPTED
        ):
            return (Offer.RETRY, Offer.OTHER_AGENT)
        case Trouble.READ_ONLY:
            return (Offer.TAKE_OVER,)
        case Trouble.STORE:
            return (Offer.RETRY,)
        case _:
            assert_never(trouble)


_NO_NEWS = "Internal error: "  # how the protocol calls any error, before what it is
_LONGEST_SAID = 160  # characters of the agent's words in the line; all of them are in the detail
_DETAIL_LINES = 40
_LONGEST_DETAIL = 20_000  # characters

_EMPTY_TURN = "{title} returned an empty answer. Your next prompt uses a new session."


def problem_about(trouble: Trouble, text: str, *, returned: bool = False) -> Problem:
    """A problem that is no agent's error, with its offers."""
    return Problem(trouble, text, offers=offers_for(trouble), returned=returned)


def empty_turn(title: str) -> Problem:
    """A turn that ended with neither text nor tool call."""
    return problem_about(Trouble.EMPTY_TURN, _EMPTY_TURN.format(title=title))


def problem_of(
    title: str,
    error: AgentError,
    *,
    now: datetime,
    returned: bool = False,
    kept: bool = False,
    prompt: bool = True,
) -> Problem:
    """The problem that an agent's error stands for.

    ``returned``: the prompt's text is back in the composer. ``kept``: the agent had said something before.
    ``prompt`` is False if there is none that could go out again.
    """
    found = diagnose(error, now=now)
    said = str(error)
    if isinstance(error, AgentGone):
        detail = error.stderr_tail
    elif isinstance(error, AgentRefused) and not _whole_in_the_line(found, said):
        detail = _lines(said)
    else:
        detail = ()
    return _told(title, found, said, detail, now=now, returned=returned, kept=kept, prompt=prompt)


def problem_in_words(title: str, words: str, *, now: datetime) -> Problem | None:
    """The problem if all that an agent said in a turn is an error; None if it is an answer."""
    found = diagnose_words(words, now=now)
    return _told(title, found, words.strip(), (), now=now) if found else None


def problem_of_failure(title: str, failure: TypedFailure, *, now: datetime, kept: bool) -> Problem:
    """The problem of a failure that an agent names beside its answer; ``kept``: it said something before."""
    found = diagnose_failure(failure, now=now)
    return _told(title, found, failure.title, _lines(failure.details or ""), now=now, kept=kept)


def _told(
    title: str,
    found: Diagnosis,
    said: str,
    detail: tuple[str, ...],
    *,
    now: datetime,
    returned: bool = False,
    kept: bool = False,
    prompt: bool = True,
) -> Problem:
    until = format_time(found.resets_at, now) if found.resets_at else None
    happened, possible = _sentences(title, found.trouble, short(said), until)
    means = " Its partial answer is saved." if kept else ""
    back = BACK_IN_COMPOSER if returned else ""
    return Problem(
        found.trouble,
        f"{happened}{means}{back}{f' {possible}' if possible else ''}",
        detail=detail,
        offers=offers_for(found.trouble, found.resets_at, now=now, prompt=prompt),
        resets_at=found.resets_at,
        returned=returned,
    )


def _sentences(title: str, trouble: Trouble, said: str, until: str | None) -> tuple[str, str]:
    """What happened, and what can be done."""
    match trouble:
        case Trouble.AGENT_MISSING:
            return f"{title} cannot be started: {said}.", "`catena agents` shows how to get it."
        case Trouble.AGENT_GONE:
            return f"{title} {said}.", "Your next prompt restarts it."
        case Trouble.AGENT_SILENT:
            return f"{title} does not respond: {said}.", ""
        case Trouble.LOGIN_NEEDED:
            return f"{title} needs a login: {said}.", ""
        case Trouble.RATE_LIMIT if until:
            return (
                f"{title} is rate limited until {until}.",
                "Retry then, or continue with another agent.",
            )
        case Trouble.RATE_LIMIT:
            return f"{title} is rate limited: {said}.", "Retry later, or continue with another agent."
        case Trouble.CREDIT:
            ends = f" (until {until})" if until else ""
            return (
                f"{title} has no credit left{ends}: {said}.",
                "Continue with another agent, or retry when that is settled.",
            )
        case Trouble.OVERLOAD:
            return (
                f"{title}'s provider is overloaded or failing: {said}.",
                "Retry in a while, or continue with another agent.",
            )
        case Trouble.CONTEXT_FULL:
            return (
                f"{title}'s context window is full: {said}.",
                "A retry starts a new session with the newest messages.",
            )
        case Trouble.SESSION_LOST:
            return f"{title} no longer has the session: {said}.", "Your next prompt uses a new session."
        case Trouble.REFUSED:
            return f"{title} refused: {said}.", ""
        case (
            Trouble.EMPTY_TURN | Trouble.NO_CARRIER | Trouble.READ_ONLY | Trouble.STORE | Trouble.INTERRUPTED
        ):
            return f"{title}: {said}.", ""
        case _:
            assert_never(trouble)


def _whole_in_the_line(found: Diagnosis, said: str) -> bool:
    shown = found.trouble is not Trouble.RATE_LIMIT or found.resets_at is None
    return shown and "\n" not in said.strip() and len(said) <= _LONGEST_SAID


def short(said: str) -> str:
    """An agent's words in one line, cut where they are long."""
    line = " ".join(said[: 20 * _LONGEST_SAID].split()).removeprefix(_NO_NEWS)
    line = line if len(line) <= _LONGEST_SAID else f"{line[: _LONGEST_SAID - 1].rstrip()}…"
    return line.rstrip(" .")


def _lines(said: str) -> tuple[str, ...]:
    return tuple(
        line.rstrip()[:1_000] for line in said[:_LONGEST_DETAIL].strip().splitlines()[:_DETAIL_LINES]
    )


def kept(problem: Problem) -> dict[str, Any]:
    """What a row's ``data`` keeps of a problem."""
    return {
        "trouble": problem.trouble.value,
        "resets_at": problem.resets_at.isoformat() if problem.resets_at else None,
        "detail": list(problem.detail),
    }


def problem_of_notice(message: Message) -> Problem | None:
    """The problem that a notice reports, or an agent's only words that are an error; None if there is none.

    Waiting is offered for every limit whose end is known.
    """
    ended = ended_in(message)
    trouble = _trouble(ended.trouble) if ended else None
    if ended is None or trouble is None:
        return None
    offers = offers_for(trouble, ended.resets_at)
    return Problem(trouble, ended.text, detail=ended.detail, offers=offers, resets_at=ended.resets_at)


def cause_words(message: Message | None) -> str | None:
    """What a seam says of the trouble that a turn before ended with: `rate limit until 17:00`."""
    ended = ended_in(message)
    trouble = _trouble(ended.trouble) if ended else None
    if message is None or ended is None or trouble is None:
        return None
    began = format_time(message.created_at.replace(second=0, microsecond=0), message.created_at)
    resets_at = ended.resets_at
    when = f"until {format_time(resets_at, message.created_at)}" if resets_at else f"at {began}"
    match trouble:
        case Trouble.RATE_LIMIT:
            return f"rate limit {when}"
        case Trouble.CREDIT:
            return f"no credit left at {began}"
        case Trouble.OVERLOAD:
            return f"overload at {began}"
        case Trouble.CONTEXT_FULL:
            return "context window full"
        case Trouble.LOGIN_NEEDED:
            return f"login needed at {began}"
        case _:
            return None


def cause_name(trouble: str | None) -> str | None:
    """The cause of a failed turn in two words at most, from what its row keeps: `rate limit`."""
    match _trouble(trouble):
        case Trouble.RATE_LIMIT:
            return "rate limit"
        case Trouble.CREDIT:
            return "no credit"
        case Trouble.OVERLOAD:
            return "overloaded"
        case Trouble.CONTEXT_FULL:
            return "context full"
        case Trouble.LOGIN_NEEDED:
            return "login needed"
        case Trouble.AGENT_MISSING:
            return "not found"
        case Trouble.AGENT_GONE:
            return "agent exited"
        case Trouble.AGENT_SILENT:
            return "no response"
        case Trouble.SESSION_LOST:
            return "session lost"
        case _:
            return None


def _trouble(value: Any) -> Trouble | None:
    if value == StopReason.ERROR.value:  # as rows of older versions have it
        return Trouble.REFUSED
    try:
        return Trouble(value)
    except ValueError:
        return None


_NAMED = 3  # tool calls; the others are counted
_LONGEST_NAME = 40  # characters


def cut_off(title: str, under_way: Sequence[Mapping[str, Any]], by: CutBy = CutBy.EXIT) -> Problem:
    """The problem of an interrupted turn; ``under_way`` are the stored data of its unfinished tool calls."""
    consequence = f"{title}'s answer may be incomplete."
    if under_way:
        consequence = f"{_named(under_way)} may or may not have finished: check before you retry."
    return problem_about(Trouble.INTERRUPTED, cut_words(by, consequence))


def _named(calls: Sequence[Mapping[str, Any]]) -> str:
    names = [_name(call) for call in calls[:_NAMED]]
    if more := len(calls) - len(names):
        return f"{', '.join(names)} and {more:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _name(call: Mapping[str, Any]) -> str:
    lines = Call(call).head.splitlines()
    words = " ⏎ ".join(" ".join(line.split()) for line in lines if line.strip())
    words = words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 1].rstrip()}…"
    return f"`{words}`"
