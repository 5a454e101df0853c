"""Text from outside, made fit to be drawn: it can neither steer the terminal nor deceive about its order.

Everything that an agent, a file or another client gave us passes through here on its way to the screen.
"""

from __future__ import annotations

import re

BREAK = "⏎"  # where a command goes on in another line
_FLOOD_LIMIT = 8  # zero-width characters in a row; the flags of England and Wales need seven
_JOIN_LIMIT = 6  # joined emoji in a row; a terminal that draws them apart would be out by so many cells

_ZERO_WIDTH = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f"
    "\u2060-\u2064\u206a-\u206f\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\U000e0000-\U000e01ef"
)
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff\U0010eeee]"
)
_FLOOD = re.compile(f"([{_ZERO_WIDTH}]{{{_FLOOD_LIMIT}}})[{_ZERO_WIDTH}]+")
_JOINED = re.compile(f"(?:\\S[\ufe0f\U0001f3fb-\U0001f3ff]?\u200d){{{_JOIN_LIMIT + 1},}}")
_UNKNOWN = "\ufffd"
_CELLS = {0x7F: "\u2421", 0xAD: "¬"}  # a soft hyphen is drawn as word processors draw it
# Colours, and "erase to the end of the line": what programs write into pipes without meaning harm.
_COLOUR = re.compile("(?:\x1b\\[|\x9b)[0-9;:]*[mK]")
_NEWLINE = re.compile("\r\n?|[\x85\u2028\u2029]")


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code == 0xAD:  # a soft hyphen: some terminals give it a cell, others none
        return ""
    if 0xD800 <= code <= 0xDFFF or code == 0x10EEEE:  # a terminal may draw an image there
        return _UNKNOWN
    return f"⟨{code:04X}⟩"


def safe(text: str) -> str:
    """Return ``text`` without anything that a terminal would obey: only printable characters, newlines and tabs.

    Colours are dropped; any other control character, and every override of the writing direction, is made visible;
    line ends of all kinds become newlines; floods of zero-width characters are cut short. Idempotent.
    """
    if text.isascii() and text.isprintable():
        return text
    if _SUSPECT.search(text) is not None:
        text = _COLOUR.sub("", text)
        text = _NEWLINE.sub("\n", text)
        text = _SUSPECT.sub(_visible, text)
    if not text.isascii():
        text = _FLOOD.sub(r"\1", text)
        text = _JOINED.sub(lambda match: match[0].replace("\u200d", ""), text)
    return text


def safe_cells(text: str) -> str:
    """Return ``text`` as it is drawn where it is edited: whatever a terminal would obey is one visible cell.

    It is as long as before, so that a place in it is the same place in ``text``. Tabs and newlines stay.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _SUSPECT.sub(_one_cell, text)
    if not text.isascii():
        text = _FLOOD.sub(lambda match: match[1] + _UNKNOWN * (len(match[0]) - len(match[1])), text)
        text = _JOINED.sub(lambda match: match[0].replace("\u200d", _UNKNOWN), text)
    return text


def _one_cell(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return _CELLS.get(code, _UNKNOWN)


def safe_line(text: str) -> str:
    """Return ``text`` made safe and as one line: every run of white space is one space."""
    return " ".join(safe(text).split())


def call_line(text: str) -> str:
    """Return what a tool call is called made safe and as one line, its line breaks visible."""
    lines = map(safe_line, safe(text).splitlines())
    return f" {BREAK} ".join(line for line in lines if line)
