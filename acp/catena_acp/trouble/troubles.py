"""Kinds of trouble with a turn, what a person can do about them, and the diagnosis of an error. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Trouble(StrEnum):
    """Kind of a problem with a turn."""

    AGENT_MISSING = "agent_missing"
    AGENT_GONE = "agent_gone"
    AGENT_SILENT = "agent_silent"
    LOGIN_NEEDED = "login_needed"
    RATE_LIMIT = "rate_limit"  # ends by itself, at a time that some agents name
    CREDIT = "credit"  # credit or a monthly cap is used up
    OVERLOAD = "overload"  # the model's provider is overloaded
    CONTEXT_FULL = "context_full"  # the session is longer than the model's context
    SESSION_LOST = "session_lost"
    REFUSED = "refused"  # an error of unknown kind
    EMPTY_TURN = "empty_turn"
    NO_CARRIER = "no_carrier"  # no session accepted the prompt
    READ_ONLY = "read_only"  # another client holds the conversation
    STORE = "store"
    INTERRUPTED = "interrupted"  # Catena ended in the middle of the turn


class Offer(StrEnum):
    """Action offered to the person for a problem."""

    RETRY = "retry"  # the same prompt again
    WAIT = "wait"  # the same prompt again after the limit's reset
    LOGIN = "login"
    OTHER_AGENT = "other_agent"  # continue with another agent
    LAST_LINES = "last_lines"  # show the last lines of the agent's standard error
    TAKE_OVER = "take_over"  # take the conversation over from a dead client


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The trouble behind an agent's error."""

    trouble: Trouble
    resets_at: datetime | None = None  # reset time of the limit, where the agent names it
