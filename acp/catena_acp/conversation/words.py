"""What a person is told when the context's way changed or something went wrong.

What happened, what it means, what can be done; in that order, in one line.
"""

from __future__ import annotations

from catena_acp.conversation.news import (
    Problem,
)
from catena_acp.errors import (
    AgentError,
    AgentGone,
    AgentMissing,
    AgentRefused,
    AgentSilent,
    LoginNeeded,
)
from catena_acp.troubles import Trouble
from catena_store.records import How, StopReason


def counted(number: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def seam_text(
    how: How, cause: str | None, *, told: int, told_total: int, tools_listed: int, left_out: int
) -> str:
    """The seam's one line."""
    parts = [cause] if cause else []
    match how:
        case How.CONTINUED:
            parts.append("same session")
        case How.RESUMED:
            parts.append("session resumed · nothing told again")
        case How.FORKED:
            parts.append("forked session · nothing told again")
        case How.FORKED_AT:
            parts.append("session forked at this point · nothing told again")
        case How.CAUGHT_UP:
            parts.append(f"caught up with {_told(told, told_total)}")
        case How.TOLD:
            parts.append(f"new session · told {_told(told, told_total)}")
        case How.FRESH:
            parts.append("new session · nothing to tell")
    if tools_listed:
        parts.append(f"{counted(tools_listed, 'tool call')} listed")
    if left_out:
        parts.append(f"{counted(left_out, 'message')} left out")
    return " · ".join(parts)


def _told(told: int, total: int) -> str:
    return f"{told:,} of {counted(total, 'message')}"


def ending_words(title: str, stop: StopReason, error: AgentError | None) -> str | None:
    """What a turn's notice says of its end; None where the end speaks for itself."""
    match stop:
        case StopReason.AGENT_GONE:
            how = str(error) if error else "ended"
            return f"{title} {how}. What it said is kept; the next prompt starts it again."
        case StopReason.ERROR:
            return f"{title} could not go on: {error}"
        case StopReason.REFUSAL:
            return f"{title} refused to answer this. The next prompt may leave it out."
        case StopReason.INTERRUPTED:
            return f"Catena ended in the middle of this turn; how far {title} came was not seen."
        case StopReason.MAX_TOKENS:
            return "The answer was cut: the model's token limit was reached."
        case StopReason.MAX_TURN_REQUESTS:
            return "The turn was cut: the limit of model requests was reached."
        case StopReason.CANCELLED:
            return "Stopped by you."
        case StopReason.END_TURN | StopReason.NOT_SENT:
            return None


EMPTY_TURN = (
    "{title} ended the turn without a word and without a tool call. The next prompt goes another way."
)


BACK_IN_COMPOSER = " Your text is back in the composer."


def problem_of(title: str, error: AgentError, *, returned: bool) -> Problem:
    """The problem behind an error; ``returned`` says that the prompt's text is back in the composer."""
    back = BACK_IN_COMPOSER if returned else ""
    match error:
        case AgentMissing():
            text = f"{title} cannot be started: {error}.{back} `catena agents` tells how to get it."
            return Problem(Trouble.AGENT_MISSING, text)
        case LoginNeeded():
            return Problem(Trouble.LOGIN_NEEDED, f"{title} wants you to log in first: {error}.{back}")
        case AgentGone(stderr_tail=tail):
            text = f"{title} {error}.{back} The next prompt starts it again."
            return Problem(Trouble.AGENT_GONE, text, tail)
        case AgentSilent():
            return Problem(Trouble.AGENT_SILENT, f"{title} did not answer: {error}.{back}")
        case AgentRefused():
            return Problem(Trouble.REFUSED, f"{title} refused: {error}.{back}")
        case _:
            return Problem(Trouble.NO_CARRIER, f"{title}: {error}.{back}")
