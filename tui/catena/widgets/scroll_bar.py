"""A scroll bar of one thin line."""

from __future__ import annotations

from math import ceil

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget

_GLYPH = "▐"


class _ThinRender(ScrollBarRender):
    @classmethod
    def render_bar(
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,
        back_color: Color = Color.parse("default"),  # noqa: B008 - as Textual declares it
        bar_color: Color = Color.parse("default"),  # noqa: B008
    ) -> Segments:
        """Draw the thumb alone; what is above and below it takes a click."""
        virtual_size = max(1, virtual_size)
        length = max(1, min(size, ceil(size * window_size / virtual_size)))
        start = round((size - length) * position / max(1, virtual_size - window_size))
        start = max(0, min(size - length, start))
        back, bar = Style(bgcolor=back_color), Style(color=bar_color, bgcolor=back_color)
        parts = (
            (start, " ", back + Style(meta={"@mouse.down": "scroll_up"})),
            (length, _GLYPH, bar + Style(meta={"@mouse.down": "grab"})),
            (size - start - length, " ", back + Style(meta={"@mouse.down": "scroll_down"})),
        )
        return Segments(
            [Segment(glyph, style) for count, glyph, style in parts for _ in range(count)], new_lines=True
        )


class ThinScrollBar(ScrollBar):
    """Vertical scroll bar of one thin line."""

    renderer = _ThinRender


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
