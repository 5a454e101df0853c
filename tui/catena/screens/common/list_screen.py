"""A screen with a list of rows."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ScreenResultType
from textual.widgets import Static

from catena.screens.common.dialog import Dialog, key_hints
from catena.widgets.row_list import RowList


class ListScreen(Dialog[ScreenResultType]):
    """Rows with a cursor, between a title and a line for messages; a subclass has the rows, their keys and acts."""

    AUTO_FOCUS = ""  # keys belong to the rows, unless a field is opened
    HEADING: ClassVar[str] = ""
    EMPTY: ClassVar[str] = ""  # instead of rows, if there are none
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = ()  # words and action of each key
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Title, rows, message, field, key hints."""
        yield Static(self.HEADING, id="title", markup=False)
        yield RowList(empty=self.EMPTY, id="rows")
        yield Static("", id="said", markup=False)
        yield from self.compose_field()
        yield Static(key_hints(*self.HINTS), id="hint")

    def compose_field(self) -> ComposeResult:
        """The field above the key hints, if a subclass has one."""
        yield from ()

    @property
    def row_list(self) -> RowList:
        """The rows."""
        return self.query_one(RowList)

    @property
    def chosen_key(self) -> str | None:
        """The key of the row under the cursor."""
        row = self.row_list.chosen
        return row.key if row else None

    def action_move(self, step: int) -> None:
        """Move the cursor by a number of rows."""
        self.row_list.move(step)

    def action_page(self, step: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(step * self.row_list.page_length)


# For lists beside which nothing is typed.
LETTER_KEYS: tuple[BindingType, ...] = (
    Binding("j", "move(1)", show=False),
    Binding("k", "move(-1)", show=False),
)
