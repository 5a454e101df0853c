"""The timeline of a replay: what a kept branch did to the screen, step by step, at the times that were kept.

Waits are shortened, and a text grows as fast as its agent wrote it, within what can be read and what is bearable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from catena.text.formats import title_of
from catena_acp.spoken.call import Call, seconds_in
from catena_store.records import Kind, Message, MessageState

LONGEST_WAIT = 2.0  # seconds in which nothing happens
_THOUGHT = 1.0  # seconds before a prompt is typed, and after it is written
_LETTER, _LONGEST_TYPING = 0.045, 3.0  # seconds
_STEP = 0.08  # seconds from one piece of a growing text to the next
_SLOWEST, _FASTEST = 60.0, 600.0  # characters a second
_LONGEST_TEXT = 8.0  # seconds
_PROMPT = 0.6  # seconds from a prompt to what follows it, at least
_END = 2.0  # seconds that the end stands


@dataclass(frozen=True, slots=True)
class Step:
    """A change of the screen, so many seconds after the beginning; what is None stays as it is."""

    at: float
    kept_at: datetime  # when it happened
    message: Message | None = None  # a new one, or another version of one that is there
    typed: str | None = None  # what stands in the composer
    works: bool | None = None
    chapter: str | None = None  # that begins here


@dataclass(frozen=True, slots=True)
class View:
    """The content of the screen after some steps."""

    messages: Mapping[str, Message] = field(default_factory=dict)
    typed: str = ""
    working_since: float | None = None  # seconds after the beginning


@dataclass(frozen=True, slots=True)
class ReplayTimeline:
    """Every step of a replay, in order."""

    steps: Sequence[Step]

    @property
    def length(self) -> float:
        """Seconds from the beginning to the end."""
        return self.steps[-1].at + _END if self.steps else 0.0

    def view(self, count: int) -> View:
        """The content of the screen after the first ``count`` steps."""
        messages: dict[str, Message] = {}
        typed, since = "", None
        for step in self.steps[:count]:
            if step.message is not None:
                messages[step.message.id] = step.message
            if step.typed is not None:
                typed = step.typed
            if step.works is not None:
                since = step.at if step.works else None
        return View(messages, typed, since)

    def chapter_before(self, count: int) -> int:
        """How many steps there are before the last prompt that begins before so many steps; 0 before the first."""
        return max(
            (number for number, step in enumerate(self.steps[: max(0, count)]) if step.chapter), default=0
        )

    def chapter_after(self, count: int) -> int:
        """How many steps there are before the next prompt; all of them behind the last one."""
        following = (number for number, step in enumerate(self.steps) if number > count and step.chapter)
        return next(following, len(self.steps))


def timeline_of(branch: Sequence[Message]) -> ReplayTimeline:
    """The timeline of a branch, whose seams stand above their prompts."""
    return ReplayTimeline(tuple(_Clock().steps(branch)))


class _Clock:
    """The time of the replay, which goes on with each step."""

    def __init__(self) -> None:
        self._at = 0.0
        self._kept: datetime | None = None

    def steps(self, branch: Sequence[Message]) -> Iterator[Step]:
        ends = _ends(branch)
        for number, message in enumerate(branch):
            following = branch[number + 1] if number + 1 < len(branch) else None
            match message.kind:
                case Kind.USER:
                    yield from self._prompt(message)
                case Kind.AGENT | Kind.THOUGHT:
                    yield from self._text(message, following)
                case Kind.TOOL:
                    yield from self._call(message)
                case _:
                    self._wait(message.created_at)
                    yield Step(self._at, message.created_at, message)
            if message.id in ends:
                yield Step(self._at, self._kept or message.created_at, works=False)

    def _prompt(self, message: Message) -> Iterator[Step]:
        kept = message.created_at
        self._at += _THOUGHT if self._kept is not None else 0.0
        title = title_of(message.text)
        letters = len(message.text)
        pieces = max(1, min(letters, int(_LONGEST_TYPING / _LETTER)))
        for piece in range(1, pieces + 1):
            chapter = title if piece == 1 else None
            typed = message.text[: letters * piece // pieces]
            yield Step(self._at, kept, typed=typed, works=False, chapter=chapter)
            self._at += _LETTER
        self._at += _THOUGHT
        yield Step(self._at, kept, message, typed="", works=True)
        self._at += _PROMPT
        self._kept = kept

    def _text(self, message: Message, following: Message | None) -> Iterator[Step]:
        self._wait(message.created_at)
        letters = len(message.text)
        kept = LONGEST_WAIT
        if following is not None and following.kind is not Kind.USER:
            kept = (following.created_at - message.created_at).total_seconds()
        seconds = min(max(kept, letters / _FASTEST), letters / _SLOWEST, _LONGEST_TEXT)
        pieces = max(1, round(seconds / _STEP))
        for piece in range(1, pieces):
            shown = _open(message, message.text[: letters * piece // pieces])
            yield Step(self._at, message.created_at, shown)
            self._at += _STEP
        yield Step(self._at, message.created_at, message)
        self._kept = message.created_at + timedelta(seconds=kept)

    def _call(self, message: Message) -> Iterator[Step]:
        self._wait(message.created_at)
        took = seconds_in(message.data) or 0.0
        if took > 0:
            yield Step(self._at, message.created_at, _begun(message))
            self._at += min(took, LONGEST_WAIT)
        self._kept = message.created_at + timedelta(seconds=took)
        yield Step(self._at, self._kept, message)

    def _wait(self, until: datetime) -> None:
        """Let the time go by that was kept, or less."""
        if self._kept is not None:
            self._at += min(max(0.0, (until - self._kept).total_seconds()), LONGEST_WAIT)
        self._kept = until


def _ends(branch: Sequence[Message]) -> frozenset[str]:
    """The last message of every turn: the one before each prompt, and before its seam."""
    last: list[str] = []
    before: Message | None = None
    for message in branch:
        if message.kind is Kind.USER and before is not None:
            last.append(before.id)
        if message.kind is not Kind.SEAM:
            before = message
    return frozenset((*last, before.id) if before is not None else last)


def _open(message: Message, text: str) -> Message:
    return replace(message, text=text, state=MessageState.OPEN)


def _begun(message: Message) -> Message:
    """A tool call as it stood before it had ended: a change is shown, an output is not."""
    call = Call.of(message)
    kept: Any = [
        part for part in call.content or () if isinstance(part, Mapping) and part.get("type") == "diff"
    ]
    data = {key: value for key, value in message.data.items() if key not in ("ended_at", "raw_output")}
    return replace(message, state=MessageState.OPEN, data={**data, "status": "in_progress", "content": kept})
