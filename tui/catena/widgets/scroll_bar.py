"""A scroll bar of one thin line."""

from __future__ import annotations

from math import ceil

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

_GLYPH = "▐"
_ABOVE, _ON, _BELOW = ("scroll_up", "grab", "scroll_down")  # what a press of the mouse does


class ThinScrollBar(ScrollBar):
    """Vertical scroll bar of one thin line; what is above and below its thumb takes a click."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines; equal ones are the same strip, since each frame that scrolls asks for all of them."""
        bar = self.render()
        assert isinstance(bar, ScrollBarRender)
        assert isinstance(bar.style, Style)
        start, end = _thumb(bar, self.size.height)
        back = Style(bgcolor=bar.style.bgcolor)
        parts = ((_ABOVE, " ", back), (_ON, _GLYPH, bar.style), (_BELOW, " ", back))
        filters, (_, background) = self.get_line_filters(), self.background_colors
        strips: dict[str, Strip] = {}
        for action, glyph, style in parts:
            segment = Segment(glyph.ljust(self.size.width), style + Style(meta={"@mouse.down": action}))
            strip = Strip([segment], self.size.width)
            for each in filters:
                strip = strip.apply_filter(each, background)
            strips[action] = strip
        return [
            strips[_ABOVE if y < start else _ON if y < end else _BELOW] for y in range(crop.y, crop.bottom)
        ]


def _thumb(bar: ScrollBarRender, height: int) -> tuple[int, int]:
    """The first row of the thumb and the one behind its last."""
    whole = max(1, bar.virtual_size)
    length = max(1, min(height, ceil(height * bar.window_size / whole)))
    start = round((height - length) * bar.position / max(1, whole - bar.window_size))
    start = max(0, min(height - length, start))
    return start, start + length


def thin_scroll_bar(of: Widget) -> ScrollBar:
    """The vertical scroll bar of a widget, made when it is first asked for, as Textual does."""
    bar = of._vertical_scrollbar
    if bar is None:
        bar = of._vertical_scrollbar = ThinScrollBar(
            vertical=True, name="vertical", thickness=of.scrollbar_size_vertical
        )
        bar.display = False
        of.app._start_widget(of, bar)
    return bar
