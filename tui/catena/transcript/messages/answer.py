"""An answer: Markdown that grows at its end. What was read is never drawn again but at its last block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from catena.text.safe_text import safe
from catena.transcript.drawing.highlight import MAX_CHARACTERS, MAX_LINES
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.drawing.wrapping import lay_plain
from catena.transcript.markdown.code import draw_code_lines
from catena.transcript.markdown.markdown import References, draw_markdown, references_in
from catena.transcript.markdown.splitter import Fence, MarkdownSplitter, Piece
from catena.transcript.messages.parts import (
    CHARACTERS,
    CODE_CHARACTERS,
    Draw,
    Part,
    Slice,
    Slicer,
    StyleOf,
    code_parts,
    indented,
)

_NO_NEWLINE = re.compile(r"[^\n]")
_MARK = re.compile(r"`+|~+")


class LongBlock:
    """The block that begins at ``start`` of a text. A slice that is full is never drawn anew because of growth.

    ``first`` is the index of its first part among the parts of the answer.
    """

    code = False
    _characters = CHARACTERS

    def __init__(self, text: Callable[[], str], start: int, *, first: int, lead: int) -> None:
        self.start = start
        self.first = first
        self._text = text
        self._lead = lead
        self._slicer = Slicer(self._body(start), self._characters)
        self._begun = False  # there is a full slice

    @property
    def at(self) -> int:
        """Where in the text the rest begins that is no full slice."""
        return self._slicer.start

    def full(self, end: int) -> list[Part]:
        """Return the parts that have become full before ``end``."""
        if not self._begun:
            self._slicer = Slicer(self._body(self.at), self._characters)
        parts = []
        for piece in self._slicer.cut(self._text(), end):
            draw = partial(self._draw, piece.start, piece.end)
            parts.append(self._part(draw, piece, self._copied_from(piece.start), piece.end))
            self._begun = True
        return parts

    def rest(self, end: int, *, copied_to: int | None = None) -> Part:
        """Return the part of what is left before ``end``; copied, it reaches to ``copied_to``, the end for None."""
        start = self.at
        draw = partial(self._draw, start, end) if end + self.code > start else _nothing
        return self._part(draw, Slice(start, max(start, end)), self._copied_from(start), copied_to)

    def growing(self, end: int) -> Part:
        """Return the part of what is left while it grows."""
        return self.rest(end)

    def fits(self, end: int) -> bool:
        """Tell whether all slices are of a block that ends at ``end``: its last line may have begun another one."""
        return not self._begun or self.at < self.end_before(end) + 2 * self.code

    def end_before(self, end: int) -> int:
        """Return where what is drawn of a block ends that ends at ``end``."""
        return self.at + len(self._text()[self.at : end].rstrip("\n"))

    def _body(self, at: int) -> int:
        """Return where drawing begins, from ``at`` on."""
        begun = _NO_NEWLINE.search(self._text(), at)
        return len(self._text()) if begun is None else begun.start()

    def _copied_from(self, start: int) -> int:
        return start

    def _part(self, draw: Draw, piece: Slice, copied_from: int, copied_to: int | None) -> Part:
        copied = partial(self._slice, copied_from, copied_to)
        breaks = self._text().count("\n", piece.start, piece.end)
        return Part(
            draw,
            copied,
            size=piece.end - piece.start,
            breaks=breaks,
            lead=0 if self._begun else self._lead,
            joint=piece.joint,
            verbatim=not self.code,
        )

    def _slice(self, start: int, end: int | None) -> str:
        return self._text()[start:end].strip("\n")

    def _draw(self, start: int, end: int, look: RenderOptions) -> list[Line]:
        raise NotImplementedError


class LongProse(LongBlock):
    """Text whose Markdown is not worth its price."""

    def __init__(self, text: Callable[[], str], start: int, *, first: int, lead: int, style: StyleOf) -> None:
        super().__init__(text, start, first=first, lead=lead)
        self._style = style

    def _draw(self, start: int, end: int, look: RenderOptions) -> list[Line]:
        return lay_plain(safe(self._text()[start:end]), self._style(look.palette), look.width)


class LongCode(LongBlock):
    """A fenced block, its code without colours."""

    code = True
    _characters = CODE_CHARACTERS

    def __init__(self, text: Callable[[], str], start: int, *, first: int, lead: int) -> None:
        super().__init__(text, start, first=first, lead=lead)
        self._open: _OpenCode | None = None

    def growing(self, end: int) -> Part:
        if self._open is None or self._open.start != self.at:
            self._open = _OpenCode(self._text, self.at)
        piece = Slice(self.at, max(self.at, end))
        return self._part(self._open.draw, piece, self._copied_from(self.at), None)

    def end_before(self, end: int) -> int:
        text, body = self._text(), self._body(self.start)
        end -= text.endswith("\n", body, end)
        last = max(body, text.rfind("\n", body, end) + 1)
        mark = _MARK.match(text, self.start)
        closed = mark is not None and Fence(mark[0], 0).closed_by(text[last:end])
        return last - 1 if closed else end

    def _body(self, at: int) -> int:
        return at if at > self.start else self._text().index("\n", at) + 1

    def _copied_from(self, start: int) -> int:
        return start if self._begun else self.start

    def _draw(self, start: int, end: int, look: RenderOptions) -> list[Line]:
        return draw_code_lines(safe(self._text()[start:end]).split("\n"), None, look)


class _OpenCode:
    """The end of a block of code that is not closed yet; a line once drawn is kept."""

    def __init__(self, text: Callable[[], str], start: int) -> None:
        self.start = start
        self._text = text
        self._drawn: list[Line] = []
        self._read = start
        self._look: RenderOptions | None = None

    def draw(self, look: RenderOptions) -> list[Line]:
        text = self._text()
        if look != self._look:
            self._look, self._drawn, self._read = look, [], self.start
        end = text.rfind("\n", self._read) + 1
        if end > self._read:
            rows = safe(text[self._read : end - 1]).split("\n")
            self._drawn += draw_code_lines(rows, None, look)
            self._read = end
        last = text[self._read :]
        may_close = last.strip(" ")[:1] in "`~" and not last.strip(" `~")
        return [*self._drawn, *([] if may_close else draw_code_lines([safe(last)], None, look))]


def _nothing(look: RenderOptions) -> list[Line]:
    return []


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
        self._cutter = MarkdownSplitter()
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

    def _draw_prose(self, start: int, end: int, look: RenderOptions) -> list[Line]:
        return draw_markdown(self.text[start:end], look, self._style(look.palette), self._references)

    def _draw_tail(self, look: RenderOptions) -> list[Line]:
        tail = self.text[self._cutter.start :]
        undecided = _UNDECIDED.search(tail, max(0, len(tail) - _HOLD_AT_MOST)) if self._hold else None
        self.holding = undecided is not None
        if undecided is not None:
            tail = tail[: undecided.start()]
        look = RenderOptions(
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
    return source.lstrip()[0] in "[>" and not draw_markdown(source, RenderOptions(80, Palette.plain()))


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
