"""The transcript's scroll bar, which is drawn with every row that the text grows by."""

from __future__ import annotations

from rich.segment import Segment
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip


class TranscriptScrollBar(ScrollBar):
    """Vertical scroll bar that looks like Textual's, without a renderable of as many lines as it has."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines; equal ones are the same strip."""
        bar = self.render()
        assert isinstance(bar, ScrollBarRender)
        colours = self.app.console.get_style(bar.style)
        assert colours.bgcolor is not None
        assert colours.color is not None
        segments = bar.render_bar(
            size=self.size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=bar.thickness,
            back_color=colours.bgcolor,
            bar_color=colours.color,
        ).segments
        _, background = self.background_colors
        base = self.visual_style.rich_style
        filters = self.get_line_filters()
        strips: dict[int, Strip] = {}
        for segment in segments:
            if id(segment) not in strips:
                strip = Strip([Segment(segment.text, base + segment.style)], bar.thickness)
                for each in filters:
                    strip = strip.apply_filter(each, background)
                strips[id(segment)] = strip
        return [strips[id(segment)] for segment in segments[crop.y : crop.bottom]]
