"""Markdown tables drawn as lines: cells wrap, and a table whose columns would be too narrow becomes a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, blank
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import Run, total_cells, wrap_runs
from catena.transcript.markdown.inline import inline_runs

if TYPE_CHECKING:
    from markdown_it.token import Token


_BETWEEN = "   "
_MIN_COLUMN = 6  # cells; a narrower column that needs more makes the table a list


@dataclass(frozen=True, slots=True)
class _Table:
    header: list[list[Run]]
    rows: list[list[list[Run]]]
    alignments: list[str]


def draw_table(tokens: Sequence[Token], options: RenderOptions, base: Style) -> list[Line]:
    """Draw the tokens from `table_open` to `table_close`."""
    table = _read(tokens, options, base)
    widths = fit_columns(_natural(table), options.width)
    if widths is None:
        return _as_list(table, options)
    palette = options.palette
    rule = "─" * (sum(widths) + len(_BETWEEN) * (len(widths) - 1))
    lines = _row(table.header, widths, table.alignments)
    lines.append(Line([Segment(rule, palette.rule)], len(rule), "", len(rule)))
    tall = False
    for row in table.rows:
        drawn = _row(row, widths, table.alignments)
        if tall or (len(drawn) > 1 and row is not table.rows[0]):
            lines.append(blank())
        tall = len(drawn) > 1
        lines += drawn
    return lines


def fit_columns(natural: Sequence[int], width: int) -> list[int] | None:
    """Distribute ``width`` over columns of ``natural`` widths; None if a column would be too narrow."""
    room = width - len(_BETWEEN) * (len(natural) - 1)
    if sum(natural) <= room:
        return list(natural)
    widths = [0] * len(natural)
    wanting = list(range(len(natural)))
    while wanting:
        share = room // len(wanting)
        modest = [column for column in wanting if natural[column] <= share]
        if not modest:
            for position, column in enumerate(wanting):
                widths[column] = share + (position < room % len(wanting))
            break
        for column in modest:
            widths[column] = natural[column]
            room -= natural[column]
            wanting.remove(column)
    if any(width < min(natural[column], _MIN_COLUMN) for column, width in enumerate(widths)):
        return None
    return widths


def _read(tokens: Sequence[Token], options: RenderOptions, base: Style) -> _Table:
    header: list[list[Run]] = []
    rows: list[list[list[Run]]] = []
    alignments: list[str] = []
    row = header
    for index, token in enumerate(tokens):
        match token.type:
            case "tbody_open":
                row = []
            case "tr_open" if row is not header:
                row = []
                rows.append(row)
            case "th_open":
                alignments.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
                row.append(_runs(tokens[index + 1], base + options.palette.table_head, options))
            case "td_open":
                row.append(_runs(tokens[index + 1], base, options))
    return _Table(header, rows, alignments)


def _runs(token: Token, style: Style, options: RenderOptions) -> list[Run]:
    return [run for line in inline_runs(token.children or (), style, options.palette) for run in line]


def _natural(table: _Table) -> list[int]:
    return [
        max(1, *(total_cells(row[column]) for row in (table.header, *table.rows) if column < len(row)))
        for column in range(len(table.header))
    ]


def _row(cells: Sequence[list[Run]], widths: Sequence[int], alignments: Sequence[str]) -> list[Line]:
    columns = [wrap_runs(cells[n], width) if n < len(cells) else [blank()] for n, width in enumerate(widths)]
    whole = "| " + " | ".join("".join(text for text, _ in cell) for cell in cells) + " |"
    lines: list[Line] = []
    for height in range(max(len(column) for column in columns)):
        segments: list[Segment] = []
        for n, (column, width) in enumerate(zip(columns, widths, strict=True)):
            line = column[height] if height < len(column) else blank()
            space = max(0, width - line.cells)
            left = {"right": space, "center": space // 2}.get(alignments[n], 0)
            if n:
                segments.append(Segment(_BETWEEN, Style.null()))
            if left:
                segments.append(Segment(" " * left, Style.null()))
            segments += line.segments
            if space - left:
                segments.append(Segment(" " * (space - left), Style.null()))
        cells_wide = sum(widths) + len(_BETWEEN) * (len(widths) - 1)
        lines.append(Line(segments, cells_wide, "".join(s.text for s in segments).rstrip(), 0))
    if len(lines) == 1:
        lines[0].text = whole
    return lines


def _as_list(table: _Table, options: RenderOptions) -> list[Line]:
    lines: list[Line] = []
    for row in table.rows:
        if lines:
            lines.append(blank())
        for name, cell in zip(table.header, row, strict=False):
            label: list[Run] = [*name, (": ", options.palette.muted)] if name else []
            lines += add_prefix(
                wrap_runs([*label, *cell], options.width - 2), LinePrefix("", "  ", Style.null())
            )
    return lines or wrap_runs(
        [run for cell in table.header for run in (*cell, ("  ", options.palette.text))], options.width
    )
