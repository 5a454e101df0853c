"""Characters and text objects of vi: classes of words and lines; the word, quoted text, brackets, the paragraph.

A place is an index into the text. The place of a line's end is that of its newline, or the length of the text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_JOINER = "\u200d"
_FLAGS = ("\U0001f1e6", "\U0001f1ff")
_SKIN = ("\U0001f3fb", "\U0001f3ff")
_SCRIPTS = (  # that are words of their own beside others; first and last character
    (0x3040, 0x309F),  # Hiragana
    (0x30A0, 0x30FF),  # Katakana
    (0x3400, 0x9FFF),  # Han
    (0xAC00, 0xD7A3),  # Hangul
    (0xF900, 0xFAFF),  # Han, compatibility
    (0x1F300, 0x1FAFF),  # emoji
    (0x20000, 0x3FFFF),  # Han, further
)
BLANK, PUNCTUATION, WORD = 0, 1, 2
_FIRST_SCRIPT = 3


def _extends(text: str, at: int) -> bool:
    """True if the character at a place belongs to the one before it."""
    character = text[at]
    if character < "\u0300" or character == "\n" or text[at - 1] == "\n":
        return False
    if character == _JOINER or text[at - 1] == _JOINER or _SKIN[0] <= character <= _SKIN[1]:
        return True
    if unicodedata.category(character) in ("Mn", "Me", "Mc"):
        return True
    return _is_flag(character) and _flags_before(text, at) % 2 == 1


def _is_flag(character: str) -> bool:
    return _FLAGS[0] <= character <= _FLAGS[1]


def _flags_before(text: str, at: int) -> int:
    first = at
    while first and _is_flag(text[first - 1]):
        first -= 1
    return at - first


def after(text: str, at: int) -> int:
    """The place behind what stands at a place as one character for a person; never past the end."""
    at = min(at + 1, len(text))
    while at < len(text) and _extends(text, at):
        at += 1
    return at


def before(text: str, at: int) -> int:
    """The place of the character for a person before a place; never before the beginning."""
    at = max(at - 1, 0)
    return whole(text, at)


def whole(text: str, at: int) -> int:
    """The place at which the character for a person begins that a place lies in."""
    while 0 < at < len(text) and _extends(text, at):
        at -= 1
    return at


def line_start(text: str, at: int) -> int:
    """The beginning of the line of a place."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The end of the line of a place."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_in_line(text: str, at: int) -> int:
    """The last character of the line of a place; the place of its end if the line is empty."""
    start, end = line_start(text, at), line_end(text, at)
    return before(text, end) if end > start else end


def first_nonblank(text: str, at: int) -> int:
    """The first character of the line of a place that is no blank, else its last one."""
    start, end = line_start(text, at), line_end(text, at)
    place = start
    while place < end and text[place] in " \t":
        place += 1
    return place if place < end else last_in_line(text, start)


def in_indent(text: str, at: int) -> bool:
    """True for a place in the blanks at the beginning of its line, or at the first character behind them."""
    return not text[line_start(text, at) : at].strip(" \t")


def line_of(text: str, at: int) -> int:
    """The number of the line of a place, counted from 0."""
    return text.count("\n", 0, at)


def start_of(text: str, line: int) -> int:
    """The index at which a line begins, by the line's number; that of the last line if there are fewer."""
    start = 0
    for _ in range(line):
        end = text.find("\n", start)
        if end < 0:
            break
        start = end + 1
    return start


def column(text: str, at: int) -> int:
    """How many characters for a person stand before a place in its line."""
    count, place = 0, line_start(text, at)
    while place < at:
        place, count = after(text, place), count + 1
    return count


def place_in_line(text: str, start: int, wanted: int, *, past: bool = False) -> int:
    """The place in the line that begins at ``start`` with so many characters before it, or its last character.

    ``past``: its end counts as one more.
    """
    place, last = start, line_end(text, start) if past else last_in_line(text, start)
    for _ in range(wanted):
        if place >= last:
            break
        place = after(text, place)
    return place


def kind(text: str, at: int, *, big: bool = False) -> int:
    """The class of the character at a place, by which words end; the end of a line is blank.

    ``big``: whatever is no blank is one word.
    """
    if at >= len(text) or text[at].isspace():
        return BLANK
    if big:
        return WORD
    character = text[at]
    if character < "\u0080":
        return WORD if character.isalnum() or character == "_" else PUNCTUATION
    code = ord(character)
    for number, (first, last) in enumerate(_SCRIPTS):
        if first <= code <= last:
            return _FIRST_SCRIPT + (2 if number in (2, 4, 6) else number)
    return WORD if character.isalnum() or unicodedata.category(character)[0] == "M" else PUNCTUATION


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
