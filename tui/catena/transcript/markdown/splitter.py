"""Splitting of a growing Markdown text into pieces that can be parsed separately.

A piece ends only where a top-level block certainly begins: at a fence at the left edge and after its end, and after a
blank line before a line at the left edge that is not an item of an open list. Link reference definitions are the only
thing that reaches beyond a piece; the caller shares them between pieces.

Beyond a million characters or 10,000 lines the rest is one plain piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"( {0,3})(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)$")
_TOP_ITEM = re.compile(r"(?:([-*+])|(\d{1,9})([.)])) {1,4}\S")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_LONG_LIST = 1000  # characters of a list, after which it is split at its next item
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_MOST_CHARACTERS = 1_000_000  # beyond which only the end of an open fence is searched
_MOST_LINES = 10_000  # lines read one by one
_LONG_RULE = 1000  # characters beyond which a line is never a rule
# Lines that need not be read one by one: prose up to a line that begins with no letter, code up to a fence mark.
_NO_LETTER = re.compile(r"\n[\W\d_]")
_MARK = re.compile(r"\n[ \t]*[`~]")
_NO_NEWLINE = re.compile(r"[^\n]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of a text; ``fence`` for a single fenced block at the left edge, ``plain`` for unread text.

    A long list is split between two of its items.
    """

    start: int
    end: int
    fence: bool
    joined: bool = False  # continues the list of the previous piece without a blank row
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Fence:
    """An opening fence: its mark and indentation."""

    mark: str
    indent: int

    def closed_by(self, line: str) -> bool:
        content = line.strip(" \t")
        indent = len(line) - len(line.lstrip(" "))
        return indent <= 3 and len(content) >= len(self.mark) and not content.strip(self.mark[0])


@dataclass(frozen=True, slots=True)
class _ListState:
    """State of a list at the left edge after its last item."""

    mark: str
    number: int  # number of the next item
    indent: int  # indentation of the last item's content


class MarkdownSplitter:
    """Splitter of a text that grows at its end; finished pieces never change."""

    def __init__(self) -> None:
        self.start = 0  # start of the unfinished piece
        self.joined = False  # the unfinished piece continues the previous one's list
        self.plain = False  # the unfinished piece is the plain rest
        self._read = 0  # end of the lines read
        self._searched = 0  # end of the text searched for a newline
        self._fence: Fence | None = None
        self._whole_fence = False  # the open fence is at the left edge and a piece of its own
        self._after_blank = False
        self._content = False  # the unfinished piece has more than blank lines
        self._list = False  # a list may be open
        self._list_state: _ListState | None = None
        self._ambiguous_fence = False  # a fence may have ended with its list: no more splits
        self._lines_read = 0

    @property
    def in_fence(self) -> bool:
        """True while the unfinished piece is an open fenced block."""
        return self._whole_fence and self._fence is not None

    def feed(self, text: str) -> list[Piece]:
        """Return the newly finished pieces of ``text``, which is the complete text so far."""
        pieces: list[Piece] = []
        while not self.plain and text.find("\n", max(self._read, self._searched)) >= 0:
            self._skip(text)
            end = text.find("\n", self._read)
            if end < 0:
                break
            self._line(text[self._read : end], self._read, end + 1, pieces)
            self._read = end + 1
        self._searched = len(text)
        # A letter at the left edge after a blank line begins a block, whatever the rest of its line will be.
        begun = text[self._read : self._read + 1]
        begins = begun.isalpha() and self._fence is None and self._after_blank and not self._ambiguous_fence
        if begins and not self._exhausted(self._read):
            self._cut(self._read, pieces)
        return pieces

    def finish(self, text: str) -> list[Piece]:
        """Return the last pieces of the final ``text``."""
        pieces = self.feed(text)
        if self._read < len(text) and not self.plain:
            self._line(text[self._read :], self._read, len(text), pieces)
            self._read = len(text)
        if self.start < len(text):
            pieces.append(Piece(self.start, len(text), self.in_fence, self.joined, self.plain))
            self.start = len(text)
        return pieces

    def _skip(self, text: str) -> None:
        """Skip lines that change no state; which ones does not depend on the chunks of the text."""
        if self._fence is None and self._after_blank:
            begun = _NO_NEWLINE.search(text, self._read)
            self._read = len(text) if begun is None else begun.start()
            return
        if self._fence is None:
            stop = _NO_LETTER if self._content and self._list_state is None else None
        else:
            stop = _MARK if self._whole_fence else None
        if stop is not None:
            found = stop.search(text, self._read - 1)
            end = text.rfind("\n", self._read) if found is None else found.start()
            self._read = max(self._read, end + 1)

    def _exhausted(self, at: int) -> bool:
        return self._lines_read >= _MOST_LINES or (at >= _MOST_CHARACTERS and not self.in_fence)

    def _stop(self, at: int, pieces: list[Piece]) -> None:
        self._cut(at, pieces, fence=self.in_fence)
        self.start = at
        self._fence, self._whole_fence, self.plain = None, False, True

    def _cut(self, at: int, pieces: list[Piece], *, fence: bool = False) -> None:
        if self._content:
            pieces.append(Piece(self.start, at, fence, self.joined))
            self.start = at
        self._content = self._after_blank = self._list = self.joined = False
        self._list_state = None

    def _line(self, line: str, start: int, end: int, pieces: list[Piece]) -> None:
        if self._exhausted(start):
            self._stop(start, pieces)
            return
        self._lines_read += 1
        if self._fence is not None:
            self._inside(self._fence, line, end, pieces)
            return
        if not line.strip():
            self._after_blank = True
            return
        opening = _FENCE.match(line)
        if opening is not None:
            indent = len(opening[1])
            if indent == 0 and not self._ambiguous_fence:
                self._cut(start, pieces)
                self.start = start  # blank lines before it belong to no piece
                self._whole_fence = True
            self._fence = Fence(opening[2] or opening[3], indent)
        else:
            item = _ITEM.match(line) is not None
            if (
                self._after_blank
                and not self._ambiguous_fence
                and not line[0].isspace()
                and not (item and self._list)
            ):
                self._cut(start, pieces)
            self._follow_list(line, start, pieces)
            self._list = self._list or item
        self._content, self._after_blank = True, False

    def _follow_list(self, line: str, start: int, pieces: list[Piece]) -> None:
        """Split a long list of nothing but items before an item at the left edge."""
        state = self._list_state
        if state is not None and line.startswith(" " * state.indent):
            return  # within the item
        item = None if _is_rule(line) else _TOP_ITEM.match(line)
        if item is None:
            self._list_state = None
            return
        mark, number = item[1] or item[3], int(item[2] or 0)
        follows = state is not None and state.mark == mark and (not item[2] or state.number == number)
        if follows and start - self.start > _LONG_LIST and not self._ambiguous_fence:
            blank = self._after_blank
            self._cut(start, pieces)
            self.joined, self._list = not blank, True
        self._list_state = _ListState(mark, number + 1, item.end() - 1) if follows or not self._list else None

    def _inside(self, fence: Fence, line: str, end: int, pieces: list[Piece]) -> None:
        if line.strip() and len(line) - len(line.lstrip(" ")) < fence.indent:
            self._ambiguous_fence = True
        if fence.closed_by(line):
            self._fence = None
            if self._whole_fence:
                self._cut(end, pieces, fence=True)
                self._whole_fence = False


def _is_rule(line: str) -> bool:
    return len(line) < _LONG_RULE and _RULE.match(line) is not None


def split(text: str) -> list[Piece]:
    """Return all pieces of ``text``."""
    return MarkdownSplitter().finish(text)
