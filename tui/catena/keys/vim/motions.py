"""Motions of vi: from a place in a text to another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from catena.keys.vim.objects import (
    BLANK,
    after,
    before,
    first_nonblank,
    kind,
    last_in_line,
    line_end,
    line_of,
    line_start,
    place_in_line,
    start_of,
)

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {close: opening for opening, close in _PAIRS.items()}
END_OF_LINE = 1 << 30  # the wanted column after `$`


class MotionSpan(Enum):
    """What an operator takes of the way of a motion."""

    EXCLUSIVE = auto()
    INCLUSIVE = auto()
    LINES = auto()


@dataclass(frozen=True, slots=True)
class MotionTarget:
    """Where a motion leads; ``column`` is wanted in the lines that `j` and `k` go to next."""

    place: int
    span: MotionSpan = MotionSpan.EXCLUSIVE
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """The start of a motion.

    ``count`` is None without one. ``operated``: an operator waits for it, and may go behind the last character of a
    line. ``column`` is the wanted one.
    """

    text: str
    at: int
    count: int | None = None
    operated: bool = False
    past: bool = False
    column: int = 0

    @property
    def times(self) -> int:
        """How often the motion is done."""
        return 1 if self.count is None else self.count


Motion = Callable[[Move], MotionTarget | None]  # None where it leads nowhere


def left(move: Move) -> MotionTarget | None:
    """`h`: characters to the left, in the line."""
    place, start = move.at, line_start(move.text, move.at)
    for _ in range(move.times):
        if place <= start:
            break
        place = before(move.text, place)
    return MotionTarget(place) if place != move.at or move.operated else None


def right(move: Move) -> MotionTarget | None:
    """`l`: characters to the right, in the line."""
    text, place, end = move.text, move.at, line_end(move.text, move.at)
    last = end if move.operated or move.past else last_in_line(text, move.at)
    for _ in range(move.times):
        if place >= last:
            break
        place = after(text, place)
    return MotionTarget(place) if place != move.at or move.operated else None


def down(move: Move) -> MotionTarget | None:
    """`j`: lines down, at the wanted column."""
    return _vertical(move, move.times)


def up(move: Move) -> MotionTarget | None:
    """`k`: lines up, at the wanted column."""
    return _vertical(move, -move.times)


def _vertical(move: Move, step: int) -> MotionTarget | None:
    text = move.text
    line, last = line_of(text, move.at), text.count("\n")
    if (step > 0 and line == last) or (step < 0 and line == 0):
        return None
    start = start_of(text, max(0, min(last, line + step)))
    return MotionTarget(
        place_in_line(text, start, move.column, past=move.past), MotionSpan.LINES, move.column
    )


def to_start(move: Move) -> MotionTarget:
    """`0`: the beginning of the line."""
    return MotionTarget(line_start(move.text, move.at))


def to_first_nonblank(move: Move) -> MotionTarget:
    """`^`: the first character of the line that is no blank."""
    return MotionTarget(first_nonblank(move.text, move.at))


def to_line(move: Move) -> MotionTarget | None:
    """`_`: so many lines down, less one, to the first character that is no blank."""
    return _line_below(move, move.times - 1)


def next_line(move: Move) -> MotionTarget | None:
    """`+`: so many lines down, to the first character that is no blank."""
    return _line_below(move, move.times)


def line_before(move: Move) -> MotionTarget | None:
    """`-`: so many lines up, to the first character that is no blank."""
    return _line_below(move, -move.times)


def _line_below(move: Move, step: int) -> MotionTarget | None:
    there = _vertical(move, step) if step else MotionTarget(move.at)
    return None if there is None else MotionTarget(first_nonblank(move.text, there.place), MotionSpan.LINES)


def to_end(move: Move) -> MotionTarget | None:
    """`$`: the end of the line, or of the one so many below, less one."""
    there = _vertical(move, move.times - 1) if move.times > 1 else MotionTarget(move.at)
    if there is None:
        return None
    place = (line_end if move.past else last_in_line)(move.text, there.place)
    return MotionTarget(place, MotionSpan.INCLUSIVE, END_OF_LINE)


def to_column(move: Move) -> MotionTarget:
    """`|`: a column of the line, counted from 1."""
    return MotionTarget(place_in_line(move.text, line_start(move.text, move.at), move.times - 1))


def first_line(move: Move) -> MotionTarget:
    """`gg`: a line by its number, by default the first."""
    return MotionTarget(first_nonblank(move.text, start_of(move.text, move.times - 1)), MotionSpan.LINES)


def last_line(move: Move) -> MotionTarget:
    """`G`: a line by its number, by default the last."""
    line = move.text.count("\n") if move.count is None else move.count - 1
    return MotionTarget(first_nonblank(move.text, start_of(move.text, line)), MotionSpan.LINES)


def word(big: bool) -> Motion:
    """`w`, `W`: the beginning of the next word; before an operator not past the end of the last word's line."""

    def go(move: Move) -> MotionTarget | None:
        text, place = move.text, move.at
        for left_over in range(move.times - 1, -1, -1):
            stops_at_end = move.operated and not left_over
            if place >= len(text):
                break
            sort = kind(text, place, big=big)
            place = after(text, place)
            if stops_at_end and _ends_line(text, place):
                break
            while sort != BLANK and kind(text, place, big=big) == sort and place < len(text):
                place = after(text, place)
            if stops_at_end and sort != BLANK and _ends_line(text, place):
                break
            while place < len(text) and kind(text, place, big=big) == BLANK:
                if _is_empty_line(text, place) and place != move.at:
                    break
                if stops_at_end and text[place] == "\n":
                    break
                place = after(text, place)
        if move.operated:
            return MotionTarget(place)
        if place == move.at or (place >= len(text) and move.at >= _last(text)):
            return None
        return MotionTarget(place)

    return go


