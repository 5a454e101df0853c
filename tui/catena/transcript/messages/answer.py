"""An answer or thought as parts: Markdown that grows at its end, of which only the last block is drawn again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from catena.text.safe_text import safe
from catena.transcript.drawing.highlight import MAX_CHARACTERS, MAX_LINES
from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.drawing.wrapping import wrap_text
from catena.transcript.markdown.markdown import (
    References,
    draw_code_lines,
    draw_markdown,
    parser,
    references_in,
)
from catena.transcript.markdown.splitter import Fence, MarkdownSplitter, Piece
from catena.transcript.messages.parts import (
    CHARACTERS,
    CODE_CHARACTERS,
    Draw,
    Part,
    Slice,
    Slicer,
    StyleOf,
    TextRange,
    code_parts,
)

_NO_NEWLINE = re.compile(r"[^\n]")
_MARK = re.compile(r"`+|~+")


class LongBlock:
    """A long block that begins at ``start`` of a text, drawn in slices; a full slice is never drawn again.

    ``first`` is the index of its first part in the answer.
    """

    code = False
    _characters = CHARACTERS

    def __init__(self, text: Callable[[], str], start: int, *, first: int, lead: int) -> None:
        self.start = start
        self.first = first
        self._text = text
        self._lead = lead
        self._slicer = Slicer(self._body(start), self._characters)
        self._has_full_slice = False

    @property
    def at(self) -> int:
        """The end of the full slices in the text."""
        return self._slicer.start

    def full_parts(self, end: int) -> list[Part]:
        """Return the parts of newly full slices before ``end``."""
        if not self._has_full_slice:
            self._slicer = Slicer(self._body(self.at), self._characters)
        parts = []
        for piece in self._slicer.cut(self._text(), end):
            draw = partial(self._draw, piece.start, piece.end)
            parts.append(self._part(draw, piece, self._source_start(piece.start), piece.end))
            self._has_full_slice = True
        return parts

    def last_part(self, end: int, *, source_end: int | None = None) -> Part:
        """Return the last part, drawn up to ``end`` and copied up to ``source_end``, the end of the text for None."""
        start = self.at
        draw = partial(self._draw, start, end) if end + self.code > start else _draw_nothing
        return self._part(draw, Slice(start, max(start, end)), self._source_start(start), source_end)

    def growing(self, end: int) -> Part:
        """Return the last part while the block grows."""
        return self.last_part(end)

    def covers(self, end: int) -> bool:
        """Return whether all slices lie in a block that ends at ``end``; its last line may begin another block."""
        return not self._has_full_slice or self.at < self.drawn_end(end) + 2 * self.code

    def drawn_end(self, end: int) -> int:
        """Return the end of the drawn text of a block that ends at ``end``."""
        return self.at + len(self._text()[self.at : end].rstrip("\n"))

    def _body(self, at: int) -> int:
        """Return the start of the drawn text from ``at`` on."""
        begun = _NO_NEWLINE.search(self._text(), at)
        return len(self._text()) if begun is None else begun.start()

    def _source_start(self, start: int) -> int:
        return start

    def _part(self, draw: Draw, piece: Slice, source_start: int, source_end: int | None) -> Part:
        copied = TextRange(self._text, source_start, source_end)
        breaks = self._text().count("\n", piece.start, piece.end)
        return Part(
            draw,
            copied,
            size=piece.end - piece.start,
            breaks=breaks,
            lead=0 if self._has_full_slice else self._lead,
            joint=piece.joint,
            verbatim=not self.code,
        )

    def _draw(self, start: int, end: int, options: RenderOptions) -> list[Line]:
        raise NotImplementedError


class LongProse(LongBlock):
    """A block too long to be parsed as Markdown, drawn as plain text."""

    def __init__(self, text: Callable[[], str], start: int, *, first: int, lead: int, style: StyleOf) -> None:
        super().__init__(text, start, first=first, lead=lead)
        self._style = style

    def _draw(self, start: int, end: int, options: RenderOptions) -> list[Line]:
        return wrap_text(safe(self._text()[start:end]), self._style(options.palette), options.width)


class LongCode(LongBlock):
    """A long fenced block, without highlighting."""

    code = True
    _characters = CODE_CHARACTERS

    def __init__(self, text: Callable[[], str], start: int, *, first: int, lead: int) -> None:
        super().__init__(text, start, first=first, lead=lead)
        self._open: _OpenCodeBlock | None = None

    def growing(self, end: int) -> Part:
        if self._open is None or self._open.start != self.at:
            self._open = _OpenCodeBlock(self._text, self.at)
        piece = Slice(self.at, max(self.at, end))
        return self._part(self._open.draw, piece, self._source_start(self.at), None)

    def drawn_end(self, end: int) -> int:
        text, body = self._text(), self._body(self.start)
        end -= text.endswith("\n", body, end)
        last = max(body, text.rfind("\n", body, end) + 1)
        mark = _MARK.match(text, self.start)
        closed = mark is not None and Fence(mark[0], 0).closed_by(text[last:end])
        return last - 1 if closed else end

    def _body(self, at: int) -> int:
        return at if at > self.start else self._text().index("\n", at) + 1

    def _source_start(self, start: int) -> int:
        return start if self._has_full_slice else self.start

    def _draw(self, start: int, end: int, options: RenderOptions) -> list[Line]:
        return draw_code_lines(safe(self._text()[start:end]).split("\n"), None, options)


class _OpenCodeBlock:
    """The end of an open code block; drawn lines are kept."""

    def __init__(self, text: Callable[[], str], start: int) -> None:
        self.start = start
        self._text = text
        self._drawn: list[Line] = []
        self._read = start
        self._options: RenderOptions | None = None

    def draw(self, options: RenderOptions) -> list[Line]:
        text = self._text()
        if options != self._options:
            self._options, self._drawn, self._read = options, [], self.start
        end = text.rfind("\n", self._read) + 1
        if end > self._read:
            rows = safe(text[self._read : end - 1]).split("\n")
            self._drawn += draw_code_lines(rows, None, options)
            self._read = end
        last = text[self._read :]
        may_close = last.strip(" ")[:1] in "`~" and not last.strip(" `~")
        return [*self._drawn, *([] if may_close else draw_code_lines([safe(last)], None, options))]


def _draw_nothing(options: RenderOptions) -> list[Line]:
    return []


# Limits of a piece beyond which it is not parsed as Markdown.
_MAX_PROSE = 48_000  # characters
_MAX_ROWS = 1000
_MAX_BRACKETS = 2000
_MAX_LINE = 24_000  # characters of a highlighted line of code
_MAX_DEFINITIONS = 48_000  # characters searched for link definitions
_MAX_INVISIBLE = 500  # blocks at the beginning that may draw nothing
_DEFINITION = re.compile(r"^[ \t>*+\-\d.)]*\[[^\]]{1,999}\]:", re.MULTILINE)
# The end of a growing text that may change its meaning with the next character: an underline or list marker, a fence,
# the head of a table.
_UNDECIDED = re.compile(
    r"(?:^|\n)(?: {0,3}(?:=+|-+|\*+|_+|\++|#+|`+|~+|\d{1,9}[.)]?)|\|[^\n]*(?:\n\|?[ :|-]*)?)$"
)
_HOLD_AT_MOST = 400
_MAYBE_HEADING_AT_END = re.compile(
    r"(?:^|\n) {0,3}(?:#{1,6}(?:[ \t][^\n]*)?|\S[^\n]*\n {0,3}(?:=+|-+)[ \t]*)\s*\Z"
)


class AnswerParts:
    """The parts of a Markdown text; while it grows only the last one changes."""

    def __init__(self, text: str, *, growing: bool, style: StyleOf) -> None:
        self.text = ""
        self.parts: list[Part] = []
        self.growing = growing
        self.has_held_text = False  # the end is not drawn yet, since its meaning may change
        self._hold_back = True
        self._style = style
        self._splitter = MarkdownSplitter()
        self._references: References = {}
        self._definitions: list[Piece] = []  # pieces with link definitions
        self._invisible_blocks = 0  # blocks at the beginning that draw nothing
        self._pending_return = ""
        self._text_end = 0  # end of the text without trailing newlines
        self._first_changed = 0  # index of the first part changed by the current call
        self._tail: Part | None = None
        self._open_block: LongBlock | None = None  # the unfinished block, where it is code or long
        if growing:
            self.grow(text)
        else:
            self.text = _normalize_newlines(text)
            self._finish()

    def grow(self, text: str) -> int:
        """Append ``text``; return the index of the first changed part."""
        text = self._pending_return + text
        self._pending_return = "\r" if text.endswith("\r") else ""
        text = _normalize_newlines(text.removesuffix("\r"))
        if solid := len(text.rstrip("\n")):
            self._text_end = len(self.text) + solid
        # CPython grows a text in place where a name of the function alone has it: a long one is not copied each time.
        grown, self.text = self.text, ""
        grown += text
        self.text = grown
        self._hold_back = True
        self._remove_tail()
        for piece in self._splitter.feed(self.text):
            self._add(piece)
        self._add_tail()
        return self._first_changed

    def release(self) -> int:
        """Draw the held-back end; return the index of the first changed part."""
        self._hold_back = False
        self._remove_tail()
        self._add_tail()
        return self._first_changed

    def finish(self) -> int:
        """Finish the text; return the index of the first changed part."""
        self.growing = False
        self.text += "\n" if self._pending_return else ""
        self._remove_tail()
        return 0 if self._finish() else self._first_changed

    def _finish(self) -> bool:
        self.has_held_text = False
        for piece in self._splitter.finish(self.text):
            self._add(piece)
        # A link definition may follow its use, so all parts are drawn again.
        if self._definitions:
            self._references = references_in(safe(self.text[a:b]) for a, b in self._definition_ranges())
            for part in self.parts:
                part.lines, part.measured = None, False
        return bool(self._references)

    def _definition_ranges(self) -> Iterable[tuple[int, int]]:
        size = 0
        for piece in self._definitions:
            size += piece.end - piece.start
            if size > _MAX_DEFINITIONS:
                return
            yield piece.start, piece.end

    def _remove_tail(self) -> None:
        self._first_changed = len(self.parts)
        if self._tail is not None:
            self._remove_from(len(self.parts) - 1)
            self._tail = None

    def _remove_from(self, first: int) -> None:
        del self.parts[first:]
        self._first_changed = min(self._first_changed, first)

    def _next_lead(self, *, code: bool = False) -> int:
        if not self.parts or (self.parts[-1].heads and not code):
            return 0
        return 1

    def _add(self, piece: Piece) -> None:
        begun = self._open_block_at(piece.start, code=piece.fence)
        self._open_block = None
        if piece.plain or (
            not self._is_short(piece) if piece.fence else self._is_long(piece.start, piece.end)
        ):
            self._add_long(piece, begun)
            return
        if begun is not None:
            self._remove_from(begun.first)
        source = self.text[piece.start : piece.end]
        if piece.fence:
            info, lines = parse_fence(source)
            self.parts += code_parts(source, info, lines, lead=self._next_lead(code=True))
            return
        if _DEFINITION.search(source) is not None:
            self._definitions.append(piece)
        size = len(source.strip())
        if not size:
            return
        if not self.parts and self._invisible_blocks < _MAX_INVISIBLE and _is_invisible(source):
            self._invisible_blocks += 1
            return
        breaks = source.rstrip().count("\n")
        passage = _AnswerRange(self, piece.start, piece.end)
        lead = 0 if piece.joined else self._next_lead()
        part = Part(passage, passage, size=size, breaks=breaks, lead=lead)
        part.heads = _ends_with_heading(source)
        self.parts.append(part)

    def _add_long(self, piece: Piece, begun: LongBlock | None) -> None:
        """Add a long block, keeping the slices drawn while it grew."""
        if begun is not None and not begun.covers(piece.end):
            self._remove_from(begun.first)
            begun = None
        block = begun or self._begin_long(piece.start, code=piece.fence, joined=piece.joined)
        end = block.drawn_end(piece.end)
        if block.code or end > block.at:
            self.parts += block.full_parts(end)
            self.parts.append(block.last_part(end, source_end=piece.end))

    def _add_tail(self) -> None:
        start, code = self._splitter.start, self._splitter.in_fence
        begun = self._open_block_at(start, code=code)
        if begun is None and (code or self._splitter.plain or self._is_long(start, len(self.text))):
            begun = self._open_block = self._begin_long(start, code=code, joined=self._splitter.joined)
        if begun is not None:
            self.has_held_text = False
            self.parts += begun.full_parts(self._text_end if not code else len(self.text))
            self._tail = begun.growing(self._text_end if not code else len(self.text))
        else:
            self._tail = Part(
                self._draw_tail,
                TextRange(self._get_text, start, None),
                size=len(self.text) - start,
                breaks=self.text.count("\n", start),
                lead=0 if self._splitter.joined else self._next_lead(),
            )
        self.parts.append(self._tail)

    def _open_block_at(self, start: int, *, code: bool) -> LongBlock | None:
        """Return the open block at ``start``; an open block that turned out to be another one is removed."""
        begun = self._open_block
        if begun is not None and (begun.start, begun.code) != (start, code):
            self._remove_from(begun.first)
            begun = self._open_block = None
        return begun

    def _begin_long(self, start: int, *, code: bool, joined: bool) -> LongBlock:
        first, lead = len(self.parts), 0 if joined else self._next_lead(code=code)
        if code:
            return LongCode(self._get_text, start, first=first, lead=lead)
        return LongProse(self._get_text, start, first=first, lead=lead, style=self._style)

    def _get_text(self) -> str:
        return self.text

    def _is_long(self, start: int, end: int) -> bool:
        if end - start > _MAX_PROSE:
            return True
        rows, brackets = self.text.count("\n", start, end), self.text.count("[", start, end)
        return rows > _MAX_ROWS or brackets > _MAX_BRACKETS

    def _is_short(self, piece: Piece) -> bool:
        """Return whether a code block is short enough to be highlighted."""
        start, end = piece.start, piece.end
        if end - start > MAX_CHARACTERS or self.text.count("\n", start, end) > MAX_LINES:
            return False
        return max(map(len, self.text[start:end].split("\n"))) <= _MAX_LINE

    def drawn(self, start: int, end: int, options: RenderOptions) -> list[Line]:
        """Draw a piece that can be parsed by itself."""
        return draw_markdown(self.text[start:end], options, self._style(options.palette), self._references)

    def _draw_tail(self, options: RenderOptions) -> list[Line]:
        tail = self.text[self._splitter.start :]
        undecided = _UNDECIDED.search(tail, max(0, len(tail) - _HOLD_AT_MOST)) if self._hold_back else None
        self.has_held_text = undecided is not None
        if undecided is not None:
            tail = tail[: undecided.start()]
        options = replace(options, highlights=None)  # code in it stays plain while it grows
        return draw_markdown(tail, options, self._style(options.palette))


@dataclass(frozen=True, slots=True)
class _AnswerRange:
    """A piece of an answer: how it is drawn, and what is copied of it; small, since long answers have thousands."""

    answer: AnswerParts
    start: int
    end: int

    def __call__(self, options: RenderOptions) -> list[Line]:
        return self.answer.drawn(self.start, self.end, options)

    @property
    def source(self) -> str:
        """What is copied."""
        return self.answer.text[self.start : self.end].strip("\n")


def parse_fence(source: str) -> tuple[str, list[str]]:
    """Return info string and lines of a fenced block, whose closing fence may be missing."""
    first, *lines = source.removesuffix("\n").split("\n")
    mark = first[: len(first) - len(first.lstrip(first[0]))]
    if lines and Fence(mark, 0).closed_by(lines[-1]):
        lines.pop()
    return first[len(mark) :], lines


def _ends_with_heading(source: str) -> bool:
    """Return whether the last block of a text is a heading."""
    if _MAYBE_HEADING_AT_END.search(source) is None:
        return False
    tokens = parser().parse(safe(source))
    return bool(tokens) and tokens[-1].type == "heading_close"


def _is_invisible(source: str) -> bool:
    """Return whether nothing is drawn of a text, such as of link definitions."""
    return source.lstrip()[0] in "[>" and not draw_markdown(source, RenderOptions(80, Palette.plain()))


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
