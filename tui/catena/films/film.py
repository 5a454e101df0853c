"""A film: what a kept branch did to the screen, step by step, and the frames and chapters that are recorded of it.

Waits are shortened, and a text grows as fast as its agent wrote it, within what can be read and what is bearable. The
format of a recording: https://docs.asciinema.org/manual/asciicast/v3/
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from rich.color import ColorSystem
from rich.segment import Segment
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip

from catena.terminal.painter.painter import Painter
from catena.text.formats import title_of
from catena.text.safe_text import safe_line
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


_HIDE_CURSOR, _SHOW_CURSOR, _HOME = "\x1b[?25l", "\x1b[?25h", "\x1b[H"


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """The rows that the screen showed from a time on, in milliseconds from the beginning."""

    at: int
    rows: tuple[Strip, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of a recording, from a time on in milliseconds."""

    at: int
    title: str


@dataclass
class Recording:
    """Frames of one size, in their order; a frame that shows the same as the one before it is left out."""

    columns: int
    rows: int
    frames: list[RecordedFrame] = field(default_factory=list)
    chapters: list[Chapter] = field(default_factory=list)
    length: int = 0  # milliseconds

    def add(self, rows: Sequence[Strip]) -> None:
        """Add what the screen shows now."""
        shown = tuple(map(_visible, rows))
        if self.frames and self.frames[-1].rows == shown:
            return
        if self.frames and self.frames[-1].at == self.length:
            self.frames.pop()  # nobody sees it
        self.frames.append(RecordedFrame(self.length, shown))

    def begin(self, title: str) -> None:
        """Begin a chapter."""
        self.chapters.append(Chapter(self.length, title))

    def stay(self, seconds: float) -> None:
        """Let the last frame stand for some time."""
        self.length += round(seconds * 1000)


def rows_of(app: App[Any]) -> list[Strip]:
    """The rows that an app's screen shows, with what shines through from the screens below it."""
    # Textual has no public way to the rows of a screen; its own screenshots are made like this.
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert isinstance(update, LayoutUpdate)
    return [Strip.join(list(row)) for row in update.strips]


def _visible(row: Strip) -> Strip:
    """A row without what nobody sees: links, and what a click does."""
    pieces = [Segment(text, style and style.clear_meta_and_links()) for text, style, _ in row]
    return Strip(pieces, row.cell_length).simplify()


def asciicast(recording: Recording, *, title: str, foreground: str, background: str) -> Iterator[str]:
    """The lines of the recording as an asciicast, with a marker at each chapter; only cells that change are in it.

    Titles are anybody's words, and players write them to terminals.
    """
    theme = {"fg": foreground, "bg": background, "palette": ":".join([background, *[foreground] * 7])}
    term = {
        "cols": recording.columns,
        "rows": recording.rows,
        "type": "xterm-256color",
        "theme": theme,
    }
    yield _line({"version": 3, "term": term, "title": safe_line(title)})
    painter = Painter(erases_with_background=False)
    size = Region(0, 0, recording.columns, recording.rows)
    chapters = ((chapter.at, 0, chapter) for chapter in recording.chapters)
    frames = ((frame.at, 1, frame) for frame in recording.frames)
    chapters = ((chapter.at, 0, chapter) for chapter in recording.chapters)
    frames = ((frame.at, 1, frame) for frame in recording.frames)
    events = sorted([*chapters, *frames], key=lambda event: event[:2])
    before = 0
    begun = False
    for at, _, event in events:
        match event:
            case Chapter(title=named):
                yield _line([(at - before) / 1000, "m", safe_line(named)])
            case RecordedFrame(rows=rows):
                written = painter.paint(
                    LayoutUpdate([[row] for row in rows], size), ColorSystem.TRUECOLOR, (0, 0)
                )
                yield _line([(at - before) / 1000, "o", f"{'' if begun else _HIDE_CURSOR}{written}{_HOME}"])
                begun = True
        before = at
    yield _line([(recording.length - before) / 1000, "o", f"\x1b[0m{_SHOW_CURSOR}"])


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")) + "\n"