def _ends_line(text: str, at: int) -> bool:
    return at >= len(text) or text[at] == "\n" or text[at - 1] == "\n"


def _last(text: str) -> int:
    return before(text, len(text)) if text and text[-1] != "\n" else len(text)


def _is_empty_line(text: str, at: int) -> bool:
    return (at == 0 or text[at - 1] == "\n") and (at == len(text) or text[at] == "\n")


def word_end(big: bool, *, stays: bool = False) -> Motion:
    """`e`, `E`: the end of a word; ``stays``: of the word under the cursor even at its end, as `cw` takes it."""

    def go(move: Move) -> MotionTarget | None:
        text, place, stop = move.text, move.at, stays
        for _ in range(move.times):
            if place >= _last(text):
                return (
                    MotionTarget(place, MotionSpan.INCLUSIVE) if move.operated or place != move.at else None
                )
            sort = kind(text, place, big=big)
            place = after(text, place)
            if sort == BLANK or kind(text, place, big=big) != sort:
                if stop and sort != BLANK:
                    place = before(text, place)
                    stop = False
                    continue
                while place < len(text) and kind(text, place, big=big) == BLANK:
                    place = after(text, place)
                if place >= len(text):
                    return MotionTarget(_last(text), MotionSpan.INCLUSIVE)
                sort = kind(text, place, big=big)
            while place < len(text) and kind(text, place, big=big) == sort:
                place = after(text, place)
            place = before(text, place)
            stop = False
        return MotionTarget(place, MotionSpan.INCLUSIVE)

    return go


def word_before(big: bool) -> Motion:
    """`b`, `B`: the beginning of a word before the cursor."""

    def go(move: Move) -> MotionTarget | None:
        text, place = move.text, move.at
        for _ in range(move.times):
            if place == 0:
                break
            place = before(text, place)
            while place and kind(text, place, big=big) == BLANK and not _is_empty_line(text, place):
                place = before(text, place)
            sort = kind(text, place, big=big)
            while sort != BLANK and place and kind(text, before(text, place), big=big) == sort:
                place = before(text, place)
        return MotionTarget(place) if place != move.at else None

    return go


def word_end_before(big: bool) -> Motion:
    """`ge`, `gE`: the end of a word before the cursor."""

    def go(move: Move) -> MotionTarget | None:
        text, place = move.text, move.at
        for _ in range(move.times):
            sort = kind(text, place, big=big)
            if place == 0:
                break
            place = before(text, place)
            while sort != BLANK and place and kind(text, place, big=big) == sort:
                place = before(text, place)
            while place and kind(text, place, big=big) == BLANK and not _is_empty_line(text, place):
                place = before(text, place)
        return MotionTarget(place, MotionSpan.INCLUSIVE) if place != move.at else None

    return go


