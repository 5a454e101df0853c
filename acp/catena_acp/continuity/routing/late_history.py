"""A history that an agent sends behind the first prompt of a session that it loaded, told from the answer. Pure.

It begins with a prompt of the person that the session is known to hold, and goes on as the record does. Events are held
back while it does: those up to the last text of the record are no news, and all others are given back, so that nothing
of an answer is lost. An agent may also say our own prompt back: where that is the same as an earlier one, it is
taken for history only if another message follows upon the answer that is known to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catena_acp.continuity.routing.prior_context import without_prior_context
from catena_acp.continuity.routing.replay_check import Speaker, bare
from catena_acp.port.session_events import (
    ElicitationRequested,
    Event,
    OtherContent,
    PermissionRequested,
    TextChunk,
    TranscriptEvent,
)

_MOST_HELD = 2_000  # events
_Asked = PermissionRequested | ElicitationRequested


class LateHistory:
    """The filter of what a loaded session sends, up to the end of its first turn."""

    def __init__(self, holds: Sequence[tuple[Speaker, str]]) -> None:
        """``holds`` is what the session should hold, by the record."""
        self._expected = [(said, form) for said, text in holds if (form := bare(_own(said, text)))]
        self._next = 0  # of the expected
        self._held: list[Event] = []
        self._proved = 0  # of the held, from the first on
        self._mark: tuple[Speaker, str | None] | None = None  # of the message that is being told
        self._words = ""  # of that message
        self._matches = False  # as far as it was told, it is the text that is expected next
        self._prompt = ""  # ours
        self._doubtful = False  # all that was told may be our prompt, said back, and its answer
        self._over = not self._expected

    @property
    def found(self) -> bool:
        """True if there was such a history."""
        return self._proved > 0

    def begin(self, prompt: str) -> None:
        """The session's first prompt goes out, with this text."""
        self._prompt = bare(without_prior_context(prompt))

    def take(self, event: Event) -> list[Event]:
        """Take an event; those that are known now to be no history are returned, in their order."""
        if self._over or not isinstance(event, TranscriptEvent | _Asked):
            return [event]
        mark = _mark(event)
        if mark is None or mark != self._mark:
            self._end_message()
            self._mark, self._words = mark, ""
        self._held.append(event)
        begun = self._proved or self._doubtful or _is_the_persons(event)  # by the person, as every history
        if self._over or not begun or isinstance(event, _Asked) or len(self._held) > _MOST_HELD:
            return self.end()
        if isinstance(event, TextChunk) and mark:
            return self._compared(mark[0], event)
        return []

    def end(self) -> list[Event]:
        """There is no history, or no more of it; returns what was held back and may be the turn's answer."""
        self._over = True
        rest, self._held = self._held[self._proved :], []
        return rest

    def _compared(self, said: Speaker, event: TextChunk) -> list[Event]:
        if said is Speaker.PERSON:
            self._words += event.text
            self._matches = self._find_prompt() is not None
            return []
        self._words += bare(event.text)
        answer = self._next_answer()
        if answer is None:
            return []
        if self._doubtful:
            self._matches = self._words == answer
            return [] if answer.startswith(self._words) else self.end()
        if self._words.startswith(answer):
            excess = len(self._words) - len(answer)
        elif self._words.endswith(answer):
            excess = 0
        else:
            return []
        self._mark = None
        cut = _cut(event.text, excess)
        self._held[-1] = replace(event, text=event.text[:cut])
        self._told(len(self._held))
        # What follows was joined to it on its way.
        return self.take(replace(event, text=event.text[cut:])) if excess else []

    def _end_message(self) -> None:
        """The message that was being told is whole."""
        matches, self._matches = self._matches, False
        if self._mark is None:
            return
        if self._mark[0] is Speaker.PERSON:
            ours = bare(without_prior_context(self._words)) == self._prompt
            if matches and (at := self._find_prompt()) is not None:
                self._next = at
            if ours and not (matches and self._proved):
                self._next += 1
                self._doubtful = matches and self._next_answer() is not None
                self._over = not self._doubtful
                return
        if matches:
            self._doubtful = False
            self._told(len(self._held))

    def _find_prompt(self) -> int | None:
        words = bare(without_prior_context(self._words))
        later = range(self._next, len(self._expected))
        return next((at for at in later if self._expected[at] == (Speaker.PERSON, words)), None)

    def _told(self, held: int) -> None:
        """So much of what is held back is history, with the text of the record that came next."""
        self._next += 1
        self._proved = held
        self._over = self._next == len(self._expected)

    def _next_answer(self) -> str | None:
        if self._next == len(self._expected):
            return None
        said, text = self._expected[self._next]
        return text if said is Speaker.AGENT else None


def _own(said: Speaker, text: str) -> str:
    return without_prior_context(text) if said is Speaker.PERSON else text


def _mark(event: Event) -> tuple[Speaker, str | None] | None:
    """What the pieces of one message have in common; None for what is no message."""
    if not isinstance(event, TextChunk) or event.role not in ("user", "agent"):
        return None
    return Speaker(event.role), event.message_id


def _is_the_persons(event: Event) -> bool:
    return isinstance(event, TextChunk | OtherContent) and event.role == "user"


def _cut(text: str, characters: int) -> int:
    """Where the last so many characters begin that are compared."""
    at = len(text)
    while characters:
        at -= 1
        characters -= len(bare(text[at]))
    return at
