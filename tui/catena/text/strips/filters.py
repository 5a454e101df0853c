"""Filters of every line: one hides who the user is, one draws marks, boxes and rules in ASCII."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from unicodedata import normalize

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from catena.cells import cell_len

DOT = "•"


@dataclass(frozen=True, slots=True)
class RedactedWords:
    """The words to hide: texts wherever they stand as a word of their own, each character behind a dot."""

    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, *, home: str, names: Iterable[str]) -> RedactedWords:
        """The words for a home directory, of which the last part is hidden, and for names."""
        above, _, last = home.rstrip("/").rpartition("/")
        # The parts of a home above its last one say nothing: `/home`, `/Users`.
        parts = [rf"(?<={re.escape(above)}/){re.escape(last)}(?![\w-])"] if last and above else []
        parts += [rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(set(names), key=len, reverse=True)]
        return cls(re.compile("|".join(parts), re.IGNORECASE) if parts else None)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where something that is hidden stands in the text."""
        return [match.span() for match in self.pattern.finditer(text)] if self.pattern is not None else []

    def hidden(self, text: str) -> str:
        """The text with dots in the place of what is hidden, as wide as before."""
        for start, end in self.spans(text):
            text = text[:start] + "".join(map(_dots, text[start:end])) + text[end:]
        return text


class Redaction(LineFilter):
    """Line filter that draws dots in the place of what is hidden; nothing else of the line moves."""

    def __init__(self, words: RedactedWords) -> None:
        super().__init__()
        self._words = words

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line with dots; a word may go over several of them."""
        line = "".join(text for text, _, control in segments if not control)
        spans = self._words.spans(line)
        if not spans:
            return segments
        covered = {place for start, end in spans for place in range(start, end)}
        place = 0
        redacted = []
        for text, style, control in segments:
            if control:
                redacted.append(Segment(text, style, control))
                continue
            there = (_dots(each) if at in covered else each for at, each in enumerate(text, place))
            redacted.append(Segment("".join(there), style))
            place += len(text)
        return redacted


def _dots(character: str) -> str:
    return DOT * cell_len(character)


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
