"""A recording of the screen: frames with their times, and chapters; as an asciicast of version 3.

The format: https://docs.asciinema.org/manual/asciicast/v3/
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.color import ColorSystem
from rich.segment import Segment
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip

from catena.terminal.painter.painter import Painter
from catena.text.safe_text import safe_line

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
