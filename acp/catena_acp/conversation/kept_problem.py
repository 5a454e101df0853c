"""A turn's trouble as its last row keeps it, so that a screen that opens tomorrow still offers what fits. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from catena_acp.conversation.local_times import time_words
from catena_acp.conversation.news import Problem
from catena_acp.conversation.offers import offers_for
from catena_acp.troubles import Trouble
from catena_store.records import Kind, Message, StopReason


def kept(problem: Problem) -> dict[str, Any]:
    """What a row's ``data`` keeps of a problem."""
    return {
        "trouble": problem.trouble.value,
        "resets_at": problem.resets_at.isoformat() if problem.resets_at else None,
        "detail": list(problem.detail),
    }


def problem_of_notice(message: Message, *, now: datetime | None = None) -> Problem | None:
    """The problem that a notice tells of, or an agent's only words that are an error; None where there is none.

    Without ``now``, waiting is offered for every limit whose end is known.
    """
    if message.kind not in (Kind.NOTICE, Kind.AGENT):
        return None
    trouble = _trouble(message.data.get("trouble"))
    if trouble is None:
        return None
    resets_at = _time(message.data.get("resets_at"))
    if resets_at is not None and now is not None and resets_at <= now:
        resets_at = None
    # Of an agent's own words, which are on the screen, the row keeps what they mean.
    text = message.data.get("means") if message.kind is Kind.AGENT else message.text
    return Problem(
        trouble,
        str(text or message.text),
        detail=_lines(message.data.get("detail")),
        offers=offers_for(trouble, resets_at, now=now),
        resets_at=resets_at,
    )


def cause_words(message: Message | None) -> str | None:
    """What a seam says of the trouble that a turn before ended with: `rate limit until 17:00`."""
    trouble = _trouble(message.data.get("trouble")) if message else None
    if message is None or trouble is None:
        return None
    began = time_words(message.created_at.replace(second=0, microsecond=0), message.created_at)
    resets_at = _time(message.data.get("resets_at"))
    when = f"until {time_words(resets_at, message.created_at)}" if resets_at else f"at {began}"
    match trouble:
        case Trouble.RATE_LIMIT:
            return f"rate limit {when}"
        case Trouble.CREDIT:
            return f"no credit left at {began}"
        case Trouble.OVERLOAD:
            return f"overload at {began}"
        case Trouble.CONTEXT_FULL:
            return "the session was full"
        case Trouble.LOGIN_NEEDED:
            return f"login needed at {began}"
        case _:
            return None


def _trouble(value: Any) -> Trouble | None:
    if value == StopReason.ERROR.value:  # as rows of older versions have it
        return Trouble.REFUSED
    try:
        return Trouble(value)
    except ValueError:
        return None


def _time(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _lines(value: Any) -> tuple[str, ...]:
    return tuple(str(line) for line in value) if isinstance(value, list | tuple) else ()
