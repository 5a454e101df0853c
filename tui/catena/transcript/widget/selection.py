"""Selection of text across messages, on or off the screen."""

from __future__ import annotations

import re
from typing import NamedTuple

from textual.geometry import Offset
from textual.selection import Selection

from catena.text.safe_text import safe
from catena.transcript.messages.parts import Part
from catena.transcript.model.column import IN_GAP, Column, ColumnRow
from catena.transcript.model.entry import Entry
from catena_store.records import Kind

_WORD = re.compile(r"[\w./~:@%+#-]*\w[\w/]*")
_ROW_BITS = 24
_PART_BITS = 20
OUTSIDE = 1_000_000  # columns left of any text


class Point(NamedTuple):
    """A position between two characters that stays valid while messages are added, grow or go."""

    ordinal: int
    part: int
    row: int
    column: int

    @classmethod
    def of(cls, offset: Offset) -> Point:
        """Decode an offset made with ``row_offset``."""
        y = offset.y
        row = y & (1 << _ROW_BITS) - 1
        part = y >> _ROW_BITS & (1 << _PART_BITS) - 1
        return cls(y >> _ROW_BITS + _PART_BITS, part, row, offset.x)


def row_offset(row: ColumnRow) -> int:
    """Return a row encoded as the y of a Textual offset."""
    part, index = (0, 0) if row.part == IN_GAP else (row.part, row.row)
    return (row.entry.ordinal << _PART_BITS | part) << _ROW_BITS | index


def entries_selection(first: Entry, last: Entry) -> Selection:
    """Return the selection from one whole message to another."""
    start = Offset(-OUTSIDE, first.ordinal << _PART_BITS + _ROW_BITS)
    end = Offset(OUTSIDE, (((last.ordinal + 1) << _PART_BITS) - 1) << _ROW_BITS)
    return Selection(start, end)


def word_at(row: ColumnRow, place: Offset) -> Selection | None:
    """Return the selection of the word at an offset in a row; None if there is none."""
    if row.line is None or place.y != row_offset(row):
        return None
    content = row.line.shown[row.line.lead :]
    for match in _WORD.finditer(content):
        if match.start() <= place.x <= match.end():
            return Selection(Offset(match.start(), place.y), Offset(match.end(), place.y))
    return None


def selected_columns(row: ColumnRow, selection: Selection) -> tuple[int, int] | None:
    """Return the selected range of a row's selectable part, in characters; None if nothing is selected."""
    if row.line is None:
        return None
    y = row_offset(row)
    start, end = selection
    if (start is not None and y < start.y) or (end is not None and y > end.y):
        return None
    length = len(row.line.shown) - row.line.lead
    left = max(0, start.x) if start is not None and y == start.y else 0
    right = min(length, end.x) if end is not None and y == end.y else length
    return (left, right) if left < right else None


def selected_text(column: Column, selection: Selection) -> str:
    """Return the selected text as in the source, without gutter and without the breaks of wrapped rows.

    A block selected as a whole is copied as its source, a partly selected one as it is drawn.
    """
    start = Point.of(selection.start) if selection.start is not None else None
    end = Point.of(selection.end) if selection.end is not None else None
    pieces: list[str] = []
    before: Entry | None = None
    for entry in column.entries:
        if entry.folded_away:
            continue
        if (start is not None and entry.ordinal < start.ordinal) or (
            end is not None and entry.ordinal > end.ordinal
        ):
            continue
        first = start if start is not None and entry.ordinal == start.ordinal else None
        last = end if end is not None and entry.ordinal == end.ordinal else None
        text = (
            entry_text(column, entry)
            if first is None and last is None
            else _part_text(column, entry, first, last)
        )
        if not text.strip():
            continue
        if before is not None:
            tools = before.message.kind is Kind.TOOL and entry.message.kind is Kind.TOOL
            pieces.append("\n" if tools else "\n\n")
        pieces.append(text)
        before = entry
    return safe("".join(pieces))


def entry_text(column: Column, entry: Entry) -> str:
    """Return the text of a whole message for copying, as folded or unfolded as it is drawn."""
    match entry.message.kind:
        case Kind.USER | Kind.AGENT:
            return (entry.answer.text if entry.answer is not None else entry.message.text).strip("\n")
        case _:
            return _part_text(column, entry, None, None)


def _part_text(column: Column, entry: Entry, start: Point | None, end: Point | None) -> str:
    text = ""
    joint = ""
    for index, part in enumerate(column.parts(entry)):
        if (start is not None and index < start.part) or (end is not None and index > end.part):
            continue
        first = start if start is not None and index == start.part else None
        last = end if end is not None and index == end.part else None
        copied = _rows_text(column, entry, index, part, first, last)
        if copied:
            text += (joint + "\n" * part.lead if text else "") + copied
            joint = part.joint
    return text


def _rows_text(
    column: Column, entry: Entry, index: int, part: Part, start: Point | None, end: Point | None
) -> str:
    source = part.source.strip("\n")
    if start is None and end is None and source:
        return source
    lines = column.lines(entry, index)
    first = max(0, start.row - part.lead) if start is not None else 0
    last = min(len(lines) - 1, end.row - part.lead) if end is not None else len(lines) - 1
    left = start.column if start is not None and start.row >= part.lead else 0
    from_beginning = first == 0 and left <= 0
    to_end = last == len(lines) - 1 and (
        end is None or end.row - part.lead > last or end.column >= len(lines[last].shown) - lines[last].lead
    )
    if from_beginning and to_end and source:
        return source
    pieces: list[str] = []
    for number in range(first, last + 1):
        line = lines[number]
        right = end.column if end is not None and number == end.row - part.lead else len(line.shown)
        pieces.append(line.copied(left if number == first else 0, right))
        pieces.append(line.joint if number < last else "")
    return "".join(pieces)
