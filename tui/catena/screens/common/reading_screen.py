"""A screen with a text to read."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ScreenResultType
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from catena.keys.bindings import priority_bindings
from catena.screens.common.dialog import Dialog
from catena.widgets.scroll_bar import thin_scroll_bar


class ReadingPane(VerticalScroll):
    """A text that scrolls."""

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar."""
        return thin_scroll_bar(self)


class ReadingScreen(Dialog[ScreenResultType]):
    """A text that is scrolled by line and by page."""

    @property
    def reader(self) -> Widget:
        """The widget that scrolls."""
        return self.query_one("#text", VerticalScroll)

    def action_scroll(self, step: int) -> None:
        """Scroll by a number of lines."""
        self.reader.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """Scroll by a screenful, less two lines."""
        reader = self.reader
        reader.scroll_relative(y=step * max(1, reader.size.height - 2), animate=False)


# For texts beside which nothing is typed.
SCROLL_KEYS: Sequence[BindingType] = priority_bindings(
    line_down="scroll(1)",
    line_up="scroll(-1)",
    row_down="scroll(1)",
    row_up="scroll(-1)",
    page_down="page(1)",
    page_up="page(-1)",
)
