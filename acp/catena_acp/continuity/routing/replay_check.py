"""Comparison of what an agent replays with what its session should hold. Pure.

The replay of a session that may be used must hold every prompt and the last answer of each clean turn of the part that
the link vouches for, and no prompt that lies beyond its reach. Agents add things of their own to a replay, split and
join messages and respace text, so texts are compared without white space and found, not matched one to one. Told
messages count as held: they stand in a prior context, quoted, and are looked for in the form in which they were told. A
prompt is a prompt however it begins: only a text that an agent is known to write itself among the person's messages, as
a whole message, is no stranger. A false alarm costs one telling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from catena_acp.continuity.routing.prior_context import harmless, without_prior_context
from catena_acp.continuity.routing.slash_commands import command_name
from catena_acp.port.session_events import Event, TextChunk

_COMPARED = 3_500  # characters of a message; a told one may have lost its middle


class Verdict(Enum):
    """What a replay says about the record."""

    AGREES = "agrees"
    EMPTY = "empty"  # it told nothing at all, although there is something to tell
    CONTRADICTS = "contradicts"


class Speaker(Enum):
    """Speaker of a text that is looked for."""

    PERSON = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Expected:
    """The content of a session according to the record."""

    # Prompts, and each clean turn's last answer, of the part from `unabridged_from` to `knows`.
    holds: Sequence[tuple[Speaker, str]]
    possible: Sequence[str]  # every prompt that it may hold, up to `reach`
    unproven: int = 0  # prompts behind the last of `holds` that may be replayed in other words, or not at all


def is_unproven(prompt: str) -> bool:
    """True for a prompt that proves nothing in a replay, either way.

    Agents do not replay a slash command that they ran themselves, and replay others expanded. Of a prompt without
    words, a picture say, they tell what they like.
    """
    return command_name(prompt) is not None or not _own_form(Speaker.PERSON, prompt)


def verdict(replay: Iterable[Event], expected: Expected, notes: Sequence[str] = ()) -> Verdict:
    """Compare a replay with the record; takes time in proportion to both.

    ``notes`` are patterns of the messages that this agent itself adds to those of the person.
    """
    pieces = pieces_of(replay)
    if expected.holds and not pieces:
        return Verdict.EMPTY
    place = (0, 0)
    for said, text in expected.holds:
        found = _find(said, text, pieces, place)
        if found is None:
            return Verdict.CONTRADICTS
        place = found
    position = place[0] + bool(place[1])
    possible = [form for prompt in expected.possible if (form := _own_form(Speaker.PERSON, prompt))]
    strangers = [
        piece
        for piece in pieces[position:]
        if piece.said is Speaker.PERSON
        and piece.own
        and not any(prompt in piece.own for prompt in possible)
        and not any(re.fullmatch(note, piece.words, re.DOTALL) for note in notes)
    ]
    return Verdict.AGREES if len(strangers) <= expected.unproven else Verdict.CONTRADICTS


@dataclass(frozen=True, slots=True)
class ReplayPiece:
    """What one side of a replay says at a stretch."""

    said: Speaker
    words: str  # as they stand
    own: str  # the same without white space
    told: str  # what was told as prior context with it, without white space
    joined: bool = False  # it may be several prompts


_Place = tuple[int, int]  # a piece, and how much of what was said in it was found


def _find(said: Speaker, text: str, pieces: Sequence[ReplayPiece], place: _Place) -> _Place | None:
    """Where to go on looking: at the same piece after something told, behind it after something said.

    Prompts that follow one another, since the first brought nothing, may be one piece: agents that give their messages
    no ids tell them without a break.
    """
    own, told = _own_form(said, text), _start_of(harmless(text))
    if not own:
        return place
    for at in range(place[0], len(pieces)):
        piece = pieces[at]
        begin = place[1] if at == place[0] else 0
        if not begin and told in piece.told:
            return at, 0
        if piece.said is said and (found := piece.own.find(own, begin)) >= 0:
            return (at, found + len(own)) if piece.joined else (at + 1, 0)
    return None


def pieces_of(replay: Iterable[Event]) -> list[ReplayPiece]:
    """What each side says in a replay, in its order."""
    stretches: list[tuple[Speaker, str | None, list[str]]] = []
    for event in replay:
        if not isinstance(event, TextChunk) or event.role not in ("user", "agent"):
            continue
        said = Speaker(event.role)
        # The agent's messages of one turn are one stretch; each of the person's is one of its own.
        mark = event.message_id if said is Speaker.PERSON else None
        if not stretches or stretches[-1][:2] != (said, mark):
            stretches.append((said, mark, []))
        stretches[-1][2].append(event.text)
    return [_piece(said, "".join(parts), joined=mark is None) for said, mark, parts in stretches]


def _piece(said: Speaker, text: str, *, joined: bool) -> ReplayPiece:
    if said is Speaker.AGENT:
        return ReplayPiece(said, text, bare(text), "")
    words = without_prior_context(text)
    told = bare(text) if words != text.strip() else ""
    return ReplayPiece(said, words, bare(words), told, joined)


def _own_form(said: Speaker, text: str) -> str:
    """A message as it is looked for among what was said: a prompt that quotes our markers is replayed with them."""
    return _start_of(without_prior_context(text) if said is Speaker.PERSON else text)


def _start_of(text: str) -> str:
    return bare(text[:_COMPARED])


def bare(text: str) -> str:
    """A text as it is compared: without white space and quotes, and an `@` that is text as an agent hears it."""
    return "".join(text.split()).replace(">", "").replace("\\@", "@")
