"""Parts of messages: slices with a height that is estimated until they are drawn, and a cache of drawn rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from rich.segment import Segment
from rich.style import Style

from catena.cells import clusters
from catena.text.safe_text import safe
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, indented
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.drawing.wrapping import wrap_text
from catena.transcript.markdown.markdown import draw_code_lines, highlighted_lines, with_language
from catena_acp.port.images import ImageNote

LINES = 200
_CLUSTER_WINDOW = 64  # characters, more than any grapheme cluster has
_MAX_COUNTED = 256_000  # characters from the origin in which lines are counted


class Slice(NamedTuple):
    """A range of a text, and the separator from the next one."""

    start: int
    end: int
    joint: str = "\n"


class Slicer:
    """Cuts a growing text into slices from ``start`` on, at line ends, and endless lines at spaces.

    A full slice never changes; ``start`` moves to the next one.
    """

    __slots__ = ("_characters", "_origin", "start")

    def __init__(self, start: int, characters: int) -> None:
        self.start = start
        self._origin = start
        self._characters = characters

    def cut(self, text: str, end: int) -> list[Slice]:
        """Return the newly full slices of ``text`` before ``end``; some text is always left."""
        slices: list[Slice] = []
        while (piece := self._next(text, end)) is not None:
            slices.append(piece)
            self.start = piece.end + len(piece.joint)
        return slices

    def _next(self, text: str, end: int) -> Slice | None:
        start = self.start
        limit = min(start + self._characters, end)
        if start - self._origin < _MAX_COUNTED and text.count("\n", start, limit) >= LINES:
            at = start
            for _ in range(LINES):
                at = text.find("\n", at) + 1
            return Slice(start, at - 1) if at < end else None
        if end - start <= self._characters:
            return None
        newline = text.rfind("\n", start, limit + 1)
        if newline >= 0:
            return Slice(start, newline)
        space = text.rfind(" ", start + 1, limit)
        return Slice(start, space + 1 if space > start else _cluster_start(text, start, limit), "")


def _cluster_start(text: str, start: int, limit: int) -> int:
    """Return the start of the grapheme cluster at ``limit``, so that no cluster is cut."""
    begin = max(start, limit - _CLUSTER_WINDOW)
    last = begin + clusters(text[begin : limit + 1])[-1][0]
    return last if last > begin else limit


Draw = Callable[[RenderOptions], list[Line]]
StyleOf = Callable[[Palette], Style]


class Quotable(Protocol):
    """Something of which a text is copied that nobody keeps until then."""

    @property
    def source(self) -> str:
        """The text."""
        ...


@dataclass(frozen=True, slots=True)
class TextRange:
    """A range of a text that grows at its end, copied without the newlines around it."""

    text: Callable[[], str]
    start: int
    end: int | None  # None: the end of the text

    @property
    def source(self) -> str:
        """The text that a copy of this part takes."""
        return self.text()[self.start : self.end].strip("\n")


CHARACTERS = 8_000  # of a slice of text
CODE_CHARACTERS = 24_000  # of a slice of code; 200 lines seldom have as many


class Part:
    """A separately drawn part of a message; its rows include ``lead`` blank ones at the top."""

    __slots__ = (
        "_breaks",
        "_size",
        "_source",
        "draw",
        "heads",
        "height",
        "indent",
        "joint",
        "lead",
        "lines",
        "measured",
        "opens",
        "pictured",
        "provisional",
        "verbatim",
    )

    def __init__(
        self,
        draw: Draw,
        source: str | Quotable,
        *,
        size: int,
        breaks: int,
        lead: int = 0,
        joint: str = "\n",
        verbatim: bool = False,
    ) -> None:
        self.draw = draw
        self._source = source
        self._size = size  # characters, and below newlines among them, to estimate the height
        self._breaks = breaks
        self.lead = lead
        self.joint = joint  # separator from the next part when both are copied
        self.verbatim = verbatim  # drawn character by character as its source
        self.lines: list[Line] | None = None
        self.height = 0
        self.measured = False  # the height was measured at the last width
        self.provisional = False  # drawn before its code was highlighted
        self.heads = False  # ends with a heading: what follows stands directly below
        self.opens = False  # a click on it opens or closes the message
        self.pictured = False  # an image, as far as the terminal has it
        self.indent = 0  # cells

    @property
    def source(self) -> str:
        """The text of the whole part for copying."""
        return self._source if isinstance(self._source, str) else self._source.source

    def estimate(self, width: int) -> int:
        """Estimate the height from the length of the text, and return it."""
        self.lines, self.measured = None, False
        self.height = self.lead + self._breaks + self._size // max(1, width) + 1
        return self.height

    def measure(self, options: RenderOptions) -> list[Line]:
        """Return the lines below the lead, drawn if needed, and set the height."""
        if self.lines is None:
            misses = options.highlights.misses if options.highlights else 0
            self.lines = (
                [indented(line, self.indent) for line in self.draw(options.within(self.indent))]
                if self.indent
                else self.draw(options)
            )
            self.provisional = options.highlights is not None and options.highlights.misses > misses
            self.height = len(self.lines) + self.lead if self.lines else 0
            self.measured = True
        return self.lines


def one_row(line: Callable[[RenderOptions], Line]) -> Part:
    """Make a part of a single row, which copies no text."""
    return Part(lambda options: [line(options)], "", size=0, breaks=0)


def text_parts(text: str, style: StyleOf, *, indent: int = 0, lead: int = 0) -> Iterator[Part]:
    """Make parts of a plain text, each short enough to be drawn at once."""
    slicer = Slicer(0, CHARACTERS)
    full = slicer.cut(text, len(text))
    for start, end, joint in (*full, Slice(slicer.start, len(text))):
        chunk = text[start:end]
        draw = partial(_draw_text, chunk, style, indent)
        breaks = chunk.count("\n")
        yield Part(draw, chunk, size=len(chunk), breaks=breaks, lead=lead, joint=joint, verbatim=True)
        lead = 0


def code_parts(source: str, info: str, lines: Sequence[str], *, lead: int = 0) -> Iterator[Part]:
    """Make parts of a code block; ``source`` is the block with its fence."""
    code = safe("\n".join(lines))
    safe_lines, rows = code.split("\n"), safe(source).rstrip("\n").split("\n")
    count = len(safe_lines)
    for start, end, size in _line_groups(safe_lines):
        copied = rows[start + 1 if start else 0 : None if end == count else end + 1]
        draw = partial(_draw_code, code, info, start, end)
        yield Part(draw, "\n".join(copied), size=size, breaks=end - start - 1, lead=0 if start else lead)


def image_part(message_id: str, note: ImageNote, lead: Callable[[RenderOptions], int]) -> Part:
    """Make the part of an image, so many cells to the right of the text's edge."""
    part = Part(partial(_draw_image, message_id, note, lead), "", size=0, breaks=0, joint="")
    part.pictured = True
    return part


