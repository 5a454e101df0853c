"""A history that an agent sends when its session was opened already, told from the answer. Pure.

It begins with a prompt of the person that the session is known to hold, and goes on as the record does. Events are held
back while it does: those up to the last text of the record are no news, and all others are given back, so that nothing
of an answer is lost. Where an answer has begun, only what goes on word by word as the record does is history. An agent
may also say our own prompt back: where that is the same as an earlier one, it is taken for history only if another
message follows upon the answer that is known to it. A prompt without words, a picture say, is known by its answer, and
a tool call behind the last of the known texts by its id and title.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from catena_acp.continuity.routing.prior_context import without_prior_context
from catena_acp.continuity.routing.replay_check import Speaker, bare
from catena_acp.port.session_events import (
    ElicitationRequested,
    Event,
    OtherContent,
    PermissionRequested,
    TextChunk,
    ToolCallChanged,
    TranscriptEvent,
)

_MOST_HELD = 2_000  # events
_Asked = PermissionRequested | ElicitationRequested


@dataclass(frozen=True, slots=True)
class Recorded:
    """A text of the record, which a history may tell."""

    said: Speaker
    text: str
    surely: bool = True  # every history of the session tells it


class LateHistory:
    """The filter of what a session sends that was opened and told nothing of its history."""

    def __init__(self, record: Iterable[Recorded], calls: Mapping[str, str] | None = None) -> None:
        """``record`` is what the session may hold, in its order.

        ``calls`` are the titles by id of the tool calls behind the last text that every history of it tells.
        """
        self._expected = [
            replace(each, text=form) for each in record if (form := bare(_own(each.said, each.text)))
        ]
        self._last_sure = max((at for at, each in enumerate(self._expected) if each.surely), default=-1)
        self._calls = dict(calls or {})
        self._next = 0  # of the expected
        self._held: list[Event] = []
        self._proved = 0  # of the held, from the first on
        self._mark: tuple[Speaker, str | None] | None = None  # of the message that is being told
        self._words = ""  # of that message
        self._matches = False  # as far as it was told, it is the text that is expected next
        self._prompt: str | None = None  # ours
        self._doubtful = False  # all that was told may be our prompt, said back, and its answer
        self._wordless = False  # what was told is a prompt that has no words to be known by
        self._answering = False  # something of an answer was given back
        self._over = not self._expected
        self.found = False  # there was such a history

    @property
    def under_way(self) -> bool:
        """True if some of such a history came, and more of it may."""
        return self.found and not self._over

    def begin(self, prompt: str) -> None:
        """A prompt of the session goes out, with this text."""
        self._prompt = bare(without_prior_context(prompt))
        self._answering = False
        if self.found and self._over:
            self._calls.clear()

    def take(self, event: Event) -> list[Event]:
        """Take an event; those that are known now to be no history are returned, in their order."""
        if not isinstance(event, TranscriptEvent | _Asked):
            return [event]
        if self._over:
            return self._without_calls([event])
        mark = _mark(event)
        if mark is None or mark != self._mark:
            self._end_message()
            self._mark, self._words = mark, ""
        self._held.append(event)
        # By the person, as every history.
        begun = self._proved or self._wordless or self._doubtful or _is_the_persons(event)
        if self._over or not begun or isinstance(event, _Asked) or len(self._held) > _MOST_HELD:
            return self.end()
        if isinstance(event, TextChunk) and mark:
            return self._compared(mark[0], event)
        if isinstance(event, OtherContent) and _is_the_persons(event):
            self._take_wordless()
        return []

    def end(self) -> list[Event]:
        """No more comes for now: returns what was held back and may be an answer."""
        rest, self._held = self._without_calls(self._held[self._proved :]), []
        self._proved, self._mark, self._words = 0, None, ""
        self._matches = self._doubtful = self._wordless = False
        self._answering = self._answering or any(not _is_the_persons(event) for event in rest)
        return rest

    def _without_calls(self, events: list[Event]) -> list[Event]:
        """What is news of these, which come behind what is proved: known calls are not, until anything else comes."""
        for at, event in enumerate(events):
            if not (
                self.found
                and isinstance(event, ToolCallChanged)
                and event.tool_call_id in self._calls
                and event.title in (None, self._calls[event.tool_call_id])
            ):
                self._calls.clear()
                return events[at:]
        return []

    @property
    def _strict(self) -> bool:
        return self._answering or self._wordless or self._next > self._last_sure

    def _compared(self, said: Speaker, event: TextChunk) -> list[Event]:
        if said is Speaker.PERSON:
            self._words += event.text
            self._wordless = False
            self._matches = self._find_prompt() is not None
            return []
        self._words += bare(event.text)
        answers = self._next_answers()
        if self._doubtful:
            answer = self._expected[answers[0]].text
            self._matches = self._words == answer
            return [] if answer.startswith(self._words) else self.end()
        for at in answers:
            answer = self._expected[at].text
            if self._words.startswith(answer):
                return self._told_in(event, at, excess=len(self._words) - len(answer))
            if self._words.endswith(answer) and not self._strict:
                return self._told_in(event, at, excess=0)
        if self._strict and not any(self._expected[at].text.startswith(self._words) for at in answers):
            return self.end()
        return []

    def _told_in(self, event: TextChunk, at: int, *, excess: int) -> list[Event]:
        """An expected answer has come to its end in this chunk."""
        self._mark = None
        cut = _cut(event.text, excess)
        self._held[-1] = replace(event, text=event.text[:cut])
        self._next = at
        self._told(len(self._held))
        # What follows was joined to it on its way.
        return self.take(replace(event, text=event.text[cut:])) if excess else []

    def _end_message(self) -> None:
        """The message that was being told is whole."""
        matches, self._matches = self._matches, False
        if self._mark is None:
            return
        if self._mark[0] is Speaker.PERSON:
            words = bare(without_prior_context(self._words))
            if not words:
                self._take_wordless()
                return
            ours = words == self._prompt
            if matches and (at := self._find_prompt()) is not None:
                self._next = at
            if ours and not (matches and self._proved):
                if matches:
                    self._next += 1
                    self._doubtful = bool(self._next_answers())
                return
        if matches:
            self._doubtful = False
            self._told(len(self._held))

    def _take_wordless(self) -> None:
        """A prompt of the person without words was told: the one whose answer is expected, or ours, said back."""
        if not self._proved and self._next_answers():
            self._wordless, self._doubtful = True, self._prompt == ""

    def _find_prompt(self) -> int | None:
        words = bare(without_prior_context(self._words))
        later = range(self._next, len(self._expected))
        return next(
            (
                at
                for at in later
                if self._expected[at].said is Speaker.PERSON and self._expected[at].text == words
            ),
            None,
        )

    def _told(self, held: int) -> None:
        """So much of what is held back is history, with the text of the record that came next."""
        self._next += 1
        self._proved, self._wordless = held, False
        self.found = True
        self._over = self._next == len(self._expected)

    def _next_answers(self) -> Sequence[int]:
        """The answers that may come next: those before the next prompt."""
        answers = []
        for at in range(self._next, len(self._expected)):
            if self._expected[at].said is not Speaker.AGENT:
                break
            answers.append(at)
        return answers


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
