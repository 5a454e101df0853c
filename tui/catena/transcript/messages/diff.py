"""Diff of a file, drawn: added and removed lines with context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.style import Style

from catena.text.safe_text import safe
from catena.transcript.drawing.lines import Line, LinePrefix, add_prefix, line_of
from catena.transcript.drawing.render_options import RenderOptions
from catena.transcript.drawing.wrapping import wrap_runs
from catena_acp.diff import DiffLine, LineDiff, line_diff


@lru_cache(maxsize=16)
def change_of(old: str | None, new: str) -> LineDiff:
    """Compare two versions of a file as they are drawn; ``old`` is None for a new file."""
    return line_diff(safe(old or ""), safe(new))


def draw_rows(rows: Sequence[DiffLine], options: RenderOptions, digits: int) -> list[Line]:
    """Draw the lines of a hunk, with line numbers of ``digits`` cells."""
    palette = options.palette
    styles = {"+": palette.added, "-": palette.removed, " ": palette.muted}
    signs = {"+": "+", "-": "−", " ": " "}
    lines: list[Line] = []
    for row in rows:
        style = styles[row.sign]
        drawn = wrap_runs([(row.text.expandtabs(4), style)], options.width - digits - 3)
        drawn[0].text = row.text if len(drawn) == 1 else drawn[0].text
        sign = LinePrefix(f"{signs[row.sign]} ", "  ", style)
        number = LinePrefix(f"{row.number:>{digits}} ", " " * (digits + 1), palette.faint)
        lines += add_prefix(add_prefix(drawn, sign), number)
    return lines


def draw_gap(options: RenderOptions) -> Line:
    """Draw the separator between two hunks."""
    return line_of(("⋯", options.palette.faint), text="", lead=1)


def counts(added: int, removed: int, options: RenderOptions) -> list[tuple[str, Style]]:
    """Return `+6 −2` as styled runs; zeros are left out."""
    pieces: list[tuple[str, Style]] = []
    if added:
        pieces.append((f"+{added}", options.palette.added_count))
    if removed:
        pieces.append((f"{' ' if pieces else ''}−{removed}", options.palette.removed_count))
    return pieces
