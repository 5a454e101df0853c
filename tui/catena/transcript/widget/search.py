"""Search in the transcript: its matches, the current hit, and their highlighting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catena.transcript.drawing.lines import Line
from catena.transcript.drawing.render_options import Palette
from catena.transcript.messages.notices import notice_details, plan_entries, seam_words
from catena.transcript.messages.tool_call import ToolCall
from catena.transcript.model.column import IN_GAP, Anchor, Column, ColumnRow
from catena.transcript.model.entry import Entry
from catena.transcript.widget.row_renderer import Overlay
from catena_store.records import Kind

_MAX_HITS = 10_000


@dataclass(frozen=True, slots=True)
class TextHit:
    """The ``index``-th match in a message, from 0."""

    message_id: str
    index: int


@dataclass(frozen=True, slots=True)
class HitLocation:
    """Location of a hit: a part of a message, a row below its lead, and the first character there."""

    message_id: str
    part: int
    row: int
    start: int


class TextMatcher:
    """Case-insensitive matcher of one text, or of any of several."""

    def __init__(self, text: str | Sequence[str]) -> None:
        texts = (text,) if isinstance(text, str) else tuple(filter(None, text))
        self._pattern = re.compile("|".join(map(re.escape, texts)), re.IGNORECASE)
        self._lower = texts[0].lower() if len(texts) == 1 and texts[0].isascii() else None

    def hits(self, column: Column) -> list[TextHit]:
        """Return the hits in the loaded messages, oldest first; at most 10,000."""
        found: list[TextHit] = []
        for entry in column.entries:
            count = min(self._count(searchable_text(entry)), _MAX_HITS - len(found))
            found += (TextHit(entry.message.id, index) for index in range(count))
            if len(found) >= _MAX_HITS:
                break
        return found

    def location(self, column: Column, entry: Entry, index: int) -> HitLocation | None:
        """Return the location of the ``index``-th hit of a message, or of the last one before it; None without any."""
        last: HitLocation | None = None
        passed: int | None = None  # the last part whose hits were only counted
        for number, part in enumerate(column.parts(entry)):
            source = part.source
            if source and not (count := self._count(source)):
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

    def _count(self, text: str) -> int:
        """Return the number of matches in ``text``."""
        if self._lower is not None and text.isascii():
            return text.lower().count(self._lower)
        return sum(1 for _ in self._pattern.finditer(text))

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
        for match in self._pattern.finditer(text):
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


def searchable_text(entry: Entry) -> str:
    """Return the searchable text of a message."""
    message = entry.message
    match message.kind:
        case Kind.TOOL:
            call = ToolCall.of(message)
            return "\n".join((call.object, *call.texts, *(diff.new for diff in call.diffs)))
        case Kind.PLAN:
            return "\n".join(text for text, _ in plan_entries(message))
        case Kind.NOTICE:
            return f"{message.text}\n{notice_details(message)}"
        case Kind.SEAM:
            return f"{seam_words(message)}\n{entry.detail or ''}"
        case Kind.USER | Kind.AGENT | Kind.THOUGHT:
            return entry.answer.text if entry.answer is not None else message.text


class TranscriptSearch:
    """A search for one text or for any of several: its hits and the current one."""

    def __init__(self, text: str | Sequence[str], column: Column) -> None:
        self.matcher = TextMatcher(text)
        self.hits: list[TextHit] = self.matcher.hits(column)
        self.index: int | None = None
        self.location: HitLocation | None = None
        self._span_cache: tuple[list[Line], dict[int, list[tuple[int, int, int]]]] = ([], {})

    @property
    def hit(self) -> TextHit | None:
        return None if self.index is None else self.hits[self.index]

    def begin(self, column: Column, rows: Sequence[ColumnRow]) -> None:
        """Start at the newest hit on the screen or above it."""
        last = rows[-1].entry.ordinal if rows else 0
        for index in range(len(self.hits) - 1, -1, -1):
            entry = column.entry(self.hits[index].message_id)
            if entry is not None and entry.ordinal <= last:
                self.index = index
                return
        self.index = 0 if self.hits else None

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
        self.hits = self.matcher.hits(column)
        self.index = self.hits.index(hit) if hit in self.hits else None

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
