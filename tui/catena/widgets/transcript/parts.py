"""The parts that messages are drawn in: each has a height that is guessed until it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.style import Style

from catena.safe_text import safe
from catena.widgets.transcript.code import colours, draw_code_lines
from catena.widgets.transcript.flow import lay_plain
from catena.widgets.transcript.lines import Line, Mark, marked
from catena.widgets.transcript.look import Look
from catena.widgets.transcript.palette import Palette
from catena.widgets.transcript.slices import LINES, Slice, Slicer

Draw = Callable[[Look], list[Line]]
StyleOf = Callable[[Palette], Style]

CHARACTERS = 8_000  # of a slice of text
CODE_CHARACTERS = 24_000  # of a slice of code: 200 lines of it are seldom as many


class Part:
    """A piece of a message that is drawn by itself. Rows in it count from its ``lead`` blank ones."""

    __slots__ = (
        "_breaks",
        "_size",
        "_source",
        "draw",
        "height",
        "joint",
        "lead",
        "lines",
        "provisional",
        "settled",
        "verbatim",
    )

    def __init__(
        self,
        draw: Draw,
        source: str | Callable[[], str],
        *,
        size: int,
        breaks: int,
        lead: int = 0,
        joint: str = "\n",
        verbatim: bool = False,
    ) -> None:
        self.draw = draw
        self._source = source
        self._size = size  # characters, and newlines among them, to guess the height by
        self._breaks = breaks
        self.lead = lead
        self.joint = joint  # what stands between it and the next part when both are copied
        self.verbatim = verbatim  # what is drawn of it is its source, character by character
        self.lines: list[Line] | None = None
        self.height = 0
        self.settled = False  # the height is true for the width it was last drawn at
        self.provisional = False  # drawn while the colours of its code were not known

    @property
    def source(self) -> str:
        """What the part is when it is copied whole."""
        return self._source if isinstance(self._source, str) else self._source()

    def guess(self, width: int) -> int:
        """Set the height to what the length of the text lets expect, and return it."""
        self.lines, self.settled = None, False
        self.height = self.lead + self._breaks + self._size // max(1, width) + 1
        return self.height

    def settle(self, look: Look) -> list[Line]:
        """Return the rows below the lead, drawn if they are not there; the height is true after this."""
        if self.lines is None:
            misses = look.colouring.misses if look.colouring else 0
            self.lines = self.draw(look)
            self.provisional = look.colouring is not None and look.colouring.misses > misses
            self.height = len(self.lines) + self.lead if self.lines else 0
            self.settled = True
        return self.lines


def one_row(line: Callable[[Look], Line], source: str, *, lead: int = 0) -> Part:
    """Make a part of a single row."""
    return Part(lambda look: [line(look)], source, size=0, breaks=0, lead=lead)


def text_parts(text: str, style: StyleOf, *, indent: int = 0, lead: int = 0) -> Iterator[Part]:
    """Make parts of a text that is drawn as it stands, each short enough to be drawn at once."""
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


def _line_groups(lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield from which line to which to draw at once, and how many characters that is."""
    start = size = 0
    for number, line in enumerate(lines):
        if number - start >= LINES or (size and size + len(line) > CODE_CHARACTERS):
            yield start, number, size
            start, size = number, 0
        size += len(line)
    yield start, len(lines), size


def indented(draw: Draw, indent: int) -> Draw:
    """Return a drawing that is set in by ``indent`` cells."""
    mark = Mark(" " * indent, " " * indent, Style.null())
    return lambda look: marked(draw(look.within(indent)), mark)


def _draw_text(text: str, style: StyleOf, indent: int, look: Look) -> list[Line]:
    lines = lay_plain(safe(text), style(look.palette), look.width - indent)
    return marked(lines, Mark(" " * indent, " " * indent, Style.null())) if indent else lines


def _draw_code(code: str, info: str, start: int, end: int, look: Look) -> list[Line]:
    coloured = colours(code, info, look)
    return draw_code_lines(code.split("\n")[start:end], coloured[start:end] if coloured else None, look)
