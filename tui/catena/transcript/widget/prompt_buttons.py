"""Buttons of a prompt at the right of its first row, for the pointer: the names of acts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from catena.transcript.model.column import ColumnRow
from catena.transcript.widget.row_renderer import RowRenderer

BRANCH_ACT = "branch"  # key of an act's name in a style's meta data

_SPACE = "  "
_TEXT_KEPT = 8  # cells of the prompt that stay readable


def has_buttons(row: ColumnRow) -> bool:
    """True for the first row of a prompt."""
    return row.entry.message.is_prompt and row.part == 0 and row.row == 0 and row.line is not None


def add_buttons(
    strip: Strip, row: ColumnRow, renderer: RowRenderer, acts: Sequence[str], *, over_text: bool
) -> Strip:
    """Draw as many buttons as fit at the end of a row, one for each of the acts, left of time and siblings.

    With ``over_text`` they may cover the prompt's text.
    """
    layout, palette = renderer.layout, renderer.palette
    end = layout.before + layout.left + layout.body
    end -= row.line.note_cells if row.line is not None else 0
    room = end - layout.before - layout.left - _TEXT_KEPT
    ground = palette.prompt_note.bgcolor
    base = Style(bgcolor=ground) if ground else Style.null()
    segments: list[Segment] = []
    cells = 0
    for act in acts:
        if cells + len(_SPACE) + len(act) > room:
            break
        segments.append(Segment(act, palette.prompt_note + Style(underline=True, meta={BRANCH_ACT: act})))
        segments.append(Segment(_SPACE, base))
        cells += len(_SPACE) + len(act)
    if not cells or not (over_text or strip.crop(end - cells, end).text.isspace()):
        return strip
    return Strip.join(
        [strip.crop(0, end - cells), Strip(segments, cells), strip.crop(end, strip.cell_length)]
    )
