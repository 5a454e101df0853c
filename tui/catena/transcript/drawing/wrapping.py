"""Wrapping of text into rows by cell width, with wide characters, joined emoji and endless words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from catena.cells import cell_len, clusters
from catena.transcript.drawing.lines import Line, with_tabs

Run = tuple[str, Style]
TAB = 4  # columns

# Characters that are one cell wide in every context: text of these alone is measured by counting.
_SINGLE_WIDTH = frozenset(
    chr(code)
    for first, last in (
        (0x20, 0x7E),
        (0xA0, 0xA8),
        (0xAA, 0xAC),
        (0xAF, 0x2FF),
        (0x370, 0x377),
        (0x391, 0x3A1),
        (0x3A3, 0x482),
        (0x2010, 0x2027),
        (0x2030, 0x203B),
        (0x2500, 0x257F),
        (0x2580, 0x25A9),
        (0x2800, 0x28FF),
    )
    for code in range(first, last + 1)
)
_NOT_FIRST = frozenset(
    "、。，．・：；？！）」』】〉》〕］｝ゝゞーぁぃぅぇぉっゃゅょァィゥェォッャュョ…!?,.:;)]}%"
)
_NOT_LAST = frozenset("（「『【〈《〔［｛([{")


class WrappedRow(NamedTuple):
    """One row of a text: its range, its width in cells, and the start of the next row."""

    start: int
    end: int
    cells: int
    next: int


def is_single_width(text: str) -> bool:
    """Return whether every character of ``text`` takes exactly one cell."""
    return text.isascii() or _SINGLE_WIDTH.issuperset(text)


def width_of(text: str) -> int:
    """Return the width of ``text`` in cells."""
    return len(text) if is_single_width(text) else cell_len(text)


def break_rows(text: str, width: int, first: int | None = None) -> list[WrappedRow]:
    """Break ``text``, which has no newlines, at spaces, between ideographs and, if necessary, inside words.

    ``first`` is the width of the first row where it differs. There is always at least one row.
    """
    if is_single_width(text):
        return _break_single(text, width, width if first is None else first)
    return _break_wide(text, width, width if first is None else first)


def _break_single(text: str, width: int, limit: int) -> list[WrappedRow]:
    rows: list[WrappedRow] = []
    start, length = 0, len(text)
    while length - start > limit:
        edge = start + limit
        space = text.rfind(" ", start + 1, edge + 1)
        if space <= start or text[start:space].isspace():
            end = following = edge
        else:
            end, following = space, space + 1
            while end > start and text[end - 1] == " ":
                end -= 1
            while following < length and text[following] == " ":
                following += 1
        rows.append(WrappedRow(start, end, end - start, following))
        start, limit = following, width
        if start >= length:
            return rows
    rows.append(WrappedRow(start, length, length - start, length))
    return rows


def _break_wide(text: str, width: int, limit: int) -> list[WrappedRow]:
    rows: list[WrappedRow] = []
    start = passed = 0  # where the row begins, and the cells before it
    position = 0  # cells before this cluster
    chance: tuple[int, int, int, int] | None = None  # end, cells up to there; next start, cells up to there
    before = ""
    before_cells = 0
    solid = False  # there was more than spaces
    for begin, finish, cells in clusters(text):
        character = text[begin]
        if character == " ":
            if begin == start and rows:
                start, passed = finish, position + cells  # a row never begins with the space it was broken at
            elif not solid and position + cells - passed > limit:
                # An indentation wider than the row.
                rows.append(WrappedRow(start, begin, position - passed, begin))
                start, passed = finish, position + cells
            elif before != " " or chance is None:
                chance = (begin, position, finish, position + cells)
            else:
                chance = (chance[0], chance[1], finish, position + cells)
        else:
            solid = True
            if (
                begin > start
                and before != " "
                and (cells > 1 or before_cells > 1)
                and character not in _NOT_FIRST
                and before not in _NOT_LAST
            ):
                chance = (begin, position, begin, position)
            while position + cells - passed > limit and begin > start:
                if chance is not None and chance[0] > start:
                    rows.append(WrappedRow(start, chance[0], chance[1] - passed, chance[2]))
                    start, passed = chance[2], chance[3]
                else:
                    rows.append(WrappedRow(start, begin, position - passed, begin))
                    start, passed = begin, position
                chance, limit = None, width
        position += cells
        before, before_cells = character, cells
    end = len(text)
    if chance is not None and position - passed > limit:  # only spaces are too much
        rows.append(WrappedRow(start, chance[0], chance[1] - passed, end))
    elif start < end or not rows:
        rows.append(WrappedRow(start, end, position - passed, end))
    return rows


def wrap_runs(runs: Sequence[Run], width: int, *, first: int | None = None) -> list[Line]:
    """Wrap styled text, which has no newlines, into lines of at most ``width`` cells, the first of ``first``.

    The joint of a wrapped line is the text dropped at its break, that of the last line is a newline. Tabs are drawn as
    blanks and copied as tabs.
    """
    runs, tabs = expand_tabs(runs)
    text = "".join([run[0] for run in runs])
    lines: list[Line] = []
    pieces = iter(runs)
    piece, style = next(pieces, ("", Style.null()))
    offset = 0  # of `piece` in `text`
    length = len(text)
    for span in break_rows(text, max(1, width), first):
        segments: list[Segment] = []
        at = span.start
        while at < span.end:
            while at - offset >= len(piece):
                offset += len(piece)
                piece, style = next(pieces)
            cut = min(len(piece), span.end - offset)
            segments.append(Segment(piece[at - offset : cut], style))
            at = offset + cut
        between = with_tabs(text, tabs, span.end, span.next) if span.next < length else "\n"
        line = Line(segments, span.cells, text[span.start : span.end], 0, between)
        if tabs:
            line.text = with_tabs(text, tabs, span.start, span.end)
            line.tabs = [(begin - span.start, after - span.start) for begin, after in tabs]
        lines.append(line)
    return lines


def expand_tabs(runs: Sequence[Run]) -> tuple[Sequence[Run], Sequence[tuple[int, int]]]:
    """Return ``runs`` with blanks up to a multiple of four for each tab, and the places of these in the whole."""
    if not any("\t" in text for text, _ in runs):
        return runs, ()
    expanded: list[Run] = []
    tabs: list[tuple[int, int]] = []
    column = 0
    for text, style in runs:
        pieces = text.split("\t")
        drawn = pieces[0]
        for piece in pieces[1:]:
            begin = column + len(drawn)
            blanks = TAB - begin % TAB
            tabs.append((begin, begin + blanks))
            drawn += " " * blanks + piece
        expanded.append((drawn, style))
        column += len(drawn)
    return expanded, tabs


def wrap_text(text: str, style: Style, width: int) -> list[Line]:
    """Wrap plain text, keeping its newlines."""
    lines: list[Line] = []
    for row in text.split("\n"):
        lines += wrap_runs([(row, style)], width)
    return lines


def shorten(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells, with `…` in place of its middle."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return "…"[: max(0, width)]
    tail = (width - 1) * 2 // 3  # the end of a path is more specific than its beginning
    return f"{fit(text, width - 1 - tail)}…{fit_end(text, tail)}"


def fit(text: str, width: int) -> str:
    """Return as much of the beginning of ``text`` as ``width`` cells hold."""
    if is_single_width(text):
        return text[:width]
    used = 0
    for begin, _, cells in clusters(text):
        if used + cells > width:
            return text[:begin]
        used += cells
    return text


def fit_end(text: str, width: int) -> str:
    """Return as much of the end of ``text`` as ``width`` cells hold."""
    if is_single_width(text):
        return text[max(0, len(text) - width) :]
    used = 0
    for _, finish, cells in reversed(clusters(text)):
        if used + cells > width:
            return text[finish:]
        used += cells
    return text


def total_cells(runs: Iterable[Run]) -> int:
    """Return the width of ``runs`` on one row."""
    return sum(width_of(text) for text, _ in runs)
