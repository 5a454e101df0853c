"""Rendering of rows as strips: lines with their marks on the grounds of the column, and overlays of styles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from catena.terminal.control.graphics import PLACEHOLDER, placeholder_row
from catena.text.strips.safe_strips import safe_segments
from catena.transcript.drawing.lines import ImageRow, Line
from catena.transcript.drawing.render_options import COLUMN, NARROW, ColumnLayout, Palette, RenderOptions
from catena.transcript.model.column import IN_GAP, ColumnRow
from catena_store.records import Kind

Overlay = tuple[int, int, Style]  # start and end in characters of the selectable part, and the style

_BAR = "▌"
_FOCUSED_PROMPT = "█"
_LOWER, _UPPER = "▄", "▀"
_NO_HALF_ROWS = str.maketrans(_LOWER + _UPPER, "  ")


class RowRenderer:
    """Renderer of rows for one width, column and palette; each line caches its strip."""

    def __init__(
        self,
        width: int,
        palette: Palette,
        *,
        column: int = COLUMN,
        half_rows: bool = False,
        short: bool = False,
    ) -> None:
        self.width = width
        self.short = short
        self.column = column
        self.layout = ColumnLayout.of(width, column)
        self.palette = palette
        self.half_rows = half_rows and palette.has_grounds
        self._blanks: dict[tuple[bool, Style | None, Style | None], Strip] = {}
        self._space = Style(bgcolor=palette.text.bgcolor) if palette.text.bgcolor else Style.null()

    @property
    def made_for(self) -> tuple[int, bool, Palette, int, bool]:
        """What it draws for: width, whether there are few rows, palette, column, half rows."""
        return self.width, self.short, self.palette, self.column, self.half_rows

    def options(self, template: RenderOptions) -> RenderOptions:
        """Return ``template`` for this width and palette."""
        return replace(
            template,
            width=self.layout.body,
            palette=self.palette,
            narrow=self.width < NARROW,
            half_rows=self.half_rows,
            short=self.short,
        )

    @property
    def empty(self) -> Strip:
        """A blank row, for below the end."""
        return self._blank(False, None, None)

    def lead(self, row: ColumnRow) -> int:
        """Return the number of characters left of the selectable part of a row."""
        return self.layout.before + self.layout.left + (row.line.lead if row.line is not None else 0)

    def render(
        self, row: ColumnRow, *, focused: bool, above: Line | None = None, below: Line | None = None
    ) -> Strip:
        """Return a row as a strip of the widget's width; a blank one depends on the lines ``above`` and ``below``."""
        line = row.line
        if line is None:
            bar = focused and row.part != IN_GAP
            return self._blank(bar, self._padding(above), self._padding(below))
        key = (self, focused)
        if line.strip is not None and line.strip_key == key:
            return line.strip
        mark, mark_style = line.mark, line.mark_style
        if focused:
            prompt = row.entry.message.kind is Kind.USER
            mark = _FOCUSED_PROMPT if prompt else _BAR
            mark_style = mark_style if prompt else self.palette.focus
        line.strip, line.strip_key = self._strip(line, mark, mark_style), key
        return line.strip

    def below_the_end(self, line: Line | None, above: Line | None) -> Strip:
        """Return a row below the last message, which depends on the line ``above`` where it is blank."""
        if line is None:
            return self._blank(False, self._padding(above), None)
        return self._strip(line, line.mark, line.mark_style)

    def _strip(self, line: Line, mark: str, mark_style: Style | None) -> Strip:
        strip = Strip(safe_segments(self._segments(line, mark, mark_style)))
        if line.image is not None and line.image.number is not None:
            strip = self._with_image(strip, self.layout.before + self.layout.left + line.lead, line.image)
        return strip.adjust_cell_length(self.width, self._space)

    def _with_image(self, strip: Strip, x: int, image: ImageRow) -> Strip:
        """A strip with the cells of an image, which nothing but this puts there."""
        color = Color.from_rgb(*image.number_bytes)
        cells = Segment(
            placeholder_row(image.row, image.slot.columns), Style(color=color, bgcolor=self._space.bgcolor)
        )
        end = x + image.slot.columns
        return Strip([*strip.crop(0, x), cells, *strip.crop(end, strip.cell_length)])

    def _segments(self, line: Line, mark: str, mark_style: Style | None) -> list[Segment]:
        layout, space = self.layout, self._space
        ground = line.ground if line.ground is not None else space
        rest = layout.body + layout.right - line.cells
        after = self.width - layout.before - layout.left - line.cells - max(0, rest)
        gap = layout.body - line.cells - line.note_cells if line.note else -1
        note = [Segment(" " * gap, ground), *line.note] if gap > 0 else []
        rest -= gap + line.note_cells if note else 0
        return [
            Segment(text, style)
            for text, style in (
                (" " * layout.before, space),
                (mark.ljust(layout.left), ground + (mark_style or Style.null())),
                *((text, style or ground) for text, style, _ in (*line.segments, *note)),
                (" " * rest, ground),
                (" " * after, space),
            )
            if text
        ]

    def _padding(self, line: Line | None) -> Style | None:
        """The ground that reaches into the blank row beside a line."""
        return line.ground if line is not None and line.padded and self.half_rows else None

    def chosen(self, strip: Strip, *, blank: bool) -> Strip:
        """Return a row of a prompt, or the ``blank`` one above it, on the ground of what is selected."""
        if not self.half_rows and not self.palette.has_grounds:
            return strip if blank else strip.apply_style(self.palette.selection)
        band, selected = self.palette.prompt.bgcolor, self.palette.selection.bgcolor
        return Strip(
            [
                Segment(
                    text,
                    style
                    + Style(
                        color=selected if style.color == band else None,
                        bgcolor=selected if style.bgcolor == band else None,
                    )
                    if style
                    else style,
                )
                for text, style, _ in strip
            ],
            strip.cell_length,
        )

    def left_behind(self, strip: Strip) -> Strip:
        """Return a row in faint, without grounds."""
        faint = self.palette.faint
        ground = self.palette.text.bgcolor
        return Strip(
            [
                Segment(
                    text.translate(_NO_HALF_ROWS),
                    Style(
                        color=faint.color,
                        bgcolor=ground,
                        bold=style.bold,
                        italic=style.italic,
                        meta=style.meta,
                    )
                    if style and not text.startswith(PLACEHOLDER)  # whose colour is the image's number
                    else style,
                )
                for text, style, _ in strip
            ],
            strip.cell_length,
        )

    def below_chosen(self) -> Strip:
        """The blank row below a prompt on the ground of what is selected."""
        return self._blank(False, self.palette.selection if self.half_rows else None, None)

    def overlay(self, strip: Strip, lead: int, overlays: Sequence[Overlay]) -> Strip:
        """Return ``strip`` with styles over ranges of its selectable part, which begins after ``lead`` characters."""
        segments = list(strip)
        for start, end, style in overlays:
            segments = _restyle(segments, lead + max(0, start), lead + end, style)
        return Strip(segments, strip.cell_length)

    def _blank(self, bar: bool, above: Style | None, below: Style | None) -> Strip:
        key = (bar, above, below)
        strip = self._blanks.get(key)
        if strip is None:
            layout = self.layout
            column = layout.left + layout.body + layout.right
            glyph, style = " ", self._space
            if below is not None:
                over = above.bgcolor if above is not None else self._space.bgcolor
                glyph, style = _LOWER, Style(color=below.bgcolor, bgcolor=over)
            elif above is not None:
                glyph, style = _UPPER, Style(color=above.bgcolor, bgcolor=self._space.bgcolor)
            segments = [Segment(" " * layout.before, self._space)] if layout.before else []
            if bar:
                segments.append(Segment(_BAR, self._space + self.palette.focus))
            segments.append(Segment(glyph * (column - bar), style))
            segments.append(Segment(" " * (self.width - layout.before - column), self._space))
            strip = self._blanks[key] = Strip([each for each in segments if each.text], self.width)
        return strip


def _restyle(segments: Sequence[Segment], start: int, end: int, style: Style) -> list[Segment]:
    result: list[Segment] = []
    at = 0
    for text, own, _ in segments:
        a, b = max(0, start - at), min(len(text), end - at)
        if a >= b or text.startswith(PLACEHOLDER):
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
