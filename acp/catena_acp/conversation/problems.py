"""Trouble in words: what happened, what it means, what can be done; in that order, in one line. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from catena_acp.conversation.local_times import time_words
from catena_acp.conversation.news import Problem
from catena_acp.conversation.offers import offers_for
from catena_acp.conversation.words import BACK_IN_COMPOSER
from catena_acp.diagnosis import diagnose, diagnose_words
from catena_acp.errors import AgentError, AgentGone, AgentRefused
from catena_acp.troubles import Diagnosis, Trouble

_NO_NEWS = "Internal error: "  # how the protocol calls any error, before what it is
_LONGEST_SAID = 160  # characters of the agent's words in the line; all of them are in the detail
_DETAIL_LINES = 40
_LONGEST_DETAIL = 20_000  # characters

_EMPTY_TURN = (
    "{title} ended the turn without a word and without a tool call. The next prompt goes another way."
)


def problem_about(trouble: Trouble, text: str, *, returned: bool = False) -> Problem:
    """A problem that is no agent's error, with what can be done about it."""
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
    """The problem behind an error.

    ``returned``: the prompt's text is back in the composer. ``kept``: the agent had said something before.
    ``prompt`` is False where there is none that could go out again.
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
    """The problem where all that an agent said in a turn is an error; None where it is an answer."""
    found = diagnose_words(words, now=now)
    return _told(title, found, words.strip(), (), now=now) if found else None


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
    until = time_words(found.resets_at, now) if found.resets_at else None
    happened, possible = _sentences(title, found.trouble, short(said), until)
    means = " What it said is kept." if kept else ""
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
            return f"{title} cannot be started: {said}.", "`catena agents` tells how to get it."
        case Trouble.AGENT_GONE:
            return f"{title} {said}.", "The next prompt starts it again."
        case Trouble.AGENT_SILENT:
            return f"{title} did not answer: {said}.", ""
        case Trouble.LOGIN_NEEDED:
            return f"{title} wants you to log in first: {said}.", ""
        case Trouble.RATE_LIMIT if until:
            return (
                f"{title} is rate limited until {until}.",
                "Send it again then, or go on with another agent.",
            )
        case Trouble.RATE_LIMIT:
            return f"{title} is rate limited: {said}.", "Send it again later, or go on with another agent."
        case Trouble.CREDIT:
            ends = f" (until {until})" if until else ""
            return (
                f"{title} has no credit left{ends}: {said}.",
                "Go on with another agent, or send it again when that is settled.",
            )
        case Trouble.OVERLOAD:
            return (
                f"{title}'s provider is overloaded or failing: {said}.",
                "Send it again in a while, or go on with another agent.",
            )
        case Trouble.CONTEXT_FULL:
            return (
                f"{title} cannot read more in this session: {said}.",
                "Sent again, it goes to a new one that is told the newest messages.",
            )
        case Trouble.SESSION_LOST:
            return f"{title} does not have the session any more: {said}.", "The next prompt goes another way."
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
