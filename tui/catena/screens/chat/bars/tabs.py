"""The bar of tabs, with a mark for what each is doing; hidden while there is only one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from catena.text.safe_text import safe_line

_LONGEST_TITLE = 24


@dataclass(frozen=True, slots=True)
class TabLabel:
    """One tab as the bar shows it."""

    title: str
    mark: str  # "" | ⠋ working | ? asking | ! failed | • unread
    active: bool


class TabBar(Widget):
    """The bar of tabs. A click goes to a tab."""

    DEFAULT_CSS = """
    TabBar { height: 1; display: none; color: $muted; &.-several { display: block; } }
    """

    class Wanted(Message):
        """The person wants this tab, counted from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, directory: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._directory = safe_line(directory)
        self._tabs: Sequence[TabLabel] = ()
        self._ends: list[tuple[int, int]] = []  # index of the tab, column after it

    def show(self, tabs: Sequence[TabLabel]) -> None:
        """Show these tabs."""
        if tabs != self._tabs:
            self._tabs = tabs
            self.set_class(len(tabs) > 1, "-several")
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Go to the tab that was clicked."""
        for index, end in self._ends:
            if event.x < end:
                self.post_message(self.Wanted(index))
                return

    def render(self) -> Content:
        """The tabs around the active one, as many as there is room for."""
        width = self.size.width
        pieces = [self._piece(index, tab) for index, tab in enumerate(self._tabs)]
        active = next((index for index, tab in enumerate(self._tabs) if tab.active), 0)
        first = last = active
        used = pieces[active].cell_length if pieces else 0
        while True:
            if last + 1 < len(pieces) and used + pieces[last + 1].cell_length <= width - 2:
                last += 1
                used += pieces[last].cell_length
            elif first > 0 and used + pieces[first - 1].cell_length <= width - 2:
                first -= 1
                used += pieces[first].cell_length
            else:
                break
        line = Content("‹" if first else " ")
        self._ends = []
        for index in range(first, last + 1 if pieces else first):
            line += pieces[index]
            self._ends.append((index, line.cell_length))
        if last + 1 < len(pieces):
            line += Content("›")
        where = f"⌂ {self._directory} "
        if (gap := width - line.cell_length - cell_len(where)) > 1:
            line += Content(" " * gap + where)
        return line

    def _piece(self, index: int, tab: TabLabel) -> Content:
        title = safe_line(tab.title)
        if cell_len(title) > _LONGEST_TITLE:
            title = title[: _LONGEST_TITLE - 1] + "…"
        mark = f" {tab.mark}" if tab.mark else ""
        style = "bold $accent" if tab.active else "$muted"
        number = ("▸" if tab.active else " ") + str(index + 1)
        return Content.assemble(
            (f"{number} {title}", style), (mark, "$asking" if tab.mark in "?!" else "$accent"), " "
        )
