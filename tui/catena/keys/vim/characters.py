"""Characters of a text as vi sees them: what belongs together, lines, and classes of words.

A place is an index into the text. The place of a line's end is that of its newline, or the length of the text.
"""

from __future__ import annotations

import unicodedata

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
