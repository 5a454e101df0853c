"""The visible part of the column and its position, and the bar that shows it at the screen's edge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import COLUMN, Palette
from catena.transcript.model.column import IN_GAP, Anchor, Column, ColumnRow
from catena.transcript.model.entry import Entry
from catena.transcript.model.heights import ReadingPosition
from catena.transcript.widget.row_renderer import Overlay, RowRenderer


class Viewport:
    """The visible rows of a column: size, top row, and whether it follows the end."""

    def __init__(self, column: Column, *, widest: int = COLUMN, half_rows: bool = False) -> None:
        """``widest`` is the width of the column, at most; ``half_rows``: grounds reach half a row further."""
        self.column = column
        self._widest = widest
        self._half_rows = half_rows
        self.following = True
        self.more_below = False  # the branch goes on below the column, whose end is not followed
        self.top = 0
        self.height = 0
        self.rows: list[ColumnRow] = []
        self._renderer: RowRenderer | None = None
        self._tail: Sequence[Line | None] = ()
        self._pending_position: ReadingPosition | None = None  # restored as soon as there is a size

    @property
    def ready(self) -> bool:
        """True once it has a size."""
        return self._renderer is not None and self.height > 0

    @property
    def renderer(self) -> RowRenderer:
        assert self._renderer is not None
        return self._renderer

    @property
    def tail(self) -> Sequence[Line | None]:
        """The rows below the last message; None for a blank one."""
        return self._tail

    @tail.setter
    def tail(self, rows: Sequence[Line | None]) -> None:
        self._tail, self.column.tail = rows, len(rows)

    @property
    def at_end(self) -> bool:
        return not self.more_below and self.top >= self.column.total - self.height

    def widen(self, widest: int, *, half_rows: bool) -> None:
        """Take another width of the column, at most, from the next change of size on."""
        self._widest, self._half_rows = widest, half_rows

    def resize(self, width: int, height: int, palette: Palette, *, short: bool = False) -> None:
        """Change size or palette, keeping the top row; ``short``: the screen has few rows."""
        anchor = self.anchor()
        before = None
        if anchor is not None and anchor.part != IN_GAP and anchor.entry.parts:
            before = anchor.entry.parts[anchor.part].height
        self.height = height
        renderer = self._renderer
        of_now = (width, short, palette, self._widest, self._half_rows and palette.has_grounds)
        if renderer is None or renderer.made_for != of_now:
            self._renderer = renderer = RowRenderer(
                width, palette, column=self._widest, half_rows=self._half_rows, short=short
            )
            old = self.column.options
            self.column.set_options(renderer.options(old))
            rewrapped = self.column.options.width != old.width
            if anchor is not None and before and rewrapped and anchor.entry.parts:
                self.column.lines(anchor.entry, anchor.part)
                after = anchor.entry.parts[anchor.part].height
                anchor = anchor._replace(row=anchor.row * after // before)
        self.place(anchor)

    def anchor(self) -> Anchor | None:
        """Return the anchor of the current position; None while following the end."""
        return None if self.following or not self.height else self.column.anchor_at(self.top, self.height)

    def place(self, anchor: Anchor | None = None) -> None:
        """Show the rows around ``anchor`` in its place; None is the end."""
        if not self.ready:
            return
        if self._pending_position is not None:
            anchor, self._pending_position = self._anchor_of(self._pending_position), None
        self.top = self.column.measure(anchor, self.height)
        self.rows = list(self.column.rows(self.top, self.height))

    def go_to(self, anchor: Anchor | None) -> None:
        """Move to ``anchor``, or to the end for None, and follow the end if it is reached."""
        self.place(anchor)
        self.following = self.at_end or (anchor is None and not self.more_below)

    def scroll_to(self, top: int) -> None:
        """Move so that ``top`` is the first row, as far as estimated heights allow."""
        self.go_to(self.column.anchor_at(max(0, top), self.height))

    def reveal(self, entry: Entry) -> None:
        """Scroll a message into view, no further than needed; the beginning of one that is too tall."""
        head = IN_GAP if entry.gap else 0
        for _ in range(3):  # its height may be an estimate until it is drawn
            top = self.column.top(entry)
            rows = entry.rows
            if top + rows == self.column.end:
                rows += len(self.tail)
            if self.top <= top + entry.gap and top + rows <= self.top + self.height:
                return
            below = 0 if rows >= self.height or top < self.top else self.height - rows
            self.go_to(Anchor(entry, head, 0, below))

    def show_row(self, anchor: Anchor) -> None:
        """Move to ``anchor`` unless its row is visible."""
        if not self.top <= self.column.row_of(anchor) < self.top + self.height:
            self.go_to(anchor)

    def restore_position(self, place: int | None) -> None:
        """Restore a result of ``position`` with the next ``place``; None is the end."""
        self._pending_position = None if place is None else ReadingPosition.unpack(place)
        self.following = place is None

    def position(self) -> int | None:
        """Return the packed position of the top row; None while following."""
        if self._pending_position is not None:
            return self._pending_position.pack()
        if self.following or not self.rows:
            return None
        row = self.rows[0]
        return ReadingPosition(row.entry.message.depth, row.part, row.row).pack()

    def strips(
        self,
        focus: str | None,
        overlays: Callable[[ColumnRow], Iterable[Overlay]] | None,
        decorate: Callable[[ColumnRow, Strip], Strip] | None = None,
    ) -> list[Strip]:
        """Return the strips of the screen's rows; ``decorate`` changes each at the end."""
        renderer = self.renderer
        strips: list[Strip] = []
        beyond = self.column.known_line
        lines = [beyond(self.top - 1), *(row.line for row in self.rows), beyond(self.top + len(self.rows))]
        for row, above, below in zip(self.rows, lines, lines[2:], strict=False):
            focused = focus is not None and row.entry.message.id == focus
            strip = renderer.render(row, focused=focused, above=above, below=below)
            if overlays is not None and row.line is not None:
                over = list(overlays(row))
                if over:
                    strip = renderer.overlay(strip, renderer.lead(row), over)
            strips.append(strip if decorate is None else decorate(row, strip))
        if self.top + len(self.rows) >= self.column.end:
            last = self.rows[-1] if self.rows else None
            for line in self.tail[max(0, self.top - self.column.end) : max(0, self.height - len(strips))]:
                strip = renderer.below_the_end(line, last.line if last else None)
                if last is not None and decorate is not None:
                    strip = decorate(last._replace(part=IN_GAP, row=-1, line=None), strip)
                strips.append(strip)
                last = None
        strips += [renderer.empty] * (self.height - len(strips))
        return strips

    def _anchor_of(self, place: ReadingPosition) -> Anchor | None:
        entries = self.column.entries
        # A seam is drawn above its prompt, so depths are not strictly in order.
        exact = (entry for entry in entries if entry.message.depth == place.depth)
        entry = next(exact, None) or next(
            (each for each in entries if each.message.depth > place.depth), None
        )
        if entry is None:
            return None
        if 0 <= place.part < len(self.column.parts(entry)):
            self.column.lines(entry, place.part)
        return Anchor(entry, place.part, place.row, 0)


