"""Words for counts, agents and the ends of turns.

What happened, what it means, what can be done; in that order, in one line.
"""

from __future__ import annotations

from catena_store.records import Link, StopReason


def counted(number: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def agent_and_profile(link: Link) -> str:
    """A link's agent, with its profile where it has one."""
    return f"{link.agent} ({link.profile})" if link.profile else link.agent


def ending_words(title: str, stop: StopReason) -> str | None:
    """What a turn's notice says of an end that is no trouble; None where the end speaks for itself."""
    match stop:
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
        case StopReason.END_TURN | StopReason.NOT_SENT | StopReason.AGENT_GONE | StopReason.ERROR:
            return None


BACK_IN_COMPOSER = " Your text is back in the composer."
