"""Layout of a file's hunks at one width: which row shows what, with only the rows drawn that are looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from catena.screens.changes.shown_lines import shown_lines, shown_text, shows_carriages
from catena.transcript.drawing.lines import Line, blank
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import break_rows, is_single_width
from catena.transcript.messages.diff import draw_diff
from catena_acp.changes.hunks import FileDiff
from catena_acp.diff import DiffLine

_SLICE = 48  # lines of a diff that are drawn together, or a few more
_PAIRED = 16  # removed and added lines that follow one another, up to which they are drawn together
_KEPT = 128  # heads and slices that stay drawn
_LEAST_ROOM = 8  # cells for code


@dataclass(frozen=True, slots=True)
class HunkSlice:
    """Lines of a hunk that are drawn together."""

    hunk: int
    lines: tuple[DiffLine, ...]
    carriages: bool  # whether a carriage return at the end of a line has a sign


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of the layout that follow one another."""

    hunk: int
    height: int
    slice: HunkSlice | None  # None: the head of the hunk, and the blank row above it
    heights: tuple[int, ...] = ()  # of each line of a slice; () where both versions stand beside each other


HeadDrawing = Callable[[int, RenderOptions], Line]


class DiffLayout:
    """The rows of a file: for each hunk a blank row, its head, and its lines unless it is folded."""

    def __init__(
        self,
        diff: FileDiff,
        options: RenderOptions,
        *,
        side_by_side: bool,
        folded: frozenset[str],
        head: HeadDrawing,
    ) -> None:
        """``folded``: the digests of hunks of which only the head is shown; ``head`` draws that of a hunk."""
        self._diff = diff
        self._options = options
        self._side_by_side = side_by_side
        self._head = head
        self._blocks: list[_Block] = []
        self._starts: list[int] = []
        self._heads: list[int] = []  # the first block of each hunk
        self._drawn: OrderedDict[int, Sequence[Line]] = OrderedDict()
        self.height = 0
        for at, hunk in enumerate(diff.hunks):
            self._heads.append(len(self._blocks))
            self._add(_Block(at, 2 if at else 1, None))
            if hunk.digest not in folded:
                lines = hunk.hunk.lines
                for piece in slices_of(at, lines, side_by_side=side_by_side):
                    heights = () if side_by_side else self._heights_of(piece)
                    height = paired_rows(piece.lines) if side_by_side else sum(heights)
                    self._add(_Block(at, height, piece, heights))

    def _add(self, block: _Block) -> None:
        self._blocks.append(block)
        self._starts.append(self.height)
        self.height += block.height

    def _heights_of(self, piece: HunkSlice) -> tuple[int, ...]:
        return tuple(self._rows_of(shown_text(line.text, piece.carriages)) for line in piece.lines)

    def _rows_of(self, text: str) -> int:
        room = max(_LEAST_ROOM, self._options.width - self._options.second_axis)
        if len(text) <= room and is_single_width(text):
            return 1
        return len(break_rows(text, room))

    def line(self, row: int) -> Line:
        """A row, drawn."""
        at = bisect_right(self._starts, row) - 1
        if at < 0 or row >= self.height:
            return blank()
        lines, part = self._lines(at), row - self._starts[at]
        return lines[part] if part < len(lines) else blank()

    def _lines(self, at: int) -> Sequence[Line]:
        lines = self._drawn.get(at)
        if lines is None:
            lines = self._drawn[at] = self._draw(self._blocks[at])
            if len(self._drawn) > _KEPT:
                self._drawn.popitem(last=False)
        else:
            self._drawn.move_to_end(at)
        return lines

    def _draw(self, block: _Block) -> Sequence[Line]:
        if block.slice is None:
            head = self._head(block.hunk, self._options)
            return [*(blank() for _ in range(block.height - 1)), head]
        shown = shown_lines(block.slice.lines, carriages=block.slice.carriages)
        return draw_diff(shown, self._options, side_by_side=self._side_by_side)

    def hunk_at(self, row: int) -> tuple[int, bool] | None:
        """The hunk of a row, and whether the row is its head; None below the last one."""
        at = bisect_right(self._starts, row) - 1
        if at < 0 or row >= self.height:
            return None
        return self._blocks[at].hunk, self._blocks[at].slice is None

    def rows_of_hunk(self, hunk: int) -> range:
        """The rows of a hunk, from its head on."""
        if not 0 <= hunk < len(self._heads):
            return range(0)
        first = self._heads[hunk]
        top = self._starts[first] + self._blocks[first].height - 1
        following = self._heads[hunk + 1] if hunk + 1 < len(self._heads) else None
        return range(top, self.height if following is None else self._starts[following])

    def row_of_line(self, hunk: int, line: int) -> int:
        """The row of a line of a hunk; that of the head where the hunk is folded."""
        wanted = self._diff.hunks[hunk].hunk.lines[line]
        for at in range(self._heads[hunk] + 1, len(self._blocks)):
            block = self._blocks[at]
            if block.hunk != hunk or block.slice is None:
                break
            for within, each in enumerate(block.slice.lines):
                if each is wanted:
                    above = (
                        sum(block.heights[:within])
                        if block.heights
                        else _paired_row(block.slice.lines, within)
                    )
                    return self._starts[at] + above
        return self.rows_of_hunk(hunk).start


