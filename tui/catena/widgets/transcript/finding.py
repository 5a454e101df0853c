"""Find in the transcript: which messages hold a text, and where it stands in what is drawn of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catena.widgets.transcript.column import Column
from catena.widgets.transcript.entry import Entry
from catena.widgets.transcript.lines import Line
from catena.widgets.transcript.other_rows import notice_details, plan_entries, seam_words
from catena.widgets.transcript.tool_call import ToolCall
from catena_store.records import Kind

_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Hit:
    """The ``index``-th place, from 0, where a message holds the text that is looked for."""

    message_id: str
    index: int


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a hit is drawn: a part of a message, a row of it below its lead, and the characters there."""

    message_id: str
    part: int
    row: int
    start: int


class Finder:
    """One search, without regard to case."""

    def __init__(self, text: str) -> None:
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        self._lower = text.lower() if text.isascii() else None

    def hits(self, column: Column) -> list[Hit]:
        """Return every place in the loaded messages, oldest first; at most 10,000."""
        found: list[Hit] = []
        for entry in column.entries:
            count = min(self._count(searchable(entry)), _MOST - len(found))
            found += (Hit(entry.message.id, index) for index in range(count))
            if len(found) >= _MOST:
                break
        return found

    def spot(self, column: Column, entry: Entry, index: int) -> Spot | None:
        """Return where the ``index``-th hit of a message is drawn, or the last before it; None if none is drawn."""
        last: Spot | None = None
        passed: int | None = None  # the last part whose hits were only counted
        for number, part in enumerate(column.parts(entry)):
            source = part.source
            if source and not (count := self._count(source)):
                continue
            if source and part.verbatim and index >= count:
                index -= count  # what is above the hit need not be drawn
                passed, last = number, None
                continue
            for row, start, _ in self.spans(column.lines(entry, number)):
                last = Spot(entry.message.id, number, row, start)
                if index == 0:
                    return last
                index -= 1
        if last is None and passed is not None:
            for row, start, _ in self.spans(column.lines(entry, passed)):
                last = Spot(entry.message.id, passed, row, start)
        return last

    def _count(self, text: str) -> int:
        """Return how often it is in ``text``; a long one is not looked through character by character."""
        if self._lower is not None and text.isascii():
            return text.lower().count(self._lower)
        return sum(1 for _ in self._pattern.finditer(text))

    def spans(self, lines: Sequence[Line]) -> Iterator[tuple[int, int, int]]:
        """Yield the row that each hit begins on, and its start and end there; a wrapped one ends beyond its row."""
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
        """Return for each row the hits on it: where they are, and in which row they begin."""
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


def searchable(entry: Entry) -> str:
    """Return the text of a message that a search looks at."""
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
