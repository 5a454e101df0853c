"""The compositor of our screens: asks the widgets for the lines of a frame that are seen and changed, and no others.

And it measures what has changed: Textual may keep a size from before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import cast

from textual._compositor import ChopsUpdate, Compositor, ReflowResult
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

_Span = tuple[int, int, int]  # line, first column, column behind the last


class SparingCompositor(Compositor):
    """Compositor that renders less: Textual's asks each widget between the first and the last change for all lines.

    A line of a widget is rendered where some of it is drawn anew and no widget in front covers it.
    """

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out what a screen has, each widget that has changed by what it shows now.

        Of changes that come before a widget has told its screen of the first, or before it is mounted, Textual 8.2
        counts one: laid out between two of them, it would keep the size that it had then.
        """
        for changed in parent.screen._layout_widgets.values():
            for widget in changed:
                widget.clear_cached_dimensions()
                widget._layout_updates += 1
        return super().reflow(parent, size)

    def render_partial_update(self) -> ChopsUpdate | None:
        """The pieces of lines that are drawn anew; None if there are none."""
        regions = self._dirty_regions.copy()
        self._dirty_regions.clear()
        if not regions:
            return None
        spans = list(self._regions_to_spans(regions))
        return ChopsUpdate(self._pieces(spans), spans, [cuts[1:] for cuts in self.cuts])

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        """All pieces of the lines in ``crop``."""
        spans = [(y, crop.x, crop.right) for y in crop.line_range if is_rendered_line(y)]
        return cast("Sequence[Mapping[int, Strip]]", self._pieces(spans))

    def _pieces(self, spans: Iterable[_Span]) -> list[dict[int, Strip | None]]:
        """What is in front of all else, by line and column of its beginning; None beside the spans."""
        pieces: list[dict[int, Strip | None]] = [dict.fromkeys(cuts[:-1]) for cuts in self.cuts]
        wanted = self._columns_of(spans)
        for widget, (region, clip) in self.visible_widgets.items():
            if not wanted:
                break
            shown = region.intersection(clip)
            first, end = shown.column_span
            lines = [y for y in shown.line_range if any(first <= x < end for x in wanted.get(y, ()))]
            if not lines:
                continue
            top, height = lines[0], lines[-1] + 1 - lines[0]
            strips = widget.render_lines(Region(first - region.x, top - region.y, shown.width, height))
            for y in lines:
                cuts = [cut for cut in self.cuts[y] if first <= cut <= end]
                divided = _divided(strips[y - top], [cut - first for cut in cuts[1:]])
                for x, piece in zip(cuts, divided, strict=False):
                    if x in wanted[y]:
                        pieces[y][x] = piece
                        wanted[y].remove(x)
                if not wanted[y]:
                    del wanted[y]
        return pieces

    def _columns_of(self, spans: Iterable[_Span]) -> dict[int, set[int]]:
        """The columns, by line, at which the pieces begin that the spans touch."""
        columns: dict[int, set[int]] = {}
        for y, start, stop in spans:
            cuts = self.cuts[y]
            touched = {x for x, end in pairwise(cuts) if x < stop and end > start}
            if touched:
                columns.setdefault(y, set()).update(touched)
        return columns


def _divided(strip: Strip, cuts: Sequence[int]) -> Sequence[Strip]:
    """The pieces of a strip; one that is not divided is its own piece.

    Asked for that, a strip keeps the answer, which is itself, and goes only when the garbage is collected.
    """
    return (strip,) if [*cuts] == [strip.cell_length] else strip.divide(cuts)
