"""A list to choose one thing from: type to filter, Enter to take, Esc to leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from catena.text.safe_text import safe, safe_line
from catena.widgets.row_list import Row, RowList
from catena.widgets.text_fields import SafeInput

Match = Callable[[str, Sequence[Row]], Sequence[Row]]


def words_match(text: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows in which every word of ``text`` occurs, in their own order."""
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


class Picker(ModalScreen[str | None]):
    """Gives the key of the chosen row, or None."""

    CSS_PATH = Path(__file__).with_name("picker.tcss")  # absolute: a subclass stands in another folder
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave"),
        Binding("ctrl+c", "leave", "leave", priority=True),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    def __init__(
        self,
        title: str,
        rows: Sequence[Row] = (),
        *,
        keep: str | None = None,
        hint: str = "enter choose · esc leave",
        empty: str = "nothing like that",
        match: Match = words_match,
        filtered_by: str = "",
        preview: Callable[[str], None] | None = None,
        note: str = "",
        later: Callable[[], Awaitable[Sequence[Row]]] | None = None,
    ) -> None:
        """``keep``: the row to begin at. ``preview`` is called with the key of every row that the cursor comes to.

        ``later`` gives the rows once more, with what took time to find out.
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
        """Title and filter on one line, the rows, a hint."""
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
        """Show the rows and take the focus."""
        self.query_one("#filter", SafeInput).focus()
        self._refilter(self._keep)
        if self._later is not None:
            self.run_worker(self._show_later(self._later))

    async def _show_later(self, later: Callable[[], Awaitable[Sequence[Row]]]) -> None:
        self.show_rows(await later())

    @property
    def list(self) -> RowList:
        """The rows that are shown."""
        return self.query_one(RowList)

    def show_rows(self, rows: Sequence[Row], *, keep_cursor: bool = True) -> None:
        """Other rows, or more of them."""
        self._all = rows
        chosen = self.list.chosen
        self._refilter(chosen.key if chosen and keep_cursor else None)

    def _refilter(self, keep: str | None = None) -> None:
        text = self.query_one("#filter", SafeInput).value.strip()
        shown = self._match(text, self._all)
        # The sheet is as high as it needs to be for all rows, and does not move while they are filtered.
        self.list.styles.min_height = min(len(self._all), 6)
        self.list.show(shown, keep=keep)

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Filter."""
        event.stop()
        self._refilter()

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Take the row under the cursor."""
        event.stop()
        row = self.list.chosen
        if row is not None:
            self.take(row.key)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Show what the choice would look like."""
        event.stop()
        if self._preview is not None and event.key is not None:
            self._preview(event.key)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A click takes."""
        event.stop()
        self.take(event.key)

    def take(self, key: str) -> None:
        """End with this key."""
        self.dismiss(key)

    def action_leave(self) -> None:
        """End with nothing."""
        self.dismiss(None)

    def action_move(self, step: int) -> None:
        """Up or down."""
        self.list.move(step)

    def action_page(self, step: int) -> None:
        """Up or down by a screenful."""
        self.list.move(step * max(2, self.list.size.height - 1))