@dataclass(frozen=True, slots=True)
class Find:
    """A search for a character in the line: `f`, `F`, `t` and `T`, which `;` and `,` repeat."""

    character: str
    forward: bool
    till: bool

    def turned(self) -> Find:
        """The same in the other direction."""
        return Find(self.character, not self.forward, self.till)

    def go(self, move: Move, *, again: bool = False) -> MotionTarget | None:
        """Find the character; ``again``: one right beside the cursor that `t` stopped at does not count."""
        text = move.text
        start, end = line_start(text, move.at), line_end(text, move.at)
        place = move.at
        if again and self.till and move.times == 1:
            beside = after(text, place) if self.forward else before(text, place)
            if start <= beside < end and beside != place and text.startswith(self.character, beside):
                place = beside
        for _ in range(move.times):
            found = (
                text.find(self.character, after(text, place), end)
                if self.forward
                else text.rfind(self.character, start, place)
            )
            if found < 0:
                return None
            place = found
        if not self.till:
            return MotionTarget(place, MotionSpan.INCLUSIVE if self.forward else MotionSpan.EXCLUSIVE)
        if self.forward:
            return MotionTarget(before(text, place), MotionSpan.INCLUSIVE)
        return MotionTarget(after(text, place))


def match(move: Move) -> MotionTarget | None:
    """`%`: the bracket that belongs to the next one in the line; with a count that part of the text, in percent."""
    text = move.text
    if move.count is not None:
        lines = text.count("\n") + 1
        line = (min(move.count, 100) * lines + 99) // 100
        return MotionTarget(first_nonblank(text, start_of(text, max(0, line - 1))), MotionSpan.LINES)
    place, end = move.at, line_end(text, move.at)
    while place < end and text[place] not in _PAIRS and text[place] not in _CLOSING:
        place += 1
    if place >= end:
        return None
    here = text[place]
    other, step = (_PAIRS[here], 1) if here in _PAIRS else (_CLOSING[here], -1)
    depth = 0
    while 0 <= place < len(text):
        depth += (text[place] == here) - (text[place] == other)
        if not depth:
            return MotionTarget(place, MotionSpan.INCLUSIVE)
        place += step
    return None


def paragraph_end(move: Move) -> MotionTarget | None:
    """`}`: the next empty line behind text, or the end."""
    return _paragraph(move, 1)


def paragraph_start(move: Move) -> MotionTarget | None:
    """`{`: the next empty line before text, or the beginning."""
    return _paragraph(move, -1)


def _paragraph(move: Move, step: int) -> MotionTarget | None:
    text = move.text
    lines = text.split("\n")
    line = line_of(text, move.at)
    for left_over in range(move.times - 1, -1, -1):
        seen = False
        while True:
            seen = seen or bool(lines[line])
            if not 0 <= line + step < len(lines):
                if left_over:
                    return None
                break
            line += step
            if seen and not lines[line]:
                break
    start = start_of(text, line)
    if step > 0 and line == len(lines) - 1 and lines[line]:
        return MotionTarget(last_in_line(text, start), MotionSpan.INCLUSIVE)
    return MotionTarget(start)


def search(move: Move, wanted: str, *, forward: bool) -> MotionTarget | None:
    """The next match in the text, wrapping around; case counts if ``wanted`` has any capitals."""
    if not wanted:
        return None
    same = wanted == wanted.lower() and len(move.text.lower()) == len(move.text)
    text = move.text.lower() if same else move.text
    place = move.at
    for _ in range(move.times):
        if forward:
            found = text.find(wanted, place + 1)
            found = found if found >= 0 else text.find(wanted)
        else:
            found = text.rfind(wanted, 0, place + len(wanted) - 1) if place else -1
            found = found if found >= 0 else text.rfind(wanted)
        if found < 0:
            return None
        place = found
    return MotionTarget(place)


MOTIONS: dict[str, Motion] = {
    "h": left,
    "l": right,
    "j": down,
    "k": up,
    "backspace": left,
    "space": right,
    " ": right,
    "0": to_start,
    "^": to_first_nonblank,
    "_": to_line,
    "+": next_line,
    "-": line_before,
    "$": to_end,
    "|": to_column,
    "gg": first_line,
    "G": last_line,
    "w": word(big=False),
    "W": word(big=True),
    "e": word_end(big=False),
    "E": word_end(big=True),
    "b": word_before(big=False),
    "B": word_before(big=True),
    "ge": word_end_before(big=False),
    "gE": word_end_before(big=True),
    "%": match,
    "}": paragraph_end,
    "{": paragraph_start,
}
