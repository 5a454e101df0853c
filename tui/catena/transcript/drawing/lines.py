"""Lines of the transcript, with what is drawn and what is copied of them, and their prefixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from catena.cells import cell_len

if TYPE_CHECKING:  # exports read messages without Textual
    from textual.strip import Strip

    from catena.terminal.images import ImageSlot

MARKS = 2  # cells of a column's left margin, for marks


@dataclass(frozen=True, slots=True)
class ImageRow:
    """A row of an image, in the place of blanks behind the line's ``lead``; number None: the terminal has it not."""

    slot: ImageSlot
    row: int
    number: int | None

    @property
    def number_bytes(self) -> tuple[int, int, int]:
        """The number as red, green and blue."""
        red, green, blue = (self.number or 0).to_bytes(3, "big")
        return red, green, blue


@dataclass(slots=True)
class Line:
    """A row of a message's body.

    The drawn row begins with ``lead`` characters of decoration that cannot be selected; ``text`` is the copy of the
    rest, of the same length wherever a part of the row can be copied.
    """

    segments: list[Segment]
    cells: int
    text: str = ""  # the copy of the whole row
    lead: int = 0
    joint: str = "\n"  # separator from the next row when both are copied
    mark: str = ""  # in the left margin; never copied
    mark_style: Style | None = None
    note: tuple[Segment, ...] = ()  # at the right edge, where there is room; never copied
    ground: Style | None = None  # of the whole column; None: the screen's
    padded: bool = False  # the ground reaches half a row into the blank rows above and below
    image: ImageRow | None = None
    tabs: Sequence[tuple[int, int]] = ()  # where a tab of the source is drawn as blanks behind the lead
    # Composed with its gutter, at ``strip_key``.
    strip: Strip | None = field(default=None, compare=False, repr=False)
    strip_key: object = field(default=None, compare=False, repr=False)

    @property
    def shown(self) -> str:
        """The row as it is drawn, decoration included."""
        return "".join([segment.text for segment in self.segments])

    @property
    def note_cells(self) -> int:
        """The width of the note."""
        return sum(segment.cell_length for segment in self.note)

    def copied(self, start: int, end: int) -> str:
        """Return the copy of the characters from ``start`` to ``end`` of the selectable part."""
        content = self.shown[self.lead :]
        if start <= 0 and end >= len(content):
            return self.text
        return with_tabs(content, self.tabs, max(0, start), max(0, end)) if self.text else ""


def with_tabs(drawn: str, tabs: Sequence[tuple[int, int]], start: int, end: int) -> str:
    """Return what is drawn from ``start`` to ``end`` with its tabs instead of the blanks that were drawn for them."""
    pieces: list[str] = []
    for begin, after in tabs:
        if start <= begin < end:
            pieces += (drawn[start:begin], "\t")
            start = after
    return "".join([*pieces, drawn[start:end]])


def blank() -> Line:
    """Return an empty row."""
    return Line([], 0)


def line_of(*pieces: tuple[str, Style], text: str | None = None, lead: int = 0) -> Line:
    """Return a row of styled pieces; its copy is ``text``, by default what is drawn after ``lead``."""
    segments = [Segment(piece, style) for piece, style in pieces if piece]
    shown = "".join([segment.text for segment in segments])
    return Line(segments, cell_len(shown), shown[lead:].rstrip() if text is None else text, lead)


def on_ground(lines: Iterable[Line], ground: Style, *, padded: bool = False) -> list[Line]:
    """Give rows a ground over the whole column; ``padded`` as in `Line`."""
    result = list(lines)
    for line in result:
        line.ground, line.padded = ground, padded
    return result


def with_mark(lines: Iterable[Line], mark: str, style: Style, *, first: bool = False) -> list[Line]:
    """Put a mark into the left margin of rows, or of the first one alone."""
    result = list(lines)
    for line in result[:1] if first else result:
        line.mark, line.mark_style = mark, style
    return result


def indented(line: Line, cells: int) -> Line:
    """Return a row further to the right, its mark in the last two of the ``cells``."""
    pieces = [Segment(" " * (cells - MARKS)), Segment(line.mark.ljust(MARKS), line.mark_style)]
    segments = [*(piece for piece in pieces if piece.text), *line.segments]
    return replace(
        line,
        segments=segments,
        cells=line.cells + cells,
        lead=line.lead + cells,
        mark="",
        mark_style=None,
        strip=None,
    )


@dataclass(frozen=True, slots=True)
class LinePrefix:
    """Prefix of the rows of a list item, a quotation or an indented block."""

    first: str
    rest: str
    style: Style
    first_source: str | None = None  # None for decoration
    rest_source: str | None = None


def add_prefix(lines: Iterable[Line], mark: LinePrefix) -> list[Line]:
    """Return ``lines`` with ``mark`` before each one."""
    result: list[Line] = []
    shown, copied = mark.first, mark.first_source
    for line in lines:
        text, lead = line.text, line.lead
        tabs = line.tabs
        if copied is not None and lead == 0:
            text = copied + text if text else copied.rstrip()
            tabs = [(begin + len(shown), after + len(shown)) for begin, after in tabs]
        else:
            lead += len(shown)
        segments = [Segment(shown, mark.style), *line.segments] if shown else line.segments
        cells = line.cells + cell_len(shown)
        drawn = replace(line, segments=segments, cells=cells, text=text, lead=lead, tabs=tabs, strip=None)
        result.append(drawn)
        shown = mark.rest
        # A row that continues a wrapped one is not a line of the source.
        copied = mark.rest_source if line.joint == "\n" else None
    return result
