"""Texts for the end of a turn that is no trouble."""

from __future__ import annotations

from catena_store.records import StopReason


def ending_words(title: str, stop: StopReason, *, stopped: bool = True, rejected: bool = False) -> str | None:
    """The text of a turn's notice; None if the end needs no words, or is worded as a problem.

    ``stopped`` if the person stopped it; ``rejected`` if a permission request was answered with a rejection in it.
    """
    match stop:
        case StopReason.REFUSAL:
            return f"{title} refused to answer. This turn may be omitted from its context."
        case StopReason.INTERRUPTED:
            return f"Catena exited during this turn. {title}'s answer may be incomplete."
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
