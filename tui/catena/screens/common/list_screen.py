"""A screen with a list of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ScreenResultType
from textual.widget import Widget

from catena.keys.bindings import bindings, keys_of, priority_bindings
from catena.screens.common.dialog import Dialog
from catena.widgets.row_list import RowList
from catena.widgets.sheet_edges import SheetKey, SheetWords, Subject

_MOVING = (("{row_up row_down}", "choose"), ("{page_up} {page_down}", "a screenful up, down"))


class ListScreen(Dialog[ScreenResultType]):
    """Rows with a cursor, between a head and a line for messages; a subclass has the rows, their keys and acts."""

    AUTO_FOCUS = ""  # keys belong to the rows, unless a field is opened
    HEADING: ClassVar[str] = ""
    EMPTY: ClassVar[str] = ""  # instead of rows, if there are none
    KEYS: ClassVar[tuple[SheetKey, ...]] = ()
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(row_up="move(-1)", row_down="move(1)", page_up="page(-1)", page_down="page(1)")
    ]

    def __init__(self, subject: Subject | None = None, title: str = "") -> None:
        super().__init__(SheetWords(title or self.HEADING, subject=subject or Subject()))

    def compose(self) -> ComposeResult:
        """Head, rows, message, field, keys."""
        yield from self.compose_head(*self.compose_filter())
        yield RowList(empty=keys_of(self).said(self.EMPTY), id="rows")
        yield from self.compose_field()
        yield from self.compose_foot(*self.KEYS)

    def compose_filter(self) -> Iterator[Widget]:
        """The field in the head, if a subclass has one."""
        yield from ()

    def compose_field(self) -> ComposeResult:
        """The field below the rows, if a subclass has one."""
        yield from ()

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        yield from keys_of(self).hints(_MOVING)
        yield from super().help_keys

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


def list_bindings(keys: Sequence[SheetKey], **more: str) -> list[BindingType]:
    """The bindings of a list: those of its foot, the last of which leaves it, and ``more`` by the names of actions."""
    acts = {each.key[1:-1]: each.action for each in keys[:-1]}
    return [
        *priority_bindings(leave="leave", cancel="leave"),
        *LETTER_KEYS,
        *bindings(close_list="leave", **acts, **more),
    ]


# For lists beside which nothing is typed.
LETTER_KEYS: Sequence[BindingType] = bindings(list_down="move(1)", list_up="move(-1)")
