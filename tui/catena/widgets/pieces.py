"""Pieces: long pastes and outputs, each of which stands in the composer as one mark and is read as its whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from textual.document._document import EditResult, Location

from catena.text.prompt_text import Pastes, is_output, piece_words
from catena.widgets.fields.text_fields import EditedText

_FIRST, _MOST = 0xD800, 0x400  # a mark begins with half of a surrogate pair, which no text from outside has
_MARK = re.compile("[\ud800-\udbff](?:pasted|output,) [0-9,]+ (?:lines|characters)\\]")


class ComposedText(EditedText):
    """An edited text with marks in the place of its pieces."""

    def __init__(self, text: str, pieces: list[str]) -> None:
        """``pieces`` are those that its marks stand for, with what was deleted and may be brought back."""
        self._pieces = pieces
        self._whole: str | None = None
        super().__init__(text)

    @property
    def text(self) -> str:
        """The whole text."""
        if self._whole is None:
            self._whole = self.whole(self.edited)
        return self._whole

    @property
    def first_line(self) -> str:
        """The first line of the whole text."""
        return self.whole(self._lines[0]).partition("\n")[0]

    def whole(self, edited: str) -> str:
        """A text with its pieces in the place of its marks."""
        return _MARK.sub(self._piece_of, edited) if self._pieces else edited

    def _piece_of(self, mark: re.Match[str]) -> str:
        number = ord(mark[0][0]) - _FIRST
        if number >= len(self._pieces):
            return mark[0]
        piece, line, start, end = self._pieces[number], mark.string, *mark.span()
        if is_output(piece):  # its fences need lines of their own
            before = "\n" if start and line[start - 1] != "\n" else ""
            behind = "\n" if end < len(line) and line[end] != "\n" else ""
            return f"{before}{piece}{behind}"
        return piece

    def marked(self, text: str, pastes: Pastes, *, edited: bool = False) -> str:
        """A text with marks for its pieces; ``edited``: it is made of this one and may have marks."""
        if not edited:
            text = _MARK.sub(lambda mark: f"\ufffd{mark[0][1:]}", text)
        parts = pastes.split(text)
        for at in range(1, len(parts), 2):
            if parts[at] not in self._pieces and len(self._pieces) < _MOST:
                self._pieces.append(parts[at])
            if parts[at] in self._pieces:
                number = self._pieces.index(parts[at])
                parts[at] = f"{chr(_FIRST + number)}{piece_words(parts[at])}]"
        return "".join(parts)

    def get_text_range(self, start: Location, end: Location) -> str:
        """The whole text between two locations."""
        return self.whole(super().get_text_range(start, end))

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Put ``text``, which has marks, in the place of what is between two locations."""
        self._whole = None
        return super().replace_range(start, end, text)

    def marks(self, row: int) -> Iterator[tuple[int, int, str]]:
        """The marks of a line: where each begins and ends, and its piece."""
        for mark in _MARK.finditer(self._lines[row]) if self._pieces else ():
            yield mark.start(), mark.end(), self._piece_of(mark)

    def mark_around(self, location: Location) -> tuple[int, int] | None:
        """Where the mark begins and ends that a location is inside of."""
        row, column = location
        if row >= len(self._lines):
            return None
        return next(((start, end) for start, end, _ in self.marks(row) if start < column < end), None)

    def _draw(self, line: str) -> str:
        drawn = super()._draw(line)
        for mark in _MARK.finditer(line) if self._pieces else ():
            drawn = f"{drawn[: mark.start()]}[{drawn[mark.start() + 1 :]}"
        return drawn
