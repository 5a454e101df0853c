"""Is what an agent replays what its session should hold? Pure.

The replay of a session that may be used must hold every prompt and the last answer of each clean turn of the part
that the link vouches for, and no prompt that lies beyond its reach. Agents add things of their own to a replay,
split and join messages and respace text, so texts are compared without white space and found, not matched one to
one. What was told counts as held: it stands in a prior context, quoted. A false alarm costs one telling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from catena_acp.conversation.prior_context import without_prior_context
from catena_acp.events import Event, TextChunk

_SPACE_AND_QUOTES = re.compile(r"[\s>]+")
_COMPARED = 3_500  # characters of a message; a told one may have lost its middle
# What agents were seen to put among the person's messages when they replay.
_INJECTED = re.compile(
    r"^(<|\[Request interrupted|\[Function Response|\[Image|This session is being continued|Caveat:)"
)


class Verdict(Enum):
    """What a replay says about the record."""

    AGREES = "agrees"
    EMPTY = "empty"  # it told nothing at all, although there is something to tell
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the record says that a session holds."""

    prompts: Sequence[str]  # of the part from `whole` to `knows`, oldest first
    answers: Sequence[str]  # the last agent message of each clean turn in it
    possible: Sequence[str]  # further prompts it may hold, up to `reach`


def verdict(replay: Iterable[Event], expected: Expected) -> Verdict:
    """Compare a replay with the record."""
    read = _read(replay)
    if not expected.prompts and not expected.answers:
        return Verdict.AGREES if _nothing_beyond(read.said, expected) else Verdict.CONTRADICTS
    if not read.said and not read.everything:
        return Verdict.EMPTY
    position = 0
    for prompt in map(_bare, expected.prompts):
        found = next((at for at in range(position, len(read.raw)) if prompt in read.raw[at]), None)
        if found is None:
            return Verdict.CONTRADICTS
        position = found
    if any(_bare(answer) not in read.everything for answer in expected.answers):
        return Verdict.CONTRADICTS
    return Verdict.AGREES if _nothing_beyond(read.said[position + 1 :], expected) else Verdict.CONTRADICTS


def _nothing_beyond(said: Sequence[str], expected: Expected) -> bool:
    possible = [_bare(prompt) for prompt in expected.possible]
    return all(not text or any(prompt in text for prompt in possible) for text in said)


@dataclass(frozen=True, slots=True)
class _Read:
    """A replay's texts, without white space."""

    raw: Sequence[str]  # the person's messages, with what was told before them
    said: Sequence[str]  # the same without what was told; empty for what an agent put there
    everything: str


def _read(replay: Iterable[Event]) -> _Read:
    prompts: list[tuple[str | None, list[str]]] = []
    answered: list[str] = []
    previous: str | None = None
    for event in replay:
        if not isinstance(event, TextChunk):
            previous = None
            continue
        if event.role == "user":
            if previous != "user" or prompts[-1][0] != event.message_id:
                prompts.append((event.message_id, []))
            prompts[-1][1].append(event.text)
        elif event.role == "agent":
            answered.append(event.text)
        previous = event.role
    texts = ["".join(parts) for _, parts in prompts]
    raw = [_all_bare(text) for text in texts]
    said = [_all_bare(_own_words(text)) for text in texts]
    return _Read(raw, said, "\n".join([*raw, _all_bare("".join(answered))]))


def _own_words(text: str) -> str:
    words = without_prior_context(text)
    return "" if _INJECTED.match(words) else words


def _bare(text: str) -> str:
    return _all_bare(text[:_COMPARED])


def _all_bare(text: str) -> str:
    return _SPACE_AND_QUOTES.sub("", text)
