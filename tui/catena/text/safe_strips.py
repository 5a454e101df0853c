"""The last look at what is about to be drawn, whichever widget drew it."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from catena.text.safe_text import safe_cells


class SafeStrips(LineFilter):
    """Lets nothing through to the terminal that it would obey."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line, with nothing but text in them."""
        return only_text(segments)


def only_text(segments: list[Segment]) -> list[Segment]:
    """The segments of a line without anything that a terminal would obey.

    Text from outside is made visible where it comes in; whatever was forgotten there is taken out here. Cells are
    counted already, so that a character without one leaves none behind.
    """
    for text, _, _ in segments:
        if not text.isprintable():
            return [Segment(_harmless(text), style) for text, style, _ in segments]
    return segments


def _harmless(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(map(_drawn, text, safe_cells(text)))


def _drawn(character: str, instead: str) -> str:
    if character == instead and character not in "\n\t":
        return character
    return instead if cell_len(character) else ""
