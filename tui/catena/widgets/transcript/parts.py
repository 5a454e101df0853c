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

Draw = Callable[[Look], list[Line]]
StyleOf = Callable[[Palette], Style]

_CHUNK_LINES = 200
_CHUNK_CHARACTERS = 8_000


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
    ) -> None:
        self.draw = draw
        self._source = source
        self._size = size  # characters, and newlines among them, to guess the height by
        self._breaks = breaks
        self.lead = lead
        self.joint = joint  # what stands between it and the next part when both are copied
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
    for chunk, joint in _chunks(text):
        draw = partial(_draw_text, chunk, style, indent)
        yield Part(draw, chunk, size=len(chunk), breaks=chunk.count("\n"), lead=lead, joint=joint)
        lead = 0


def code_parts(source: str, info: str, lines: Sequence[str], *, lead: int = 0) -> Iterator[Part]:
    """Make parts of a code block; ``source`` is the block with its fence."""
    code = safe("\n".join(lines))
    safe_lines, rows = code.split("\n"), safe(source).rstrip("\n").split("\n")
    count = len(safe_lines)
    for start in range(0, count, _CHUNK_LINES):
        end = min(count, start + _CHUNK_LINES)
        copied = rows[start + 1 if start else 0 : None if end == count else end + 1]
        draw = partial(_draw_code, code, info, start, end)
        size = sum(map(len, safe_lines[start:end]))
        yield Part(draw, "\n".join(copied), size=size, breaks=end - start - 1, lead=0 if start else lead)


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


def _chunks(text: str) -> Iterator[tuple[str, str]]:
    """Cut a text at line ends, and endless lines at spaces; each part with what stands between it and the next."""
    start, length = 0, len(text)
    while True:
        limit, end, lines = start + _CHUNK_CHARACTERS, start, 0
        while lines < _CHUNK_LINES and (newline := text.find("\n", end, limit)) >= 0:
            end, lines = newline + 1, lines + 1
        if lines < _CHUNK_LINES and length <= limit:
            yield text[start:], "\n"
            return
        if end > start:
            yield text[start : end - 1], "\n"
        else:
            space = text.rfind(" ", start + 1, limit)
            end = space + 1 if space > start else limit
            yield text[start:end], ""
        start = end
