"""Texts for the end of a turn that is no trouble, and for a call of the model that the agent tries again."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from catena_acp.port.session_events import ModelRetried, RetryReason
from catena_store.records import StopReason

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
