"""The list of the history: rows of one or two lines with a cursor, of which only those in sight are read and drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import WorkType

from catena.cells import cell_len
from catena.history.entries import HistoryEntry
from catena.history.finding import HitPlace, Hits, MessageFinder, MessageHit, ranked
from catena.history.listing import HistoryListing, Matches
from catena.history.query import Quality
from catena.history.reading import FIRST, HistoryReader
from catena.screens.history.rows.rows import (
    BY_LETTERS,
    IN_MESSAGES,
    WORKING_FRAMES,
    HistoryRows,
    RowLook,
    RowPiece,
    found_line,
    time_headings,
    title_line,
)
from catena.widgets.row_list import RowLines, Rows, Tone
from catena_store.errors import StoreError

_HIGHER = 4  # rows that the row under the cursor is put higher, at most
_LOOKED_AT = 200  # rows, for those that wait


class RowOrder:
    """The order of the rows for one query, with the lines between them; ``headed``: there is room for headings."""

    def __init__(self, hits: Hits, words: tuple[str, ...], now: datetime, *, headed: bool) -> None:
        self._hits = hits
        self._words = words
        self._now = now
        self._headed = headed

    def rows(self, listing: HistoryListing, matches: Matches) -> HistoryRows:
        """The rows of what matches, and of what was found in messages."""
        if self._hits.found:
            return self._rows(*with_messages(listing, matches, self._hits))
        return self._rows(matches.entries, matches.qualities)

    def with_row_at(
        self, rows: HistoryRows, key: str, place: int, fits: Callable[[HistoryRows, int], bool]
    ) -> HistoryRows:
        """The rows with the one of a key at its place, or so much higher that new rows that wait stay in sight."""
        at = rows.index(key)
        if at is None:
            return rows
        first = sum(1 for each in rows.entries[:_LOOKED_AT] if each.waits and each.key != key)
        kept = rows
        for wanted in range(place, max(-1, min(first, place) - 1, place - _HIGHER), -1):
            index = min(wanted, len(rows) - 1)
            kept = rows if index == at else self._moved(rows, at, index)
            if fits(kept, index):
                break
        return kept

    def _moved(self, rows: HistoryRows, at: int, index: int) -> HistoryRows:
        entries, qualities = [*rows.entries], [*rows.qualities]
        entries.insert(index, entries.pop(at))
        qualities.insert(index, qualities.pop(at))
        return self._rows(entries, qualities, moved=index)

    def _rows(
        self, entries: Sequence[HistoryEntry], qualities: Sequence[Quality], *, moved: int | None = None
    ) -> HistoryRows:
        headed = self._headed and not self._words
        return HistoryRows(
            entries,
            qualities,
            {hit.conversation_id: hit for hit in self._hits},
            self._words,
            headings=time_headings(entries, self._now, moved=moved) if headed else {},
            rules=_rules(qualities) if self._words else {},
        )


def _rules(qualities: Sequence[Quality]) -> dict[int, str]:
    """The lines before what was found in messages, and before what letters alone found, by the rows below them."""
    words = {Quality.NONE: IN_MESSAGES, Quality.FUZZY: BY_LETTERS}
    return {qualities.index(quality): word for quality, word in words.items() if quality in qualities}


def with_messages(
    listing: HistoryListing, matches: Matches, hits: Hits
) -> tuple[Sequence[HistoryEntry], Sequence[Quality]]:
    """The entries in the order of ``ranked``, without a value for each of thousands."""
    found = {hit.conversation_id for hit in hits}
    letters = matches.qualities.index(Quality.FUZZY) if Quality.FUZZY in matches.qualities else len(matches)
    if any(entry.key in found for entry in matches.entries[letters:]):
        rows = ranked(listing, matches, hits)
        return [row.entry for row in rows], [row.quality for row in rows]
    known = {entry.key for entry in matches.entries[:letters] if entry.key in found}
    new = [
        entry
        for hit in hits
        if hit.conversation_id not in known and (entry := listing.get(hit.conversation_id)) is not None
    ]
    return (
        [*matches.entries[:letters], *new, *matches.entries[letters:]],
        [*matches.qualities[:letters], *([Quality.NONE] * len(new)), *matches.qualities[letters:]],
    )


_FOUND, _BOLD = Style(bold=True, underline=True), Style(bold=True)
_MARGIN = 2
_NARROW = 60  # cells below which the right margin goes
_AHEAD = 30  # rows below those in sight
_NEAR = 9  # rows above one that is gone, by whose places its own is told
_TURN = 0.25  # seconds of a frame of the mark of work


def _beside_gone(before: Sequence[HistoryEntry], gone: int, now: Sequence[HistoryEntry]) -> int:
    """The row that stands now where one is gone, by its neighbours: others may have gone, come or moved meanwhile.

    It is the next row below that still stands below what was above; at the end of the list the next one above.
    """
    places = {entry.key: at for at, entry in enumerate(now)}
    above = [at for entry in reversed(before[:gone]) if (at := places.get(entry.key)) is not None]
    below = [at for entry in before[gone + 1 :] if (at := places.get(entry.key)) is not None]
    near = sorted(above[:_NEAR])
    middle = near[len(near) // 2] if near else -1  # of them, a single one may have moved
    return next((at for at in below if at > middle), near[-1] if near else 0)


class HistoryList(Rows):
    """Conversations with a cursor; whatever else changes, the row under the cursor stays where it is."""

    class Chosen(Message):
        """A row was clicked that was under the cursor before."""

    class Moved(Message):
        """The cursor is on another row."""

    class NearEnd(Message):
        """The last rows that are surely in their places are not far below."""

    def __init__(self, look: RowLook, details: RowDetails, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._details = details
        self._content = HistoryRows()
        self._look = look

    def on_unmount(self) -> None:
        """Let go of the rows."""
        self._content = HistoryRows()

    @property
    def content(self) -> HistoryRows:
        """All rows."""
        return self._content

    @property
    def chosen(self) -> HistoryEntry | None:
        """The entry under the cursor."""
        entries = self._content.entries
        return self._details.of(entries[self.cursor]) if 0 <= self.cursor < len(entries) else None

    @property
    def page_length(self) -> int:
        """How many rows a page key moves the cursor by."""
        return max(2, len(self.in_sight) - 1)

    @property
    def in_sight(self) -> range:
        """The rows of which a part is on the screen."""
        found = [row[0] for y in range(self.size.height) if (row := self.row_at(y)) is not None]
        return range(found[0], found[-1] + 1) if found else range(0)

    @property
    def is_near_end(self) -> bool:
        """True where the last rows that are surely in their places are in sight, or not far below."""
        return self.in_sight.stop + _AHEAD > min(len(self._content), FIRST)

    def fits(self, content: HistoryRows, at: int) -> bool:
        """True where a row can stay on the line of the one under the cursor without hiding rows above it."""
        stands = self._line_of(self.cursor) - self._above
        return self._lines_of(content).line(at) <= stands

    def show(self, content: HistoryRows, *, empty: str = "", held: bool) -> None:
        """Replace the rows. ``held``: the row under the cursor stays under it, and on its line of the screen."""
        self._taken_up = held and self._taken_up
        if (content, empty) == (self._content, self._empty) and (held or not (self.cursor or self._above)):
            self._read_details()  # nothing is drawn anew
            return
        before, rows_before = self.chosen, self._content.entries
        stood = self._line_of(self.cursor) - self.scroll_offset.y
        self._content, self._empty = content, empty
        self._lay_out()
        at = content.index(before.key) if held and before is not None else None
        self._above = 0
        if at is not None and self.size.height:
            line = self._lines.line(at)
            self._above = max(0, stood - line)
            self._extend()
            with self.prevent(self.Moved):
                self.set_reactive(HistoryList.cursor, at)
            self._place_at(max(0, line - stood))
        else:
            gone = held and before is not None
            at = _beside_gone(rows_before, self.cursor, content.entries) if gone else 0
            self.set_reactive(HistoryList.cursor, at)
            self._extend()
            self.reveal()
        if (before.key if before else None) != (self.chosen.key if self.chosen else None):
            self.post_message(self.Moved())
        self._read_details()
        self.refresh()

    def look(self, **changes: object) -> None:
        """Change how rows look."""
        look = replace(self._look, **changes)  # type: ignore[arg-type]
        if look != self._look:
            self._look = look
            self.refresh()

    @property
    def frame_changes(self) -> bool:
        """True where a row in sight has a mark that turns."""
        return any(self._content.entries[at].state.value == "working" for at in self.in_sight)

    def watch_cursor(self) -> None:
        """Keep the cursor in sight."""
        if self._above:  # nothing is held any more: the rows are where they belong
            self._above = 0
            self._extend()
        self.reveal()
        self.refresh()
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Lay the rows out for another size, and keep the cursor in sight."""
        self._lay_out()
        self._extend()
        self.reveal()
        self._read_details()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; choose it where it was there before."""
        if (found := self.row_at(event.y)) is None:
            return
        self._taken_up = True
        if found[0] == self.cursor:
            self.post_message(self.Chosen())
        else:
            self.cursor = found[0]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Learn about the rows that came in sight."""
        super().watch_scroll_y(old_value, new_value)
        self._read_details()

    def turn(self) -> None:
        """Turn the mark of work, from now on."""
        self.set_interval(_TURN, self._turn)

    def _turn(self) -> None:
        if self.frame_changes:
            at = WORKING_FRAMES.index(self._look.frame)
            self.look(frame=WORKING_FRAMES[(at + 1) % len(WORKING_FRAMES)])

    def _read_details(self) -> None:
        """Learn what outlines in sight lack, and where hits stand."""
        in_sight = self.in_sight
        if self.is_near_end:
            self.post_message(self.NearEnd())
        shown = [self._details.of(self._content.entries[at]) for at in in_sight]
        if outlined := [entry for entry in shown if entry.outlined]:
            completing: WorkType[None] = partial(self._complete, outlined)
            self.run_worker(completing, group="outlines", exclusive=True)
        hits, entries = self._content.hits, self._content.entries
        unknown = [
            hit for at in in_sight if (hit := hits.get(entries[at].key)) and not self._details.is_placed(hit)
        ]
        if unknown:
            placing: WorkType[None] = partial(self._place_hits, unknown)
            self.run_worker(placing, group="places", exclusive=True)

    async def _complete(self, outlined: Sequence[HistoryEntry]) -> None:
        with contextlib.suppress(StoreError):
            await self._details.complete(outlined)
            self.refresh()

    async def _place_hits(self, hits: Sequence[MessageHit]) -> None:
        for hit in hits:
            await self._details.place_of(hit)
        self.look(places=self._details.versions)

    def _lay_out(self) -> None:
        self._lines = self._lines_of(self._content)

    def _lines_of(self, rows: HistoryRows) -> RowLines:
        headings, rules = (rows.headings, rows.rules) if self.headed else ({}, {})
        return RowLines(len(rows), headings, rules, rows.tall)

    def _line_of(self, at: int) -> int:
        return self._lines.line(at) + self._above

    def _extend(self, least: int = 0) -> None:
        """Set how many lines there are; the screen is laid out again only where the scroll bar comes or goes."""
        size, before = Size(0, max(1, self._lines.count + self._above, least)), self.virtual_size
        room = self.size.height
        if not room or (size.height > room) != (before.height > room):
            self.virtual_size = size
        elif size != before:
            self.set_reactive(Widget.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height

    def _place_at(self, top: int) -> None:
        if top > max(0, self.virtual_size.height - self.size.height):
            self._extend(top + self.size.height)
        self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def drawn(self, at: int, part: int, width: int, margin: int, *, chosen: bool) -> Strip:
        """Draw the title of a conversation, or what was found of it below."""
        inner = width + (_MARGIN - margin if self.size.width >= _NARROW else 0)
        right: list[RowPiece] = []
        if part:
            left = found_line(self._content, at, self._look, inner)
        else:
            entry = self._details.of(self._content.entries[at])
            left, right = title_line(self._content, at, entry, self._look, inner, chosen=chosen)
        return self._strip(left, right, width, margin, chosen=chosen)

    def _strip(
        self, left: list[RowPiece], right: list[RowPiece], width: int, right_margin: int, *, chosen: bool
    ) -> Strip:
        tones = self._styles.selected if chosen else self._styles.tones
        plain = self._styles.cursor if chosen else self._styles.base
        used = sum(cell_len(piece.text) for piece in (*left, *right)) + right_margin
        segments = [
            *(self._segment(piece, tones) for piece in left),
            Segment(" " * max(0, width - used), plain),
            *(self._segment(piece, tones) for piece in right),
            Segment(" " * right_margin, plain),
        ]
        return Strip([each for each in segments if each.text]).adjust_cell_length(width, plain)

    def _segment(self, piece: RowPiece, tones: Mapping[Tone, Style]) -> Segment:
        style = tones[Tone.TEXT if piece.found else piece.tone]
        if piece.found:
            style += _FOUND
        elif piece.bold:
            style += _BOLD
        return Segment(piece.text, style)


class RowDetails:
    """Outlines made whole, places of hits and sizes of conversations, each read once."""

    def __init__(
        self,
        finder: MessageFinder,
        read_sizes: Callable[[Sequence[str]], Awaitable[Mapping[str, int]]],
        listing: HistoryListing,
        reader: HistoryReader,
    ) -> None:
        self._finder = finder
        self._read_sizes = read_sizes
        self._listing = listing
        self._reader = reader
        self._places: dict[str, HitPlace] = {}  # by message
        self._sizes: dict[str, int] = {}

    def of(self, entry: HistoryEntry) -> HistoryEntry:
        """The entry with all that was read of it."""
        return (self._listing.get(entry.key) or entry) if entry.outlined else entry

    async def complete(self, entries: Sequence[HistoryEntry]) -> None:
        """Read what these entries, which are outlines, lack. Raises StoreError."""
        await self._reader.read([each.key for each in entries])

    @property
    def versions(self) -> dict[str, tuple[int, int]]:
        """The version of each hit whose place is known, and how many there are, by message."""
        return {id: (place.version, place.versions) for id, place in self._places.items()}

    def is_placed(self, hit: MessageHit) -> bool:
        """True once the place of a hit is known."""
        return hit.message_id in self._places

    async def place_of(self, hit: MessageHit | None) -> HitPlace | None:
        """Where a hit stands in its conversation; None where the store does not say."""
        if hit is None:
            return None
        if not self.is_placed(hit):
            with contextlib.suppress(StoreError):
                self._places[hit.message_id] = await self._finder.place(hit)
        return self._places.get(hit.message_id)

    async def size_of(self, entry: HistoryEntry) -> int:
        """The size of a conversation in bytes, 0 if that is not known. Raises StoreError."""
        if not entry.foreign and entry.key not in self._sizes:
            self._sizes |= await self._read_sizes([entry.key])
        return self._sizes.get(entry.key, entry.size or 0)
