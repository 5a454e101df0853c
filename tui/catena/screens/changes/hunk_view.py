"""The widget that shows the hunks of one file, and their layout at one width; only rows in sight are coloured."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from catena.cells import cell_len
from catena.screens.changes.review import place_words, shown_lines, shown_text, shows_carriages
from catena.text.changes_text import author_words, note_words, shown_path, size_words, state_words
from catena.text.strips.safe_strips import safe_segments
from catena.transcript.drawing.lines import MARKS, Line, blank, line_of, on_ground
from catena.transcript.drawing.render_options import NARROW, Palette, RenderOptions
from catena.transcript.drawing.wrapping import break_rows, is_single_width, shorten, width_of
from catena.transcript.messages.diff import draw_diff
from catena.transcript.widget.blocks import ROLE_CLASSES, role_styles
from catena.widgets.scroll_bar import thin_scroll_bar
from catena_acp.changes.changed_file import FileDiff
from catena_acp.diff import DiffLine

_BAR = "▌"
_AROUND = 2  # rows that stay in sight above a hunk, where there is room

_SLICE = 48  # lines of a diff that are drawn together, or a few more
_PAIRED = 16  # removed and added lines that follow one another, up to which they are drawn together
_KEPT = 128  # heads and slices that stay drawn
_LEAST_ROOM = 8  # cells for code


class HunkView(ScrollView, can_focus=False):
    """The hunks of a file, one of which is current; the screen has the keys."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(ROLE_CLASSES)
    DEFAULT_CSS = (
        role_styles("HunkView")
        + """
    HunkView { height: 1fr; width: 1fr; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    """
    )

    class Clicked(Message):
        """A hunk was clicked; ``head``: on its head."""

        def __init__(self, hunk: int, *, head: bool) -> None:
            super().__init__()
            self.hunk = hunk
            self.head = head

    def __init__(self, directory: str, seen: Callable[[str], bool], *, id: str | None = None) -> None:
        """Paths below ``directory`` become relative; ``seen`` tells it of a hunk's digest."""
        super().__init__(id=id)
        self._directory = directory
        self._seen = seen
        self._file: FileDiff | None = None
        self._words = ""  # instead of hunks
        self._layout: DiffLayout | None = None
        self._laid_out_for: object = None
        self._top: list[Line] = []  # the file's name, and what is to be said of it
        self._folded: set[str] = set()
        self._wanted = ""
        self._palette: Palette | None = None
        self.current: int | None = None  # the hunk that keys are about; None: none is
        self.side_by_side = False

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)

    @property
    def file(self) -> FileDiff | None:
        """The file that is shown."""
        return self._file

    def show(self, file: FileDiff | None, words: str = "") -> None:
        """Show another file from its top, or words."""
        if file is self._file and words == self._words:
            return
        same = file is not None and self._file is not None and file.file.path == self._file.file.path
        self._file, self._words = file, words
        self._lay_out()
        if not same:
            self.current = None
            self.scroll_to(y=0, animate=False, force=True, immediate=True)

    def draw_again(self) -> None:
        """Lay out and draw again: marks, folds or the width are different."""
        self._laid_out_for = None
        self._lay_out()

    def put_beside(self, on: bool) -> None:
        """Show both versions beside each other, or one below the other."""
        if on != self.side_by_side:
            self.side_by_side = on
            self.draw_again()
            self.reveal()

    def go(self, hunk: int | None) -> None:
        """Make a hunk the current one, and show it from its head on."""
        self.current = hunk
        self.reveal()
        self.refresh()

    def reveal(self) -> None:
        """Scroll to the current hunk, unless all of it is in sight."""
        layout = self._lay_out()
        if layout is None or self.current is None or not self.size.height:
            return
        rows = layout.rows_of_hunk(self.current)
        top, bottom = rows.start + len(self._top), rows.stop + len(self._top)
        seen = self.scroll_offset.y
        if seen <= top and bottom <= seen + self.size.height:
            return
        self._scroll(max(0, top - min(_AROUND, self.size.height // 4)) if self.current else 0)

    def go_to_line(self, hunk: int, line: int) -> None:
        """Make a hunk the current one, unfold it, and show a line of it."""
        if self._file is None:
            return
        self.current = hunk
        self._folded.discard(self._file.hunks[hunk].digest)
        self.draw_again()
        if (layout := self._layout) is not None:
            row = layout.row_of_line(hunk, line) + len(self._top)
            if not self.scroll_offset.y <= row < self.scroll_offset.y + self.size.height:
                self._scroll(max(0, row - self.size.height // 3))

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def fold(self, hunk: int) -> None:
        """Fold a hunk to its head, or unfold it."""
        if self._file is not None:
            self._folded ^= {self._file.hunks[hunk].digest}
            self.draw_again()
            self.reveal()

    def find(self, text: str) -> None:
        """Mark a text; "" marks none."""
        self._wanted = text.casefold()
        self.refresh()

    # Layout

    def on_resize(self) -> None:
        """Lay out for another width; the current hunk stays in sight."""
        self._lay_out()
        self.reveal()

    def notify_style_update(self) -> None:
        """Draw anew in the styles of another theme."""
        super().notify_style_update()
        self._palette = None
        self._laid_out_for = None

    def _options(self) -> RenderOptions:
        width = self.scrollable_content_region.width
        if self._palette is None:
            self._palette = Palette.read(self.get_component_rich_style)
        narrow = width < NARROW
        right = 0 if narrow else max(0, MARKS - (self.size.width - width))
        room = max(4, width - MARKS - right)
        return RenderOptions(room, self._palette, narrow=narrow, directory=self._directory)

    def _lay_out(self) -> DiffLayout | None:
        """The layout for the file and the width that there are."""
        width = self.scrollable_content_region.width
        if not width or self._file is None:
            self._layout = None
            if not self._file:
                self.virtual_size = Size(0, 1)
                self.refresh()
            return None
        laid_out_for = (self._file, width, self.side_by_side)
        if laid_out_for != self._laid_out_for:
            self._laid_out_for = laid_out_for
            options = self._options()
            self._top = self._file_lines(self._file, options)
            self._layout = DiffLayout(
                self._file,
                options,
                side_by_side=self.side_by_side,
                folded=frozenset(self._folded),
                head=self._hunk_head,
            )
            self.virtual_size = Size(0, len(self._top) + self._layout.height)
            self.refresh()
        return self._layout

    def _file_lines(self, file: FileDiff, options: RenderOptions) -> list[Line]:
        """The file's name with its sizes and state, what is to be known of it, and a blank row."""
        palette, told = options.palette, file.file
        sizes = size_words(file.added, file.removed)
        state = state_words(told, self._directory)
        behind = "  ".join(filter(None, (sizes, state)))
        room = options.width - (width_of(behind) + 2 if behind else 0)
        name = shorten(shown_path(told.path, self._directory), max(8, room))
        lines = [line_of((name, palette.heading_2), (f"  {behind}" if behind else "", palette.muted))]
        if note := note_words(told):
            lines.append(line_of((shorten(note, options.width), palette.faint)))
        return [*lines, line_of()]

    def _hunk_head(self, at: int, options: RenderOptions) -> Line:
        assert self._file is not None
        hunk = self._file.hunks[at]
        palette = options.palette
        fold = "▸" if hunk.digest in self._folded else "▾"
        words = place_words(hunk)
        if hunk.step:
            words = f"{author_words(hunk.by) if self._file.file.mixed else f'edit {hunk.step}'} · {words}"
        seen = "✓ seen" if self._seen(hunk.digest) else ""
        count = f"hunk {at + 1}/{len(self._file.hunks)}"
        right = f"{seen}  {count}" if seen else count
        left = f"{fold} {words}"
        gap = max(1, options.width - width_of(left) - len(right))
        line = line_of((f"{left}{' ' * gap}{right}", palette.number_context))
        return on_ground([line], palette.context)[0]

    # Drawing

    def render_line(self, y: int) -> Strip:
        """A row, with the bar of the current hunk before it."""
        return self._rendered(range(y, y + 1))[0]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows as they are, laid out for the width that there is now.

        They have their ground and fill the width, so that there is nothing for Textual to put around them: a row that
        only moved is the strip that it was.
        """
        strips = self._rendered(range(crop.y, crop.bottom))
        _, background = self.background_colors
        for each in self.get_line_filters():
            strips = [strip.apply_filter(each, background) for strip in strips]
        if crop.x > 0 or crop.right < self.region.width:
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def _rendered(self, rows: range) -> list[Strip]:
        """Rows of the screen, with the bar of the current hunk before its own."""
        layout, first, ground = self._lay_out(), self.scroll_offset.y, self.rich_style
        if layout is None:
            return [self._said(self._words if y + first == 0 else "", ground) for y in rows]
        marked = range(0) if self.current is None else layout.rows_of_hunk(self.current)
        bar = Style(color=self._options().palette.focus.color)
        strips, top = [], len(self._top)
        for row in (y + first for y in rows):
            line = self._top[row] if row < top else layout.line(row - top)
            strips.append(self._strip(line, ground, bar if row - top in marked else None))
        return strips

    def _said(self, text: str, ground: Style) -> Strip:
        strip = Strip([Segment(f"{'':{MARKS}}{text}", self._options().palette.faint)])
        return strip.adjust_cell_length(self.region.width, ground)

    def _strip(self, line: Line, ground: Style, bar: Style | None) -> Strip:
        key = (self.region.width, bar is None, self._wanted)
        if line.strip is None or line.strip_key != key:
            line.strip, line.strip_key = self._composed(line, ground, bar), key
        return line.strip

    def _composed(self, line: Line, around: Style, bar: Style | None) -> Strip:
        """A row, with cells of the ground around where a scroll bar would be."""
        width, ground = (
            self.scrollable_content_region.width,
            line.ground if line.ground is not None else around,
        )
        segments = [
            Segment(" " * MARKS, ground) if bar is None else Segment(_BAR.ljust(MARKS), ground + bar),
            *(Segment(text, style or ground) for text, style, _ in line.segments),
        ]
        if (rest := width - MARKS - line.cells) > 0:
            segments.append(Segment(" " * rest, ground))
        if self.region.width > width:
            segments.append(Segment(" " * (self.region.width - width), around))
        strip = Strip(safe_segments(segments)).adjust_cell_length(self.region.width, around)
        return self._with_hits(strip) if self._wanted else strip

    def _with_hits(self, strip: Strip) -> Strip:
        """A row with what is looked for marked."""
        text = strip.text.casefold()
        at = text.find(self._wanted)
        if at < 0 or len(text) != len(strip.text):
            return strip
        hit, pieces, done = self._options().palette.hit, [], 0
        while at >= 0:
            start = cell_len(strip.text[:at])
            end = start + cell_len(strip.text[at : at + len(self._wanted)])
            pieces += [strip.crop(done, start), strip.crop(start, end).apply_style(hit)]
            done = end
            at = text.find(self._wanted, at + len(self._wanted))
        return Strip.join([*pieces, strip.crop(done, strip.cell_length)])

    def on_click(self, event: events.Click) -> None:
        """Make the clicked hunk the current one."""
        layout = self._layout
        if layout is None:
            return
        found = layout.hunk_at(event.y + self.scroll_offset.y - len(self._top))
        if found is not None:
            event.stop()
            self.post_message(self.Clicked(found[0], head=found[1]))


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


_HeadDrawing = Callable[[int, RenderOptions], Line]


class DiffLayout:
    """The rows of a file: for each hunk a blank row, its head, and its lines unless it is folded."""

    def __init__(
        self,
        diff: FileDiff,
        options: RenderOptions,
        *,
        side_by_side: bool,
        folded: frozenset[str],
        head: _HeadDrawing,
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
                for piece in _slices_of(at, lines, side_by_side=side_by_side):
                    heights = () if side_by_side else self._heights_of(piece)
                    height = _paired_rows(piece.lines) if side_by_side else sum(heights)
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


def _slices_of(hunk: int, lines: Sequence[DiffLine], *, side_by_side: bool) -> Iterator[HunkSlice]:
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


def _paired_rows(lines: Sequence[DiffLine]) -> int:
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
