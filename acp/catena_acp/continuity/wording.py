"""What a person is told when the context's way changed, and when a turn's end does not speak for itself.

What happened, what it means, what can be done; in that order, in one line.
"""

from __future__ import annotations

from catena_store.records import ContextSource, Link, StopReason


def counted(number: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def agent_and_profile(link: Link) -> str:
    """A link's agent, with its profile where it has one."""
    return f"{link.agent} ({link.profile})" if link.profile else link.agent


def seam_text(
    how: ContextSource,
    cause: str | None,
    *,
    told: int,
    told_total: int,
    tools_listed: int,
    left_out: int,
    abridged: bool = False,
    again: bool = False,
) -> str:
    """The seam's one line.

    ``abridged``: the session was told the beginning only in part, when it was told. ``again``: it is told once more,
    after a turn that came to nothing.
    """
    parts = [cause] if cause else []
    parts.append(how_words(how, told, told_total, again=again))
    if abridged:
        parts.append(ABRIDGED)
    if tools_listed:
        parts.append(f"{counted(tools_listed, 'tool call')} listed")
    if left_out:
        parts.append(f"{counted(left_out, 'message')} left out")
    return " · ".join(parts)


ABRIDGED = "what it was told earlier is abridged"


def how_words(how: ContextSource, told: int, told_total: int, *, again: bool = False) -> str:
    """How a turn's context reached the agent; ``again``: a session that was told before and may have heard nothing."""
    session = "same session" if again else "new session"
    match how:
        case ContextSource.CONTINUED:
            return "same session"
        case ContextSource.RESUMED:
            return "session resumed · nothing told again"
        case ContextSource.FORKED:
            return "forked session · nothing told again"
        case ContextSource.FORKED_AT:
            return "session forked at this point · nothing told again"
        case ContextSource.CAUGHT_UP:
            return f"caught up with {_told(told, told_total)}"
        case ContextSource.TOLD:
            return f"{session} · told {_told(told, told_total)}"
        case ContextSource.FRESH:
            return f"{session} · nothing to tell"


def _told(told: int, total: int) -> str:
    return f"{told:,} of {counted(total, 'message')}"


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
