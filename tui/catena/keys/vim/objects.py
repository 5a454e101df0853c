"""Text objects of vi: the word, the quoted text, the brackets, the paragraph around a place."""

from __future__ import annotations

from dataclasses import dataclass

from catena.keys.vim.characters import BLANK, after, before, kind, line_end, line_of, line_start, start_of

_BRACKETS = {
    "(": "()",
    ")": "()",
    "b": "()",
    "[": "[]",
    "]": "[]",
    "{": "{}",
    "}": "{}",
    "B": "{}",
    "<": "<>",
    ">": "<>",
}
_QUOTES = "\"'`"
NAMES = frozenset({*_BRACKETS, *_QUOTES, "w", "W", "p"})


@dataclass(frozen=True, slots=True)
class TextObject:
    """A part of a text, ``end`` not included; ``lines``: whole lines."""

    start: int
    end: int
    lines: bool = False


def text_object(text: str, at: int, name: str, *, around: bool, count: int = 1) -> TextObject | None:
    """The object of a name at a place, with what belongs to it if ``around``; None if there is none."""
    if name in "wW":
        return _words(text, at, big=name == "W", around=around, count=count)
    if name in _QUOTES:
        return _quoted(text, at, name, around=around)
    if name == "p":
        return _paragraphs(text, at, around=around, count=count)
    return _bracketed(text, at, _BRACKETS[name], around=around, count=count)


def _words(text: str, at: int, *, big: bool, around: bool, count: int) -> TextObject | None:
    first, last = line_start(text, at), line_end(text, at)
    if first == last:
        return None
    at = min(at, before(text, last))
    start, end = _run(text, at, first, last, big=big)
    began_blank = kind(text, at, big=big) == BLANK
    if not around:
        for _ in range(count - 1):
            if end >= last:
                return None
            end = _run(text, end, first, last, big=big)[1]
        return TextObject(start, end)
    for number in range(count):
        if number:
            if end >= last:
                return None
            end = _run(text, end, first, last, big=big)[1]
        # A word takes the blanks behind it, blanks the word behind them.
        if end < last and (kind(text, end, big=big) == BLANK) != began_blank:
            end = _run(text, end, first, last, big=big)[1]
        elif began_blank:
            return None
    if not began_blank and kind(text, before(text, end), big=big) != BLANK:
        lead = start
        while lead > first and kind(text, before(text, lead), big=big) == BLANK:
            lead = before(text, lead)
        if lead > first:  # blanks at the beginning of a line are its indent
            start = lead
    return TextObject(start, end)


def _run(text: str, at: int, first: int, last: int, *, big: bool) -> tuple[int, int]:
    """The characters of one class around a place, within a line."""
    sort = kind(text, at, big=big)
    start = at
    while start > first and kind(text, before(text, start), big=big) == sort:
        start = before(text, start)
    end = after(text, at)
    while end < last and kind(text, end, big=big) == sort:
        end = after(text, end)
    return start, min(end, last)


def _quoted(text: str, at: int, quote: str, *, around: bool) -> TextObject | None:
    first, last = line_start(text, at), line_end(text, at)
    places = [
        place for place in range(first, last) if text[place] == quote and not _is_escaped(text, place, first)
    ]
    if at < last and text[at] == quote:  # which of a pair it is says the line
        pairs = zip(places[::2], places[1::2], strict=False)
        pair = next(((one, other) for one, other in pairs if one <= at <= other), None)
    else:
        opening = max((place for place in places if place < at), default=None)
        if opening is None:
            opening = min((place for place in places if place > at), default=None)
        behind = len(text) if opening is None else max(opening, at)
        closing = min((place for place in places if place > behind), default=None)
        pair = None if opening is None or closing is None else (opening, closing)
    if pair is None:
        return None
    start, end = pair
    if not around:
        return TextObject(start + 1, end)
    behind = end + 1
    while behind < last and text[behind] in " \t":
        behind += 1
    if behind == end + 1:
        while start > first and text[start - 1] in " \t":
            start -= 1
    return TextObject(start, behind)


def _is_escaped(text: str, at: int, first: int) -> bool:
    slashes = 0
    while at - slashes > first and text[at - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _bracketed(text: str, at: int, pair: str, *, around: bool, count: int) -> TextObject | None:
    opening, closing = pair[0], pair[1]
    start = at
    if not text.startswith(opening, at):
        found = _unmatched(text, at, opening, closing)
        if found is None:  # the next one, as vim does
            found = text.find(opening, at) if count == 1 else -1
        if found < 0:
            return None
        start = found
    for _ in range(count - 1):
        found = _unmatched(text, start, opening, closing)
        if found is None:
            return None
        start = found
    end = _closing(text, start, opening, closing)
    if end is None:
        return None
    if around:
        return TextObject(start, end + 1)
    inner, stop = start + 1, end
    if inner < end and text[inner] == "\n":
        inner += 1
    if opening == "{" or line_start(text, end) == end:
        indent = line_start(text, end)
        if indent > inner - 1 and not text[indent:end].strip(" \t"):
            stop = indent
    return TextObject(inner, max(inner, stop))


def _unmatched(text: str, at: int, opening: str, closing: str) -> int | None:
    """The opening bracket around a place."""
    depth = 0
    for place in range(min(at, len(text)) - 1, -1, -1):
        if text[place] == closing:
            depth += 1
        elif text[place] == opening:
            if not depth:
                return place
            depth -= 1
    return None


def _closing(text: str, start: int, opening: str, closing: str) -> int | None:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if not depth:
            return place
    return None


def _paragraphs(text: str, at: int, *, around: bool, count: int) -> TextObject | None:
    lines = text.split("\n")
    first = last = line_of(text, at)
    blank = [not line.strip() for line in lines]
    while first and blank[first - 1] == blank[first]:
        first -= 1

    def run(line: int) -> int:
        """The last line of those that are like a line."""
        while line + 1 < len(lines) and blank[line + 1] == blank[line]:
            line += 1
        return line

    last = run(last)
    for number in range(count):
        if number:
            if last + 1 >= len(lines):
                return None
            last = run(last + 1)
        if around:
            if last + 1 < len(lines):
                last = run(last + 1)
            elif blank[first] or number:
                return None
            else:
                while first and blank[first - 1]:
                    first -= 1
    start = start_of(text, first)
    return TextObject(start, line_end(text, start_of(text, last)), lines=True)
