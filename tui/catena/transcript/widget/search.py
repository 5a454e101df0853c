"""Search in the transcript: its matches, the current hit, and their highlighting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import Palette
from catena.transcript.model.column import IN_GAP, Anchor, Column, ColumnRow
from catena.transcript.model.entry import Entry
from catena.transcript.model.source import TextPattern, searchable_text
from catena.transcript.widget.row_renderer import Overlay

_MAX_HITS = 10_000


@dataclass(frozen=True, slots=True)
class TextHit:
    """The ``index``-th match in a message, from 0."""

    message_id: str
    index: int


@dataclass(frozen=True, slots=True)
class RowHits:
    """How many matches a message of the branch has that may not be loaded."""

    message_id: str
    depth: int
    count: int

    @property
    def hits(self) -> Iterator[TextHit]:
        """The matches, from the first on."""
        return (TextHit(self.message_id, index) for index in range(self.count))


@dataclass(frozen=True, slots=True)
class HitLocation:
    """Location of a hit: a part of a message, a row below its lead, and the first character there."""

    message_id: str
    part: int
    row: int
    start: int


class TextMatcher(TextPattern):
    """A text pattern that finds its matches in a column; what did not change since is not counted again."""

    def __init__(self, text: str | Sequence[str]) -> None:
        super().__init__(text)
        # By message: of which text, and how many.
        self._counts: dict[str, tuple[tuple[object, ...], int]] = {}

    def hits(self, column: Column) -> list[TextHit]:
        """Return the hits in the loaded messages, oldest first; at most 10,000."""
        found: list[TextHit] = []
        for entry in column.entries:
            count = min(self._count_in(entry), _MAX_HITS - len(found))
            found += (TextHit(entry.message.id, index) for index in range(count))
            if len(found) >= _MAX_HITS:
                break
        return found

    def _count_in(self, entry: Entry) -> int:
        growing = -1 if entry.answer is None else len(entry.answer.text)
        state, known = (entry.message, entry.detail, growing), self._counts.get(entry.message.id)
        if known is None or known[0][0] is not entry.message or known[0][1:] != state[1:]:
            known = self._counts[entry.message.id] = (state, self.count(_text_of(entry)))
        return known[1]

    def location(self, column: Column, entry: Entry, index: int) -> HitLocation | None:
        """Return the location of the ``index``-th hit of a message, or of the last one before it; None without any."""
        last: HitLocation | None = None
        passed: int | None = None  # the last part whose hits were only counted
        for number, part in enumerate(column.parts(entry)):
            source = part.source
            if source and not (count := self.count(source)):
                continue
            if source and part.verbatim and index >= count:
                index -= count  # parts above the hit need not be drawn
                passed, last = number, None
                continue
            for row, start, _ in self.spans(column.lines(entry, number)):
                last = HitLocation(entry.message.id, number, row, start)
                if index == 0:
                    return last
                index -= 1
        if last is None and passed is not None:
            for row, start, _ in self.spans(column.lines(entry, passed)):
                last = HitLocation(entry.message.id, passed, row, start)
        return last

    def spans(self, lines: Sequence[Line]) -> Iterator[tuple[int, int, int]]:
        """Yield row, start and end of each match; a wrapped one ends beyond its first row."""
        pieces: list[str] = []
        starts: list[int] = []
        at = 0
        for line in lines:
            content = line.shown[line.lead :]
            starts.append(at)
            pieces += (content, line.joint)
            at += len(content) + len(line.joint)
        text = "".join(pieces)
        row = 0
        for match in self.matches(text):
            while row + 1 < len(lines) and starts[row + 1] <= match.start():
                row += 1
            yield row, match.start() - starts[row], match.end() - starts[row]

    def row_spans(self, lines: Sequence[Line]) -> dict[int, list[tuple[int, int, int]]]:
        """Return the matches by row: start, end, and the row on which each begins."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        for row, start, end in self.spans(lines):
            origin = row
            while row < len(lines):
                length = len(lines[row].shown) - lines[row].lead
                found.setdefault(row, []).append((start, min(end, length), origin))
                end -= length + len(lines[row].joint)
                start, row = 0, row + 1
                if end <= 0:
                    break
        return found


def _text_of(entry: Entry) -> str:
    """The searchable text of a message, which may be growing."""
    return (
        entry.answer.text if entry.answer is not None else searchable_text(entry.message, entry.detail or "")
    )


