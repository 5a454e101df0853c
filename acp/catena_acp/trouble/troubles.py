"""What can be wrong with a turn, told apart by the agent's codes, data and words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Trouble(StrEnum):
    """What kind of thing went wrong, so that the screen can offer what fits."""

    AGENT_MISSING = "agent_missing"
    AGENT_GONE = "agent_gone"
    AGENT_SILENT = "agent_silent"
    LOGIN_NEEDED = "login_needed"
    RATE_LIMIT = "rate_limit"  # ends by itself, at a time that some agents tell
    CREDIT = "credit"  # money or a monthly cap: ends when somebody pays, or the month does
    OVERLOAD = "overload"  # the model's provider has too much to do
    CONTEXT_FULL = "context_full"  # the session holds more than its model can read
    SESSION_LOST = "session_lost"
    REFUSED = "refused"  # the agent said no, in words that we do not know
    EMPTY_TURN = "empty_turn"
    NO_CARRIER = "no_carrier"  # no session accepted the prompt
    READ_ONLY = "read_only"  # another client holds the conversation
    STORE = "store"
    INTERRUPTED = "interrupted"  # our own end came in the middle of the turn


class Offer(StrEnum):
    """What a person can do about trouble."""

    RETRY = "retry"  # the same prompt again
    WAIT = "wait"  # the same prompt again when the limit ends
    LOGIN = "login"
    OTHER_AGENT = "other_agent"  # go on with another one
    LAST_LINES = "last_lines"  # look at the last lines of the agent's standard error
    TAKE_OVER = "take_over"  # from a client that is gone


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What an agent's error is, as far as its codes and words tell."""

    trouble: Trouble
    resets_at: datetime | None = None  # when the limit ends, where the agent says so