def _draw_image(
    message_id: str, note: ImageNote, lead: Callable[[RenderOptions], int], options: RenderOptions
) -> list[Line]:
    if options.images is None or options.short or options.narrow:
        return []
    before = lead(options)
    room = options.width - before
    return [
        Line(
            [Segment(" " * (before + row.slot.columns))],
            before + row.slot.columns,
            lead=before,
            joint="",
            image=row,
        )
        for row in options.images.rows(message_id, note, room)
    ]


def _line_groups(lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of lines to draw at once, with their number of characters."""
    start = size = 0
    for number, line in enumerate(lines):
        if number - start >= LINES or (size and size + len(line) > CODE_CHARACTERS):
            yield start, number, size
            start, size = number, 0
        size += len(line)
    yield start, len(lines), size


def _draw_text(text: str, style: StyleOf, indent: int, options: RenderOptions) -> list[Line]:
    lines = wrap_text(safe(text), style(options.palette), options.width - indent)
    return add_prefix(lines, LinePrefix(" " * indent, " " * indent, Style.null())) if indent else lines


def _draw_code(code: str, info: str, start: int, end: int, options: RenderOptions) -> list[Line]:
    coloured = highlighted_lines(code, info, options)
    lines = draw_code_lines(code.split("\n")[start:end], coloured[start:end] if coloured else None, options)
    return lines if start else with_language(lines, info, options)


_KEPT_ROWS = 600  # of some 4 KiB each


class RowCache:
    """Cache of parts with drawn rows, least recently used first; heights stay when rows are dropped."""

    def __init__(self) -> None:
        self._rows: OrderedDict[Part, int] = OrderedDict()
        self._total = 0

    def touch(self, part: Part, rows: int) -> None:
        """Mark a part with its number of rows as most recently used."""
        self._total += rows - self._rows.pop(part, 0)
        self._rows[part] = rows

    def evict(self) -> None:
        """Drop the rows of the oldest parts beyond 600 rows, except those of the newest part."""
        while self._total > _KEPT_ROWS and len(self._rows) > 1:
            part, rows = self._rows.popitem(last=False)
            self._total -= rows
            part.lines = None

    def forget(self) -> None:
        """Drop all rows."""
        for part in self._rows:
            part.lines = None
        self._rows.clear()
        self._total = 0

    def drop_provisional(self) -> bool:
        """Drop rows drawn before their code was highlighted; return whether there were any."""
        provisional = [part for part in self._rows if part.provisional]
        for part in provisional:
            part.lines, part.provisional = None, False
        return bool(provisional)
