"""A block of an answer that is too long to be set whole: drawn as it stands, slice by slice, also while it grows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from catena.safe_text import safe
from catena.widgets.transcript.code import draw_code_lines
from catena.widgets.transcript.flow import lay_plain
from catena.widgets.transcript.lines import Line
from catena.widgets.transcript.look import Look
from catena.widgets.transcript.parts import CHARACTERS, CODE_CHARACTERS, Draw, Part, StyleOf
from catena.widgets.transcript.pieces import Fence
from catena.widgets.transcript.slices import Slice, Slicer

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

    def _draw(self, start: int, end: int, look: Look) -> list[Line]:
        raise NotImplementedError


class LongProse(LongBlock):
    """Text whose Markdown is not worth its price."""

    def __init__(self, text: Callable[[], str], start: int, *, first: int, lead: int, style: StyleOf) -> None:
        super().__init__(text, start, first=first, lead=lead)
        self._style = style

    def _draw(self, start: int, end: int, look: Look) -> list[Line]:
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

    def _draw(self, start: int, end: int, look: Look) -> list[Line]:
        return draw_code_lines(safe(self._text()[start:end]).split("\n"), None, look)


class _OpenCode:
    """The end of a block of code that is not closed yet; a line once drawn is kept."""

    def __init__(self, text: Callable[[], str], start: int) -> None:
        self.start = start
        self._text = text
        self._drawn: list[Line] = []
        self._read = start
        self._look: Look | None = None

    def draw(self, look: Look) -> list[Line]:
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


def _nothing(look: Look) -> list[Line]:
    return []
