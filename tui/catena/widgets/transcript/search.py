"""The search that is on in a transcript: its hits, and the one that was gone to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from catena.widgets.transcript.column import IN_GAP, Anchor, Column, Row
from catena.widgets.transcript.entry import Entry
from catena.widgets.transcript.finding import Finder, Hit, Spot
from catena.widgets.transcript.frame import Overlay
from catena.widgets.transcript.lines import Line
from catena.widgets.transcript.palette import Palette


class Search:
    """One text that is looked for, and where one stands among its places."""

    def __init__(self, text: str, column: Column) -> None:
        self.finder = Finder(text)
        self.hits: list[Hit] = self.finder.hits(column)
        self.index: int | None = None
        self.spot: Spot | None = None
        self._looked_through: tuple[list[Line], dict[int, list[tuple[int, int, int]]]] = ([], {})

    @property
    def hit(self) -> Hit | None:
        return None if self.index is None else self.hits[self.index]

    def begin(self, column: Column, rows: Sequence[Row]) -> None:
        """Begin at the newest hit that is on the screen or above it."""
        last = rows[-1].entry.ordinal if rows else 0
        for index in range(len(self.hits) - 1, -1, -1):
            entry = column.entry(self.hits[index].message_id)
            if entry is not None and entry.ordinal <= last:
                self.index = index
                return
        self.index = 0 if self.hits else None

    def entry(self, column: Column) -> Entry | None:
        """Return the message of the hit that was gone to."""
        return None if self.hit is None else column.entry(self.hit.message_id)

    def find_spot(self, column: Column, entry: Entry) -> Spot | None:
        """Find where the hit that was gone to is drawn; None where it is not."""
        self.spot = None if self.hit is None else self.finder.spot(column, entry, self.hit.index)
        return self.spot

    def anchor(self, column: Column, entry: Entry, at: int) -> Anchor:
        """Return the anchor that brings the spot to the row ``at`` of the screen."""
        assert self.spot is not None
        lead = column.parts(entry)[self.spot.part].lead
        return Anchor(entry, self.spot.part, self.spot.row + lead, at)

    def step(self, step: int) -> Hit | None:
        """Go on by ``step`` hits, around the ends."""
        if not self.hits:
            return None
        self.index = (0 if step > 0 else -1) % len(self.hits) if self.index is None else self.index + step
        self.index %= len(self.hits)
        return self.hits[self.index]

    def look_again(self, column: Column) -> None:
        """The loaded messages are others now; the hit that was gone to stays the one."""
        hit = self.hit
        self.hits = self.finder.hits(column)
        self.index = self.hits.index(hit) if hit in self.hits else None

    def overlays(self, column: Column, row: Row, palette: Palette) -> Iterator[Overlay]:
        """Return what is laid over the hits of a row."""
        if row.line is None or row.part == IN_GAP:
            return
        part = column.parts(row.entry)[row.part]
        spot = self.spot
        here = spot is not None and (spot.message_id, spot.part) == (row.entry.message.id, row.part)
        for start, end, origin in self._row_spans(part.lines or []).get(row.row - part.lead, ()):
            current = (
                here
                and spot is not None
                and origin == spot.row
                and (origin != row.row - part.lead or start == spot.start)
            )
            yield start, end, palette.hit_current if current else palette.hit

    def _row_spans(self, lines: list[Line]) -> dict[int, list[tuple[int, int, int]]]:
        """Look through the rows of a part once, however many of them are on the screen."""
        if lines is not self._looked_through[0]:
            self._looked_through = lines, self.finder.row_spans(lines)
        return self._looked_through[1]
