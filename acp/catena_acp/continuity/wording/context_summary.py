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
    tools_left_out: int = 0
    shortened: int = 0  # of the messages that are told
    masked: int = 0  # secrets, in what is told of tool calls
    doubtful: bool = False  # the session may hold what it is told

    @classmethod
    def of_turn(cls, turn: Turn) -> Self:
        """The summary of what a turn's session was told."""
        return cls._of(turn.how, turn, turn.prior_context or "")

    @classmethod
    def of_prior(cls, how: ContextSource, prior: PriorContext | None) -> Self:
        """The summary of what a session is told with a prior context, if there is one."""
        return cls(how) if prior is None else cls._of(how, prior, prior.text)

    @classmethod
    def _of(cls, how: ContextSource, told: Turn | PriorContext, text: str) -> Self:
        return cls(
            how,
            told.told,
            told.told_total,
            told.tools_listed,
            _tokens(text),
            told.left_out,
            told.tools_left_out,
            told.shortened,
            told.masked,
            is_doubtful(text),
        )

    @property
    def native(self) -> bool:
        """True if nothing is told."""
        return not (self.told or self.tools or self.left_out or self.tools_left_out)

    def replayed_words(self, *, again: bool = False) -> list[str]:
        """`2 of 14 messages replayed`, `1 shortened`; to a session that goes on `4 missed messages replayed`.

        Or `2 messages replayed that it may have lost`, if they belong to turns of its own that did not end well.
        """
        if not self.told_total:
            return []
        goes_on = self.how is ContextSource.CAUGHT_UP
        missed = "missed " if goes_on and not self.doubtful else ""
        part = f"{self.told:,} of " if self.told != self.told_total else ""
        why = " that it may have lost" if goes_on and self.doubtful else " again" if again else ""
        replayed = f"{part}{counted(self.told_total, f'{missed}message')} replayed{why}"
        return [replayed, f"{self.shortened:,} shortened"] if self.shortened else [replayed]

    @property
    def tools_words(self) -> list[str]:
        """`1 tool call listed`, if any is."""
        return [f"{counted(self.tools, 'tool call')} listed"] if self.tools else []

    @property
    def left_out_words(self) -> list[str]:
        """`2 tool calls left out`, if any is; of how many messages some were replayed says the same of those."""
        number = self.tools_left_out
        return [f"{counted(number, 'tool call')} left out"] if number else []


_CHARACTERS_A_TOKEN = 4


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_A_TOKEN)


SHORTENED = "older messages shortened"
NEVER_REPLAYED = "no thoughts, images or long output"  # of what calls brought, the first lines are


def seam_text(
    summary: ContextSummary,
    cause: str | None,
    *,
    opened: ContextSource | None = None,
    abridged: bool = False,
    again: bool = False,
) -> str:
    """The seam's one line: why the way changed, and how the context got to the agent.

    ``opened``: how the session came to what it held before it was told the rest. ``abridged``: it was told the
    beginning only in part, when it was told. ``again``: it is told once more, after a turn that came to nothing.
    """
    session, told = _how(summary, opened, again)
    how = told if cause and summary.told_total else " · ".join(filter(None, (session, told)))
    return " · ".join(filter(None, (cause, f"{how} ({SHORTENED})" if abridged else how)))


_NOT_REOPENED = (ContextSource.CONTINUED, ContextSource.FORKED, ContextSource.FORKED_AT)


def how_words(summary: ContextSummary, *, opened: ContextSource | None = None, again: bool = False) -> str:
    """How a turn's context reached the agent; ``opened`` and ``again`` as of ``seam_text``."""
    return " · ".join(filter(None, _how(summary, opened, again)))


def _how(summary: ContextSummary, opened: ContextSource | None, again: bool) -> tuple[str, str]:
    """What session it was, and what that was told."""
    caught_up = summary.how is ContextSource.CAUGHT_UP
    match opened if caught_up and opened in _NOT_REOPENED else summary.how:
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
    told = [*(summary.replayed_words(again=again) or summary.tools_words), *summary.left_out_words]
    return session, ", ".join(told)


def price_words(
    summary: ContextSummary, *, reason: str = "", abridged: bool = False, all_of_it: bool = True
) -> str:
    """The price of the next prompt, in one line; ``reason``: why it is not as expected.

    ``all_of_it``: including the parts that are never replayed.
    """
    return ", ".join(price_clauses(summary, reason=reason, abridged=abridged, all_of_it=all_of_it))


def price_clauses(
    summary: ContextSummary, *, reason: str = "", abridged: bool = False, all_of_it: bool = True
) -> list[str]:
    """The same, clause by clause, the most important first."""
    parts = []
    if summary.native:
        fresh = summary.how is ContextSource.FRESH
        parts += ["new session", "nothing to replay"] if fresh else ["same context", "nothing replayed"]
    parts += (*summary.replayed_words(), *summary.tools_words, *summary.left_out_words)
    if reason:
        parts.insert(2 if summary.native else 1, f"since {reason}")
    if summary.tokens:
        parts.append(f"~{_rounded(summary.tokens):,} tokens")
    if not summary.native and all_of_it:
        parts.append(NEVER_REPLAYED)
    if abridged:
        parts.append(SHORTENED)
    return parts


def _rounded(tokens: int) -> int:
    """Tokens, rounded to what an estimate by characters is good for."""
    unit = 100 if tokens >= 1_000 else 10 if tokens >= 100 else 1
    return round(tokens / unit) * unit
