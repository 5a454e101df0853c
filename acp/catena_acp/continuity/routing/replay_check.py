"""What a replay shows of a session: whether it holds what it should, and what it kept of turns that were cut. Pure.

The replay of a session that may be used must hold every prompt and the last answer of each clean turn of the part that
the link vouches for, and no prompt that lies beyond its reach. Agents add things of their own to a replay, split and
join messages and respace text, so texts are compared without white space and found, not matched one to one. Told
messages count as held: they stand in a prior context, quoted, and are looked for in the form in which they were told. A
prompt is a prompt however it begins: only a text that an agent is known to write itself among the person's messages, as
a whole message, is no stranger. A false alarm costs one telling.

A turn that did not end well counts as kept only in whole rows: its prompt as a message of its own, its answers with all
that we have of them. What could be another turn's words proves nothing, either way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum

from catena_acp.context_markers import without_prior_context
from catena_acp.continuity.routing.prior_context import harmless
from catena_acp.continuity.routing.slash_commands import command_name
from catena_acp.port.session_events import Event, TextChunk
from catena_store.records import StopReason

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


_JOINED = 4  # prompts that follow one another in one message, at most


class KeptPart(IntEnum):
    """How much of a turn a session kept."""

    NOTHING = 0
    PROMPT = 1
    ALL = 2


class BadEnd(StrEnum):
    """The kinds of end after which agents keep more or less of a turn."""

    STOPPED = "stopped"
    ERROR = "error"
    KILLED = "killed"


def bad_end(stop: StopReason | None) -> BadEnd | None:
    """The kind of a bad end; None for one of which nothing is learnt."""
    match stop:
        case StopReason.CANCELLED:
            return BadEnd.STOPPED
        case StopReason.ERROR:
            return BadEnd.ERROR
        case StopReason.AGENT_GONE:
            return BadEnd.KILLED
        case _:
            return None


@dataclass(frozen=True, slots=True)
class BadTurn:
    """A turn that did not end well, as it stands in the record."""

    id: str
    end: BadEnd | None
    prompt_id: str
    prompt: str
    answers: Sequence[tuple[str, str]]  # its answer rows, by id, and their texts
    plain: bool  # nothing but these: no tool call, nothing said into it
    told: bool  # prior context went out with its prompt

    @property
    def last_id(self) -> str:
        """Its last row that counts."""
        return self.answers[-1][0] if self.answers else self.prompt_id


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """What a replay shows of a turn: the session kept this at least, and that at most."""

    turn: BadTurn
    least: KeptPart
    most: KeptPart
    with_told: bool  # what was told with its prompt is there, if anything was

    @property
    def row_id(self) -> str | None:
        """The row to which the session surely holds the branch; None where nothing is proved."""
        if self.least is KeptPart.NOTHING or not self.with_told:
            return None
        return self.turn.last_id if self.least is KeptPart.ALL and self.turn.plain else self.turn.prompt_id


def shown_of(
    turns: Sequence[BadTurn], prompts: Sequence[str], pieces: Sequence[ReplayPiece], notes: Sequence[str] = ()
) -> list[ShownTurn]:
    """What a replay shows of these turns, in their order; one that proves nothing either way is left out.

    ``prompts`` are all that the session may hold, in their order; ``notes`` are patterns of the agent's own messages
    among the person's.
    """
    forms = [_form(prompt) for prompt in prompts]
    often = Counter(forms)
    shown = []
    for turn in turns:
        form = _form(turn.prompt)
        if not is_unproven(turn.prompt) and often[form] == 1:
            found = _shown(turn, form, forms, pieces, notes)
            if found is not None:
                shown.append(found)
    return shown


def _shown(
    turn: BadTurn, form: str, forms: Sequence[str], pieces: Sequence[ReplayPiece], notes: Sequence[str]
) -> ShownTurn | None:
    theirs = [at for at, piece in enumerate(pieces) if piece.said is Speaker.PERSON]
    most_after = KeptPart.ALL if not turn.answers or not turn.plain else KeptPart.PROMPT
    for at in theirs:
        piece = pieces[at]
        with_told = bool(piece.told) or not turn.told
        if piece.own == form:
            said = _answer_behind(at, pieces, notes)
            if turn.answers and all(bare(text) in said for _, text in turn.answers):
                return ShownTurn(turn, KeptPart.ALL, KeptPart.ALL, with_told)
            return ShownTurn(turn, KeptPart.PROMPT, most_after, with_told)
        if piece.joined and _is_joined(piece.own, form, forms):
            # The answer behind it may be the other prompt's.
            return ShownTurn(turn, KeptPart.PROMPT, most_after, with_told and not turn.told)
    if any(form in pieces[at].own for at in theirs):
        return None  # it may be a part of another message, or be told with something of the agent's own
    return ShownTurn(turn, KeptPart.NOTHING, KeptPart.NOTHING, False)


def _answer_behind(at: int, pieces: Sequence[ReplayPiece], notes: Sequence[str]) -> str:
    """What the agent says behind a prompt, up to the next one."""
    said = []
    for piece in pieces[at + 1 :]:
        if piece.said is Speaker.AGENT:
            said.append(piece.own)
        elif not any(re.fullmatch(note, piece.words, re.DOTALL) for note in notes):
            break
    return "".join(said)


def _is_joined(own: str, form: str, forms: Sequence[str]) -> bool:
    """True if these are words of prompts that follow one another, this one among them."""
    at = forms.index(form)
    return any(
        own == "".join(forms[first:end])
        for first in range(max(0, at - _JOINED), at + 1)
        for end in range(at + 1, min(len(forms), first + _JOINED) + 1)
    )


def _form(prompt: str) -> str:
    return bare(without_prior_context(prompt))
