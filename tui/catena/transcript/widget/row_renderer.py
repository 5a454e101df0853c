"""Rendering of rows as strips: line, gutter and margins, and overlays of styles."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from catena.text.safe_strips import safe_segments
from catena.transcript.drawing.render_options import ColumnLayout, Palette, RenderOptions
from catena.transcript.model.column import IN_GAP, ColumnRow
from catena_store.records import Kind

Overlay = tuple[int, int, Style]  # start and end in characters of the selectable part, and the style

_FOCUS = "┃"
_FOCUS_PROMPT = "█"


class RowRenderer:
    """Renderer of rows for one width and palette; each line caches its strip."""

    def __init__(self, width: int, palette: Palette) -> None:
        self.width = width
        self.layout = ColumnLayout.of(width)
        self.palette = palette
        self._blanks: dict[tuple[str, bool], Strip] = {}
        self._space = Style(bgcolor=palette.text.bgcolor) if palette.text.bgcolor else Style.null()

    def options(self, template: RenderOptions) -> RenderOptions:
        """Return ``template`` for this width and palette."""
        layout = self.layout
        return RenderOptions(
            layout.body, self.palette, layout.gutter == 0, template.directory, template.highlights
        )

    @property
    def empty(self) -> Strip:
        """A blank row, for below the end."""
        return self._blank("", False)

    def lead(self, row: ColumnRow) -> int:
        """Return the number of characters left of the selectable part of a row."""
        return self.layout.margin + self.layout.gutter + (row.line.lead if row.line is not None else 0)

    def render(self, row: ColumnRow, *, focused: bool) -> Strip:
        """Return a row as a strip of the widget's width."""
        mark = self._mark(row, focused)
        line = row.line
        if line is None:
            return self._blank(mark, focused)
        inverse = focused and not self.layout.gutter and row.row == 0
        key = (self, mark, focused, inverse)
        if line.strip is not None and line.strip_key == key:
            return line.strip
        segments = self._gutter(mark, focused)
        if inverse:
            segments += [
                Segment(text, (style or self._space) + Style(reverse=True))
                for text, style, _ in line.segments
            ]
        else:
            segments += line.segments
        cells = self.layout.margin + self.layout.gutter + line.cells
        if cells < self.width:
            segments.append(Segment(" " * (self.width - cells), self._space))
        strip = Strip(
            safe_segments([Segment(text, style or self._space) for text, style, _ in segments if text]),
            max(cells, self.width),
        )
        strip = strip.adjust_cell_length(self.width, self._space)
        line.strip, line.strip_key = strip, key
        return strip

    def overlay(self, strip: Strip, lead: int, overlays: Sequence[Overlay]) -> Strip:
        """Return ``strip`` with styles over ranges of its selectable part, which begins after ``lead`` characters."""
        segments = list(strip)
        for start, end, style in overlays:
            segments = _restyle(segments, lead + max(0, start), lead + end, style)
        return Strip(segments, strip.cell_length)

    def _mark(self, row: ColumnRow, focused: bool) -> str:
        entry = row.entry
        kind = entry.message.kind
        if row.part == IN_GAP:
            return "│ " if entry.joined else ""
        if focused:
            return _FOCUS_PROMPT if kind is Kind.USER else _FOCUS
        if kind is Kind.USER:
            return "▌"
        if kind is Kind.SEAM:
            return "╎╌" if row.part == 0 and row.row == 0 else "╎ "
        return "│ " if entry.link is not None else ""

    def _gutter(self, mark: str, focused: bool) -> list[Segment]:
        layout = self.layout
        if not layout.gutter:
            return []
        palette = self.palette
        style = {"▌": palette.prompt_bar, "╎╌": palette.seam, "╎ ": palette.seam}.get(mark, palette.chain)
        style = palette.focus if focused and mark in (_FOCUS, _FOCUS_PROMPT) else style
        segments = [Segment(mark.ljust(layout.gutter), style)]
        return [Segment(" " * layout.margin, self._space), *segments] if layout.margin else segments

    def _blank(self, mark: str, focused: bool) -> Strip:
        key = (mark, focused)
        strip = self._blanks.get(key)
        if strip is None:
            segments = self._gutter(mark, focused)
            used = self.layout.margin + self.layout.gutter if segments else 0
            segments.append(Segment(" " * (self.width - used), self._space))
            strip = Strip(segments, self.width)
            self._blanks[key] = strip
        return strip


def _restyle(segments: Sequence[Segment], start: int, end: int, style: Style) -> list[Segment]:
    result: list[Segment] = []
    at = 0
    for text, own, _ in segments:
        a, b = max(0, start - at), min(len(text), end - at)
        if a >= b:
            result.append(Segment(text, own))
        else:
            for piece, piece_style in (
                (text[:a], own),
                (text[a:b], (own or Style.null()) + style),
                (text[b:], own),
            ):
                if piece:
                    result.append(Segment(piece, piece_style))
        at += len(text)
    return result
