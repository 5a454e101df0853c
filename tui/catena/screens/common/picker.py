"""A list with a filter, from which one row is chosen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from catena.screens.common.list_screen import ListScreen
from catena.text.safe_text import safe, safe_line
from catena.widgets.row_list import Row, RowList
from catena.widgets.text_fields import SafeInput

Match = Callable[[str, Sequence[Row]], Sequence[Row]]


def words_match(text: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows that contain every word of ``text``, in the order of the rows."""
    words = text.casefold().split()
    if not words:
        return rows
    return [
        row
        for row in rows
        if all(word in f"{row.label}\n{row.note}\n{row.detail}".casefold() for word in words)
    ]


def fuzzy_match(text: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows whose label has the letters of ``text`` in order, best first."""
    from textual.fuzzy import FuzzySearch

    if not text:
        return rows
    search = FuzzySearch()
    scored = [(search.match(text, row.label)[0], index) for index, row in enumerate(rows)]
    return [rows[index] for score, index in sorted(scored, key=lambda each: (-each[0], each[1])) if score > 0]


class Picker(ListScreen[str | None]):
    """A sheet with rows and a filter; its result is the key of the chosen row."""

    CSS_PATH = Path(__file__).with_name("picker.tcss")  # absolute: a subclass stands in another folder
    DEFAULT_CLASSES = ""  # it does not fill the terminal
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave"),
        Binding("ctrl+c", "leave", "leave", priority=True),
    ]

    def __init__(
        self,
        title: str,
        rows: Sequence[Row] = (),
        *,
        keep: str | None = None,
        hint: str = "enter select · esc cancel",
        empty: str = "no match",
        match: Match = words_match,
        filtered_by: str = "",
        preview: Callable[[str], None] | None = None,
        note: str = "",
        later: Callable[[], Awaitable[Sequence[Row]]] | None = None,
    ) -> None:
        """``keep``: the row to begin at. ``preview`` is called with the key of every row that the cursor comes to.

        ``later`` reads the rows again, with facts that take time.
        """
        super().__init__()
        self._title = safe_line(title)
        self._all: Sequence[Row] = rows
        self._keep = keep
        self._hint = safe_line(hint)
        self._empty = empty
        self._match = match
        self._filter = filtered_by
        self._preview = preview
        self._note = safe(note)
        self._later = later

    def compose(self) -> ComposeResult:
        """Title and filter on one line, rows, key hints."""
        field = SafeInput(self._filter, placeholder="type to filter", compact=True, id="filter")
        field.cursor_blink = False
        with Vertical(id="sheet"):
            with Horizontal(id="head"):
                yield Static(self._title, id="title", markup=False)
                yield field
            if self._note:
                yield Static(self._note, id="note", markup=False)
            yield RowList(empty=self._empty, id="rows")
            yield Static(self._hint, id="hint", markup=False)

    def on_mount(self) -> None:
        """Focus the filter and show the rows."""
        self.set_focus(self.query_one("#filter", SafeInput))
        self._refilter(self._keep)
        if self._later is not None:
            self.run_worker(self._show_later(self._later))

    async def _show_later(self, later: Callable[[], Awaitable[Sequence[Row]]]) -> None:
        self.show_rows(await later())

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; the cursor stays at its row."""
        self._all = rows
        self._refilter(self.chosen_key)

    def say(self, text: str) -> None:
        """Show a message in place of the key hints."""
        self._update("hint", Content(safe_line(text)))

    def _refilter(self, keep: str | None = None) -> None:
        text = self.query_one("#filter", SafeInput).value.strip()
        shown = self._match(text, self._all)
        # The sheet is as high as it needs to be for all rows, and does not move while they are filtered.
        self.row_list.styles.min_height = min(len(self._all), 6)
        self.row_list.show(shown, keep=keep)

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Filter the rows."""
        event.stop()
        self._refilter()

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Choose the row under the cursor."""
        event.stop()
        if (key := self.chosen_key) is not None:
            self.dismiss(key)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Preview the row under the cursor."""
        event.stop()
        if self._preview is not None and event.key is not None:
            self._preview(event.key)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Choose the row that was clicked."""
        event.stop()
        self.dismiss(event.key)