_GLYPH = "▐"
# What a press of the mouse does.
_ABOVE, _ON, _BELOW = (
    "scroll_up",
    "grab",
    "scroll_down",
)


class TranscriptScrollBar(ScrollBar):
    """Vertical scroll bar of one thin line, which takes no cell from the rows."""

    def set_palette(self, palette: Palette) -> None:
        """Draw in the styles of a palette; the track above and below the thumb is drawn if the palette has grounds."""
        track, thumb = palette.scroll_track, palette.scroll_thumb
        glyph = _GLYPH if palette.has_grounds else " "
        self._strips = {
            action: Strip([Segment(text, style + Style(meta={"@mouse.down": action}))], 1)
            for action, text, style in ((_ABOVE, glyph, track), (_ON, _GLYPH, thumb), (_BELOW, glyph, track))
        }
        self.refresh()

    def thumb(self) -> tuple[int, int]:
        """Return the first row of the thumb and the one behind its last."""
        height, total = self.size.height, max(1, self.window_virtual_size)
        length = max(1, round(height * height / total))
        way = max(1, total - height)
        start = min(height - length, round((height - length) * self.position / way))
        return max(0, start), max(0, start) + length

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines; equal ones are the same strip."""
        start, end = self.thumb()
        filters, (_, background) = self.get_line_filters(), self.background_colors
        strips = dict(self._strips)
        for action, strip in strips.items():
            for each in filters:
                strip = strip.apply_filter(each, background)
            strips[action] = strip
        return [
            strips[_ABOVE if y < start else _ON if y < end else _BELOW] for y in range(crop.y, crop.bottom)
        ]
