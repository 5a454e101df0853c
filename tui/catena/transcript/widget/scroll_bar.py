"""The transcript's scroll bar: at the screen's edge, over the rows, while their end is out of sight."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from catena.transcript.drawing.render_options import Palette

_GLYPH = "▐"
# What a press of the mouse does.
_ABOVE, _ON, _BELOW = (
    "scroll_up",
    "grab",
    "scroll_down",
)


class TranscriptScrollBar(ScrollBar):
    """Vertical scroll bar of one thin line, which takes no cell from the rows."""

    def set_palette(self, palette: Palette) -> None:
        """Draw in the styles of a palette; the track above and below the thumb is drawn if the palette has grounds."""
        track, thumb = palette.scroll_track, palette.scroll_thumb
        glyph = _GLYPH if palette.has_grounds else " "
        self._strips = {
            action: Strip([Segment(text, style + Style(meta={"@mouse.down": action}))], 1)
            for action, text, style in ((_ABOVE, glyph, track), (_ON, _GLYPH, thumb), (_BELOW, glyph, track))
        }
        self.refresh()

    def thumb(self) -> tuple[int, int]:
        """Return the first row of the thumb and the one behind its last."""
        height, total = self.size.height, max(1, self.window_virtual_size)
        length = max(1, round(height * height / total))
        way = max(1, total - height)
        start = min(height - length, round((height - length) * self.position / way))
        return max(0, start), max(0, start) + length

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines; equal ones are the same strip."""
        start, end = self.thumb()
        filters, (_, background) = self.get_line_filters(), self.background_colors
        strips = dict(self._strips)
        for action, strip in strips.items():
            for each in filters:
                strip = strip.apply_filter(each, background)
            strips[action] = strip
        return [
            strips[_ABOVE if y < start else _ON if y < end else _BELOW] for y in range(crop.y, crop.bottom)
        ]
