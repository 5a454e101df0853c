"""How a prompt's context reaches its session, as one value, and the words for it in a seam and in a price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from catena_acp.continuity.routing.prior_context import PriorContext, is_doubtful
from catena_acp.continuity.wording.counts import counted
from catena_store.records import ContextSource, Turn


@dataclass(frozen=True, slots=True)
class ContextSummary:
    """Summary of a prompt's context: how it gets to the session, and how much is told for that."""

    how: ContextSource
    told: int = 0  # user and agent rows that are told,
    told_total: int = 0  # messages that the session does not know
    tools: int = 0  # tool calls that are listed
    tokens: int = 0  # about: a quarter of the characters of the very text that is sent
    left_out: int = 0
    doubtful: bool = False  # the session may hold what it is told

    @classmethod
    def of_turn(cls, turn: Turn) -> Self:
        """The summary of what a turn's session was told."""
        text = turn.prior_context or ""
        told = (turn.told, turn.told_total, turn.tools_listed)
        return cls(turn.how, *told, _tokens(text), turn.left_out, is_doubtful(text))

    @classmethod
    def of_prior(cls, how: ContextSource, prior: PriorContext | None) -> Self:
        """The summary of what a session is told with a prior context, if there is one."""
        if prior is None:
            return cls(how)
        told = (prior.told, prior.told_total, prior.tools_listed)
        return cls(how, *told, _tokens(prior.text), prior.left_out, is_doubtful(prior.text))

    @property
    def native(self) -> bool:
        """True if nothing is told."""
        return not self.told and not self.tools and not self.left_out

    @property
    def replayed_words(self) -> str:
        """`2 of 14 messages replayed`; `4 missed messages replayed` to a session that goes on.

        Or `2 messages replayed that it may have lost`, if they belong to turns of its own that did not end well.
        """
        goes_on = self.how is ContextSource.CAUGHT_UP
        missed = "missed " if goes_on and not self.doubtful else ""
        part = f"{self.told:,} of " if self.told != self.told_total else ""
        why = " that it may have lost" if goes_on and self.doubtful else ""
        return f"{part}{counted(self.told_total, f'{missed}message')} replayed{why}"

    @property
    def tools_words(self) -> list[str]:
        """`1 tool call listed`, if any is."""
        return [f"{counted(self.tools, 'tool call')} listed"] if self.tools else []


_CHARACTERS_A_TOKEN = 4


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_A_TOKEN)


SHORTENED = "older messages shortened"


def seam_text(
    summary: ContextSummary, cause: str | None, *, abridged: bool = False, again: bool = False
) -> str:
    """The seam's one line: why the way changed, and how the context got to the agent.

    ``abridged``: the session was told the beginning only in part, when it was told. ``again``: it is told once more,
    after a turn that came to nothing.
    """
    how = how_words(summary, again=again)
    if cause and summary.told_total:
        how = how.partition(" · ")[2]
    return " · ".join(filter(None, (cause, f"{how} ({SHORTENED})" if abridged else how)))


def how_words(summary: ContextSummary, *, again: bool = False) -> str:
    """How a turn's context reached the agent; ``again``: a session that was told before and may have heard nothing."""
    match summary.how:
        case ContextSource.CONTINUED:
            session = "same session"
        case ContextSource.CAUGHT_UP if summary.doubtful:
            session = "same session"
        case ContextSource.RESUMED | ContextSource.CAUGHT_UP:
            session = "session resumed"
        case ContextSource.FORKED:
            session = "session forked"
        case ContextSource.FORKED_AT:
            session = "session forked at this point"
        case ContextSource.TOLD | ContextSource.FRESH:
            session = "same session" if again else "new session"
    replayed = [f"{summary.replayed_words}{' again' if again else ''}"] if summary.told_total else []
    return " · ".join((session, *(replayed or summary.tools_words)))


def price_words(summary: ContextSummary, *, abridged: bool = False) -> str:
    """What the next prompt would need, in one line."""
    parts = []
    if summary.native:
        fresh = summary.how is ContextSource.FRESH
        parts.append("new session, nothing to replay" if fresh else "same context, nothing replayed")
    elif summary.told_total:
        parts.append(summary.replayed_words)
    parts += summary.tools_words
    if summary.tokens:
        parts.append(f"~{_rounded(summary.tokens):,} tokens")
    if abridged:
        parts.append(SHORTENED)
    return ", ".join(parts)


def _rounded(tokens: int) -> int:
    """Tokens, rounded to what an estimate by characters is good for."""
    unit = 100 if tokens >= 1_000 else 10 if tokens >= 100 else 1
    return round(tokens / unit) * unit
