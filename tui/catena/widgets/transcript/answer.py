"""An answer: Markdown that grows at its end. What was read is never drawn again but at its last block."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from catena.safe_text import safe
from catena.widgets.transcript.colouring import MAX_CHARACTERS, MAX_LINES
from catena.widgets.transcript.lines import Line
from catena.widgets.transcript.long_block import LongBlock, LongCode, LongProse
from catena.widgets.transcript.look import Look
from catena.widgets.transcript.markdown import References, draw_markdown, references_in
from catena.widgets.transcript.palette import Palette
from catena.widgets.transcript.parts import Part, StyleOf, code_parts, indented
from catena.widgets.transcript.pieces import Cutter, Fence, Piece

# What there may be without a place to cut, beyond which the Markdown in it is not worth its price.
_MAX_PROSE = 48_000  # characters
_MAX_ROWS = 1000
_MAX_BRACKETS = 2000
_MAX_LINE = 24_000  # characters of a line of code that is coloured
_MAX_DEFINING = 48_000  # characters in which definitions of links are read
_MAX_SILENT = 500  # blocks at the beginning of which nothing is drawn
_DEFINITION = re.compile(r"^[ \t>*+\-\d.)]*\[[^\]]{1,999}\]:", re.MULTILINE)
# The end of a growing text that would mean something else one character later: an underline that is about to become a
# list, the marker of one, a fence, the head of a table.
_UNDECIDED = re.compile(
    r"(?:^|\n)(?: {0,3}(?:=+|-+|\*+|_+|\++|#+|`+|~+|\d{1,9}[.)]?)|\|[^\n]*(?:\n\|?[ :|-]*)?)$"
)
_HOLD_AT_MOST = 400


class Answer:
    """The parts of a Markdown text. While it grows only the last part changes."""

    def __init__(self, text: str, *, growing: bool, style: StyleOf, indent: int = 0, lead: int = 0) -> None:
        self.text = ""
        self.parts: list[Part] = []
        self.growing = growing
        self.holding = False  # some of the end is not shown, because it may still mean something else
        self._hold = True
        self._style = style
        self._indent = indent
        self._lead = lead
        self._cutter = Cutter()
        self._references: References = {}
        self._defining: list[Piece] = []  # with definitions of links
        self._silent = 0  # blocks at the beginning of which nothing is drawn
        self._carriage = ""
        self._solid = 0  # where the last character is that is no newline, and one further
        self._first = 0  # the first part that is another one since the last call
        self._tail: Part | None = None
        self._long: LongBlock | None = None  # what is not finished, where it is code or long
        if growing:
            self.grow(text)
        else:
            self.text = _newlines(text)
            self._finish()

    def grow(self, text: str) -> int:
        """Add ``text`` at the end; return the index of the first part that is another one now."""
        text = self._carriage + text
        self._carriage = "\r" if text.endswith("\r") else ""
        text = _newlines(text.removesuffix("\r"))
        if solid := len(text.rstrip("\n")):
            self._solid = len(self.text) + solid
        self.text += text
        self._hold = True
        self._take_off_tail()
        for piece in self._cutter.feed(self.text):
            self._add(piece)
        self._add_tail()
        return self._first

    def release(self) -> int:
        """Hold nothing back of the text as it is; return the index of the first part that is another one now."""
        self._hold = False
        self._take_off_tail()
        self._add_tail()
        return self._first

    def finish(self) -> int:
        """The text is whole. Return the index of the first part that is another one now."""
        self.growing = False
        self.text += "\n" if self._carriage else ""
        self._take_off_tail()
        return 0 if self._finish() else self._first

    def _finish(self) -> bool:
        self.holding = False
        for piece in self._cutter.finish(self.text):
            self._add(piece)
        # A definition of a link may stand below its use: then everything that may use it is drawn anew.
        if self._defining:
            self._references = references_in(safe(self.text[a:b]) for a, b in self._most_defining())
            for part in self.parts:
                part.lines, part.settled = None, False
        return bool(self._references)

    def _most_defining(self) -> Iterable[tuple[int, int]]:
        size = 0
        for piece in self._defining:
            size += piece.end - piece.start
            if size > _MAX_DEFINING:
                return
            yield piece.start, piece.end

    def _take_off_tail(self) -> None:
        self._first = len(self.parts)
        if self._tail is not None:
            self._drop(len(self.parts) - 1)
            self._tail = None

    def _drop(self, first: int) -> None:
        del self.parts[first:]
        self._first = min(self._first, first)

    def _lead_of_next(self) -> int:
        return 1 if self.parts else self._lead

    def _add(self, piece: Piece) -> None:
        begun = self._begun_at(piece.start, code=piece.fence)
        self._long = None
        if piece.plain or (
            not self._is_short(piece) if piece.fence else self._is_long(piece.start, piece.end)
        ):
            self._add_long(piece, begun)
            return
        if begun is not None:
            self._drop(begun.first)
        source = self.text[piece.start : piece.end]
        if piece.fence:
            info, lines = fenced(source)
            self._put(code_parts(source, info, lines, lead=self._lead_of_next()))
            return
        if _DEFINITION.search(source) is not None:
            self._defining.append(piece)
        size = len(source.strip())
        if not size:
            return
        if not self.parts and self._silent < _MAX_SILENT and _silent(source):
            self._silent += 1
            return
        breaks = source.rstrip().count("\n")
        draw = partial(self._draw_prose, piece.start, piece.end)
        copied = partial(self._slice, piece.start, piece.end)
        lead = 0 if piece.joined else self._lead_of_next()
        self._put((Part(draw, copied, size=size, breaks=breaks, lead=lead),))

    def _add_long(self, piece: Piece, begun: LongBlock | None) -> None:
        """Add a block that is drawn as it stands; what was drawn of it while it grew stays."""
        if begun is not None and not begun.fits(piece.end):
            self._drop(begun.first)
            begun = None
        block = begun or self._begin_long(piece.start, code=piece.fence, joined=piece.joined)
        end = block.end_before(piece.end)
        if block.code or end > block.at:
            self._put(block.full(end))
            self._put((block.rest(end, copied_to=piece.end),))

    def _add_tail(self) -> None:
        start, code = self._cutter.start, self._cutter.in_fence
        begun = self._begun_at(start, code=code)
        if begun is None and (code or self._cutter.plain or self._is_long(start, len(self.text))):
            begun = self._long = self._begin_long(start, code=code, joined=self._cutter.joined)
        if begun is not None:
            self.holding = False
            self._put(begun.full(self._solid if not code else len(self.text)))
            self._tail = begun.growing(self._solid if not code else len(self.text))
        else:
            self._tail = Part(
                self._draw_tail,
                partial(self._slice, start, None),
                size=len(self.text) - start,
                breaks=self.text.count("\n", start),
                lead=0 if self._cutter.joined else self._lead_of_next(),
            )
        self._put((self._tail,))

    def _begun_at(self, start: int, *, code: bool) -> LongBlock | None:
        """Return what was begun of the block at ``start``; what turned out to be another one is taken away."""
        begun = self._long
        if begun is not None and (begun.start, begun.code) != (start, code):
            self._drop(begun.first)
            begun = self._long = None
        return begun

    def _begin_long(self, start: int, *, code: bool, joined: bool) -> LongBlock:
        first, lead = len(self.parts), 0 if joined else self._lead_of_next()
        if code:
            return LongCode(self._whole, start, first=first, lead=lead)
        return LongProse(self._whole, start, first=first, lead=lead, style=self._style)

    def _whole(self) -> str:
        return self.text

    def _is_long(self, start: int, end: int) -> bool:
        if end - start > _MAX_PROSE:
            return True
        rows, brackets = self.text.count("\n", start, end), self.text.count("[", start, end)
        return rows > _MAX_ROWS or brackets > _MAX_BRACKETS

    def _is_short(self, piece: Piece) -> bool:
        """Tell whether a block of code may be coloured."""
        start, end = piece.start, piece.end
        if end - start > MAX_CHARACTERS or self.text.count("\n", start, end) > MAX_LINES:
            return False
        return max(map(len, self.text[start:end].split("\n"))) <= _MAX_LINE

    def _put(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if self._indent:
                part.draw = indented(part.draw, self._indent)
            self.parts.append(part)

    def _slice(self, start: int, end: int | None) -> str:
        return self.text[start:end].strip("\n")

    def _draw_prose(self, start: int, end: int, look: Look) -> list[Line]:
        return draw_markdown(self.text[start:end], look, self._style(look.palette), self._references)

    def _draw_tail(self, look: Look) -> list[Line]:
        tail = self.text[self._cutter.start :]
        undecided = _UNDECIDED.search(tail, max(0, len(tail) - _HOLD_AT_MOST)) if self._hold else None
        self.holding = undecided is not None
        if undecided is not None:
            tail = tail[: undecided.start()]
        look = Look(
            look.width, look.palette, look.narrow, look.directory
        )  # code in it stays plain while it grows
        return draw_markdown(tail, look, self._style(look.palette))


def fenced(source: str) -> tuple[str, list[str]]:
    """Return what the first line of a fenced block says, and the block's lines; its end may be missing."""
    first, *lines = source.removesuffix("\n").split("\n")
    mark = first[: len(first) - len(first.lstrip(first[0]))]
    if lines and Fence(mark, 0).closed_by(lines[-1]):
        lines.pop()
    return first[len(mark) :], lines


def _silent(source: str) -> bool:
    """A text of which nothing is drawn, such as definitions of links."""
    return source.lstrip()[0] in "[>" and not draw_markdown(source, Look(80, Palette.plain()))


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
