"""What a session kept of turns that did not end well, as a replay of it shows. Pure.

A turn counts as kept only in whole rows: its prompt as a message of its own, its answers with all that we have of them.
What could be another turn's words proves nothing, either way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from catena_acp.context_markers import without_prior_context
from catena_acp.continuity.routing.replay_check import ReplayPiece, Speaker, bare, is_unproven
from catena_store.records import StopReason

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
