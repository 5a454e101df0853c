"""Marks, boxes and rules in ASCII, for terminals that show nothing else; each takes the cells that it had."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from unicodedata import normalize

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from catena.cells import cell_len

_PLAIN = {
    **dict.fromkeys("╭╮╰╯┌┐└┘┼┬┴┤╔╗╚╝╬╦╩╣╠┏┓┗┛╋┳┻┫┣", "+"),
    **dict.fromkeys("│├▌▎▏┃║┆┊", "|"),
    **dict.fromkeys("─╌━┄–—−‐‑", "-"),
    "═": "=",
    **dict.fromkeys("◐◓◑◒", "~"),
    **dict.fromkeys("▀▄▐█▔▁", " "),
    **dict.fromkeys("░▒▓", "#"),
    **dict.fromkeys("‹«", "<"),
    **dict.fromkeys("›▸»", ">"),
    **dict.fromkeys("▾↓", "v"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("●•■", "*"),
    "✓": ".",
    "✗": "x",
    **dict.fromkeys("○◦□", "o"),
    "◉": "@",
    "◇": "f",
    "◆": "#",
    "·": "-",
    "↑": "^",
    "→": ">",
    "←": "<",
    "↳": ">",
    "×": "x",
    "…": ".",
}
_WITH_NEIGHBOURS = (
    (re.compile("●─●─●"), "o-o-o"),
    (re.compile("╰─(?=[○●◉◇✗▸])"), "`-"),
    (re.compile("[ -~]{2}…"), "..."),
)
_UNKNOWN = "?"
MARKS = frozenset(_PLAIN)


class AsciiStrips(LineFilter):
    """Line filter that replaces what an encoding does not have, and these marks in any case."""

    def __init__(self, encoding: str, *, marks: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self._encoding = encoding
        self._marks = marks

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line in characters of the encoding, on the same cells."""
        line = "".join(text for text, _, _ in segments)
        if line.isascii():
            return segments
        drawn = self._drawn(line)
        return [
            Segment("".join(islice(drawn, len(text))), style, control) for text, style, control in segments
        ]

    def spelled(self, text: str) -> str:
        """A text with the characters that are drawn instead."""
        return "".join(self._drawn(text))

    def _drawn(self, line: str) -> Iterator[str]:
        """What is drawn for each character of a line."""
        beside: dict[int, str] = {}
        for found, instead in _WITH_NEIGHBOURS:
            for match in found.finditer(line):
                if not self._has(match.group()):
                    beside.update(zip(range(*match.span()), instead, strict=True))
        for at, character in enumerate(line):
            yield beside.get(at) or (character if self._has(character) else _instead_of(character))

    def _has(self, text: str) -> bool:
        if not self._marks.isdisjoint(text):
            return False
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True


def _instead_of(character: str) -> str:
    width = cell_len(character)
    plain = _PLAIN.get(character) or normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain if len(plain) == width else _UNKNOWN * width