class TranscriptSearch:
    """A search for one text or for any of several: its hits and the current one.

    Of messages that are not loaded it knows those hits that it was told of by ``add``, or that it saw before.
    """

    def __init__(self, text: str | Sequence[str], column: Column) -> None:
        self.text = text
        self.matcher = TextMatcher(text)
        self._known: dict[str, RowHits] = {}
        self.hits: list[TextHit] = []
        self._merge(column)
        self.index: int | None = None
        self.location: HitLocation | None = None
        self._span_cache: tuple[list[Line], dict[int, list[tuple[int, int, int]]]] = ([], {})

    @property
    def hit(self) -> TextHit | None:
        return None if self.index is None else self.hits[self.index]

    def add(self, found: Iterable[RowHits], column: Column) -> None:
        """Add hits in messages of the branch that are not loaded."""
        self._known |= {each.message_id: each for each in found}
        self.refresh(column)

    def begin(self, column: Column, rows: Sequence[ColumnRow], *, more_above: bool) -> None:
        """Start at the newest hit on the screen or above it, else at the first, or at none with ``more_above``."""
        last = rows[-1].entry.ordinal if rows else 0
        for index in range(len(self.hits) - 1, -1, -1):
            entry = column.entry(self.hits[index].message_id)
            if entry is not None and entry.ordinal <= last:
                self.index = index
                return
        self.index = 0 if self.hits and not more_above else None

    def begin_in(self, message_id: str) -> bool:
        """Start at the first hit in a message; False if it has none."""
        first = next((at for at, hit in enumerate(self.hits) if hit.message_id == message_id), None)
        self.index = first
        return first is not None

    def entry(self, column: Column) -> Entry | None:
        """Return the message of the current hit."""
        return None if self.hit is None else column.entry(self.hit.message_id)

    def locate(self, column: Column, entry: Entry) -> HitLocation | None:
        """Find the location of the current hit; None if it is not drawn."""
        self.location = None if self.hit is None else self.matcher.location(column, entry, self.hit.index)
        return self.location

    def anchor(self, column: Column, entry: Entry, at: int) -> Anchor:
        """Return the anchor that shows the current hit on row ``at`` of the screen."""
        assert self.location is not None
        lead = column.parts(entry)[self.location.part].lead
        return Anchor(entry, self.location.part, self.location.row + lead, at)

    def step(self, step: int) -> TextHit | None:
        """Move by ``step`` hits, around the ends."""
        if not self.hits:
            return None
        self.index = (0 if step > 0 else -1) % len(self.hits) if self.index is None else self.index + step
        self.index %= len(self.hits)
        return self.hits[self.index]

    def refresh(self, column: Column) -> None:
        """Search the loaded messages again and keep the current hit."""
        hit = self.hit
        self._merge(column)
        self.index = self.hits.index(hit) if hit in self.hits else None

    def _merge(self, column: Column) -> None:
        """Set the hits: those above, in, and below the loaded messages."""
        loaded = self.matcher.hits(column)
        depths = {entry.message.id: entry.message.depth for entry in column.entries}
        known = {id: each for id, each in self._known.items() if id not in depths}
        for hit in loaded:
            known[hit.message_id] = RowHits(hit.message_id, depths[hit.message_id], hit.index + 1)
        self._known = known
        others = sorted((each for id, each in known.items() if id not in depths), key=lambda each: each.depth)
        top = min(depths.values(), default=0)
        above = [hit for each in others if each.depth < top for hit in each.hits]
        below = [hit for each in others if each.depth >= top for hit in each.hits]
        self.hits = [*above, *loaded, *below]

    def overlays(self, column: Column, row: ColumnRow, palette: Palette) -> Iterator[Overlay]:
        """Yield the overlays of a row's hits."""
        if row.line is None or row.part == IN_GAP:
            return
        part = column.parts(row.entry)[row.part]
        location = self.location
        here = location is not None and (location.message_id, location.part) == (
            row.entry.message.id,
            row.part,
        )
        for start, end, origin in self._row_spans(part.lines or []).get(row.row - part.lead, ()):
            current = (
                here
                and location is not None
                and origin == location.row
                and (origin != row.row - part.lead or start == location.start)
            )
            yield start, end, palette.hit_current if current else palette.hit

    def _row_spans(self, lines: list[Line]) -> dict[int, list[tuple[int, int, int]]]:
        """Return the matches in the rows of a part, computed once for all its rows on the screen."""
        if lines is not self._span_cache[0]:
            self._span_cache = lines, self.matcher.row_spans(lines)
        return self._span_cache[1]