def slices_of(hunk: int, lines: Sequence[DiffLine], *, side_by_side: bool) -> Iterator[HunkSlice]:
    """Cut a hunk where neither words that are compared nor lines that stand beside each other are parted."""
    carriages = shows_carriages(lines)
    for start, end, added in _places(lines, side_by_side=side_by_side):
        yield HunkSlice(hunk, (*lines[start:end], *added), carriages)


def _places(
    lines: Sequence[DiffLine], *, side_by_side: bool
) -> Iterator[tuple[int, int, Sequence[DiffLine]]]:
    """Yield the beginning and the end of each slice, and the added lines that stand beside it."""
    begun = 0
    for start, middle, end in _changes(lines):
        if start - begun >= _SLICE:
            yield from _cut(begun, start)
            begun = start
        if max(middle - start, end - middle) > _PAIRED:
            if begun < start:
                yield begun, start, ()
            if side_by_side:
                yield from _beside(lines, start, middle, end)
            else:
                yield from _cut(start, end)
            begun = end
        elif end - begun >= _SLICE:
            yield begun, end, ()
            begun = end
    yield from _cut(begun, len(lines))


def _changes(lines: Sequence[DiffLine]) -> Iterator[tuple[int, int, int]]:
    """Yield where removed lines begin, where the added ones in their place begin, and where these end."""
    at = 0
    while at < len(lines):
        if lines[at].sign == " ":
            at += 1
            continue
        start = at
        while at < len(lines) and lines[at].sign == "-":
            at += 1
        middle = at
        while at < len(lines) and lines[at].sign == "+":
            at += 1
        yield start, middle, at


def _cut(start: int, end: int) -> Iterator[tuple[int, int, Sequence[DiffLine]]]:
    for first in range(start, end, 2 * _SLICE):
        yield first, min(end, first + 2 * _SLICE), ()


def _beside(
    lines: Sequence[DiffLine], start: int, middle: int, end: int
) -> Iterator[tuple[int, int, Sequence[DiffLine]]]:
    for first in range(0, max(middle - start, end - middle), _SLICE):
        last = first + _SLICE
        added = lines[min(end, middle + first) : min(end, middle + last)]
        yield min(middle, start + first), min(middle, start + last), added


def paired_rows(lines: Sequence[DiffLine]) -> int:
    """How many rows lines take where both versions stand beside each other."""
    unchanged = sum(line.sign == " " for line in lines)
    return unchanged + sum(max(middle - start, end - middle) for start, middle, end in _changes(lines))


def _paired_row(lines: Sequence[DiffLine], line: int) -> int:
    """The row of a line where both versions stand beside each other."""
    row = at = 0
    for start, middle, end in _changes(lines):
        if line < start:
            break
        row += start - at
        if line < end:
            return row + (line - start if line < middle else line - middle)
        row, at = row + max(middle - start, end - middle), end
    return row + line - at
