"""A list of one-line rows with a cursor; only visible rows are drawn, so thousands cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from catena.text.safe_text import safe, safe_line

_HIDDEN = 4  # cells that say how many levels of a lead are left out
_LABELS = 26  # cells of the column of labels, at most; notes are aligned behind it


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its key, a label that is read first, and texts that may be cut off."""

    key: str
    label: str
    detail: str = ""  # right-aligned and dim
    note: str = ""  # dim, behind the label
    dim: bool = False
    lead: str = (
        ""  # drawn before the label, two cells a level; no text from outside, for it is drawn as it is
    )


class RowsOnDemand(Sequence[Row]):
    """Rows without notes, of which each is made when it is drawn, for lists of very many."""

    def __init__(self, keys: Sequence[str], row: Callable[[int], Row]) -> None:
        """``row`` makes the row at a place, counted from 0."""
        self.keys = keys
        self._row = row

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self._row(each) for each in range(*at.indices(len(self.keys)))]
        return self._row(range(len(self.keys))[at])


class RowList(ScrollView, can_focus=False):
    """Rows with a cursor, which the screen or a filter moves: the list takes no focus."""

    COMPONENT_CLASSES = {"row-list--cursor", "row-list--detail", "row-list--empty"}  # noqa: RUF012 - Textual's
    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        scrollbar-size-vertical: 1;
        & > .row-list--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
            text-style: bold;
        }
        & > .row-list--detail { color: $muted; }
        & > .row-list--empty { color: $faint; }
    }
    """

    cursor = reactive(0)

    class Chosen(Message):
        """A row was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """The cursor is on another row, or the rows were replaced."""

        def __init__(self, key: str | None, *, at_end: bool) -> None:
            super().__init__()
            self.key = key
            self.at_end = at_end

    def __init__(self, *, empty: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Row] = ()
        self._note_column = 0  # cells before the notes
        self._empty = empty
        self._base = self._faint = Style.null()

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, from the first to the last."""
        return self._rows

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def page_length(self) -> int:
        """How many rows a page key moves the cursor by."""
        return max(2, self.size.height - 1)

    def show(self, rows: Sequence[Row], *, keep: str | None = None, empty: str | None = None) -> None:
        """Replace the rows; the cursor goes to the row with key ``keep``, else to the first."""
        self._rows = rows
        noted = () if isinstance(rows, RowsOnDemand) else [row for row in rows if row.note]
        self._note_column = min(_LABELS, max((cell_len(row.label) for row in noted), default=0))
        if empty is not None:
            self._empty = empty
        self.virtual_size = Size(0, max(1, len(rows)))
        keys = rows.keys if isinstance(rows, RowsOnDemand) else [row.key for row in rows]
        at = keys.index(keep) if keep in keys else 0
        if at == self.cursor:
            self._post_moved()
        self.cursor = at
        self.refresh()

    def move(self, step: int) -> None:
        """Move the cursor; it stops at both ends, and a single step goes around."""
        if not self._rows:
            return
        target = self.cursor + step
        if abs(step) == 1:
            target %= len(self._rows)
        self.cursor = max(0, min(len(self._rows) - 1, target))

    def watch_cursor(self) -> None:
        """Keep the cursor in sight."""
        if self.size.height:
            self.scroll_to_region(
                Region(0, self.cursor, 1, 1), animate=False, force=True, immediate=True, x_axis=False
            )
        self.refresh()
        self._post_moved()

    def _post_moved(self) -> None:
        row = self.chosen
        self.post_message(self.Moved(row.key if row else None, at_end=self.cursor >= len(self._rows) - 1))

    def on_resize(self) -> None:
        """Keep the cursor in sight in another size."""
        self.watch_cursor()

    def on_click(self, event: events.Click) -> None:
        """Choose the row that was clicked."""
        at = event.y + self.scroll_offset.y
        if 0 <= at < len(self._rows):
            self.cursor = at
            self.post_message(self.Chosen(self._rows[at].key))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows; read the styles that they share once."""
        self._base = self.rich_style
        self._faint = self._base + self.get_component_rich_style("row-list--detail", partial=True)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        base, faint = self._base, self._faint
        if not self._rows and at == 0:
            style = base + self.get_component_rich_style("row-list--empty", partial=True)
            return Strip([Segment(set_cell_size(f"  {self._empty}", width), style)], width)
        if at >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[at]
        style = faint if row.dim else base
        if at == self.cursor:
            style = self.get_component_rich_style("row-list--cursor")
            faint = style + Style(bold=False)
        return Strip(_segments(row, width, self._note_column, style, faint), width)


def _segments(row: Row, width: int, note_column: int, style: Style, faint: Style) -> list[Segment]:
    """The row in a width: the detail is cut before the label."""
    label, note = safe_line(row.label), safe_line(row.note)
    detail = safe(row.detail).replace("\n", " ")  # its columns keep their spaces
    detail_width = cell_len(detail) if width >= 40 else 0
    if detail_width and detail_width > width // 2:
        detail = _cut(detail, width // 2)
        detail_width = cell_len(detail)
    lead = _shorten_lead(row.lead, width // 3)
    room = max(1, width - 3 - cell_len(lead) - (detail_width + 2 if detail_width else 0))
    label = _cut(label, room)
    indent = max(0, note_column - cell_len(label)) if width >= 2 * _LABELS else 0
    note_room = room - cell_len(label) - indent - 2
    note = _cut(note, note_room) if note and note_room > 3 else ""
    segments = (
        [Segment(f"  {lead}", faint), Segment(label, style)] if lead else [Segment("  " + label, style)]
    )
    used = 2 + cell_len(lead) + cell_len(label)
    if note:
        segments.append(Segment(" " * indent, style))
        used += indent
        segments.append(Segment("  " + note, faint))
        used += 2 + cell_len(note)
    gap = width - used - (detail_width + 1 if detail_width else 0)
    segments.append(Segment(" " * max(0, gap), style))
    if detail_width:
        segments.append(Segment(detail + " ", faint))
    return segments


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…"


def _shorten_lead(lead: str, width: int) -> str:
    """Keep the levels nearest to the label, behind the number of those that are left out."""
    if len(lead) <= width:
        return lead
    hidden = (len(lead) - max(0, width - _HIDDEN) + 1) // 2
    return f"…{hidden}".ljust(_HIDDEN) + lead[2 * hidden :]
