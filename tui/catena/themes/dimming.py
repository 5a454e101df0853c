"""The filter that draws the dimmer steps of the 16 colours."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from catena.themes.variables import DIM

_DIM = RichColor.parse(DIM.removeprefix("ansi_"))


class DimSteps(LineFilter):
    """Line filter that draws what is in the colour `DIM` in the terminal's own colour, dim."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line with the dimmer steps as an attribute."""
        return [
            Segment(text, _dimmed(style) if style else style, control) for text, style, control in segments
        ]


@lru_cache(maxsize=1024)
def _dimmed(style: Style) -> Style:
    color = style.color
    # Not the colour itself: Rich and Textual have several names for it, and these tell colours apart, too.
    if color is None or (color.type, color.number) != (_DIM.type, _DIM.number):
        return style
    return style + Style(color="default", dim=True)
