"""What of the column is on the screen, and how it stays there. Knows nothing of Textual's widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from textual.strip import Strip

from catena.transcript.drawing.render_options import Palette
from catena.transcript.model.column import IN_GAP, Anchor, Column, ColumnRow
from catena.transcript.model.entry import Entry
from catena.transcript.widget.row_renderer import Overlay, RowRenderer

_PART_BITS, _ROW_BITS = 12, 20


class ReadingPosition(NamedTuple):
    """A row of a message, by which a reading position is kept: it holds whatever is added below or loaded above."""

    depth: int  # of the message in its tree
    part: int
    row: int

    @classmethod
    def unpack(cls, number: int) -> ReadingPosition:
        """Read what ``pack`` gave."""
        part = number >> _ROW_BITS & (1 << _PART_BITS) - 1
        return cls(number >> _PART_BITS + _ROW_BITS, part - 1, number & (1 << _ROW_BITS) - 1)

    def pack(self) -> int:
        """Return the place as one integer of at most 63 bits."""
        part = min(self.part + 1, (1 << _PART_BITS) - 1)
        row = min(self.row, (1 << _ROW_BITS) - 1)
        return (self.depth << _PART_BITS | part) << _ROW_BITS | row


class Viewport:
    """A screen of some size on a column: its top row, whether it follows the end, and the rows that it shows."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.following = True
        self.top = 0
        self.height = 0
        self.rows: list[ColumnRow] = []
        self._renderer: RowRenderer | None = None
        self._pending_position: ReadingPosition | None = None  # to be gone to as soon as there is a size

    @property
    def ready(self) -> bool:
        """It has a size."""
        return self._renderer is not None and self.height > 0

    @property
    def renderer(self) -> RowRenderer:
        assert self._renderer is not None
        return self._renderer

    @property
    def at_end(self) -> bool:
        return self.top >= self.column.total - self.height

    def resize(self, width: int, height: int, palette: Palette) -> None:
        """Show the column in another size or palette; what is on top stays on top."""
        anchor = self.anchor()
        before = None
        if anchor is not None and anchor.part != IN_GAP and anchor.entry.parts:
            before = anchor.entry.parts[anchor.part].height
        self.height = height
        renderer = self._renderer
        if renderer is None or renderer.width != width or renderer.palette != palette:
            self._renderer = renderer = RowRenderer(width, palette)
            old = self.column.options
            self.column.set_options(renderer.options(old))
            rewrapped = self.column.options.width != old.width
            if anchor is not None and before and rewrapped and anchor.entry.parts:
                self.column.lines(anchor.entry, anchor.part)
                after = anchor.entry.parts[anchor.part].height
                anchor = anchor._replace(row=anchor.row * after // before)
        self.place(anchor)

    def anchor(self) -> Anchor | None:
        """Return what is to stay where it is; None for the end."""
        return None if self.following or not self.height else self.column.anchor_at(self.top, self.height)

    def place(self, anchor: Anchor | None = None) -> None:
        """Show the column with ``anchor`` in its place, the end for None."""
        if not self.ready:
            return
        if self._pending_position is not None:
            anchor, self._pending_position = self._anchor_of(self._pending_position), None
        self.top = self.column.measure(anchor, self.height)
        self.rows = list(self.column.rows(self.top, self.height))

    def go_to(self, anchor: Anchor | None) -> None:
        """Move to ``anchor``, or to the end for None; follow it if that is where one comes to stand."""
        self.place(anchor)
        self.following = anchor is None or self.at_end

    def scroll_to(self, top: int) -> None:
        """Move so that ``top`` is the first row, as far as heights that are guessed allow."""
        self.go_to(self.column.anchor_at(max(0, top), self.height))

    def reveal(self, entry: Entry) -> None:
        """Bring a message on the screen: moving no more than is needed, its beginning where it is too tall."""
        head = IN_GAP if entry.gap else 0
        for _ in range(3):  # its height may be a guess until it is drawn
            top = self.column.top(entry)
            if self.top <= top + entry.gap and top + entry.rows <= self.top + self.height:
                return
            below = 0 if entry.rows >= self.height or top < self.top else self.height - entry.rows
            self.go_to(Anchor(entry, head, 0, below))

    def show_row(self, anchor: Anchor) -> None:
        """Bring a row on the screen, to where ``anchor`` has it if it is not in sight."""
        if not self.top <= self.column.row_of(anchor) < self.top + self.height:
            self.go_to(anchor)

    def restore_position(self, place: int | None) -> None:
        """Go, with the next ``place``, to what ``position`` gave; None: to the end."""
        self._pending_position = None if place is None else ReadingPosition.unpack(place)
        self.following = place is None

    def position(self) -> int | None:
        """Return the top row's place, packed; None while following."""
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
        """Return the rows as they are drawn, as many as the screen has; ``dress`` changes them at last."""
        renderer = self.renderer
        strips: list[Strip] = []
        for row in self.rows:
            strip = renderer.render(row, focused=focus is not None and row.entry.message.id == focus)
            if overlays is not None and row.line is not None:
                over = list(overlays(row))
                if over:
                    strip = renderer.overlay(strip, renderer.lead(row), over)
            strips.append(strip if decorate is None else decorate(row, strip))
        strips += [renderer.empty] * (self.height - len(strips))
        return strips

    def _anchor_of(self, place: ReadingPosition) -> Anchor | None:
        entries = self.column.entries
        # A seam stands above its prompt, so depths are not quite in order.
        exact = (entry for entry in entries if entry.message.depth == place.depth)
        entry = next(exact, None) or next(
            (each for each in entries if each.message.depth > place.depth), None
        )
        if entry is None:
            return None
        if 0 <= place.part < len(self.column.parts(entry)):
            self.column.lines(entry, place.part)
        return Anchor(entry, place.part, place.row, 0)
