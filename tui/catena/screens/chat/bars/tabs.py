"""The bar of tabs, hidden while there is only one, and the head of a pane: each says what its tab is doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from catena.cells import cell_len
from catena.text.formats import from_home
from catena.text.names import fitting_names
from catena.text.safe_text import safe_line
from catena.widgets.typing_box import cut_content

if TYPE_CHECKING:  # for annotations alone
    from catena.workspace.panes import Panes
    from catena.workspace.tab import Tab


_FAIR = 16  # cells of a title, from which on the directory has to go
_SHORTEST = 8
_BEFORE = 1  # cells before the first tab, whose text is on the axis
_BEHIND = 2
_NARROW = 60
_STYLES = {"?": "bold $asking", "!": "bold $failure"}


@dataclass(frozen=True, slots=True)
class TabLabel:
    """One tab as the bar shows it."""

    title: str
    mark: str  # "" | ◐ working | ? asking | ! failed | • unread
    active: bool
    in_sight: bool = False  # in a pane; the active one is in any case


def labels_of(tabs: Sequence[Tab], panes: Panes) -> list[TabLabel]:
    """The tabs as the bar shows them."""
    from catena.workspace.tab import names_of  # the first frame has no tab

    in_sight = [pane.tab for pane in panes.open if pane.in_sight]
    active = panes.focused.tab
    return [
        TabLabel(name, tab.mark, tab is active, tab in in_sight)
        for tab, name in zip(tabs, names_of(tabs), strict=True)
    ]


def marks_of(tabs: Sequence[TabLabel]) -> Content:
    """The marks of the tabs that are not looked at."""
    away = [tab for tab in tabs if not (tab.active or tab.in_sight)]
    return Content(" ").join(mark_content(tab.mark) for tab in away if tab.mark)


def mark_content(mark: str) -> Content:
    """A mark in its colour."""
    return Content.styled(mark, _STYLES.get(mark, "$accent"))


class TabBar(Widget):
    """The bar of tabs. A click goes to a tab."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--active"}
    DEFAULT_CSS = """
    TabBar {
        height: 2;
        display: none;
        color: $muted;
        &.-several { display: block; }
        &.-heads { height: 1; max-width: 100%; margin: 0 2; }
        & > .tabs--active { background: $band; text-style: bold; }
    }
    """

    class Wanted(Message):
        """The person wants this tab, counted from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Changed(Message):
        """The tabs are others than before, or do something else."""

        def __init__(self, tabs: Sequence[TabLabel]) -> None:
            super().__init__()
            self.tabs = tabs

    def __init__(self, directory: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._directory = safe_line(from_home(directory))
        self._tabs: Sequence[TabLabel] = ()
        self._ends: list[tuple[int, int]] = []  # index of the tab, column after it

    def show(self, tabs: Sequence[TabLabel]) -> None:
        """Show these tabs."""
        if tabs != self._tabs:
            self._tabs = tabs
            self.set_class(len(tabs) > 1, "-several")
            self.refresh()
            self.post_message(self.Changed(tabs))

    def on_click(self, event: events.Click) -> None:
        """Go to the tab that was clicked."""
        for index, end in self._ends:
            if event.x < end:
                self.post_message(self.Wanted(index))
                return

    def render(self) -> Content:
        """The tabs around the active one, as many as there is room for; titles are cut at one length."""
        width = self.size.width
        active = next((index for index, tab in enumerate(self._tabs) if tab.active), 0)
        self._ends = []
        if not self._tabs:
            return Content("")
        if width < _NARROW:
            return self._one(active, width)
        room = width - _BEFORE - _BEHIND
        beside = room - cell_len(self._directory) - 2
        longest = self._longest(beside)
        where = self._directory if longest >= _FAIR else ""
        if not where:
            longest, beside = self._longest(room), room
        pieces = [self._piece(*each) for each in zip(self._tabs, self._names(longest), count(1))]
        first, last = self._window(active, pieces, beside)
        line = Content("‹" if first else " ")
        for index in range(first, last + 1):
            line += pieces[index]
            self._ends.append((index, line.cell_length))
            line += self._behind(index, last)
        if last + 1 < len(self._tabs):
            line += Content("›")
        gap = width - _BEHIND - cell_len(where) - line.cell_length
        return Content.assemble(line, " " * max(0, gap), (where, "$faint"))

    def _one(self, active: int, width: int) -> Content:
        """The active tab alone, and the marks of the others."""
        tab = self._tabs[active]
        others = marks_of(self._tabs)
        number = f"{active + 1}/{len(self._tabs)} "
        mark = Content.assemble(" ", mark_content(tab.mark)) if tab.mark else Content("")
        room = width - 2 - len(number) - mark.cell_length - others.cell_length - 2
        title = Content.styled(self._names(max(4, room))[active], "bold $foreground")
        self._ends = [((active + 1) % len(self._tabs), width)]
        line = Content.assemble("  ", (number, "bold $accent"), title, mark)
        return Content.assemble(line, " " * max(1, width - line.cell_length - others.cell_length), others)

    def _longest(self, room: int) -> int:
        """How long titles may be for all tabs to have room."""
        lengths = [cell_len(tab.title) for tab in self._tabs]
        fixed = sum(self._around(index) + 1 for index in range(len(lengths)))
        longest = max(lengths)
        while longest > _SHORTEST and fixed + sum(min(length, longest) for length in lengths) > room:
            longest -= 1
        return longest

    def _names(self, longest: int) -> list[str]:
        return fitting_names([tab.title for tab in self._tabs], longest)

    def _window(self, active: int, pieces: Sequence[Content], room: int) -> tuple[int, int]:
        """The first tab and the last one that are shown."""
        widths = [piece.cell_length + 1 for piece in pieces]
        first = last = active
        used = widths[active]
        while True:
            if last + 1 < len(widths) and used + widths[last + 1] <= room:
                last += 1
                used += widths[last]
            elif first > 0 and used + widths[first - 1] <= room:
                first -= 1
                used += widths[first]
            else:
                return first, last

    def _behind(self, index: int, last: int) -> Content:
        """What stands between a tab and the next one: a line between two that are side by side."""
        both = index < last and self._tabs[index].in_sight and self._tabs[index + 1].in_sight
        if not both:
            return Content(" ")
        return Content.styled("│", "$faint").stylize_before(self.get_visual_style("tabs--active"))

    def _around(self, index: int) -> int:
        """The cells of a tab beside its title."""
        mark = self._tabs[index].mark
        return len(f" {index + 1}  ") + (1 + cell_len(mark) if mark else 0)

    def _piece(self, tab: TabLabel, name: str, at: int) -> Content:
        number, title = ("bold $accent", "bold $foreground") if tab.active else ("$faint", "$muted")
        piece = Content.assemble((f" {at} ", number), (name, title))
        if tab.mark:
            piece = Content.assemble(piece, " ", mark_content(tab.mark))
        piece += Content(" ")
        shown = tab.active or tab.in_sight
        return piece.stylize_before(self.get_visual_style("tabs--active")) if shown else piece


class PaneHead(Widget):
    """One row over the transcript, while several panes stand side by side."""

    DEFAULT_CSS = """
    PaneHead {
        height: 1;
        padding: 0 2;
        display: none;
        &.-beside { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._title = self._mark = ""
        self._has_keys = False

    def show(self, title: str, mark: str, *, has_keys: bool) -> None:
        """Show the name of a tab and its mark; ``has_keys``: what is typed goes to this pane."""
        if (title, mark, has_keys) != (self._title, self._mark, self._has_keys):
            self._title, self._mark, self._has_keys = title, mark, has_keys
            self.refresh()

    def render(self) -> Content:
        """The name, and behind it the mark."""
        mark = mark_content(self._mark)
        room = max(1, self.content_size.width - mark.cell_length - 1)
        style = "bold $accent" if self._has_keys else "$muted"
        title = cut_content(Content.styled(safe_line(self._title), style), room)
        return Content.assemble(title, " ", mark) if self._mark else title
