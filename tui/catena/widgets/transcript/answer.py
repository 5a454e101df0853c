"""An answer: Markdown that grows at its end. What was read is never drawn again but at its last block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from catena.safe_text import safe
from catena.widgets.transcript.code import draw_code_lines
from catena.widgets.transcript.lines import Line
from catena.widgets.transcript.look import Look
from catena.widgets.transcript.markdown import References, draw_markdown, references_in
from catena.widgets.transcript.palette import Palette
from catena.widgets.transcript.parts import Draw, Part, StyleOf, code_parts, indented, text_parts
from catena.widgets.transcript.pieces import Cutter, Fence, Piece

_MAX_PROSE = (
    48_000  # characters without a place to cut, beyond which the Markdown in them is not worth its price
)
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
        self._carriage = ""
        self._tail: Part | None = None
        self._tail_kind: tuple[int, bool] | None = None  # where it begins, and whether it is an open fence
        self._tail_draw: Draw = self._draw_tail
        if growing:
            self.grow(text)
        else:
            self.text = _newlines(text)
            self._finish()

    def grow(self, text: str) -> int:
        """Add ``text`` at the end; return the index of the first part that is another one now."""
        text = self._carriage + text
        self._carriage = "\r" if text.endswith("\r") else ""
        self.text += _newlines(text.removesuffix("\r"))
        first = len(self.parts) - (self._tail is not None)
        self._hold = True
        del self.parts[first:]
        for piece in self._cutter.feed(self.text):
            self._add(piece)
        self._add_tail()
        return first

    def release(self) -> int:
        """Hold nothing back of the text as it is; return the index of the first part that is another one now."""
        self._hold = False
        first = len(self.parts) - 1
        self.parts.pop()
        self._add_tail()
        return first

    def finish(self) -> int:
        """The text is whole. Return the index of the first part that is another one now."""
        self.growing = False
        self.text += "\n" if self._carriage else ""
        first = len(self.parts) - (self._tail is not None)
        del self.parts[first:]
        return 0 if self._finish() else first

    def _finish(self) -> bool:
        self._tail, self.holding = None, False
        for piece in self._cutter.finish(self.text):
            self._add(piece)
        # A definition of a link may stand below its use: then everything that may use it is drawn anew.
        if _DEFINITION.search(self.text) is not None:
            self._references = references_in(safe(self.text))
            for part in self.parts:
                part.lines, part.settled = None, False
        return bool(self._references)

    def _lead_of_next(self) -> int:
        return 1 if self.parts else self._lead

    def _add(self, piece: Piece) -> None:
        source = self.text[piece.start : piece.end]
        if piece.fence:
            info, lines = _fenced(source)
            parts: Iterator[Part] = code_parts(source, info, lines, lead=self._lead_of_next())
        elif len(source) > _MAX_PROSE:
            parts = text_parts(source.strip("\n"), self._style, lead=self._lead_of_next())
        else:
            size = len(source.strip())
            if not size or (not self.parts and _silent(source)):
                return
            breaks = source.rstrip().count("\n")
            draw = partial(self._draw_prose, piece.start, piece.end)
            copied = partial(self._slice, piece.start, piece.end)
            lead = 0 if piece.joined else self._lead_of_next()
            parts = iter((Part(draw, copied, size=size, breaks=breaks, lead=lead),))
        for part in parts:
            part.draw = self._set_in(part.draw)
            self.parts.append(part)

    def _add_tail(self) -> None:
        start = self._cutter.start
        kind = (start, self._cutter.in_fence)
        if kind != self._tail_kind:
            self._tail_kind = kind
            self._tail_draw = _OpenFence(self, start).draw if self._cutter.in_fence else self._draw_tail
        self._tail = Part(
            self._set_in(self._tail_draw),
            partial(self._slice, start, None),
            size=len(self.text) - start,
            breaks=self.text.count("\n", start),
            lead=0 if self._cutter.joined else self._lead_of_next(),
        )
        self.parts.append(self._tail)

    def _set_in(self, draw: Draw) -> Draw:
        return indented(draw, self._indent) if self._indent else draw

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
        if len(tail) > _MAX_PROSE:
            return [line for part in text_parts(tail.strip("\n"), self._style) for line in part.draw(look)]
        return draw_markdown(tail, look, self._style(look.palette))


class _OpenFence:
    """A block of code that is not closed yet; a line once drawn is kept."""

    def __init__(self, answer: Answer, start: int) -> None:
        self._answer = answer
        self._start = start
        self._drawn: list[Line] = []
        self._read = 0
        self._look: Look | None = None

    def draw(self, look: Look) -> list[Line]:
        text = self._answer.text
        if look != self._look:
            newline = text.find("\n", self._start)
            if newline < 0:
                return []
            self._look, self._drawn, self._read = look, [], newline + 1
        end = text.rfind("\n", self._read) + 1
        if end > self._read:
            rows = safe(text[self._read : end - 1]).split("\n")
            self._drawn += draw_code_lines(rows, None, look)
            self._read = end
        last = text[self._read :]
        may_close = last.strip(" ")[:1] in "`~" and not last.strip(" `~")
        return [*self._drawn, *([] if may_close else draw_code_lines([safe(last)], None, look))]


def _fenced(source: str) -> tuple[str, list[str]]:
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
