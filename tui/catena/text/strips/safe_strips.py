"""Final filter of every line before it is drawn, whichever widget it comes from."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from catena.cells import cell_len
from catena.text.safe_text import safe_cells


class SafeStrips(LineFilter):
    """Line filter that removes control characters."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line without control characters."""
        return safe_segments(segments)


def safe_segments(segments: list[Segment]) -> list[Segment]:
    """The segments of a line without control characters.

    Text from outside is made safe where it comes in; this removes whatever was missed. Widths are already counted, so
    that a character without width is replaced by nothing.
    """
    for text, _, _ in segments:
        if not text.isprintable():
            return [Segment(_safe_text(text), style) for text, style, _ in segments]
    return segments


def _safe_text(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(map(_safe_character, text, safe_cells(text)))


def _safe_character(character: str, instead: str) -> str:
    if character == instead and character not in "\n\t":
        return character
    return instead if cell_len(character) else ""
