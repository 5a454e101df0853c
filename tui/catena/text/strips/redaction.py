"""The filter that hides who the user is: their home directory and their names, in every line of the screen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

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
