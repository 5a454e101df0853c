"""How turns come to their end, and what of it is trouble. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from catena_acp.conversation.news import Problem
from catena_acp.conversation.problems import empty_turn, problem_about, problem_in_words, problem_of
from catena_acp.errors import AgentError, AgentRefused
from catena_acp.events import PromptEnded
from catena_acp.troubles import Trouble
from catena_store.records import StopReason


class NotKept(AgentError):
    """The store does not take what the agent says; it was asked to stop."""


class RefusedAtOnce(Exception):
    """The agent refused the prompt before any update of the turn: it may go out once more."""

    def __init__(self, error: AgentRefused) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn came to its end."""

    stop: StopReason
    error: AgentError | None = None
    answer: PromptEnded | None = None


def problem_of_end(
    ending: Ending, title: str, *, answered: bool, only_words: str | None, now: datetime
) -> Problem | None:
    """What was wrong with a turn, if anything was that a person can do something about.

    ``only_words`` is all that the agent said in it, where that is little enough to be an error.
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
    """What becomes of a tool call that its turn's end leaves open."""
    return "cancelled" if stop is StopReason.CANCELLED else "unknown"
